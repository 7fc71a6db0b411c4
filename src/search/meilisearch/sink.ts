import { isDeepStrictEqual } from 'node:util'
import {
  type EnqueuedTaskPromise,
  Meilisearch,
  MeilisearchApiError,
  MeilisearchError,
  type Settings,
} from 'meilisearch'
import type { DocumentChanges, DocumentKind, DocumentSink } from '../library-search.ts'
import { INDEXES, type Index, idOf, indexOf, keyOf, SETTINGS, type StoredDocument, toStored } from './settings.ts'

/** Indexes of an earlier layout. */
const ONCE = ['videos', 'brands', 'techniques'] as const
const KINDS: readonly DocumentKind[] = ['frames', 'videos', 'brands', 'techniques']
/** Of one task, which costs about the same for one document as for thousands; the server takes bodies of 100 MB unless told otherwise. */
const CHUNK = 10_000
const CHUNK_BYTES = 32 * 1024 * 1024
const TASK_TIMEOUT_MS = 300_000

export interface MeiliOptions {
  url: string
  /** Undefined for a server without a master key. */
  key: string | undefined
  /** Names the indexes `<prefix>_frames` and so on; `library` unless told. */
  prefix?: string
}

export interface MeiliSink extends DocumentSink {
  /** False when an index is missing or was set up otherwise than this version does. */
  intact(): Promise<boolean>
  /** Documents held. */
  count(kind: DocumentKind): Promise<number>
}

export const indexName = (prefix: string, index: Index) => `${prefix}_${index}`

/** Writes to Meilisearch with a key that may manage indexes. Every call resolves when the engine's task has succeeded, not when it was accepted. */
export function openMeiliSink({ url, key, prefix = 'library' }: MeiliOptions): MeiliSink {
  const access = { host: url, ...(key === undefined ? {} : { apiKey: key }) }
  const client = new Meilisearch({ ...access, timeout: 120_000 })
  // A look at what is there takes no time; one that hangs must not keep the next from being taken.
  const looking = new Meilisearch({ ...access, timeout: 10_000 })
  let prepared = false

  async function succeeded(task: EnqueuedTaskPromise): Promise<void> {
    const done = await task.waitTask({ timeout: TASK_TIMEOUT_MS, interval: 20 })
    if (done.status !== 'succeeded')
      throw new Error(`Meilisearch ${done.type} task ${done.uid} ${done.status}: ${done.error?.message ?? ''}`)
  }

  async function createIndex(name: string, settings: Settings): Promise<void> {
    await succeeded(client.createIndex(name, { primaryKey: 'key' }))
    await succeeded(client.index(name).updateSettings(settings))
    // Else every look at it would call for a rebuild.
    if (!holds(await client.index(name).getSettings(), settings))
      throw new Error(`Meilisearch does not keep the settings of ${name}`)
  }

  async function exists(name: string): Promise<boolean> {
    try {
      await looking.getRawIndex(name)
      return true
    } catch (error) {
      if (isMissingIndex(error)) return false
      throw error
    }
  }

  async function drop(name: string): Promise<void> {
    if (await exists(name)) await succeeded(client.deleteIndex(name))
  }

  async function ensureIndexes(): Promise<void> {
    if (prepared) return
    for (const index of INDEXES)
      if (!(await exists(indexName(prefix, index)))) await createIndex(indexName(prefix, index), SETTINGS[index])
    prepared = true
  }

  async function applyTo(suffix: string, { put, remove }: DocumentChanges): Promise<void> {
    const tasks: Promise<void>[] = []
    // Each is waited for until it is accepted: the engine is at work on one while the next is made ready.
    const begin = async (task: EnqueuedTaskPromise) => {
      const done = succeeded(task)
      done.catch(() => undefined)
      tasks.push(done)
      await task.catch(() => undefined)
    }
    for (const name of INDEXES) {
      const index = client.index(indexName(prefix, name) + suffix)
      const kinds = KINDS.filter((kind) => indexOf(kind) === name)
      const gone = kinds.flatMap((kind) => (remove[kind] ?? []).map((id) => keyOf(kind, id)))
      for (let from = 0; from < gone.length; from += CHUNK)
        await begin(index.deleteDocuments(gone.slice(from, from + CHUNK)))
      // With its key named: an index deleted a moment ago comes back without its settings, and is then found and rebuilt.
      for (const lines of chunksOf(
        kinds.flatMap((kind) => (put[kind] ?? []).map((document) => toStored(kind, document))),
      ))
        await begin(index.addDocumentsFromString(lines, 'application/x-ndjson', { primaryKey: 'key' }))
    }
    const results = await Promise.allSettled(tasks)
    for (const result of results) if (result.status === 'rejected') throw result.reason
  }

  return {
    engine: 'meilisearch',
    async apply(changes) {
      await ensureIndexes()
      await applyTo('', changes)
    },
    async *revisions(kind) {
      const name = indexName(prefix, indexOf(kind))
      if (!(await exists(name))) return
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
        try {
          const now = await looking.index(indexName(prefix, index)).getSettings()
          if (!holds(now, SETTINGS[index])) return false
        } catch (error) {
          if (isMissingIndex(error)) return false
          throw error
        }
      }
      return true
    },
    async count(kind) {
      try {
        const index = looking.index(indexName(prefix, indexOf(kind)))
        if (kind === 'frames') return (await index.getStats()).numberOfDocuments
        const { facetDistribution } = await index.search('', { limit: 0, facets: ['kind'] })
        return facetDistribution?.kind?.[kind] ?? 0
      } catch (error) {
        if (isMissingIndex(error)) return 0
        throw error
      }
    },
    async beginRebuild() {
      for (const index of INDEXES) {
        const next = `${indexName(prefix, index)}_next`
        await drop(next)
        await createIndex(next, SETTINGS[index])
      }
      const dropNext = async () => {
        for (const index of INDEXES) await drop(`${indexName(prefix, index)}_next`)
      }
      return {
        apply: (changes) => applyTo('_next', changes),
        async swap() {
          prepared = false
          await ensureIndexes()
          await succeeded(
            client.swapIndexes(
              INDEXES.map((index) => ({
                indexes: [indexName(prefix, index), `${indexName(prefix, index)}_next`] as [string, string],
                rename: false,
              })),
            ),
          )
          await dropNext()
          for (const kind of ONCE) await drop(`${prefix}_${kind}`)
        },
        abandon: dropNext,
      }
    },
  }
}

