import { hash } from 'node:crypto'
import { availableParallelism } from 'node:os'
import type { Request, Response } from 'express'
import { LRUCache } from 'lru-cache'
import { openAdmission } from '../db/client.ts'
import { canonicalKey, readParameters } from '../parameters.ts'
import { contextOf } from './edge.ts'
import { type Answer, type Endpoint, type Given, type Input, type Methodless, priceOf } from './endpoint.ts'
import { PRICES } from './rate-limit/budgets.ts'
import { charge } from './rate-limit/rate-limits.ts'
import { CompressibleBody, encodingReader, isAny, isNoneMatchMet, sendBody } from './response-body.ts'

interface ReadOptions<O extends Methodless> {
  /** The query in its shortest form, so that equal queries share an answer. */
  canonical?: (query: Input<O>['query']) => Input<O>['query']
  /** Throws for path parameters that cannot name anything. Runs after the query is parsed, so a 400 wins over a 404. */
  check?: (params: Input<O>['params']) => void
  /** Whether the query raises the price to that of a write. */
  raises?: (query: Input<O>['query']) => boolean
}

/** An answer that lacks what the next one may have: it is neither kept here nor cached on its way. */
interface Passing<A> {
  readonly passing: A
}

/** Declares a GET whose answer is loaded once for equal questions and cached until the library changes. */
export function cachedRead<D, const O extends Methodless & { scope?: undefined }>(
  operation: O,
  load: (deps: D, input: Pick<Input<O>, 'params' | 'query'>) => Promise<Answer<O> | Passing<Answer<O>>>,
  { canonical = (query) => query, check, raises = () => false }: ReadOptions<O> = {},
): Endpoint<D & { cache: CachedReads }, Given<O>, Answer<O>> {
  const { path, parameters = {} } = operation
  const usual = PRICES[priceOf({ ...operation, method: 'get' })]
  return {
    ...operation,
    method: 'get',
    cached: true,
    async act(deps, given) {
      const loaded = (await load(deps, { params: {}, query: {}, ...given } as Input<O>)) as object
      return ('passing' in loaded ? loaded.passing : loaded) as Answer<O>
    },
    charges: true,
    toHandler: (deps, { limits }) => {
      const read = (req: Request): CacheableRead => {
        const query = canonical(readParameters(req.originalUrl, parameters) as Input<O>['query'])
        const params = req.params as Input<O>['params']
        check?.(params)
        return {
          key: `${path} ${Object.values(req.params).join(' ')} ${canonicalKey(query)}`,
          load: () => load(deps, { params, query }) as Promise<object>,
          points: raises(query) ? PRICES.write : usual,
        }
      }
      return (req, res) => {
        const pay = (points: number) => charge(limits, { req, res }, points)
        return deps.cache.answer(req, res, { parse: () => read(req), pay })
      }
    },
  }
}

/** A parsed read. Equal reads have equal keys, however their URLs are written. */
interface CacheableRead {
  key: string
  load: () => Promise<object>
  points: number
}

export interface CachedReads {
  /**
   * Answers an open read: 304 from the version alone, else from memory, else by one load for all who wait. `parse`
   * reads the request; it is not called for a URL seen before. Only 200s are kept. `pay` takes the points first.
   */
  answer(req: Request, res: Response, asked: Asked): void | Promise<void>
}

interface Asked {
  parse: () => CacheableRead
  pay: (points: number) => void
}

/** Caches the answers of open reads, of a bounded size, for one version of the read model. */
export function openCachedReads(readModel: ReadModelVersion, takeTurn: TakeTurn): CachedReads {
  const cache = openVersionedCache<CompressibleBody>({ readModel, maxBytes: 64 * 1024 * 1024 })
  const encodingOf = encodingReader()
  /** URL as written → the name of its read in ETags, and its price. Bounded by size, because URLs may be long. */
  const known = new LRUCache<string, { name: string; points: number }>({
    maxSize: 4 * 1024 * 1024,
    sizeCalculation: (_, url) => url.length + 128,
  })

  /** Sends a read, or 304. */
  function send(
    req: Request,
    res: Response,
    name: string,
    { value, version }: Versioned<CompressibleBody>,
  ): void | Promise<void> {
    const etag = tagOf(version, name)
    if (isNoneMatchMet(req.headers['if-none-match'], etag)) return sendNotModified(res, etag)
    if (value.isPassing) res.setHeader('Cache-Control', 'no-store')
    else setKept(res, etag)
    return sendBody(req, res, value, { type: JSON_TYPE, encoding: encodingOf(req) })
  }

  /** 304 from the version alone, without a load; else the answer. */
  async function find(req: Request, res: Response, name: string, toRead: () => CacheableRead): Promise<void> {
    const version = await cache.version()
    const etag = tagOf(version, name)
    const condition = req.headers['if-none-match']
    // `*` asks whether there is an answer at all, which the version does not say.
    if (isNoneMatchMet(condition, etag) && !isAny(condition)) return sendNotModified(res, etag)
    const { address } = contextOf(req)
    const asked = { key: name, subject: address }
    await send(req, res, name, await keptOrInTurn({ kept: cache, takeTurn }, asked, () => toBody(toRead())))
  }

  return {
    answer(req, res, { parse, pay }) {
      const seen = known.get(req.originalUrl)
      if (seen) {
        pay(seen.points)
        const kept = cache.peek(seen.name)
        return kept ? send(req, res, seen.name, kept) : find(req, res, seen.name, parse)
      }
      const read = parse()
      pay(read.points)
      const name = hash('sha256', read.key, 'base64url').slice(0, 22)
      known.set(req.originalUrl, { name, points: read.points })
      return find(req, res, name, () => read)
    },
  }
}

async function toBody({ load }: CacheableRead): Promise<CompressibleBody> {
  const loaded = await load()
  const isPassing = 'passing' in loaded
  return new CompressibleBody(JSON.stringify(isPassing ? loaded.passing : loaded), { isPassing })
}

const JSON_TYPE = 'application/json; charset=utf-8'
const READ_CACHE_CONTROL = 'public, max-age=300, s-maxage=300, stale-while-revalidate=60, stale-if-error=600'

const tagOf = (version: string, name: string) => `W/"${version}-${name}"`

function sendNotModified(res: Response, etag: string): void {
  setKept(res, etag)
  res.statusCode = 304
  res.end()
}

function setKept(res: Response, etag: string): void {
  res.setHeader('ETag', etag)
  res.setHeader('Cache-Control', READ_CACHE_CONTROL)
  res.setHeader('Vary', 'Accept-Encoding')
}

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

export interface Versioned<V> {
  value: V
  version: string
}

export interface VersionedCache<V extends object> {
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
  keeps = (value) => !(value instanceof CompressibleBody && value.isPassing),
}: {
  readModel: ReadModelVersion
  maxBytes: number
  /** In bytes. */
  sizeOf?: (value: V) => number
  /** Whether a loaded value may be kept at all. Absent: what is not passing may. */
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
