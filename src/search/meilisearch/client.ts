import { sql } from 'drizzle-orm'
import {
  MeilisearchApiError,
  type MeilisearchErrorResponse,
  type MultiSearchQuery,
  type SearchResponse,
} from 'meilisearch'
import { Late } from '../circuit-breaker.ts'
import type { ReadModelSearch } from '../postgres/search.ts'
import { type Executor, rowsOf } from '../postgres/tables.ts'
import { BEST } from '../query.ts'
import { WORDS_VERSION } from '../text/tokens.ts'
import { type MeiliOptions, openEngine } from './request.ts'
import { INDEX, indexName, type StoredHit } from './settings.ts'

/** An index that is not ready: the other engine answers instead. */
class MeiliNotReady extends Error {}

export interface MeiliSearchOptions extends Omit<MeiliOptions, 'key'> {
  /** A function is called with the first search, and again until it succeeds: an outage must not keep the API down. */
  key: string | undefined | (() => Promise<string | undefined>)
  /** The read model beside it: single documents, lists, blank searches and pages in a stored order come from there. */
  reads: ReadModelSearch
  /** The state of the mirror, read at most once a second. */
  mirror(): Promise<MirrorState | undefined>
  timeoutMs?: number
}

export interface MeiliClient {
  /** Runs all queries as one request. @throws Late for an incomplete response. */
  multiSearch(queries: MultiSearchQuery[]): Promise<SearchResponse<StoredHit>[]>
  /** Call it with what a search found: no hits may mean that the index was emptied. @throws MeiliNotReady then. */
  requireFilled(found: readonly StoredHit[]): Promise<void>
  /** Checks readiness without remembered state. @throws while the engine cannot be trusted. */
  probe(): Promise<void>
}

export function openMeiliClient({
  url,
  key,
  prefix = 'library',
  reads,
  mirror,
  timeoutMs = 1_000,
}: MeiliSearchOptions): MeiliClient {
  const path = `${new URL(url).pathname.replace(/\/$/, '')}/multi-search`
  const ask = openEngine(url, path, timeoutMs)
  let headers: Record<string, string> | undefined
  let filledAt = -Infinity
  let known: { at: number; state: MirrorState | undefined } | undefined

  async function connected(): Promise<Record<string, string>> {
    if (headers) return headers
    const apiKey = typeof key === 'function' ? await key() : key
    headers = {
      'content-type': 'application/json',
      ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    }
    return headers
  }

  async function requireReady(): Promise<void> {
    if (!known || performance.now() - known.at > 1_000) known = { at: performance.now(), state: await mirror() }
    if (!known.state?.ready) throw new MeiliNotReady('The Meilisearch index is not ready.')
  }

  async function multiSearch(queries: MultiSearchQuery[]): Promise<SearchResponse<StoredHit>[]> {
    // Side by side: the state of the mirror decides whether the answer counts, not whether the engine may be asked.
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

  const allFrames: MultiSearchQuery = { indexUid: indexName(prefix, INDEX), q: '', limit: 0 }

  /** Looks at most once a second. */
  async function requireFilled(found: readonly StoredHit[]): Promise<void> {
    if (found.length > 0 || performance.now() - filledAt < 1_000) return
    const [all] = await multiSearch([allFrames])
    if (all!.estimatedTotalHits === 0 && (await reads.frames({ ...BEST, q: '', pageSize: 1 })).frames.length > 0)
      throw new MeiliNotReady('The Meilisearch index is empty.')
    filledAt = performance.now()
  }

  async function probe(): Promise<void> {
    known = undefined
    filledAt = -Infinity
    await multiSearch([allFrames])
    await requireFilled([])
  }

  return { multiSearch, requireFilled, probe }
}

interface MirrorState {
  /** The read-model version up to which Meilisearch holds every change. */
  version: string
  /** False while an index is missing or emptied, or holds words or documents as another version cuts them. */
  ready: boolean
}

/** What has been copied into Meilisearch; undefined before the first time. */
export async function mirrorState(db: Executor): Promise<MirrorState | undefined> {
  const [row] = await rowsOf<MirrorState>(
    db,
    sql`select version, ready and words = ${WORDS_VERSION} as ready from read_models where engine = 'meilisearch'`,
  )
  return row
}
