import { isDeepStrictEqual } from 'node:util'
import { type EnqueuedTaskPromise, Meilisearch, MeilisearchApiError, type Settings } from 'meilisearch'
import type { DocumentChanges } from '../library-search.ts'
import type { MeiliOptions } from './request.ts'
import { INDEX, indexName, SETTINGS, toStored } from './settings.ts'

/** Documents and bytes per task. A task costs about the same for one document as for thousands. */
const CHUNK = 10_000
/** The server accepts bodies of 100 MB by default. */
const CHUNK_BYTES = 32 * 1024 * 1024

export type MeiliSink = ReturnType<typeof openMeiliSink>

/**
 * The replica of the frames. A write resolves when the engine's task has succeeded and its documents can be found.
 * `key` must have the right to manage indexes.
 */
export function openMeiliSink({ url, key, prefix = 'library' }: MeiliOptions) {
  const access = { host: url, apiKey: key }
  const client = new Meilisearch({ ...access, timeout: 120_000 })
  // Checks take no time. One that hangs must not delay the next.
  const checking = new Meilisearch({ ...access, timeout: 10_000 })
  const name = indexName(prefix, INDEX)
  let prepared = false

  async function ensureIndex(): Promise<void> {
    if (!prepared && !(await indexExists(checking, name))) await createIndex(client, name, SETTINGS)
    prepared = true
  }

  return {
    async apply(changes: DocumentChanges) {
      await ensureIndex()
      await applyTo(client, name, changes)
    },
    /** False when the index is missing or has settings of another version. */
    intact: async () => hasSettings(await unlessMissing(checking.index(name).getSettings()), SETTINGS),
    /** Number of frames. */
    count: async () => (await unlessMissing(checking.index(name).getStats()))?.numberOfDocuments ?? 0,
    /** Creates a second, empty index. Readers see it only after `swap`. */
    beginRebuild: () =>
      beginRebuild(client, checking, prefix, () => {
        prepared = false
        return ensureIndex()
      }),
  }
}

async function beginRebuild(
  client: Meilisearch,
  checking: Meilisearch,
  prefix: string,
  ensureLive: () => Promise<void>,
) {
  const drop = async (index: string) => {
    if (await indexExists(checking, index)) await succeeded(client.deleteIndex(index))
  }
  const name = indexName(prefix, INDEX)
  const next = `${name}_next`
  await drop(next)
  await createIndex(client, next, SETTINGS)
  return {
    apply: (changes: DocumentChanges) => applyTo(client, next, changes),
    async swap() {
      await ensureLive()
      await succeeded(client.swapIndexes([{ indexes: [name, next], rename: false }]))
      await drop(next)
    },
    abandon: () => drop(next),
  }
}

async function applyTo(client: Meilisearch, name: string, { put, remove }: DocumentChanges): Promise<void> {
  const tasks: Promise<void>[] = []
  // Waits until a task is accepted: the engine works on it while the next one is prepared.
  const begin = async (task: EnqueuedTaskPromise) => {
    const done = succeeded(task)
    done.catch(() => undefined)
    tasks.push(done)
    await task.catch(() => undefined)
  }
  const index = client.index(name)
  const gone = remove.frames ?? []
  for (let from = 0; from < gone.length; from += CHUNK)
    await begin(index.deleteDocuments(gone.slice(from, from + CHUNK)))
  // With the primary key named, an index deleted a moment ago comes back without settings, which starts a rebuild.
  for (const lines of chunksOf((put.frames ?? []).map(toStored)))
    await begin(index.addDocumentsFromString(lines, 'application/x-ndjson', { primaryKey: 'key' }))
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

const TASK_TIMEOUT_MS = 300_000

/** Waits for the task itself, not only for its acceptance. */
async function succeeded(task: EnqueuedTaskPromise): Promise<void> {
  const done = await task.waitTask({ timeout: TASK_TIMEOUT_MS, interval: 20 })
  if (done.status !== 'succeeded')
    throw new Error(`Meilisearch ${done.type} task ${done.uid} ${done.status}: ${done.error?.message ?? ''}`)
}

async function createIndex(client: Meilisearch, name: string, settings: Settings): Promise<void> {
  await succeeded(client.createIndex(name, { primaryKey: 'key' }))
  await succeeded(client.index(name).updateSettings(settings))
  // Otherwise every check of the index would start a rebuild.
  if (!hasSettings(await client.index(name).getSettings(), settings))
    throw new Error(`Meilisearch does not keep the settings of ${name}. Check its version.`)
}

async function indexExists(client: Meilisearch, name: string): Promise<boolean> {
  return (await unlessMissing(client.getRawIndex(name))) !== undefined
}

/** The response, or undefined where the index does not exist. */
async function unlessMissing<T>(response: Promise<T>): Promise<T | undefined> {
  try {
    return await response
  } catch (error) {
    if (error instanceof MeilisearchApiError && error.cause?.code === 'index_not_found') return undefined
    throw error
  }
}

/** Compares only our own settings: a newer server may have more. Lists without an order are compared sorted. */
function hasSettings(now: unknown, ours: unknown, name = ''): boolean {
  if (Array.isArray(ours)) {
    if (!Array.isArray(now)) return false
    const ordered = name === 'rankingRules' || name === 'searchableAttributes'
    return isDeepStrictEqual(ordered ? now : now.toSorted(), ordered ? ours : ours.toSorted())
  }
  if (typeof ours !== 'object' || ours === null) return now === ours
  if (typeof now !== 'object' || now === null) return false
  return Object.entries(ours).every(([key, value]) => hasSettings((now as Record<string, unknown>)[key], value, key))
}
