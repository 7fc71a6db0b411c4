import { hash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Request, Response } from 'express'
import { LRUCache } from 'lru-cache'
import type { Shortcut } from './app.ts'

const brotli = promisify(brotliCompress)
const gzipped = promisify(gzip)

export const READ_CACHE_CONTROL = 'public, max-age=300, s-maxage=300, stale-while-revalidate=60, stale-if-error=600'
const COMPRESS_FROM_BYTES = 1024

interface Answer {
  body: Buffer
  /** Filled in when first asked for. */
  compressed: Partial<Record<Encoding, Buffer>>
  compressing: Partial<Record<Encoding, Promise<Buffer>>>
}
type Encoding = 'br' | 'gzip'

/** A question with its canonical name; equal questions, however they are written, have equal keys. */
export interface Question {
  key: string
  /** What to answer, or the JSON of it. */
  load: () => Promise<object | string>
  /** The answer tells of this very request: it is neither taken from memory nor kept by anybody. */
  once?: boolean
}

export interface ReadCache {
  /**
   * Answers an open read: 304 from the version alone, else from memory, else by asking once however many wait. `parse` reads the request; it is not called for an
   * address whose question is known. Only 200s are kept.
   */
  answer(req: Request, res: Response, parse: () => Question): Promise<void>
  /**
   * Stands in front of all else: answers at once what needs no waiting (an address that is known, with version, body and encoding in memory), and asks itself
   * what `questionAt` can read. `refused` is asked before an answer. Whatever fails is left to the routers, who ask again and say what is wrong.
   */
  inFront(options: {
    refused: (req: IncomingMessage) => boolean
    questionAt: (url: string) => Question | undefined
  }): Shortcut
}

/**
 * A bounded cache of finished bodies (`maxBytes`), valid for one version of the read model. `versionTtlMs` is how long a version is believed without asking
 * again: what one instance may lag, far below the edge's five minutes. An answer during which `engineEpoch` has changed is nobody's to keep.
 */
export function createReadCache(
  version: () => Promise<string>,
  options: { maxBytes?: number; versionTtlMs?: number; engineEpoch?: (() => number) | undefined } = {},
): ReadCache {
  const { maxBytes = 64 * 1024 * 1024, versionTtlMs = 1_000, engineEpoch = () => 0 } = options
  // Twice the body: its compressed forms are kept beside it.
  const answers = new LRUCache<string, Answer>({
    maxSize: maxBytes,
    sizeCalculation: (entry) => entry.body.length * 2 + 512,
  })
  const loading = new Map<string, Promise<Answer>>()
  /** Address as it was written → its question's name in ETags. Addresses may be long, so they are bounded by size. */
  const names = new LRUCache<string, string>({
    maxSize: 4 * 1024 * 1024,
    sizeCalculation: (_, address) => address.length + 128,
  })
  const preferences = new LRUCache<string, Encoding | 'identity'>({
    maxSize: 256 * 1024,
    sizeCalculation: (_, header) => header.length + 64,
  })
  const current = memoized(version, versionTtlMs, engineEpoch)

  function find(etag: string, load: () => Promise<object | string>, engine: number): Answer | Promise<Answer> {
    const known = answers.get(etag)
    if (known) return known
    const asked = `${engine} ${etag}`
    const underway = loading.get(asked)
    if (underway) return underway
    const fresh = load()
      .then((value) => {
        const answer: Answer = { body: Buffer.from(jsonOf(value)), compressed: {}, compressing: {} }
        if (engineEpoch() === engine) answers.set(etag, answer)
        return answer
      })
      .finally(() => loading.delete(asked))
    loading.set(asked, fresh)
    return fresh
  }

  /** Notes the address, which is known from now on. */
  function nameOf(address: string, question: Question): string {
    const name = hash('sha256', question.key, 'base64url').slice(0, 22)
    names.set(address, name)
    return name
  }

  /** Nothing is written before all is there that can fail. */
  async function respond(
    req: IncomingMessage,
    res: ServerResponse,
    headers: readonly string[],
    {
      name,
      load,
      encoding: preferred,
    }: { name: string; load: Question['load']; encoding: () => Encoding | 'identity' },
  ): Promise<void> {
    const engine = engineEpoch()
    const etag = `W/"${await current()}-${name}"`
    const condition = req.headers['if-none-match']
    // `*` asks whether there is an answer at all, which the version does not tell.
    if (condition !== undefined && condition.trim() !== '*' && isMet(condition, etag))
      return notModified(res, etag, headers)
    const answer = await find(etag, load, engine)
    const isNamed = engineEpoch() === engine
    if (isNamed && isMet(condition, etag)) return notModified(res, etag, headers)
    const encoding = answer.body.length < COMPRESS_FROM_BYTES ? 'identity' : preferred()
    const body = encoding === 'identity' ? answer.body : await encoded(answer, encoding)
    sendBody(req, res, isNamed ? etag : undefined, body, encoding, headers)
  }

  function encodingFor(req: Request): Encoding | 'identity' {
    const header = req.headers['accept-encoding'] ?? ''
    let encoding = preferences.get(header as string)
    if (encoding === undefined) {
      const best = header === '' ? 'identity' : req.acceptsEncodings('br', 'gzip')
      encoding = best === 'br' || best === 'gzip' ? best : 'identity'
      preferences.set(header as string, encoding)
    }
    return encoding
  }

  return {
    async answer(req, res, parse) {
      let question: Question | undefined
      let name = names.get(req.originalUrl)
      if (name === undefined) {
        question = parse()
        if (question.once) {
          const body = await question.load()
          res.set('Cache-Control', 'no-store').type('json').send(jsonOf(body))
          return
        }
        name = nameOf(req.originalUrl, question)
      }
      await respond(req, res, [], { name, load: () => (question ?? parse()).load(), encoding: () => encodingFor(req) })
    },

    inFront({ refused, questionAt }) {
      /** False where the routers know better: an address that cannot be read, an encoding that was never asked for. */
      function begin(req: IncomingMessage, res: ServerResponse, headers: readonly string[], next: () => void): boolean {
        const encoding = preferences.get((req.headers['accept-encoding'] as string | undefined) ?? '')
        const question = encoding && readable(() => questionAt(req.url!))
        if (!encoding || !question || question.once || refused(req)) return false
        const asked = {
          name: names.get(req.url!) ?? nameOf(req.url!, question),
          load: question.load,
          encoding: () => encoding,
        }
        respond(req, res, headers, asked).catch(next)
        return true
      }

      return (req, res, headers, next) => {
        if (req.method !== 'GET' && req.method !== 'HEAD') return false
        const name = names.get(req.url!)
        const version = name === undefined ? undefined : current()
        if (typeof version !== 'string') {
          // Whoever comes to await it is told; here nobody does.
          version?.catch(() => undefined)
          return begin(req, res, headers, next)
        }
        const etag = `W/"${version}-${name}"`
        const answer = answers.get(etag)
        if (!answer) return begin(req, res, headers, next)
        const isUnchanged = isMet(req.headers['if-none-match'], etag)
        let encoding: Encoding | 'identity' | undefined = 'identity'
        let body: Buffer | undefined = answer.body
        if (!isUnchanged && body.length >= COMPRESS_FROM_BYTES) {
          encoding = preferences.get((req.headers['accept-encoding'] as string | undefined) ?? '')
          if (encoding !== 'identity') body = encoding && answer.compressed[encoding]
        }
        if (!encoding || !body || refused(req)) return false
        if (isUnchanged) notModified(res, etag, headers)
        else sendBody(req, res, etag, body, encoding, headers)
        return true
      }
    },
  }
}

