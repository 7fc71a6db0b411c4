import { Readable, type Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { brotliCompress, constants, createBrotliCompress, createGzip, gzip } from 'node:zlib'
import type { Request, Response } from 'express'
import { LRUCache } from 'lru-cache'
import { oneAtATime } from '../turns.ts'

/** Brotli's effort for bodies that a client waits for. Its default, 11, is meant for files compressed once. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }

const compress = {
  br: (bytes: Buffer) => promisify(brotliCompress)(bytes, BROTLI),
  gzip: (bytes: Buffer) => promisify(gzip)(bytes),
}
export type Encoding = keyof typeof compress

/** Smaller bodies are sent as they are. */
const COMPRESS_FROM_BYTES = 1024

/** A finished body. Each compressed form is made once, when it is first asked for, and kept with it. */
export class CompressibleBody {
  readonly bytes: Buffer
  /** Nobody may keep it. */
  readonly isPassing: boolean
  readonly #forms: { [encoding in Encoding]?: Buffer | Promise<Buffer> } = {}

  constructor(content: string | Buffer, { isPassing = false } = {}) {
    this.isPassing = isPassing
    this.bytes = typeof content === 'string' ? Buffer.from(content) : content
  }

  as(encoding: Encoding): Buffer | Promise<Buffer> {
    this.#forms[encoding] ??= compress[encoding](this.bytes).then(
      (form) => {
        this.#forms[encoding] = form
        return form
      },
      (error: unknown) => {
        delete this.#forms[encoding]
        throw error
      },
    )
    return this.#forms[encoding]
  }
}

/** The encoding that a client prefers; undefined for a body as it is. */
export function preferredEncoding(req: Request): Encoding | undefined {
  if (!req.headers['accept-encoding']) return undefined
  const best = req.acceptsEncodings('br', 'gzip')
  return best === 'br' || best === 'gzip' ? best : undefined
}

/** `preferredEncoding` with a memory of the headers seen: parsing one costs a sixth of a warm read. */
export function encodingReader(): typeof preferredEncoding {
  const known = new LRUCache<string, Encoding | 'identity', Request>({
    max: 200,
    memoMethod: (_header, _known, { context }) => preferredEncoding(context) ?? 'identity',
  })
  return (req) => {
    const header = String(req.headers['accept-encoding'] ?? '')
    if (header === '' || header.length > 200) return preferredEncoding(req)
    const preferred = known.memo(header, { context: req })
    return preferred === 'identity' ? undefined : preferred
  }
}

/** Sends a body in an encoding, which is made first where it is not there yet. A warm read waits for no promise. */
export function sendBody(
  req: Request,
  res: Response,
  body: CompressibleBody,
  { type, encoding }: { type: string; encoding: Encoding | undefined },
): void | Promise<void> {
  const used = body.bytes.length < COMPRESS_FROM_BYTES ? undefined : encoding
  const send = (bytes: Buffer) => {
    res.setHeader('Content-Type', type)
    res.setHeader('Content-Length', bytes.length)
    if (used !== undefined) res.setHeader('Content-Encoding', used)
    res.end(req.method === 'HEAD' ? undefined : bytes)
  }
  const form = used === undefined ? body.bytes : body.as(used)
  if (form instanceof Promise) return form.then(send)
  send(form)
}

export async function sendJson(req: Request, res: Response, body: CompressibleBody): Promise<void> {
  res.vary('Accept-Encoding')
  await sendBody(req, res, body, { type: 'application/json; charset=utf-8', encoding: preferredEncoding(req) })
}

const compressors: Record<Encoding, () => Transform> = {
  br: () => createBrotliCompress(BROTLI),
  gzip: () => createGzip(),
}

/**
 * Streams a body of any length: the next piece is made when the client has read the previous one. The first piece is
 * made before the headers are sent, so that an error in it gets an error response.
 */
export type SendPieces = (req: Request, res: Response, pieces: AsyncIterable<string>, type: string) => Promise<void>

/**
 * Long answers of one process, of which an account sends one at a time. One piece is made at a time, followed by a
 * pause three times as long. So three quarters of the time are left to other requests, however many there are.
 */
export function openLongAnswers(takeTurn: (exchange: { req: Request; res: Response }) => Promise<void>): SendPieces {
  const inTurn = oneAtATime({ rest: 3 })
  return async (req, res, pieces, type) => {
    await takeTurn({ req, res })
    await sendPieces(req, res, paced(pieces, inTurn), type)
  }
}

async function* paced(
  pieces: AsyncIterable<string>,
  inTurn: <T>(make: () => Promise<T>) => Promise<T>,
): AsyncGenerator<string> {
  const iterator = pieces[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await inTurn(() => iterator.next())
      if (next.done) return
      yield next.value
    }
  } finally {
    await iterator.return?.()
  }
}

async function sendPieces(req: Request, res: Response, pieces: AsyncIterable<string>, type: string): Promise<void> {
  const iterator = pieces[Symbol.asyncIterator]()
  const first = await iterator.next()
  const encoding = preferredEncoding(req)
  res.vary('Accept-Encoding')
  res.setHeader('Content-Type', type)
  if (encoding) res.setHeader('Content-Encoding', encoding)
  if (req.method === 'HEAD') {
    await iterator.return?.()
    res.end()
    return
  }
  const body = Readable.from(from(first, iterator))
  try {
    await (encoding ? pipeline(body, compressors[encoding](), res) : pipeline(body, res))
  } catch (error) {
    if (!isClientGone(error)) throw error
  }
}

/** A client that leaves is not an error, during the answer or just before it. */
export function isClientGone(error: unknown): boolean {
  return ['ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_UNABLE_TO_PIPE'].includes((error as { code: string }).code)
}

async function* from(first: IteratorResult<string>, iterator: AsyncIterator<string>): AsyncGenerator<string> {
  try {
    for (let next = first; !next.done; next = await iterator.next()) yield next.value
  } finally {
    await iterator.return?.()
  }
}

/**
 * Whether If-None-Match names this answer (RFC 9110, 13.1.2: weak comparison over a list; `*` matches anything).
 * Our tags contain no comma, so cutting the list at commas cannot make a false match.
 */
export function isNoneMatchMet(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch === etag || isAny(ifNoneMatch)) return true
  const bare = etag.replace(/^W\//, '')
  return ifNoneMatch.split(',').some((candidate) => candidate.trim().replace(/^W\//, '') === bare)
}

/** Whether If-None-Match is `*`. */
export function isAny(ifNoneMatch: string | undefined): boolean {
  return ifNoneMatch?.trim() === '*'
}
