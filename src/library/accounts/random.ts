import { createHash, randomInt } from 'node:crypto'

export const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Unbiased; 5.95 bits per character. */
export function randomBase62(length: number): string {
  let text = ''
  for (let n = 0; n < length; n++) text += BASE62[randomInt(62)]
  return text
}

/** 95 bits: opaque, short, safe in a path. */
export function randomId(): string {
  return randomBase62(16)
}

/** Of high-entropy secrets only: no salt, no stretching needed. Hex. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
