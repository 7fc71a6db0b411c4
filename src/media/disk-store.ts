import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat, statfs } from 'node:fs/promises'
import { dirname, join, resolve, sep } from 'node:path'
import type { Readable } from 'node:stream'
import { AppError } from '../errors.ts'
import { checkKey, checkPrefix, type MediaStore, tooLarge } from './media-store.ts'

/**
 * A media store in a folder. A file appears whole or not at all: temporary name, fsync, rename. With `syncLater` the
 * fsync comes with `settle`: copying many small files then takes a third of the time.
 */
export function openDiskStore(root: string, { syncLater = false }: { syncLater?: boolean } = {}): MediaStore {
  const base = resolve(root)
  const unsettled = new Set<string>()

  function pathOf(key: string): string {
    return join(base, ...checkKey(key).split('/'))
  }

  function toKey(path: string): string {
    return path
      .slice(base.length + 1)
      .split(sep)
      .join('/')
  }

  /** Reads one folder at a time, so that a library of millions of frames never fills the memory. */
  async function* walk(folder: string, prefix: string): AsyncGenerator<string> {
    const inside = `${toKey(folder)}/`
    if (folder !== base && !inside.startsWith(prefix) && !prefix.startsWith(inside)) return
    const entries = (await absent(readdir(folder, { withFileTypes: true }))) ?? []
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (entry.isDirectory()) yield* walk(join(folder, entry.name), prefix)
      else if (entry.isFile()) yield join(folder, entry.name)
    }
  }

  return {
    async put(key, body, _contentType, { maxBytes = Number.POSITIVE_INFINITY } = {}) {
      const path = pathOf(key)
      const temporary = `${path}.${randomBytes(6).toString('hex')}.part`
      const file = await begin(temporary)
      try {
        const bytes = Buffer.isBuffer(body)
          ? await writeBuffer(file, body, maxBytes)
          : await writeStream(file, dirname(path), body, maxBytes)
        if (!syncLater) await file.sync()
        await file.close()
        await rename(temporary, path)
        if (syncLater) unsettled.add(path)
        else await sync(dirname(path))
        return { bytes }
      } catch (error) {
        await file.close().catch(() => undefined)
        await rm(temporary, { force: true })
        throw isDiskFull(error) ? new StorageFull('disk', error) : error
      }
    },
    get: (key) => absent(readFile(pathOf(key))),
    async open(key, part) {
      const path = pathOf(key)
      return (await absent(stat(path))) ? createReadStream(path, part) : undefined
    },
    async stat(key) {
      const found = await absent(stat(pathOf(key)))
      return found && { bytes: found.size }
    },
    delete: (key) => rm(pathOf(key), { force: true }),
    async *list(prefix) {
      const folder = prefix.slice(0, Math.max(prefix.lastIndexOf('/'), 0))
      for await (const path of walk(folder === '' ? base : pathOf(folder), prefix)) {
        const key = toKey(path)
        const found = key.startsWith(prefix) ? await absent(stat(path)) : undefined
        if (found) yield { key, bytes: found.size, modifiedAt: found.mtime }
      }
    },
    async deletePrefix(prefix) {
      await rm(pathOf(checkPrefix(prefix).slice(0, -1)), { recursive: true, force: true })
    },
    async requireRoom() {
      await mkdir(base, { recursive: true })
      await requireRoom(base)
    },
    // Nothing is known of it before anything was written there.
    room: () => spaceOf(base).catch(() => undefined),
    async settle() {
      const files = [...unsettled]
      unsettled.clear()
      const folders = new Set(files.map((path) => dirname(path)))
      // Several at once: the disk writes them together. A file that was deleted meanwhile needs no sync.
      for (const paths of [files, folders]) await forEachAtOnce(16, paths, (path) => absent(sync(path)))
    },
  }
}

/** Runs `act` on each item, at most `limit` at a time. After a failure it takes no more items. */
export async function forEachAtOnce<T>(
  limit: number,
  items: Iterable<T> | AsyncIterable<T>,
  act: (item: T) => Promise<void>,
): Promise<void> {
  const iterator = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]()
  let failed = false
  const lane = async () => {
    try {
      for (let next = await iterator.next(); !next.done && !failed; next = await iterator.next()) await act(next.value)
    } catch (error) {
      failed = true
      throw error
    }
  }
  await Promise.all(Array.from({ length: limit }, lane))
}

/** Creates the file with its folder. @throws StorageFull */
async function begin(path: string): Promise<FileHandle> {
  try {
    await mkdir(dirname(path), { recursive: true })
    await requireRoom(dirname(path))
    return await open(path, 'wx')
  } catch (error) {
    throw isDiskFull(error) ? new StorageFull('disk', error) : error
  }
}

/** For a file and for a folder: a rename is durable only after its folder is synced. */
async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function writeBuffer(file: FileHandle, body: Buffer, maxBytes: number): Promise<number> {
  if (body.length > maxBytes) throw tooLarge(maxBytes)
  await file.writeFile(body)
  return body.length
}

/** An upload checks the free space each time it has written this much. */
const LOOK_EVERY_BYTES = 8 * 1024 * 1024

/** Each write is handed to another thread. Few large ones leave more of the processors to others. */
const WRITE_BYTES = 1024 * 1024

async function writeStream(file: FileHandle, folder: string, body: Readable, maxBytes: number): Promise<number> {
  let bytes = 0
  let lookedAt = 0
  let gathered: Buffer[] = []
  let gatheredBytes = 0
  const write = async () => {
    const chunks = gathered
    gathered = []
    gatheredBytes = 0
    await writeAll(file, chunks)
  }
  for await (const chunk of body) {
    bytes += (chunk as Buffer).length
    if (bytes > maxBytes) throw tooLarge(maxBytes)
    gathered.push(chunk as Buffer)
    gatheredBytes += (chunk as Buffer).length
    if (gatheredBytes < WRITE_BYTES) continue
    await write()
    if (bytes - lookedAt < LOOK_EVERY_BYTES) continue
    await requireRoom(folder)
    lookedAt = bytes
  }
  await write()
  return bytes
}

/** A disk that has no room for all takes a part without an error; the next write shows it. */
async function writeAll(file: FileHandle, chunks: Buffer[]): Promise<void> {
  if (chunks.length === 0) return
  const { bytesWritten } = await file.writev(chunks)
  const whole = chunks.reduce((sum, { length }) => sum + length, 0)
  if (bytesWritten < whole) await file.writeFile(Buffer.concat(chunks).subarray(bytesWritten))
}

/** The promise's value; undefined when the file does not exist. */
async function absent<T>(promise: Promise<T>): Promise<T | undefined> {
  try {
    return await promise
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw error
  }
}

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
  const { freeBytes, totalBytes } = await spaceOf(folder)
  const floor = Math.min(FLOOR_BYTES, totalBytes * FLOOR_SHARE)
  if (freeBytes < floor)
    throw new StorageFull('disk', new Error(`${freeBytes} bytes are free, ${Math.round(floor)} are kept`))
}

async function spaceOf(folder: string): Promise<{ freeBytes: number; totalBytes: number }> {
  const { bsize, blocks, bavail } = await statfs(folder)
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
}
