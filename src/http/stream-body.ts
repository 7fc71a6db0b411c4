import { Readable, type Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { createBrotliCompress, createGzip } from 'node:zlib'
import type { Request, Response } from 'express'
import { BROTLI, type Encoding, preferredEncoding } from './compressed-body.ts'

const compressors: Record<Encoding, () => Transform> = {
  br: () => createBrotliCompress(BROTLI),
  gzip: () => createGzip(),
}

export interface LongAnswers {
  /**
   * Streams a body of any length: the next piece is made when the client has read the previous one. The first piece is
   * made before the headers are sent, so that an error in it gets an error response.
   */
  send(req: Request, res: Response, pieces: AsyncIterable<string>, type: string): Promise<void>
}

/**
 * Long answers of one process. One piece is made at a time, followed by a pause three times as long. So three quarters
 * of the time are left to other requests, however many long answers there are.
 */
export function openLongAnswers(): LongAnswers {
  let turn: Promise<unknown> = Promise.resolve()

  function inTurn<T>(make: () => Promise<T>): Promise<T> {
    const made = turn.then(async () => {
      const started = performance.now()
      const piece = await make()
      return { piece, tookMs: performance.now() - started }
    })
    turn = made.then(
      ({ tookMs }) => sleep(3 * tookMs),
      () => undefined,
    )
    return made.then(({ piece }) => piece)
  }

  return { send: (req, res, pieces, type) => sendPieces(req, res, paced(pieces, inTurn), type) }
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
