import { availableParallelism } from 'node:os'
import { openAdmission } from '../db/client.ts'

/** Runs an act in the turn of a subject. @throws AppError unavailable */
export type TakeTurn = <T>(subject: string, act: () => Promise<T>) => Promise<T>

/** Leaves 4 of the 16 connections for key checks and for the version of the read model. */
const MAX = 12
const WAIT_MS = 10_000

/**
 * Limits concurrent searches. One address runs fewer searches at a time than there are processors, which leaves one
 * processor to all others. The next turn goes to the address that runs the fewest.
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