/** Bodies of tasks, as lines of JSON: no more than `CHUNK` documents and `CHUNK_BYTES` in one, but for a document that is larger by itself. */
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

/** Only what we set is compared: a newer server may know more. Lists whose order means nothing are compared sorted. */
function holds(now: unknown, ours: unknown, name = ''): boolean {
  if (Array.isArray(ours)) {
    if (!Array.isArray(now)) return false
    const ordered = name === 'rankingRules' || name === 'searchableAttributes'
    return isDeepStrictEqual(ordered ? now : now.toSorted(), ordered ? ours : ours.toSorted())
  }
  if (typeof ours !== 'object' || ours === null) return now === ours
  if (typeof now !== 'object' || now === null) return false
  return Object.entries(ours).every(([key, value]) => holds((now as Record<string, unknown>)[key], value, key))
}

export function isMissingIndex(error: unknown): boolean {
  return error instanceof MeilisearchApiError && error.cause?.code === 'index_not_found'
}

/** The server did not answer, or not in time: it will come back. */
export function isMeiliOutage(error: unknown): boolean {
  if (error instanceof MeilisearchApiError) return error.response.status >= 500 || error.response.status === 429
  return error instanceof MeilisearchError
}

/**
 * A key that can search these indexes and nothing else, made once per prefix. Undefined for a server without a master key, which knows no keys.
 */
export async function searchOnlyKey({ url, key, prefix = 'library' }: MeiliOptions): Promise<string | undefined> {
  if (key === undefined) return undefined
  const client = new Meilisearch({ host: url, apiKey: key, timeout: 10_000 })
  const name = `frame library search (${prefix})`
  const indexes = INDEXES.map((index) => indexName(prefix, index)).sort()
  for (let offset = 0; ; offset += 100) {
    const { results } = await client.getKeys({ limit: 100, offset })
    const held = results.find(
      (candidate) => candidate.name === name && isDeepStrictEqual(candidate.indexes.toSorted(), indexes),
    )
    if (held) return held.key
    if (results.length < 100) break
  }
  const made = await client.createKey({
    name,
    description: 'Open reads of the frame library',
    actions: ['search'],
    indexes,
    expiresAt: null,
  })
  return made.key
}
