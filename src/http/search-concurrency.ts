import { availableParallelism } from 'node:os'
import { openAdmission } from '../db/client.ts'
import type { Versioned, VersionedCache } from './versioned-cache.ts'

/** Runs an act in the turn of a subject. @throws AppError unavailable */
export type TakeTurn = <T>(subject: string, act: () => Promise<T>) => Promise<T>

/** A search holds one to three of the 16 connections at a time. Checks of keys and versions share the others. */
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

/**
 * A kept value, one that is being loaded, or one that is loaded in the turn of the subject. A load begins within a
 * turn: nobody waits behind the queue of another address, nor is refused for it. @throws AppError unavailable
 */
export async function keptOrInTurn<T extends object>(
  { kept, takeTurn }: { kept: VersionedCache<object>; takeTurn: TakeTurn },
  { key, subject }: { key: string; subject: string },
  load: () => Promise<T>,
): Promise<Versioned<T>> {
  const get = async () => kept.getOrLoad(key, load)
  const version = await kept.version()
  return kept.isKept(key, version) || kept.isLoading(key, version) ? get() : takeTurn(subject, get)
}
