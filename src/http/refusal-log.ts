import { LRUCache } from 'lru-cache'
import type { Logger } from '../logger.ts'

/** Lines a minute for one address. Further refusals are only counted. */
const LINES = 20
const WINDOW_MS = 60_000
const MAX_ADDRESSES = 10_000

/** Logs why a request of an address was refused. */
export type RefusalLog = (address: string, fields: object, message: string) => void

/**
 * Logs the first refusals of each address in a minute, and then one line that counts the others. So one client can
 * neither fill the disk nor hide the faults of others.
 */
export function openRefusalLog(
  logger: Pick<Logger, 'info'>,
  { lines = LINES, windowMs = WINDOW_MS }: { lines?: number; windowMs?: number } = {},
): RefusalLog {
  const logged = new LRUCache<string, number>({ max: MAX_ADDRESSES })
  const silenced = new Set<string>()
  let unlogged = 0
  let untilMs = 0

  function beginWindow(now: number): void {
    logged.clear()
    untilMs = now + windowMs
  }

  function tellCount(): void {
    logger.info({ count: unlogged, addresses: silenced.size }, 'refusals not logged')
    unlogged = 0
    silenced.clear()
  }

  return (address, fields, message) => {
    const now = performance.now()
    if (now >= untilMs) beginWindow(now)
    const count = logged.get(address) ?? 0
    if (count < lines) {
      logged.set(address, count + 1)
      logger.info(fields, message)
      return
    }
    if (unlogged++ === 0) setTimeout(tellCount, untilMs - now).unref()
    if (silenced.size < MAX_ADDRESSES) silenced.add(address)
  }
}
