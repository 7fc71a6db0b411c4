import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'

/**
 * Runs acts one after another, in the order asked. One that fails does not stop the next. `rest`: a pause after each,
 * as a multiple of its time, which leaves the other share of the time to others.
 */
export function oneAtATime({ rest = 0 } = {}): <T>(act: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (act) => {
    let startedAt = 0
    const done = last.then(() => {
      startedAt = performance.now()
      return act()
    })
    last = done.then(
      () => (rest > 0 ? sleep(rest * (performance.now() - startedAt)) : undefined),
      () => undefined,
    )
    return done
  }
}

/** @throws what `late` makes when `ms` are over. The work goes on. What comes while the process is busy counts. */
export async function inTime<T>(work: Promise<T>, ms: number, late: () => Error): Promise<T> {
  const passed = Promise.withResolvers<never>()
  // The error is made only when it is late: one with its stack costs a tenth of a millisecond.
  const timer = setTimeout(() => setImmediate(() => passed.reject(late())), ms)
  try {
    return await Promise.race([work, passed.promise])
  } finally {
    clearTimeout(timer)
  }
}

/** How long a value is taken as it was. */
const KEPT_MS = 1_000

/** What `load` finds, loaded at most once in `ttl`, and once for all who wait. A failed load is not kept. */
export function ttlCached<T extends object>(load: () => Promise<T>, ttl = KEPT_MS): () => Promise<T> {
  const cache = new LRUCache<'value', T>({ max: 1, ttl, fetchMethod: load })
  return async () => (await cache.fetch('value'))!
}
