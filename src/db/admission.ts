import { AppError } from '../errors.ts'

/** Admits one act of an account, or of no one; the returned function ends it. @throws AppError unavailable */
export type Admission = (accountId?: string) => Promise<() => void>

interface Waiting {
  accountId: string | undefined
  admit: () => void
}

/**
 * At most `max` acts at a time and `ofOne` of one account. The next is the one whose account runs the fewest, and of
 * those the first that asked. An act that waits longer than `waitMs` is refused.
 */
export function openAdmission({ max, ofOne, waitMs }: { max: number; ofOne: number; waitMs: number }): Admission {
  let free = max
  const running = new Map<string, number>()
  const waiting = new Set<Waiting>()

  const runningOf = (accountId: string | undefined) => (accountId === undefined ? 0 : (running.get(accountId) ?? 0))

  function enter(accountId: string | undefined): void {
    free--
    if (accountId !== undefined) running.set(accountId, runningOf(accountId) + 1)
  }

  function leave(accountId: string | undefined): void {
    free++
    if (accountId !== undefined) {
      const left = runningOf(accountId) - 1
      if (left > 0) running.set(accountId, left)
      else running.delete(accountId)
    }
    const next = nextOf(waiting)
    if (!next) return
    waiting.delete(next)
    enter(next.accountId)
    next.admit()
  }

  function nextOf(candidates: Iterable<Waiting>): Waiting | undefined {
    let next: Waiting | undefined
    for (const candidate of candidates) {
      const count = runningOf(candidate.accountId)
      if (count < ofOne && (!next || count < runningOf(next.accountId))) next = candidate
    }
    return next
  }

  function turn(accountId: string | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.delete(place)
        reject(new AppError('unavailable', 'Too many writes are waiting. Try again in a second.', { retryAfterSec: 1 }))
      }, waitMs)
      const admit = () => {
        clearTimeout(timer)
        resolve()
      }
      const place = { accountId, admit }
      waiting.add(place)
    })
  }

  return async (accountId) => {
    if (free > 0 && runningOf(accountId) < ofOne) enter(accountId)
    else await turn(accountId)
    return () => leave(accountId)
  }
}
