import { createHash } from 'node:crypto'

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

/** Derived from the canonical source: 60 bits of the SHA-256 of its key, as 12 characters of Crockford's base 32. */
export function videoIdOf(sourceKey: string): string {
  const digest = createHash('sha256').update(sourceKey).digest()
  let bits = BigInt(`0x${digest.subarray(0, 8).toString('hex')}`) >> 4n
  let id = ''
  for (let n = 0; n < 12; n++) {
    id = ALPHABET[Number(bits & 31n)] + id
    bits >>= 5n
  }
  return id
}

/** Derived from the video and the instant: `<video id>-<milliseconds in base 36>`. */
export function frameIdOf(videoId: string, tMs: number): string {
  return `${videoId}-${tMs.toString(36)}`
}
