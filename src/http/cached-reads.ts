import { hash } from 'node:crypto'
import type { Request, Response } from 'express'
import { LRUCache } from 'lru-cache'
import { contextOf } from './edge.ts'
import type { LocalLimits } from './rate-limit/spend.ts'
import { CompressibleBody, encodingReader, isAny, isNoneMatchMet, sendBody } from './response-body.ts'
import { keptOrInTurn, type TakeTurn } from './search-concurrency.ts'
import { openVersionedCache, type ReadModelVersion, type Versioned } from './versioned-cache.ts'

const READ_CACHE_CONTROL = 'public, max-age=300, s-maxage=300, stale-while-revalidate=60, stale-if-error=600'

/** A parsed read. Equal reads have equal keys, however their URLs are written. */
export interface CacheableRead {
  key: string
  load: () => Promise<object>
  /** Per-request answer (`debug=1`): never cached. */
  once?: boolean
  /** Points beyond its route's when it is not in memory. */
  coldPoints?: number
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
  maxBytes?: number | undefined
}

/** Caches the answers of open reads, bounded by `maxBytes`, for one version of the read model. */
export function openCachedReads(
  readModel: ReadModelVersion,
  { takeTurn, limits, maxBytes = 64 * 1024 * 1024 }: CachedReadsOptions,
): CachedReads {
  const cache = openVersionedCache<CompressibleBody>({ readModel, maxBytes })
  /** URL as written → the name of its read in ETags. Bounded by size, because URLs may be long. */
  const names = new LRUCache<string, string>({
    maxSize: 4 * 1024 * 1024,
    sizeCalculation: (_, url) => url.length + 128,
  })

  const encodingOf = encodingReader()

  /**
   * Sends a read, or 304. A missing version means that the engine changed meanwhile: then no cache may keep the answer.
   */
  function send(req: Request, res: Response, name: string, { value, version }: Versioned<CompressibleBody>) {
    if (version === undefined) res.setHeader('Cache-Control', 'no-store')
    else {
      const etag = tagOf(version, name)
      if (isNoneMatchMet(req.headers['if-none-match'], etag)) return sendNotModified(res, etag)
      setKept(res, etag)
    }
    return sendBody(req, res, value, { type: JSON_TYPE, encoding: encodingOf(req) })
  }

  /** 304 from the version alone, without a load; else the answer. */
  async function find(req: Request, res: Response, name: string, toRead: () => CacheableRead): Promise<void> {
    const version = await cache.version()
    const etag = tagOf(version, name)
    const condition = req.headers['if-none-match']
    // `*` asks whether there is an answer at all, which the version does not say.
    if (isNoneMatchMet(condition, etag) && !isAny(condition)) return sendNotModified(res, etag)
    if (!cache.isKept(name, version)) chargeSearch(req, toRead())
    const asked = { key: name, subject: contextOf(req).address }
    await send(req, res, name, await keptOrInTurn({ kept: cache, takeTurn }, asked, () => toBody(toRead())))
  }

  function chargeSearch(req: Request, { coldPoints = 0 }: CacheableRead): void {
    if (coldPoints > 0) limits.consumeLocally('anonymous', contextOf(req).address, coldPoints)
  }

  async function answerOnce(req: Request, res: Response, read: CacheableRead): Promise<void> {
    chargeSearch(req, read)
    const value = await takeTurn(contextOf(req).address, () => toBody(read))
    await send(req, res, '', { value, version: undefined })
  }

  return {
    answer(req, res, parse) {
      const known = names.get(req.originalUrl)
      const kept = known === undefined ? undefined : cache.peek(known)
      if (kept) return send(req, res, known!, kept)
      if (known !== undefined) return find(req, res, known, parse)
      const read = parse()
      if (read.once) return answerOnce(req, res, read)
      const name = hash('sha256', read.key, 'base64url').slice(0, 22)
      names.set(req.originalUrl, name)
      return find(req, res, name, () => read)
    },
  }
}

const toBody = async ({ load }: CacheableRead) => new CompressibleBody(JSON.stringify(await load()))

const JSON_TYPE = 'application/json; charset=utf-8'

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
