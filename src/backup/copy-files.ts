import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { MediaStore } from '../media/media-store.ts'
import { damaged } from './failure.ts'
import { folderOf, listBackups, type Manifest, readManifest, type StoredFile } from './manifest.ts'
import { decompress, linesOf, Measure, putCompressed } from './streams.ts'

/** Copies at once. Enough to keep a bucket busy and a disk's queue filled. */
export const COPIES_AT_ONCE = 8

interface Side {
  store: MediaStore
  key: string
}

/**
 * Copies one file. Undefined when the source does not have it. A file at the destination stays when it has the source's
 * content, or the given content: then it is not new. A source without the given content is not copied: its own
 * checksum is returned.
 */
export async function copyFile(
  from: Side,
  to: Side,
  { present, sha256 }: { present: boolean; sha256?: string | undefined },
): Promise<(Content & { isNew: boolean }) | undefined> {
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

/** A file of the media store in a backup, sorted by key in its lists. */
export interface ListedFile {
  key: string
  bytes: number
  /** Null where the file stays in the service's own bucket. */
  sha256: string | null
}

/** A list is written when it has this many files, so that an interrupted backup can continue from it. */
const LIST_FILES = 10_000

/** Where a backup keeps the copy of a file. All backups of a place share it: a key names its content. */
export function copyOf(key: string): string {
  return `files/${key}`
}

function listKey(name: string, n: number): string {
  return `${folderOf(name)}/files-${String(n).padStart(6, '0')}.ndjson.zst`
}

/** Writes the lists of a backup. Give it the files in the order of their keys. */
export function openListWriter(place: MediaStore, name: string) {
  const lists: (StoredFile & { files: number })[] = []
  let lines: string[] = []
  async function flush(): Promise<void> {
    if (lines.length === 0) return
    // A list is written only once the files that it names are durable.
    await place.settle?.()
    const body = Readable.from([Buffer.from(`${lines.join('\n')}\n`)])
    const files = lines.length
    lines = []
    lists.push({ ...(await putCompressed(place, listKey(name, lists.length + 1), body)), files })
  }
  return {
    async add(file: ListedFile): Promise<void> {
      lines.push(JSON.stringify(file))
      if (lines.length >= LIST_FILES) await flush()
    },
    async end(): Promise<typeof lists> {
      await flush()
      return lists
    },
  }
}

/** The files of a backup in the order of their keys. @throws BackupFailure when a list is not as it was written */
export async function* listFiles(place: MediaStore, { images }: Manifest): AsyncGenerator<ListedFile> {
  for (const list of images.lists) yield* readList(place, list)
}

/** The files of one list. Without its checksum it may be any list. */
async function* readList(
  place: MediaStore,
  { file, bytes, sha256 }: Pick<StoredFile, 'file'> & Partial<StoredFile>,
): AsyncGenerator<ListedFile> {
  const body = await place.open(file)
  if (!body) throw damaged(`${file} is missing`)
  const { content, measure, done } = decompress(body)
  try {
    for await (const line of linesOf(content)) yield JSON.parse(line) as ListedFile
    await done
  } catch (error) {
    if (error instanceof SyntaxError || /zstd/i.test(String((error as { code?: unknown }).code)))
      throw damaged(`${file} cannot be read`)
    throw error
  }
  if (sha256 !== undefined && (measure.bytes !== bytes || measure.sha256() !== sha256))
    throw damaged(`${file} has another checksum`)
}

/**
 * The files that earlier backups of the place have copied: the newest whole backup, and the interrupted ones after it.
 * A list that cannot be read is skipped: its files are hashed again.
 */
export async function openKnownFiles(place: MediaStore) {
  const all = await listBackups(place)
  const newest = all.findLastIndex(({ whole }) => whole)
  const sources: AsyncGenerator<ListedFile>[] = []
  for (const { name, whole } of all.slice(Math.max(newest, 0)))
    sources.push(readAll(place, await listsOf(place, name, whole)))
  return findIn(sources)
}

/** Finds files in sorted lists, which are read side by side. Ask for keys in order. */
export async function findIn(sources: readonly AsyncGenerator<ListedFile>[]) {
  const heads = await Promise.all(sources.map(advance))
  return {
    async find(key: string): Promise<ListedFile | undefined> {
      let found: ListedFile | undefined
      for (let n = 0; n < sources.length; n++) {
        while (heads[n] && heads[n]!.key < key) heads[n] = await advance(sources[n]!)
        if (heads[n]?.key === key && heads[n]!.sha256 !== null) found = heads[n]
      }
      return found
    },
  }
}

async function advance(source: AsyncGenerator<ListedFile>): Promise<ListedFile | undefined> {
  const next = await source.next()
  return next.done ? undefined : next.value
}

async function* readAll(place: MediaStore, files: string[]): AsyncGenerator<ListedFile> {
  for (const file of files) {
    try {
      yield* readList(place, { file })
    } catch {
      return
    }
  }
}

async function listsOf(place: MediaStore, name: string, whole: boolean): Promise<string[]> {
  if (whole) {
    const manifest = await readManifest(place, name).catch(() => undefined)
    return manifest?.images.lists.map(({ file }) => file) ?? []
  }
  const files: string[] = []
  for await (const { key } of place.list(`${folderOf(name)}/`))
    if (/\/files-\d+\.ndjson\.zst$/.test(key)) files.push(key)
  return files.sort()
}
