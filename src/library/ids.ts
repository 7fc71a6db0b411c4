import { createHash, randomInt } from 'node:crypto'
import { frameIdOfImage } from '../media/image-name.ts'
import { type SQL, sql } from '../sql/orm.ts'

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

/** Hex. Only for high-entropy secrets: there is no salt and no stretching. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

const ID = /^[0-9A-Za-z_-]{1,64}$/

/** False for text that no id can be. Postgres rejects some of it (NUL) even as a parameter. */
export function isId(text: string): boolean {
  return ID.test(text)
}

/** A `text[]` parameter without duplicates and without text that no id can be. */
export function idArray(ids: readonly string[]): SQL {
  return sql`${sql.param([...new Set(ids)].filter(isId))}::text[]`
}

/** The frame id in a reference to a frame: an id, the address of its image, or the address of its page. */
export function frameIdIn(text: string): string {
  const given = text.trim()
  const [path = ''] = given.split(/[?#]/)
  const name = /(?:^|\/)([^/]+\.webp)$/.exec(path)?.[1]
  return (name && frameIdOfImage(name)) ?? /\/frames\/([\w-]+)(?:\/\w+)?\/?$/.exec(path)?.[1] ?? given
}

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