function readable<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

const jsonOf = (value: object | string) => (typeof value === 'string' ? value : JSON.stringify(value))

function notModified(res: ServerResponse, etag: string, headers: readonly string[] = []): void {
  res.writeHead(304, [...headers, 'ETag', etag, ...KEPT])
  res.end()
}

function sendBody(
  req: IncomingMessage,
  res: ServerResponse,
  /** Undefined for what nobody may keep. */
  etag: string | undefined,
  body: Buffer,
  encoding: Encoding | 'identity',
  headers: readonly string[] = [],
): void {
  const kept = etag === undefined ? ['Cache-Control', 'no-store'] : ['ETag', etag, ...KEPT]
  const all = [...headers, ...kept, ...JSON_TYPE, 'Content-Length', String(body.length)]
  if (encoding !== 'identity') all.push('Content-Encoding', encoding)
  res.writeHead(200, all)
  res.end(req.method === 'HEAD' ? undefined : body)
}

const JSON_TYPE = ['Content-Type', 'application/json; charset=utf-8'] as const
/** What every open read's 200 and 304 carries beside its ETag. */
const KEPT = ['Cache-Control', READ_CACHE_CONTROL, 'Vary', 'Accept-Encoding'] as const

/** Whether If-None-Match names this answer (RFC 9110 13.1.2: weak comparison over a list, `*` matches anything). */
export function isMet(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch === etag || ifNoneMatch.trim() === '*') return true
  // Our tags hold no comma, so cutting at commas cannot make one match that does not.
  const bare = etag.replace(/^W\//, '')
  return ifNoneMatch.split(',').some((candidate) => candidate.trim().replace(/^W\//, '') === bare)
}

async function encoded(answer: Answer, encoding: Encoding): Promise<Buffer> {
  answer.compressing[encoding] ??=
    encoding === 'br' ? brotli(answer.body, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }) : gzipped(answer.body)
  const body = await answer.compressing[encoding]
  answer.compressed[encoding] = body
  return body
}

/** Asks at most every `ttlMs` while `of` is the same, once however many wait. */
export function memoized(
  ask: () => Promise<string>,
  ttlMs: number,
  of: () => number = () => 0,
): () => Promise<string> | string {
  let known: { value: string; until: number; of: number } | undefined
  let asking: { answer: Promise<string>; of: number } | undefined
  return () => {
    const now = of()
    if (known?.of === now && performance.now() < known.until) return known.value
    if (asking?.of === now) return asking.answer
    const answer = ask()
      .then((value) => {
        known = { value, until: performance.now() + ttlMs, of: now }
        return value
      })
      .finally(() => {
        if (asking?.answer === answer) asking = undefined
      })
    asking = { answer, of: now }
    return answer
  }
}
