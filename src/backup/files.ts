import { createHash } from 'node:crypto'
import { pipeline } from 'node:stream'
import { createZstdDecompress } from 'node:zlib'
import type { MediaStore } from '../media/media-store.ts'
import { damaged } from './failure.ts'
import type { Manifest } from './manifest.ts'
import { type Content, linesOf, Measure, putStream } from './streams.ts'

/** Copies at once. Enough to keep a bucket busy and a disk's queue filled. */
export const COPIES_AT_ONCE = 8

/** A file of the media store in the list of a backup. */
export interface ListedFile extends Content {
  key: string
}

/** Where a place keeps the copy of a file. All its backups share it: a key names its content. */
export function copyOf(key: string): string {
  return `files/${key}`
}

interface Side {
  store: MediaStore
  key: string
}

/** Copies one file. With `expected`, another content is not copied. Undefined when the source does not have it. */
export async function copyFile(from: Side, to: Side, expected?: Content): Promise<Content | undefined> {
  const body = await from.store.open(from.key)
  if (!body) return undefined
  const type = from.key.includes('uploads/') ? 'application/octet-stream' : 'image/webp'
  return putStream(to.store, to.key, [body], { type, expected: expected && { file: from.key, ...expected } })
}

/** Reads a file for its size and checksum. Undefined when it is not there. */
export async function measureFile({ store, key }: Side): Promise<Content | undefined> {
  const body = await store.open(key)
  if (!body) return undefined
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of body) {
    bytes += (chunk as Buffer).length
    hash.update(chunk as Buffer)
  }
  return { bytes, sha256: hash.digest('hex') }
}

/** The files of a backup. @throws BackupFailure when their list is not as it was written */
export async function* listFiles(place: MediaStore, { images: { list } }: Manifest): AsyncGenerator<ListedFile> {
  const body = await place.open(list.file)
  if (!body) throw damaged(`${list.file} is missing`)
  // An error of any of them ends the last, whose reader gets it.
  const content = pipeline(body, new Measure(list), createZstdDecompress(), () => undefined)
  try {
    for await (const line of linesOf(content)) yield JSON.parse(line) as ListedFile
  } catch (error) {
    if (error instanceof SyntaxError || /zstd/i.test(String((error as { code?: unknown }).code)))
      throw damaged(`${list.file} cannot be read`)
    throw error
  }
}
