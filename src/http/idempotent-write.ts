import express, { type Request, type RequestHandler, type Response } from 'express'
import type { Db, Tx } from '../db/client.ts'
import { AppError, invalid } from '../errors.ts'
import { runIdempotently, type StoredResponse } from '../library/accounts/idempotency.ts'
import { callerOf } from './authenticate.ts'

const parse = express.json({ limit: '256kb', strict: true })

/**
 * Reads a JSON body; an absent one is undefined. Comes after requireScope, so that a caller without a key learns
 * nothing about the body.
 */
export const jsonBody: RequestHandler = (req, res, next) => {
  const hasBody = req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0
  if (hasBody && !req.is('application/json'))
    throw new AppError('unsupported_media_type', 'The body must be JSON. Send Content-Type: application/json.')
  parse(req, res, next)
}

/** Runs a POST in one transaction and answers it; with an `Idempotency-Key` at most once. */
export async function answerPost(
  db: Db,
  req: Request,
  res: Response,
  act: (tx: Tx) => Promise<StoredResponse>,
): Promise<void> {
  const accountId = callerOf(req).account.id
  const key = req.get('Idempotency-Key')
  if (key === undefined) {
    const answer = await db.transactionOf(accountId, act)
    res.status(answer.status).json(answer.body)
    return
  }
  if (!/^[\x21-\x7e]{1,255}$/.test(key))
    throw invalid('Idempotency-Key', 'An Idempotency-Key has 1 to 255 visible ASCII characters.')
  const request = `${req.method} ${req.path}\n${JSON.stringify(req.body ?? null)}`
  const answer = await runIdempotently(db, { accountId, key, request }, act)
  if (answer.replayed) res.set('Idempotent-Replayed', 'true')
  res.status(answer.status).json(answer.body)
}
