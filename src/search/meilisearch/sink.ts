import { isDeepStrictEqual } from 'node:util'
import { type EnqueuedTaskPromise, Meilisearch, MeilisearchApiError, MeilisearchError, type Settings } from 'meilisearch'
import type { DocumentChanges, DocumentKind, DocumentSink, LibraryDocuments } from '../library-search.ts'
import { SETTINGS, type StoredDocument, toStored } from './settings.ts'

const KINDS: readonly DocumentKind[] = ['frames', 'videos', 'brands', 'techniques']
/** Documents per task; a task costs about the same for one as for thousands. */
const CHUNK = 4_000
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

export const indexName = (prefix: string, kind: DocumentKind) => `${prefix}_${kind}`

/** Writes to Meilisearch with a key that may manage indexes. Every call resolves when the engine's task has succeeded, not when it was accepted. */
export function openMeiliSink({ url, key, prefix = 'library' }: MeiliOptions): MeiliSink {
  const client = new Meilisearch({ host: url, ...(key === undefined ? {} : { apiKey: key }), timeout: 120_000 })
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
    if (!holds(await client.index(name).getSettings(), settings)) throw new Error(`Meilisearch does not keep the settings of ${name}`)
  }

  async function exists(name: string): Promise<boolean> {
    try {
      await client.getRawIndex(name)
      return true
    } catch (error) {
      if (isMissingIndex(error)) return false
      throw error
    }
  }

  async function ensureIndexes(): Promise<void> {
    if (prepared) return
    for (const kind of KINDS) if (!(await exists(indexName(prefix, kind)))) await createIndex(indexName(prefix, kind), SETTINGS[kind])
    prepared = true
  }

  async function applyTo(suffix: string, { put, remove }: DocumentChanges): Promise<void> {
    const tasks: EnqueuedTaskPromise[] = []
    for (const kind of KINDS) {
      const index = client.index(indexName(prefix, kind) + suffix)
      const gone = remove[kind] ?? []
      for (let from = 0; from < gone.length; from += CHUNK) tasks.push(index.deleteDocuments(gone.slice(from, from + CHUNK)))
      const documents = (put[kind] ?? []) as LibraryDocuments[typeof kind][]
      for (let from = 0; from < documents.length; from += CHUNK)
        // With its key named: an index deleted a moment ago comes back without its settings, and is then found and rebuilt.
        tasks.push(
          index.addDocuments(
            documents.slice(from, from + CHUNK).map((document) => toStored(kind, document)),
            { primaryKey: 'key' },
          ),
        )
    }
    const results = await Promise.allSettled(tasks.map(succeeded))
    for (const result of results) if (result.status === 'rejected') throw result.reason
  }

  return {
    engine: 'meilisearch',
    async apply(changes) {
      await ensureIndexes()
      await applyTo('', changes)
    },
    async *revisions(kind) {
      if (!(await exists(indexName(prefix, kind)))) return
      const index = client.index<StoredDocument>(indexName(prefix, kind))
      for (let offset = 0; ; ) {
        const { results } = await index.getDocuments({ fields: ['key', 'revision'], limit: 5_000, offset })
        if (results.length === 0) return
        yield results.map((document) => ({ id: document.key, revision: document.revision }))
        offset += results.length
      }
    },
    async intact() {
      for (const kind of KINDS) {
        try {
          const now = await client.index(indexName(prefix, kind)).getSettings()
          if (!holds(now, SETTINGS[kind])) return false
        } catch (error) {
          if (isMissingIndex(error)) return false
          throw error
        }
      }
      return true
    },
    async count(kind) {
      try {
        return (await client.index(indexName(prefix, kind)).getStats()).numberOfDocuments
      } catch (error) {
        if (isMissingIndex(error)) return 0
        throw error
      }
    },
    async beginRebuild() {
      for (const kind of KINDS) {
        const next = `${indexName(prefix, kind)}_next`
        if (await exists(next)) await succeeded(client.deleteIndex(next))
        await createIndex(next, SETTINGS[kind])
      }
      const drop = async () => {
        for (const kind of KINDS) await client.deleteIndexIfExists(`${indexName(prefix, kind)}_next`)
      }
      return {
        apply: (changes) => applyTo('_next', changes),
        async swap() {
          prepared = false
          await ensureIndexes()
          await succeeded(
            client.swapIndexes(
              KINDS.map((kind) => ({
                indexes: [indexName(prefix, kind), `${indexName(prefix, kind)}_next`] as [string, string],
                rename: false,
              })),
            ),
          )
          await drop()
        },
        abandon: drop,
      }
    },
  }
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
  for (let offset = 0; ; offset += 100) {
    const { results } = await client.getKeys({ limit: 100, offset })
    const held = results.find((candidate) => candidate.name === name)
    if (held) return held.key
    if (results.length < 100) break
  }
  const made = await client.createKey({
    name,
    description: 'Open reads of the frame library',
    actions: ['search'],
    indexes: KINDS.map((kind) => indexName(prefix, kind)),
    expiresAt: null,
  })
  return made.key
}
