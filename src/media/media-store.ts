import type { Readable } from 'node:stream'
import { AppError } from '../errors.ts'

/**
 * Holds images and uploads, in a folder or in an S3 bucket. Keys are our own (`frames/<video>/<instant>-<hash>.webp`,
 * `uploads/<hash>`). Both stores refuse a key that could point outside.
 */
export interface MediaStore {
  /**
   * Durable when it resolves. A repeat replaces.
   * @throws AppError payload_too_large when the body exceeds `maxBytes`; then nothing is kept
   */
  put(
    key: string,
    body: Buffer | Readable,
    contentType: string,
    options?: { maxBytes?: number },
  ): Promise<{ bytes: number }>
  get(key: string): Promise<Buffer | undefined>
  /** `part`: the first and the last of its bytes; absent: all. */
  open(key: string, part?: { start: number; end: number }): Promise<Readable | undefined>
  stat(key: string): Promise<{ bytes: number } | undefined>
  /** Succeeds when there is nothing. */
  delete(key: string): Promise<void>
  list(prefix: string): AsyncIterable<{ key: string; bytes: number; modifiedAt: Date }>
  /** Deletes everything below a folder. `prefix` ends with a slash. */
  deletePrefix(prefix: string): Promise<void>
  /** Absent where only a `put` shows it. @throws StorageFull when the next `put` would be refused */
  requireRoom?(): Promise<void>
  /** Free and total space of its disk; undefined where that is unknown, as in a bucket. */
  room(): Promise<{ freeBytes: number; totalBytes: number } | undefined>
  /**
   * Frees what a `put` below a folder left behind when its process was killed before a time; returns how much. Absent
   * where such remains are listed as files.
   */
  freeUnfinished?(prefix: string, before: Date): Promise<number>
  /** Makes durable what was put since the last call. Absent where each `put` does so itself. */
  settle?(): Promise<void>
}

const KEY = /^[a-z0-9]+(?:[a-z0-9._-]*[a-z0-9])?(?:\/[a-z0-9]+(?:[a-z0-9._-]*[a-z0-9])?)*$/

/** Accepts our own keys only: no `..`, no absolute path, nothing that file systems and URLs read differently. */
export function checkKey(key: string): string {
  if (!isKey(key)) throw new Error('bad storage key')
  return key
}

export function isKey(key: string): boolean {
  return key.length <= 300 && KEY.test(key) && !key.includes('..')
}

export function checkPrefix(prefix: string): string {
  if (!prefix.endsWith('/')) throw new Error('bad storage prefix')
  return `${checkKey(prefix.slice(0, -1))}/`
}

export function tooLarge(maxBytes: number): AppError {
  const limitMb = Math.floor(maxBytes / 1024 / 1024)
  return new AppError('payload_too_large', `The file is larger than the ${limitMb} MB allowed. Use a smaller one.`)
}
