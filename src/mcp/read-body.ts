import express, { type Request, type Response } from 'express'
import { requireUtf8 } from '../http/utf8.ts'

export const MAX_BODY_BYTES = 256 * 1024

const parse = express.text({ type: () => true, limit: MAX_BODY_BYTES, defaultCharset: 'utf-8', verify: requireUtf8 })

/** Reads the body as text. @throws as body-parser, AppError for what is not UTF-8 */
export function readBody(req: Request, res: Response): Promise<string> {
  return new Promise((resolve, reject) => {
    // The parser answers for a body that is too large only once it has read all of it.
    if (Number(req.headers['content-length']) > MAX_BODY_BYTES) return reject({ type: 'entity.too.large' })
    parse(req, res, (error?: unknown) => (error ? reject(error) : resolve(req.body ?? '')))
  })
}
