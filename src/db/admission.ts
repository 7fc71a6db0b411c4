import { AppError } from '../errors.ts'

/** Admits one act of a subject, or of no one; the returned function ends it. @throws AppError unavailable */
export type Admission = (subject?: string) => Promise<() => void>

export interface AdmissionOptions {
  max: number
  ofOne: number
  waitMs: number
  /** The name of the waiting acts in an error. */
  what: 'writes' | 'searches'
}

interface Waiting {
  subject: string | undefined
  admit: () => void
}

/**
 * At most `max` acts at a time and `ofOne` of one subject. The next is the one whose subject runs the fewest, and of
 * those the first that asked. An act that waits longer than `waitMs` is refused.
 */
export function openAdmission({ max, ofOne, waitMs, what }: AdmissionOptions): Admission {
  let free = max
  const running = new Map<string, number>()
  const waiting = new Set<Waiting>()

  const runningOf = (subject: string | undefined) => (subject === undefined ? 0 : (running.get(subject) ?? 0))

  function enter(subject: string | undefined): void {
    free--
    if (subject !== undefined) running.set(subject, runningOf(subject) + 1)
  }

  function leave(subject: string | undefined): void {
    free++
    if (subject !== undefined) {
      const left = runningOf(subject) - 1
      if (left > 0) running.set(subject, left)
      else running.delete(subject)
    }
    const next = nextOf(waiting)
    if (!next) return
    waiting.delete(next)
    enter(next.subject)
    next.admit()
  }

  function nextOf(candidates: Iterable<Waiting>): Waiting | undefined {
    let next: Waiting | undefined
    for (const candidate of candidates) {
      const count = runningOf(candidate.subject)
      if (count < ofOne && (!next || count < runningOf(next.subject))) next = candidate
    }
    return next
  }

  function turn(subject: string | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.delete(place)
        const message = `Too many ${what} are waiting. Try again in a second.`
        reject(new AppError('unavailable', message, { retryAfterSec: 1 }))
      }, waitMs)
      const admit = () => {
        clearTimeout(timer)
        resolve()
      }
      const place = { subject, admit }
      waiting.add(place)
    })
  }

  return async (subject) => {
    if (free > 0 && runningOf(subject) < ofOne) enter(subject)
    else await turn(subject)
    return () => leave(subject)
  }
}
