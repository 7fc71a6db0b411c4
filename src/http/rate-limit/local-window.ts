import { LRUCache } from 'lru-cache'
import { RateLimited } from './budgets.ts'

/** How many subjects one process remembers. */
const MAX_SUBJECTS = 50_000

interface Window {
  spent: number
  untilMs: number
}

/**
 * Counts fixed windows of one budget in this process, without a promise or a timer, because it precedes every warm
 * read. The returned function takes a subject's points. @throws RateLimited
 */
export function openLocalWindows(limit: number, windowSec: number): (subject: string, points: number) => void {
  const windows = new LRUCache<string, Window>({ max: MAX_SUBJECTS })
  return (subject, points) => {
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
