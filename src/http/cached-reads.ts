import { hash } from 'node:crypto'
import type { Request, Response } from 'express'
import { LRUCache } from 'lru-cache'
import { canonicalKey, readParameters } from '../parameters.ts'
import { contextOf } from './edge.ts'
import type { Answer, Endpoint, Given, Input, Methodless } from './endpoint.ts'
import type { LocalLimits } from './rate-limit/rate-limits.ts'
import { CompressibleBody, encodingReader, isAny, isNoneMatchMet, sendBody } from './response-body.ts'
import {
  keptOrInTurn,
  openVersionedCache,
  type ReadModelVersion,
  type TakeTurn,
  type Versioned,
} from './versioned-cache.ts'

interface ReadOptions<O extends Methodless> {
  /** The query in its shortest form, so that equal queries share an answer. */
  canonical?: (query: Input<O>['query']) => Input<O>['query']
  /** Throws for path parameters that cannot name anything. Runs after the query is parsed, so a 400 wins over a 404. */
  check?: (params: Input<O>['params']) => void
  /** Points beyond the operation's own when the answer is not in memory. */
  coldPoints?: (query: Input<O>['query']) => number
}

/** Declares a GET whose answer is loaded once for equal questions and cached until the library changes. */
export function cachedRead<D, const O extends Methodless & { scope?: undefined }>(
  operation: O,
  load: (deps: D, input: Pick<Input<O>, 'params' | 'query'>) => Promise<Answer<O>>,
  { canonical = (query) => query, check, coldPoints }: ReadOptions<O> = {},
): Endpoint<D & { cache: CachedReads }, Given<O>, Answer<O>> {
  const { path, parameters = {} } = operation
  return {
    ...operation,
    method: 'get',
    cached: true,
    act: (deps, given) => load(deps, { params: {}, query: {}, ...given } as Input<O>),
    toHandler: (deps) => {
      const read = (req: Request): CacheableRead => {
        const query = canonical(readParameters(req.originalUrl, parameters) as Input<O>['query'])
        const params = req.params as Input<O>['params']
        check?.(params)
        return {
          key: `${path} ${Object.values(req.params).join(' ')} ${canonicalKey(query)}`,
          load: () => load(deps, { params, query }) as Promise<object>,
          coldPoints: coldPoints?.(query) ?? 0,
        }
      }
      return (req, res) => deps.cache.answer(req, res, () => read(req))
    },
  }
}

/** A parsed read. Equal reads have equal keys, however their URLs are written. */
interface CacheableRead {
  key: string
  load: () => Promise<object>
  /** Points beyond its route's when it is not in memory. */
  coldPoints: number
}

export interface CachedReads {
  /**
   * Answers an open read: 304 from the version alone, else from memory, else by one load for all who wait. `parse`
   * reads the request; it is not called for a URL seen before. Only 200s are kept.
   */
  answer(req: Request, res: Response, parse: () => CacheableRead): void | Promise<void>
}

interface CachedReadsOptions {
  takeTurn: TakeTurn
  limits: LocalLimits
}

/** Caches the answers of open reads, of a bounded size, for one version of the read model. */
export function openCachedReads(readModel: ReadModelVersion, { takeTurn, limits }: CachedReadsOptions): CachedReads {
  const cache = openVersionedCache<CompressibleBody>({ readModel, maxBytes: 64 * 1024 * 1024 })
  const encodingOf = encodingReader()
  /** URL as written → the name of its read in ETags. Bounded by size, because URLs may be long. */
  const names = new LRUCache<string, string>({
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
    setKept(res, etag)
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
    if (!cache.isKept(name, version)) {
      const { coldPoints } = toRead()
      if (coldPoints > 0) limits.consumeLocally('anonymous', address, coldPoints)
    }
    const asked = { key: name, subject: address }
    await send(req, res, name, await keptOrInTurn({ kept: cache, takeTurn }, asked, () => toBody(toRead())))
  }

  return {
    answer(req, res, parse) {
      const known = names.get(req.originalUrl)
      const kept = known === undefined ? undefined : cache.peek(known)
      if (kept) return send(req, res, known!, kept)
      if (known !== undefined) return find(req, res, known, parse)
      const read = parse()
      const name = hash('sha256', read.key, 'base64url').slice(0, 22)
      names.set(req.originalUrl, name)
      return find(req, res, name, () => read)
    },
  }
}

const toBody = async ({ load }: CacheableRead) => new CompressibleBody(JSON.stringify(await load()))

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
