import { createHash } from 'node:crypto'
import type { MediaStore } from '../media/media-store.ts'
import { Measure } from './streams.ts'

/** Copies at once. Enough to keep a bucket busy and a disk's queue filled. */
export const COPIES_AT_ONCE = 8

export interface Copied {
  bytes: number
  sha256: string
  /** False when the destination had the file already. */
  isNew: boolean
}

interface Side {
  store: MediaStore
  key: string
}

/**
 * Copies one file. Undefined when the source does not have it. A file at the destination stays when it has the source's
 * content, or the given content. A source without the given content is not copied: its own checksum is returned.
 */
export async function copyFile(
  from: Side,
  to: Side,
  { present, sha256 }: { present: boolean; sha256?: string | undefined },
): Promise<Copied | undefined> {
  if (present) {
    const [there, wanted] = await Promise.all([measureFile(to), sha256 ?? measureFile(from).then((it) => it?.sha256)])
    if (there && there.sha256 === wanted) return { ...there, isNew: false }
  }
  // Images are small. What people upload may be large and is streamed.
  const copied = from.key.includes('uploads/') ? await stream(from, to, sha256) : await copyWhole(from, to, sha256)
  return copied && { ...copied, isNew: true }
}

interface Content {
  bytes: number
  sha256: string
}

async function copyWhole(from: Side, to: Side, expected: string | undefined): Promise<Content | undefined> {
  const body = await from.store.get(from.key)
  if (!body) return undefined
  const content = { bytes: body.length, sha256: createHash('sha256').update(body).digest('hex') }
  if (expected === undefined || expected === content.sha256) await to.store.put(to.key, body, 'image/webp')
  return content
}

async function stream(from: Side, to: Side, expected: string | undefined): Promise<Content | undefined> {
  const body = await from.store.open(from.key)
  if (!body) return undefined
  const measure = new Measure()
  body.once('error', (error) => measure.destroy(error))
  await to.store.put(to.key, body.pipe(measure), 'application/octet-stream')
  const content = { bytes: measure.bytes, sha256: measure.sha256() }
  if (expected !== undefined && expected !== content.sha256) await to.store.delete(to.key)
  return content
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

/**
 * Takes items in the order of their keys and handles them folder by folder, several at once. Each call gets the sizes
 * of the files that `store` has in that folder. It holds one folder in memory at a time.
 */
export async function forEachFolder<T extends { key: string }>(
  items: AsyncIterable<T>,
  { store, toKey }: { store: MediaStore; toKey: (key: string) => string },
  act: (folder: T[], present: Map<string, number>) => Promise<void>,
): Promise<void> {
  let folder: T[] = []
  let path: string | undefined
  const settle = async () => {
    if (path === undefined) return
    const present = new Map<string, number>()
    for await (const { key, bytes } of store.list(`${toKey(path)}/`)) present.set(key, bytes)
    await act(folder, present)
    folder = []
  }
  for await (const item of items) {
    const parent = item.key.slice(0, item.key.lastIndexOf('/'))
    if (parent !== path) await settle()
    path = parent
    folder.push(item)
  }
  await settle()
}
