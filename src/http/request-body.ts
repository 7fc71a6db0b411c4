import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import express, { type Request, type RequestHandler, type Response } from 'express'
import type { Db, Tx } from '../db/client.ts'
import { AppError, invalid } from '../errors.ts'
import { runIdempotently, type StoredResponse } from '../library/accounts/idempotency.ts'
import { callerOf } from './authenticate.ts'

const MAX_BODY_BYTES = 256 * 1024
const parse = express.json({ limit: MAX_BODY_BYTES, strict: true, verify: requireUtf8 })

/**
 * Reads a JSON body; an absent one is undefined. Comes after requireScope, so that a caller without a key learns
 * nothing about the body.
 */
export const jsonBody: RequestHandler = (req, res, next) => {
  const hasBody = req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0
  if (hasBody && !req.is('application/json'))
    throw new AppError('unsupported_media_type', 'The body must be JSON. Send Content-Type: application/json.')
  refuseDeclared(req, MAX_BODY_BYTES)
  parse(req, res, next)
}

/** The form of an `Idempotency-Key`. */
export const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/

/** Runs a POST in one transaction and answers it; with an `Idempotency-Key` at most once. */
export async function answerPost(
  db: Db,
  { req, res, locationOf }: { req: Request; res: Response; locationOf: ((body: unknown) => string) | undefined },
  act: (tx: Tx) => Promise<StoredResponse>,
): Promise<void> {
  const send = ({ status, body }: StoredResponse) => {
    if (locationOf) res.location(locationOf(body))
    res.status(status).json(body)
  }
  const accountId = callerOf(req).account.id
  const key = req.get('Idempotency-Key')
  if (key === undefined) {
    send(await db.transactionOf(accountId, act))
    return
  }
  if (!IDEMPOTENCY_KEY.test(key))
    throw invalid('Idempotency-Key', 'An Idempotency-Key has 1 to 255 visible ASCII characters.')
  const request = `${req.method} ${req.path}\n${JSON.stringify(req.body ?? null)}`
  const answer = await runIdempotently(db, { accountId, key, request }, act)
  if (answer.replayed) res.set('Idempotent-Replayed', 'true')
  send(answer)
}

/** As `verify` of Express' body parsers too. Broken bytes would be stored or searched as replacement signs. */
export function requireUtf8(_req: unknown, _res: unknown, body: Buffer, encoding = 'utf-8'): void {
  if (encoding === 'utf-8' && !isUtf8(body)) throw invalid('body', 'The request body is not UTF-8. Send it as UTF-8.')
}

/** For a text whose bytes are not at hand: a replacement sign stands where they were broken. */
export function troubleWithText(text: string): string | undefined {
  return text.includes('\uFFFD') ? 'is not UTF-8; send it as UTF-8, without the replacement sign U+FFFD' : undefined
}

/**
 * Refuses a body by its declared length. Express' parsers read a body to its end before they say that it is too large.
 * Its sender would wait for that, and a slow one is cut off without an answer.
 */
export function refuseDeclared(req: IncomingMessage, max: number): void {
  if (Number(req.headers['content-length']) > max)
    throw new AppError('payload_too_large', `The request body is too large. Send at most ${max} bytes.`)
}
