import { availableParallelism } from 'node:os'
import { openAdmission } from '../db/admission.ts'

/** Runs an act in the turn of a subject. @throws AppError unavailable */
export type TakeTurn = <T>(subject: string, act: () => Promise<T>) => Promise<T>

/** Of the 16 connections these leave some to key checks and to the version of the read model. */
const MAX = 12
const WAIT_MS = 10_000

/**
 * Turns for what must be searched for. One address runs fewer searches at a time than there are processors: one is
 * left to everyone else. The next turn is for the address that runs the fewest.
 */
export function openTurns({ ofOne = Math.min(MAX / 2, Math.max(1, availableParallelism() - 1)) } = {}): TakeTurn {
  const admit = openAdmission({ max: MAX, ofOne, waitMs: WAIT_MS, what: 'searches' })
  return async (subject, act) => {
    const leave = await admit(subject)
    try {
      return await act()
    } finally {
      leave()
    }
  }
}
