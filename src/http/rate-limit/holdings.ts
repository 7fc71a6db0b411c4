import { AppError } from '../../errors.ts'
import { AT_ONCE, type Holding } from './budgets.ts'

/** Takes one slot for each subject; the returned function releases them. @throws AppError rate_limited */
export type Hold = (kind: Holding, subjects: readonly string[]) => () => void

const RETRY_AFTER_SEC = 5

/** Counts the slots in use in this process, by kind and subject. */
export function openHoldings(): Hold {
  const held = new Map<string, number>()
  const count = (name: string) => held.get(name) ?? 0
  return (kind, subjects) => {
    const names = subjects.map((subject) => `${kind} ${subject}`)
    if (names.some((name) => count(name) >= AT_ONCE[kind])) {
      const what = kind === 'uploads' ? 'uploads' : 'long answers'
      throw new AppError('rate_limited', `At most ${AT_ONCE[kind]} ${what} may run at a time. Let one end first.`, {
        retryAfterSec: RETRY_AFTER_SEC,
      })
    }
    for (const name of names) held.set(name, count(name) + 1)
    return () => {
      for (const name of names) {
        const left = count(name) - 1
        if (left > 0) held.set(name, left)
        else held.delete(name)
      }
    }
  }
}
