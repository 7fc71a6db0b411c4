import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { AppError, invalid } from '../errors.ts'

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
