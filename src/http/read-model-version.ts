/** What the caches ask of the search: the version of the read model, and whether the engine changed. */
export interface VersionSource {
  version(): Promise<string>
  /** Grows whenever another engine answers. Absent: there is one engine. */
  engineEpoch?(): number
  /** While another engine answers: the version that the first one's answers have now. */
  firstVersion?(): Promise<string | undefined>
}

/** The version of the read model as one process believes it. */
export interface ReadModelVersion {
  /** The known version while it is younger than its lifetime; else one look-up serves all callers. */
  current(): string | Promise<string>
  /**
   * The version under which answers of the first engine hold, as it was last seen. They hold while another engine
   * answers too: an engine that is late once must not make every kept answer cold. Undefined until it was seen.
   */
  first(): string | undefined
  epoch(): number
}

/** For this many more lifetimes a version is still returned while the next look-up runs. */
const STALE_LIFETIMES = 5

/**
 * Looks up the version at most every `ttlMs`, and again as soon as another engine answers. While a look-up runs, the
 * last version is returned for STALE_LIFETIMES: readers of cached answers never wait for the database. A process may
 * therefore lag by six lifetimes, far below the five minutes of an edge cache.
 */
export function openReadModelVersion(
  source: VersionSource,
  { ttlMs = 1_000, clock = () => performance.now() } = {},
): ReadModelVersion {
  let known: { version: string; first: string; untilMs: number; epoch: number } | undefined
  let looking: { version: Promise<string>; epoch: number } | undefined
  const epoch = () => source.engineEpoch?.() ?? 0

  function look(now: number): Promise<string> {
    const version = Promise.all([source.version(), source.firstVersion?.()])
      .then(([value, first = value]) => {
        known = { version: value, first, untilMs: clock() + ttlMs, epoch: now }
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
    first: () => (known && clock() < known.untilMs + ttlMs * STALE_LIFETIMES ? known.first : undefined),
    current() {
      const now = epoch()
      const lateMs = known?.epoch === now ? clock() - known.untilMs : Number.POSITIVE_INFINITY
      if (lateMs < 0) return known!.version
      const version = looking?.epoch === now ? looking.version : look(now)
      if (lateMs >= ttlMs * STALE_LIFETIMES) return version
      // This caller does not wait. Callers that wait see the error.
      version.catch(() => undefined)
      return known!.version
    },
  }
}
