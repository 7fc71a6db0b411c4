import { hash } from 'node:crypto'
import type { Request, Response } from 'express'
import { LRUCache } from 'lru-cache'
import { canonicalKey, readParameters } from '../parameters.ts'
import { contextOf } from './edge.ts'
import { type Answer, type Endpoint, type Given, type Input, type Methodless, priceOf } from './endpoint.ts'
import { PRICES } from './rate-limit/budgets.ts'
import { charge } from './rate-limit/rate-limits.ts'
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
  /** Whether the query raises the price to that of a write. */
  raises?: (query: Input<O>['query']) => boolean
}

/** Declares a GET whose answer is loaded once for equal questions and cached until the library changes. */
export function cachedRead<D, const O extends Methodless & { scope?: undefined }>(
  operation: O,
  load: (deps: D, input: Pick<Input<O>, 'params' | 'query'>) => Promise<Answer<O>>,
  { canonical = (query) => query, check, raises = () => false }: ReadOptions<O> = {},
): Endpoint<D & { cache: CachedReads }, Given<O>, Answer<O>> {
  const { path, parameters = {} } = operation
  const usual = PRICES[priceOf({ ...operation, method: 'get' })]
  return {
    ...operation,
    method: 'get',
    cached: true,
    act: (deps, given) => load(deps, { params: {}, query: {}, ...given } as Input<O>),
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
