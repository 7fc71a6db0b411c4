import type { IncomingMessage } from 'node:http'
import { AppError } from '../errors.ts'

/**
 * Refuses a body by its declared length. Express' parsers read a body to its end before they say that it is too large.
 * Its sender would wait for that, and a slow one is cut off without an answer.
 */
export function refuseDeclared(req: IncomingMessage, max: number): void {
  if (Number(req.headers['content-length']) > max)
    throw new AppError('payload_too_large', `The request body is too large. Send at most ${max} bytes.`)
}
