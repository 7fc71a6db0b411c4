import { statfs } from 'node:fs/promises'
import { AppError } from '../errors.ts'

/** Kept free for the databases and logs beside the library: this much, or a twentieth of a small disk. */
const FLOOR_BYTES = 500 * 1024 * 1024
const FLOOR_SHARE = 1 / 20

const RETRY_AFTER_SEC = 60

/** The place for images and uploads is full: nothing can be added, and what is there can be read. */
export class StorageFull extends AppError {
  readonly place: 'disk' | 'bucket'

  constructor(place: 'disk' | 'bucket', cause: unknown) {
    super(
      'unavailable',
      `The ${place} of the library is full, so nothing can be added now. Free some space, then try again.`,
      { retryAfterSec: RETRY_AFTER_SEC, cause },
    )
    this.place = place
  }
}

/** Whether the disk has no room for a file that was being written. */
export function isDiskFull(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown }
  return code === 'ENOSPC' || code === 'EDQUOT'
}

/** @throws StorageFull when the disk of this folder has less free space than is kept. */
export async function requireRoom(folder: string): Promise<void> {
  const { bsize, blocks, bavail } = await statfs(folder)
  const floor = Math.min(FLOOR_BYTES, blocks * bsize * FLOOR_SHARE)
  const free = bavail * bsize
  if (free < floor) throw new StorageFull('disk', new Error(`${free} bytes are free, ${Math.round(floor)} are kept`))
}

/** The free and total space of the disk of this folder; undefined before anything was written there. */
export async function roomOf(folder: string): Promise<{ freeBytes: number; totalBytes: number } | undefined> {
  try {
    const { bsize, blocks, bavail } = await statfs(folder)
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
  } catch {
    return undefined
  }
}
