import { AppError } from '../errors.ts'

/** Admits one act; the returned function lets the next one in. @throws AppError unavailable */
export type Admission = () => Promise<() => void>

/** At most `max` acts at a time, in the order they ask. An act that waits longer than `waitMs` is refused. */
export function openAdmission({ max, waitMs }: { max: number; waitMs: number }): Admission {
  let free = max
  const waiting = new Set<() => void>()

  function leave(): void {
    const [next] = waiting
    if (!next) {
      free++
      return
    }
    waiting.delete(next)
    next()
  }

  function turn(): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.delete(admit)
        reject(new AppError('unavailable', 'Too many writes are waiting. Try again in a second.', { retryAfterSec: 1 }))
      }, waitMs)
      const admit = () => {
        clearTimeout(timer)
        resolve()
      }
      waiting.add(admit)
    })
  }

  return async () => {
    if (free > 0) free--
    else await turn()
    return leave
  }
}
