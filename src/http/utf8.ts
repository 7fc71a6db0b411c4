import { isUtf8 } from 'node:buffer'
import { invalid } from '../errors.ts'

/** As `verify` of Express' body parsers too. Broken bytes would be stored or searched as replacement signs. */
export function requireUtf8(_req: unknown, _res: unknown, body: Buffer, encoding = 'utf-8'): void {
  if (encoding === 'utf-8' && !isUtf8(body)) throw invalid('body', 'The request body is not UTF-8. Send it as UTF-8.')
}

/** For a text whose bytes are not at hand: a replacement sign stands where they were broken. */
export function troubleWithText(text: string): string | undefined {
  return text.includes('\uFFFD') ? 'is not UTF-8; send it as UTF-8, without the replacement sign U+FFFD' : undefined
}
