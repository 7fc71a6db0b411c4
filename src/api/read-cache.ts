import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Request, Response } from 'express'
import { LRUCache } from 'lru-cache'

const brotli = promisify(brotliCompress)
const gzipped = promisify(gzip)

export const READ_CACHE_CONTROL = 'public, max-age=300, s-maxage=300, stale-while-revalidate=60, stale-if-error=600'
const COMPRESS_FROM_BYTES = 1024

interface Answer {
  etag: string
  body: Buffer
  encoded: Map<'br' | 'gzip', Promise<Buffer>>
}

export interface ReadCache {
  /**
   * Answers an open read: 304 from the version alone, else from memory, else by asking once however many wait. `key` names the route and its canonical query.
   * Only 200s are kept.
   */
  answer(req: Request, res: Response, key: string, load: () => Promise<unknown>): Promise<void>
}

/**
 * A bounded cache of finished bodies (`maxBytes`), valid for one version of the read model. `versionTtlMs` is how long a version is believed without asking
 * again: what one instance may lag, far below the edge's five minutes.
 */
export function createReadCache(version: () => Promise<string>, options: { maxBytes?: number; versionTtlMs?: number } = {}): ReadCache {
  const { maxBytes = 64 * 1024 * 1024, versionTtlMs = 1_000 } = options
  const answers = new LRUCache<string, Answer>({ maxSize: maxBytes, sizeCalculation: (entry) => entry.body.length * 2 + 512 })
  const loading = new Map<string, Promise<Answer>>()
  const hashes = new LRUCache<string, string>({ max: 10_000 })
  const current = memoized(version, versionTtlMs)

  function find(etag: string, load: () => Promise<unknown>): Answer | Promise<Answer> {
    const known = answers.get(etag)
    if (known) return known
    const underway = loading.get(etag)
    if (underway) return underway
    const fresh = load()
      .then((value) => {
        const answer = { etag, body: Buffer.from(JSON.stringify(value)), encoded: new Map() }
        answers.set(etag, answer)
        return answer
      })
      .finally(() => loading.delete(etag))
    loading.set(etag, fresh)
    return fresh
  }

  return {
    async answer(req, res, key, load) {
      let hash = hashes.get(key)
      if (hash === undefined) {
        hash = createHash('sha256').update(key).digest('base64url').slice(0, 22)
        hashes.set(key, hash)
      }
      const etag = `W/"${await current()}-${hash}"`
      if (matches(req.headers['if-none-match'], etag)) {
        setReadHeaders(res, etag)
        res.statusCode = 304
        res.end()
        return
      }
      const answer = await find(etag, load)
      setReadHeaders(res, etag)
      res.setHeader('Content-Type', 'application/json; charset=utf-8')
      const encoding =
        answer.body.length < COMPRESS_FROM_BYTES || !req.headers['accept-encoding'] ? undefined : req.acceptsEncodings('br', 'gzip')
      const body = encoding === 'br' || encoding === 'gzip' ? await encoded(answer, encoding) : answer.body
      if (body !== answer.body) res.setHeader('Content-Encoding', encoding as string)
      res.setHeader('Content-Length', body.length)
      res.end(req.method === 'HEAD' ? undefined : body)
    },
  }
}

/** What every open read's 200 and 304 carries. */
export function setReadHeaders(res: Response, etag: string): void {
  res.setHeader('ETag', etag)
  res.setHeader('Cache-Control', READ_CACHE_CONTROL)
  res.setHeader('Vary', 'Accept-Encoding')
}

/** RFC 9110 13.1.2: weak comparison over a list, `*` matches anything. */
export function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch === etag || ifNoneMatch.trim() === '*') return true
  const bare = etag.replace(/^W\//, '')
  return ifNoneMatch.split(',').some((candidate) => candidate.trim().replace(/^W\//, '') === bare)
}

function encoded(answer: Answer, encoding: 'br' | 'gzip'): Promise<Buffer> {
  let body = answer.encoded.get(encoding)
  if (!body) {
    body = encoding === 'br' ? brotli(answer.body, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }) : gzipped(answer.body)
    answer.encoded.set(encoding, body)
  }
  return body
}

function memoized(ask: () => Promise<string>, ttlMs: number): () => Promise<string> | string {
  let value: string | undefined
  let until = 0
  let asking: Promise<string> | undefined
  return () => {
    if (value !== undefined && performance.now() < until) return value
    asking ??= ask()
      .then((fresh) => {
        value = fresh
        until = performance.now() + ttlMs
        return fresh
      })
      .finally(() => {
        asking = undefined
      })
    return asking
  }
}
