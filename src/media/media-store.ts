import type { Readable } from 'node:stream'

/**
 * Where images and uploads lie: a folder or an S3 bucket. Keys are made by us (`frames/<video>/<instant>-<hash>.webp`, `uploads/<hash>`); a key that could leave
 * its place is refused by every driver.
 */
export interface MediaStore {
  /** Durable when it resolves; a repeat replaces. @throws AppError payload_too_large when a stream passes `maxBytes` (nothing is kept then). */
  put(
    key: string,
    body: Buffer | Readable,
    contentType: string,
    options?: { maxBytes?: number },
  ): Promise<{ bytes: number }>
  get(key: string): Promise<Buffer | undefined>
  open(key: string): Promise<Readable | undefined>
  stat(key: string): Promise<{ bytes: number } | undefined>
  /** Silent when there is nothing. */
  delete(key: string): Promise<void>
  list(prefix: string): AsyncIterable<{ key: string; bytes: number; modifiedAt: Date }>
  /** Everything below a folder; `prefix` ends with a slash. */
  deletePrefix(prefix: string): Promise<void>
}

const KEY = /^[a-z0-9]+(?:[a-z0-9._-]*[a-z0-9])?(?:\/[a-z0-9]+(?:[a-z0-9._-]*[a-z0-9])?)*$/

/** Our own keys only: no way up, no absolute path, nothing a file system or a URL reads in two ways. */
export function checkKey(key: string): string {
  if (key.length > 300 || !KEY.test(key) || key.includes('..')) throw new Error('bad storage key')
  return key
}

export function checkPrefix(prefix: string): string {
  if (!prefix.endsWith('/')) throw new Error('bad storage prefix')
  return `${checkKey(prefix.slice(0, -1))}/`
}
