import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { Pace } from '../library/videos/submit.ts'

export interface Intake {
  /** An address asked something. */
  note(address: string): void
  /** The pace of an upload that comes from an address. */
  paceOf(address: string): Pace
}

interface IntakeOptions {
  /** What one address may send while others ask. */
  bytesPerSec?: number
  /** How long after its last request another address counts as one that asks. */
  companyMs?: number
  clock?: () => number
}

/** Shorter pauses are saved up. */
const SHORTEST_MS = 20

/**
 * Slows the uploads of one address while others ask: each megabyte takes processors, disk and network from them. An
 * upload goes as fast as it comes while no one else asks.
 */
export function openIntake({
  bytesPerSec = 16 * 1024 * 1024,
  companyMs = 1_000,
  clock = () => performance.now(),
}: IntakeOptions = {}): Intake {
  let last = { address: '', at: Number.NEGATIVE_INFINITY }
  /** The last one that asked before `last.address` began to. */
  let before = last
  /** Address → the time at which it may send more. */
  const freeAt = new LRUCache<string, number>({ max: 10_000 })

  function isAlone(address: string, now: number): boolean {
    const other = last.address === address ? before : last
    return now - other.at > companyMs
  }

  return {
    note(address) {
      const at = clock()
      if (last.address === address) last.at = at
      else {
        before = last
        last = { address, at }
      }
    },
    paceOf: (address) => (bytes) => {
      const now = clock()
      if (isAlone(address, now)) {
        freeAt.delete(address)
        return undefined
      }
      const due = Math.max(now, freeAt.get(address) ?? now) + (bytes / bytesPerSec) * 1_000
      freeAt.set(address, due)
      return due - now < SHORTEST_MS ? undefined : sleep(due - now)
    },
  }
}
