import { type EnqueuedTaskPromise, Meilisearch } from 'meilisearch'
import { DOCUMENT_KINDS, type DocumentChanges, type DocumentKind } from '../library-search.ts'
import type { MeiliOptions } from './connection.ts'
import { createIndex, hasSettings, indexExists, succeeded, unlessMissing } from './indexes.ts'
import { INDEXES, idOf, indexName, indexOf, keyOf, SETTINGS, type StoredDocument, toStored } from './settings.ts'

/** Indexes of an earlier layout, dropped by the next rebuild. */
const OUTDATED = ['videos', 'brands', 'techniques'] as const
/** Documents and bytes per task. A task costs about the same for one document as for thousands. */
const CHUNK = 10_000
/** The server accepts bodies of 100 MB by default. */
const CHUNK_BYTES = 32 * 1024 * 1024

/** The mirror's indexes. Every write resolves when the engine's task has succeeded, and its documents can be found. */
export interface MeiliSink {
  apply(changes: DocumentChanges): Promise<void>
  /** Id and revision of every document, in batches. */
  revisions(kind: DocumentKind): AsyncIterable<{ id: string; revision: string }[]>
  /** False when an index is missing or has settings of another version. */
  intact(): Promise<boolean>
  /** Number of documents. */
  count(kind: DocumentKind): Promise<number>
  /** Creates a second, empty set of indexes. Readers see it only after `swap`. */
  beginRebuild(): Promise<RebuildTarget>
}

interface RebuildTarget {
  apply(changes: DocumentChanges): Promise<void>
  swap(): Promise<void>
  abandon(): Promise<void>
}

/** `key` must have the right to manage indexes. */
export function openMeiliSink({ url, key, prefix = 'library' }: MeiliOptions): MeiliSink {
  const access = { host: url, ...(key === undefined ? {} : { apiKey: key }) }
  const client = new Meilisearch({ ...access, timeout: 120_000 })
  // Checks take no time. One that hangs must not delay the next.
  const checking = new Meilisearch({ ...access, timeout: 10_000 })
  let prepared = false

  async function ensureIndexes(): Promise<void> {
    if (prepared) return
    for (const index of INDEXES) {
      const name = indexName(prefix, index)
      if (!(await indexExists(checking, name))) await createIndex(client, name, SETTINGS[index])
    }
    prepared = true
  }

  return {
    async apply(changes) {
      await ensureIndexes()
      await applyTo(client, (index) => indexName(prefix, index), changes)
    },
    async *revisions(kind) {
      const name = indexName(prefix, indexOf(kind))
      if (!(await indexExists(checking, name))) return
      const index = client.index<StoredDocument>(name)
      const filter = kind === 'frames' ? {} : { filter: `kind = ${kind}` }
      for (let offset = 0; ; ) {
        const { results } = await index.getDocuments({ fields: ['key', 'revision'], limit: 5_000, offset, ...filter })
        if (results.length === 0) return
        yield results.map((document) => ({ id: idOf(kind, document.key), revision: document.revision }))
        offset += results.length
      }
    },
    async intact() {
      for (const index of INDEXES) {
        const now = await unlessMissing(checking.index(indexName(prefix, index)).getSettings())
        if (!hasSettings(now, SETTINGS[index])) return false
      }
      return true
    },
    async count(kind) {
      const index = checking.index(indexName(prefix, indexOf(kind)))
      if (kind === 'frames') return (await unlessMissing(index.getStats()))?.numberOfDocuments ?? 0
      const found = await unlessMissing(index.search('', { limit: 0, facets: ['kind'] }))
      return found?.facetDistribution?.kind?.[kind] ?? 0
    },
    beginRebuild: () =>
      beginRebuild(client, checking, prefix, () => {
        prepared = false
        return ensureIndexes()
      }),
  }
}

async function beginRebuild(
  client: Meilisearch,
  checking: Meilisearch,
  prefix: string,
  ensureLive: () => Promise<void>,
): Promise<RebuildTarget> {
  const drop = async (name: string) => {
    if (await indexExists(checking, name)) await succeeded(client.deleteIndex(name))
  }
  const nextOf = (index: (typeof INDEXES)[number]) => `${indexName(prefix, index)}_next`
  for (const index of INDEXES) {
    await drop(nextOf(index))
    await createIndex(client, nextOf(index), SETTINGS[index])
  }
  const dropNext = async () => {
    for (const index of INDEXES) await drop(nextOf(index))
  }
  return {
    apply: (changes) => applyTo(client, nextOf, changes),
    async swap() {
      await ensureLive()
      const pairs = INDEXES.map((index): [string, string] => [indexName(prefix, index), nextOf(index)])
      await succeeded(client.swapIndexes(pairs.map((indexes) => ({ indexes, rename: false }))))
      await dropNext()
      for (const kind of OUTDATED) await drop(`${prefix}_${kind}`)
    },
    abandon: dropNext,
  }
}

async function applyTo(
  client: Meilisearch,
  nameOf: (index: (typeof INDEXES)[number]) => string,
  { put, remove }: DocumentChanges,
): Promise<void> {
  const tasks: Promise<void>[] = []
  // Waits until a task is accepted: the engine works on it while the next one is prepared.
  const begin = async (task: EnqueuedTaskPromise) => {
    const done = succeeded(task)
    done.catch(() => undefined)
    tasks.push(done)
    await task.catch(() => undefined)
  }
  for (const name of INDEXES) {
    const index = client.index(nameOf(name))
    const kinds = DOCUMENT_KINDS.filter((kind) => indexOf(kind) === name)
    const gone = kinds.flatMap((kind) => (remove[kind] ?? []).map((id) => keyOf(kind, id)))
    for (let from = 0; from < gone.length; from += CHUNK)
      await begin(index.deleteDocuments(gone.slice(from, from + CHUNK)))
    const stored = kinds.flatMap((kind) => (put[kind] ?? []).map((document) => toStored(kind, document)))
    // With the primary key named, an index deleted a moment ago comes back without settings, which starts a rebuild.
    for (const lines of chunksOf(stored))
      await begin(index.addDocumentsFromString(lines, 'application/x-ndjson', { primaryKey: 'key' }))
  }
  const results = await Promise.allSettled(tasks)
  for (const result of results) if (result.status === 'rejected') throw result.reason
}

/** Bodies of tasks as lines of JSON, bounded in documents and bytes. A larger document makes a body of its own. */
export function* chunksOf(documents: readonly object[]): Iterable<string> {
  let lines: string[] = []
  let bytes = 0
  for (const document of documents) {
    const line = JSON.stringify(document)
    const size = Buffer.byteLength(line)
    if (lines.length === CHUNK || (lines.length > 0 && bytes + size > CHUNK_BYTES)) {
      yield lines.join('\n')
      lines = []
      bytes = 0
    }
    lines.push(line)
    bytes += size + 1
  }
  if (lines.length > 0) yield lines.join('\n')
}
