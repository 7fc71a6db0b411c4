import { isDeepStrictEqual } from 'node:util'
import { type EnqueuedTaskPromise, type Meilisearch, MeilisearchApiError, type Settings } from 'meilisearch'

const TASK_TIMEOUT_MS = 300_000

/** Waits for the task itself, not only for its acceptance. */
export async function succeeded(task: EnqueuedTaskPromise): Promise<void> {
  const done = await task.waitTask({ timeout: TASK_TIMEOUT_MS, interval: 20 })
  if (done.status !== 'succeeded')
    throw new Error(`Meilisearch ${done.type} task ${done.uid} ${done.status}: ${done.error?.message ?? ''}`)
}

export async function createIndex(client: Meilisearch, name: string, settings: Settings): Promise<void> {
  await succeeded(client.createIndex(name, { primaryKey: 'key' }))
  await succeeded(client.index(name).updateSettings(settings))
  // Otherwise every check of the index would start a rebuild.
  if (!hasSettings(await client.index(name).getSettings(), settings))
    throw new Error(`Meilisearch does not keep the settings of ${name}. Check its version.`)
}

export async function indexExists(client: Meilisearch, name: string): Promise<boolean> {
  return (await unlessMissing(client.getRawIndex(name))) !== undefined
}

/** The response, or undefined where the index does not exist. */
export async function unlessMissing<T>(response: Promise<T>): Promise<T | undefined> {
  try {
    return await response
  } catch (error) {
    if (error instanceof MeilisearchApiError && error.cause?.code === 'index_not_found') return undefined
    throw error
  }
}

/** Compares only our own settings: a newer server may have more. Lists without an order are compared sorted. */
export function hasSettings(now: unknown, ours: unknown, name = ''): boolean {
  if (Array.isArray(ours)) {
    if (!Array.isArray(now)) return false
    const ordered = name === 'rankingRules' || name === 'searchableAttributes'
    return isDeepStrictEqual(ordered ? now : now.toSorted(), ordered ? ours : ours.toSorted())
  }
  if (typeof ours !== 'object' || ours === null) return now === ours
  if (typeof now !== 'object' || now === null) return false
  return Object.entries(ours).every(([key, value]) => hasSettings((now as Record<string, unknown>)[key], value, key))
}
