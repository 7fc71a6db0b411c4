import { availableParallelism } from 'node:os'
import { LRUCache } from 'lru-cache'
import { openAdmission } from '../db/client.ts'
import { CompressibleBody } from './response-body.ts'

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

/** A value and the version it is valid for. Without a version it is valid for this request only and may not be kept. */
export interface Versioned<V> {
  value: V
  version: string | undefined
}

export interface VersionedCache<V extends object> {
  /** The version under which values are looked up. */
  version(): string | Promise<string>
  /** The value kept for a key under the current version. Also undefined while the version itself is unknown. */
  peek(key: string): Versioned<V> | undefined
  isKept(key: string, version: string): boolean
  /** Whether a shared load of it is under way. */
  isLoading(key: string, version: string): boolean
  /**
   * The value of a key: from memory, else from `load`, which runs once for all concurrent callers (`shared: false`:
   * once for each). A failed load is not kept. A key belongs to one type of value.
   */
  getOrLoad<T extends V>(key: string, load: () => Promise<T>, options?: { shared?: boolean }): Promise<Versioned<T>>
}

/**
 * A bounded cache of values that are valid for one version of the read model. A value loaded while the engine changed
 * is not kept: it may belong to the other engine's version. A value of the first engine stays valid while another
 * engine answers.
 */
export function openVersionedCache<V extends object>({
  readModel,
  maxBytes,
  sizeOf = sizeOfValue,
  keeps = () => true,
}: {
  readModel: ReadModelVersion
  maxBytes: number
  /** In bytes. */
  sizeOf?: (value: V) => number
  /** Whether a loaded value may be kept at all. Absent: every one may. */
  keeps?: (value: V) => boolean
}): VersionedCache<V> {
  // By key alone: the value of a new version replaces the old one.
  const kept = new LRUCache<string, { value: V; version: string }>({
    maxSize: maxBytes,
    sizeCalculation: ({ value }, key) => sizeOf(value) + key.length * 2 + 256,
  })
  const loading = new Map<string, Promise<V>>()

  function find(key: string, version: string | undefined): { value: V; version: string } | undefined {
    const entry = kept.get(key)
    return entry && (entry.version === version || entry.version === readModel.first()) ? entry : undefined
  }

  const nameOf = (key: string, version: string, epoch: number) => `${epoch} ${version} ${key}`

  async function start(key: string, version: string, epoch: number, load: () => Promise<V>): Promise<V> {
    const value = await load()
    if (readModel.epoch() === epoch && keeps(value)) kept.set(key, { value, version })
    return value
  }

  function startOnce(key: string, version: string, epoch: number, load: () => Promise<V>): Promise<V> {
    const name = nameOf(key, version, epoch)
    let value = loading.get(name)
    if (!value) {
      value = start(key, version, epoch, load).finally(() => loading.delete(name))
      loading.set(name, value)
    }
    return value
  }

  return {
    version: readModel.current,
    peek(key) {
      const version = readModel.current()
      if (typeof version === 'string') return find(key, version)
      // This caller does not wait for the version. Callers that wait see its error.
      version.catch(() => undefined)
      return find(key, undefined)
    },
    isKept: (key, version) => find(key, version) !== undefined,
    isLoading: (key, version) => loading.has(nameOf(key, version, readModel.epoch())),
    async getOrLoad<T extends V>(key: string, load: () => Promise<T>, { shared = true } = {}): Promise<Versioned<T>> {
      const epoch = readModel.epoch()
      const version = await readModel.current()
      const entry = find(key, version) as Versioned<T> | undefined
      if (entry) return entry
      const value = await (shared ? startOnce : start)(key, version, epoch, load)
      return { value: value as T, version: readModel.epoch() === epoch ? version : undefined }
    },
  }
}

/** Of a body twice its length: its compressed forms are kept beside it. Of other values their length as JSON. */
function sizeOfValue(value: object): number {
  const body = 'body' in value ? value.body : value
  return body instanceof CompressibleBody ? body.bytes.length * 2 : JSON.stringify(value).length * 2
}

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
  const get = () => kept.getOrLoad(key, load)
  const version = await kept.version()
  return kept.isKept(key, version) || kept.isLoading(key, version) ? get() : takeTurn(subject, get)
}
