import { Readable } from 'node:stream'
import type { MediaStore } from '../media/media-store.ts'
import { folderOf, listBackups, readManifest, type StoredFile } from './manifest.ts'
import { decompress, linesOf, putCompressed } from './streams.ts'

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

export interface ListWriter {
  add(file: ListedFile): Promise<void>
  end(): Promise<(StoredFile & { files: number })[]>
}

/** Writes the lists of a backup. Give it the files in the order of their keys. */
export function openListWriter(place: MediaStore, name: string): ListWriter {
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
    async add(file) {
      lines.push(JSON.stringify(file))
      if (lines.length >= LIST_FILES) await flush()
    },
    async end() {
      await flush()
      return lists
    },
  }
}

/** The files of one list. Calls `check` with its size and checksum when all of it was read. */
export async function* readList(
  place: MediaStore,
  file: string,
  check?: (bytes: number, sha256: string) => void,
): AsyncGenerator<ListedFile> {
  const body = await place.open(file)
  if (!body) throw new MissingList(file)
  const { content, measure, done } = decompress(body)
  for await (const line of linesOf(content)) yield JSON.parse(line) as ListedFile
  await done
  check?.(measure.bytes, measure.sha256())
}

export class MissingList extends Error {
  readonly file: string
  constructor(file: string) {
    super(`the list ${file} is missing`)
    this.file = file
  }
}

/** Finds a file by its key. Ask for keys in order. */
export interface KnownFiles {
  find(key: string): Promise<ListedFile | undefined>
}

/**
 * The files that earlier backups of the place have copied: the newest whole backup, and the interrupted ones after it.
 * A list that cannot be read is skipped: its files are hashed again.
 */
export async function openKnownFiles(place: MediaStore): Promise<KnownFiles> {
  const all = await listBackups(place)
  const newest = all.findLastIndex(({ whole }) => whole)
  const sources: AsyncGenerator<ListedFile>[] = []
  for (const { name, whole } of all.slice(Math.max(newest, 0)))
    sources.push(readAll(place, await listsOf(place, name, whole)))
  return findIn(sources)
}

/** Finds files in sorted lists, which are read side by side. */
export async function findIn(sources: readonly AsyncGenerator<ListedFile>[]): Promise<KnownFiles> {
  const heads = await Promise.all(sources.map(advance))
  return {
    async find(key) {
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
      yield* readList(place, file)
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
