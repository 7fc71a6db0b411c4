import { LRUCache } from 'lru-cache'
import { RateLimited } from './budgets.ts'

/** How many subjects one process remembers. */
const MAX_SUBJECTS = 50_000

/**
 * Counts fixed windows in this process, without a promise or a timer, because it precedes every warm read. The
 * returned function takes points. @throws RateLimited
 */
export function openLocalWindows() {
  const windows = new LRUCache<string, { spent: number; untilMs: number }>({ max: MAX_SUBJECTS })
  return (subject: string, points: number, { limit, windowSec }: { limit: number; windowSec: number }): void => {
    const now = performance.now()
    let window = windows.get(subject)
    if (!window || now >= window.untilMs) {
      window = { spent: 0, untilMs: now + windowSec * 1000 }
      windows.set(subject, window)
    }
    window.spent += points
    if (window.spent <= limit) return
    const resetSec = Math.max(1, Math.ceil((window.untilMs - now) / 1000))
    throw new RateLimited({ limit, windowSec, remaining: 0, resetSec })
  }
}
