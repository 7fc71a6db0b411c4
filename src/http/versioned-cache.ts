import { availableParallelism } from 'node:os'
import { LRUCache } from 'lru-cache'
import { openAdmission } from '../db/client.ts'
import { CompressibleBody } from './response-body.ts'

/** The version of the library as one process believes it: while it is young, else one look-up serves all callers. */
export type ReadModelVersion = () => string | Promise<string>

/** For this many more lifetimes a version is still returned while the next look-up runs. */
const STALE_LIFETIMES = 5

/**
 * Looks up the version at most every `ttlMs`. While a look-up runs, the
 * last version is returned for STALE_LIFETIMES: readers of cached answers never wait for the database. A process may
 * therefore lag by six lifetimes, far below the five minutes of an edge cache.
 */
export function openReadModelVersion(
  source: { version(): Promise<string> },
  { ttlMs = 1_000, clock = () => performance.now() } = {},
): ReadModelVersion {
  let known: { version: string; untilMs: number } | undefined
  let looking: Promise<string> | undefined

  function look(): Promise<string> {
    looking ??= source
      .version()
      .then((version) => {
        known = { version, untilMs: clock() + ttlMs }
        return version
      })
      .finally(() => {
        looking = undefined
      })
    return looking
  }

  return () => {
    const lateMs = known ? clock() - known.untilMs : Number.POSITIVE_INFINITY
    if (lateMs < 0) return known!.version
    const version = look()
    if (lateMs >= ttlMs * STALE_LIFETIMES) return version
    // This caller does not wait. Callers that wait see the error.
    version.catch(() => undefined)
    return known!.version
  }
}

/** A value and the version it is valid for. */
export interface Versioned<V> {
  value: V
  version: string
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

/** A bounded cache of values that are valid for one version of the library, whichever engine answered. */
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
    return entry?.version === version ? entry : undefined
  }

  const nameOf = (key: string, version: string) => `${version} ${key}`

  async function start(key: string, version: string, load: () => Promise<V>): Promise<V> {
    const value = await load()
    if (keeps(value)) kept.set(key, { value, version })
    return value
  }

  function startOnce(key: string, version: string, load: () => Promise<V>): Promise<V> {
    const name = nameOf(key, version)
    let value = loading.get(name)
    if (!value) {
      value = start(key, version, load).finally(() => loading.delete(name))
      loading.set(name, value)
    }
    return value
  }

  return {
    version: readModel,
    peek(key) {
      const version = readModel()
      if (typeof version === 'string') return find(key, version)
      // This caller does not wait for the version. Callers that wait see its error.
      version.catch(() => undefined)
      return find(key, undefined)
    },
    isKept: (key, version) => find(key, version) !== undefined,
    isLoading: (key, version) => loading.has(nameOf(key, version)),
    async getOrLoad<T extends V>(key: string, load: () => Promise<T>, { shared = true } = {}): Promise<Versioned<T>> {
      const version = await readModel()
      const entry = find(key, version) as Versioned<T> | undefined
      if (entry) return entry
      const value = await (shared ? startOnce : start)(key, version, load)
      return { value: value as T, version }
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
  const admit = openAdmission({
    max: MAX,
    ofOne,
    waitMs: WAIT_MS,
    refusal: 'Too many searches are waiting. Try again in a second.',
  })
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
