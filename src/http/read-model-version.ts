/** What the caches ask of the search: which version of the read model holds, and whether the engine changed. */
export interface VersionSource {
  version(): Promise<string>
  /** Grows whenever another engine starts to answer. Absent: there is one engine. */
  engineEpoch?(): number
}

/** The version of the read model as one process believes it. */
export interface ReadModelVersion {
  /** At once while the last look is younger than the lifetime; else one look serves all who wait. */
  current(): string | Promise<string>
  epoch(): number
}

/** How many lifetimes a version is still given out while the next look is under way. */
const STALE_LIFETIMES = 5

/**
 * Looks up the version at most every `ttlMs`, and again as soon as another engine answers. While a look is under way
 * the last version is given out for some more lifetimes: readers of kept answers never wait for the database. That is
 * what one process may lag, far below the five minutes of an edge cache.
 */
export function openReadModelVersion(source: VersionSource, { ttlMs = 1_000 } = {}): ReadModelVersion {
  let known: { version: string; untilMs: number; epoch: number } | undefined
  let looking: { version: Promise<string>; epoch: number } | undefined
  const epoch = () => source.engineEpoch?.() ?? 0

  function look(now: number): Promise<string> {
    const version = source
      .version()
      .then((value) => {
        known = { version: value, untilMs: performance.now() + ttlMs, epoch: now }
        return value
      })
      .finally(() => {
        if (looking?.version === version) looking = undefined
      })
    looking = { version, epoch: now }
    return version
  }

  return {
    epoch,
    current() {
      const now = epoch()
      const lateMs = known?.epoch === now ? performance.now() - known.untilMs : Number.POSITIVE_INFINITY
      if (lateMs < 0) return known!.version
      const version = looking?.epoch === now ? looking.version : look(now)
      if (lateMs >= ttlMs * STALE_LIFETIMES) return version
      // This caller does not wait. Those who do see the error.
      version.catch(() => undefined)
      return known!.version
    },
  }
}
