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

/**
 * Looks up the version at most every `ttlMs`, and again as soon as another engine answers. The lifetime is what one
 * process may lag, far below the five minutes of an edge cache.
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
      if (known?.epoch === now && performance.now() < known.untilMs) return known.version
      return looking?.epoch === now ? looking.version : look(now)
    },
  }
}
