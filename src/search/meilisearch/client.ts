import {
  MeilisearchApiError,
  type MeilisearchErrorResponse,
  type MultiSearchQuery,
  type SearchResponse,
} from 'meilisearch'
import { sql } from '../../sql/orm.ts'
import { Late } from '../breaker.ts'
import { type Executor, rowsOf } from '../postgres/tables.ts'
import { WORDS_VERSION } from '../text/tokens.ts'
import { type MeiliOptions, openEngine } from './request.ts'
import type { StoredHit } from './settings.ts'

/** An index that is not ready: the other engine answers instead. */
class MeiliNotReady extends Error {}

export interface MeiliSearchOptions extends Omit<MeiliOptions, 'key'> {
  /** A function is called with the first search, and again until it succeeds: an outage must not keep the API down. */
  key: string | (() => Promise<string>)
  /** Reads the state of the replica. Searches keep it for a second. */
  state(): Promise<ReplicaState | undefined>
  timeoutMs?: number
}

/** Runs all queries as one request. @throws Late for an incomplete response. */
export type MultiSearch = (queries: MultiSearchQuery[]) => Promise<SearchResponse<StoredHit>[]>

export function openMultiSearch({ url, key, state, timeoutMs = 1_000 }: MeiliSearchOptions): MultiSearch {
  const path = `${new URL(url).pathname.replace(/\/$/, '')}/multi-search`
  const ask = openEngine(url, path, timeoutMs)
  let headers: Record<string, string> | undefined
  let known: { at: number; state: ReplicaState | undefined } | undefined

  async function connected(): Promise<Record<string, string>> {
    if (headers) return headers
    const apiKey = typeof key === 'function' ? await key() : key
    headers = { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` }
    return headers
  }

  async function requireReady(): Promise<void> {
    if (!known || performance.now() - known.at > 1_000) known = { at: performance.now(), state: await state() }
    if (!known.state?.ready) throw new MeiliNotReady('The Meilisearch index is not ready.')
  }

  return async (queries) => {
    // Side by side: the state of the replica decides whether the answer counts, not whether the engine may be asked.
    const asked = connected().then((known) => ask(known, JSON.stringify({ queries })))
    const [{ status, body }] = await Promise.all([asked, requireReady()])
    const response = JSON.parse(body) as { results: SearchResponse<StoredHit>[] } | MeilisearchErrorResponse
    if (!('results' in response)) {
      // The server may have been set up again with other keys: request the key with the next search.
      if (status === 401 || status === 403) headers = undefined
      throw new MeilisearchApiError(new Response(null, { status }), response)
    }
    if (response.results.some((result) => (result as { degraded?: boolean }).degraded))
      throw new Late('Meilisearch cut the search off.')
    return response.results
  }
}

interface ReplicaState {
  /** Names its last whole copy, and the version of the read model up to which it holds every change. */
  version: string
  /** False while an index is missing or emptied, or holds words or documents as another version cuts them. */
  ready: boolean
}

/** What has been copied into Meilisearch; undefined before the first time. */
export async function replicaState(db: Executor): Promise<ReplicaState | undefined> {
  const [row] = await rowsOf<ReplicaState>(
    db,
    sql`select left(generation::text, 4) || '-' || version as version, ready and words = ${WORDS_VERSION} as ready
          from read_models where engine = 'meilisearch'`,
  )
  return row
}
