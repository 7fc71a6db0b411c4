import { type Config, Meilisearch, MeilisearchApiError, type MeilisearchErrorResponse, type MultiSearchQuery } from 'meilisearch'
import { request } from 'undici'
import { cellOf } from '../color.ts'
import {
  type DocumentKind,
  FACETS,
  type Facet,
  type FacetCounts,
  type FrameDocument,
  type FrameFilters,
  type FrameQuery,
  type Hit,
  type LibraryDocuments,
  type LibrarySearch,
} from '../library-search.ts'
import { VarietyFilter } from '../likeness.ts'
import { MAX_RELEVANCE_DEPTH, matchedFields, openMatched, refuseDepth } from '../postgres/search.ts'
import { nameKey } from '../postgres/sink.ts'
import { openHighlighter, parseQuery, type Term } from '../words.ts'
import { type Filter, renderFilter } from './filter.ts'
import { authorKey, authorOf, type StoredDocument } from './settings.ts'
import { indexName, type MeiliOptions } from './sink.ts'

/** An answer that is not whole, or an index that is not ready: the other engine is asked. */
export class MeiliNotReady extends Error {}

interface Options extends Omit<MeiliOptions, 'key'> {
  /** Asked for with the first search and again until it is had, so that a server that is away does not keep the API from starting. */
  key: string | undefined | (() => Promise<string | undefined>)
  /** The read model beside it: single documents, lists, blank searches and pages in a stored order come from there. */
  reads: LibrarySearch
  /** The mirror's state, asked at most once a second. */
  mirror(): Promise<{ version: string; appliedAt: Date | null; ready: boolean } | undefined>
  timeoutMs?: number
}

const FACET_ATTRIBUTES: Record<Facet, string> = {
  subject: 'subject',
  surface: 'surface',
  shot: 'shot',
  technique: 'technique',
  zone: 'zone',
  tone: 'tone',
  kind: 'kind',
  author: 'author_key',
  platform: 'platform',
}

type StoredHit = StoredDocument & { phash: string; luma: number; _rankingScore?: number }

/** Words by relevance, and counts, are Meilisearch's. `key` needs no right but to search. */
export function openMeiliSearch({
  url,
  key,
  prefix = 'library',
  reads,
  mirror,
  timeoutMs = 1_000,
}: Options): LibrarySearch & { probe(): Promise<void> } {
  let client: Meilisearch | undefined
  let known: { at: number; state: Awaited<ReturnType<typeof mirror>> } | undefined

  async function connected(): Promise<Meilisearch> {
    if (client) return client
    const apiKey = typeof key === 'function' ? await key() : key
    client = new Meilisearch({ host: url, ...(apiKey === undefined ? {} : { apiKey }), timeout: timeoutMs, httpClient: inOneWrite })
    return client
  }

  async function requireReady(): Promise<void> {
    if (!known || performance.now() - known.at > 1_000) known = { at: performance.now(), state: await mirror() }
    if (!known.state?.ready) throw new MeiliNotReady('the index is not ready')
  }

  /** One request for all; an answer that was cut off is none. */
  async function ask(queries: MultiSearchQuery[]) {
    await requireReady()
    const { results } = await (await connected()).multiSearch<{ queries: MultiSearchQuery[] }, StoredHit>({ queries })
    if (results.some((result) => (result as { degraded?: boolean }).degraded)) throw new MeiliNotReady('the search was cut off')
    return results
  }

  function frameQuery(terms: readonly Term[], filters: FrameFilters): MultiSearchQuery {
    return {
      indexUid: indexName(prefix, 'frames'),
      q: textOf(terms),
      filter: renderFilter(filterOf(filters)) ?? [],
      matchingStrategy: 'all',
      showRankingScore: true,
      attributesToRetrieve: ['key', 'doc'],
    }
  }

  async function variedPage(query: FrameQuery, terms: readonly Term[]): Promise<Hit<FrameDocument>[]> {
    const filter = new VarietyFilter()
    const from = (query.page - 1) * query.pageSize
    const kept: StoredHit[] = []
    for (let offset = 0; offset < MAX_RELEVANCE_DEPTH && kept.length < from + query.pageSize; offset += 1_000) {
      const [result] = await ask([
        { ...frameQuery(terms, query.filters), attributesToRetrieve: ['key', 'phash', 'luma'], offset, limit: 1_000 },
      ])
      for (const hit of result!.hits) if (filter.keep(hit)) kept.push(hit)
      if (result!.hits.length < 1_000) break
    }
    const page = kept.slice(from, from + query.pageSize)
    const documents = new Map((await reads.framesByIds(page.map((hit) => hit.key))).map((document) => [document.id, document]))
    return frameHits(page, terms, documents)
  }

  /** The page and, where asked for, the counts: one request. */
  async function matches(query: FrameQuery, terms: readonly Term[]): Promise<{ hits: StoredHit[]; facets?: FacetCounts; total?: number }> {
    const page = {
      ...frameQuery(terms, query.filters),
      offset: query.variety ? 0 : (query.page - 1) * query.pageSize,
      limit: query.variety ? 0 : query.pageSize,
    }
    if (!query.facets) return { hits: query.variety ? [] : (await ask([page]))[0]!.hits }
    const filtered = FACETS.filter((facet) => (query.filters[facet]?.length ?? 0) > 0)
    const free = FACETS.filter((facet) => !filtered.includes(facet))
    // Every frame has a tone: its counts add up to the whole, which no other figure does past the depth.
    const counting = { ...page, facets: [...new Set([...free.map((facet) => FACET_ATTRIBUTES[facet]), 'tone'])] }
    const others = filtered.map((facet) => ({
      ...frameQuery(terms, { ...query.filters, [facet]: [] }),
      limit: 0,
      facets: [FACET_ATTRIBUTES[facet]],
    }))
    const [main, ...rest] = await ask([counting, ...others])
    const facets = Object.fromEntries(FACETS.map((facet) => [facet, {}])) as FacetCounts
    for (const facet of free) facets[facet] = countsOf(facet, main!.facetDistribution)
    filtered.forEach((facet, n) => {
      facets[facet] = countsOf(facet, rest[n]!.facetDistribution)
    })
    const total = Object.values(main!.facetDistribution?.tone ?? {}).reduce((sum, n) => sum + n, 0)
    return { hits: main!.hits, facets, total }
  }

  return {
    ...reads,
    engine: 'meilisearch',

    async version() {
      return `${await reads.version()}.${(await mirror())?.version ?? 'none'}`
    },
    async probe() {
      known = undefined
      await ask([{ indexUid: indexName(prefix, 'frames'), q: '', limit: 0 }])
    },
    asOf: async () => (await mirror())?.appliedAt ?? null,

    async search({ q, limit, sourceKey }) {
      const terms = parseQuery(q)
      if (sourceKey !== undefined || q.trim() === '' || terms.length === 0)
        return reads.search({ q, limit, ...(sourceKey === undefined ? {} : { sourceKey }) })
      const kinds = ['videos', 'frames', 'brands', 'techniques'] as const
      // Some more of the small ones, so that an exact name is among them wherever the engine ranks it.
      const rows = { videos: limit, frames: limit, brands: limit + 20, techniques: limit + 20 }
      const query = (kind: DocumentKind, of: readonly Term[]): MultiSearchQuery => ({
        indexUid: indexName(prefix, kind),
        q: textOf(of),
        limit: rows[kind],
        matchingStrategy: 'all',
        showRankingScore: true,
        attributesToRetrieve: ['key', 'doc'],
      })
      const all = await ask(kinds.map((kind) => query(kind, terms)))
      const hits = Object.fromEntries(kinds.map((kind, n) => [kind, all[n]!.hits])) as Record<DocumentKind, StoredHit[]>
      const short = terms.length > 1 ? kinds.filter((kind) => hits[kind].length < limit) : []
      if (short.length > 0) {
        // Every word has been asked for; now each alone.
        const some = await ask(short.flatMap((kind) => terms.map((term) => query(kind, [term]))))
        short.forEach((kind, n) => {
          hits[kind].push(
            ...partial(
              hits[kind],
              some.slice(n * terms.length, (n + 1) * terms.length).map((result) => result.hits),
            ),
          )
        })
      }
      const { videos, frames, brands, techniques } = hits
      const key = nameKey(q)
      return {
        videos: entryHits<'videos'>(
          videos.slice(0, limit),
          terms,
          ({ title }) => ({ title }),
          () => false,
        ),
        frames: frameHits(frames.slice(0, limit), terms),
        brands: exactFirst(
          entryHits<'brands'>(
            brands,
            terms,
            ({ name }) => ({ name }),
            ({ name }) => nameKey(name) === key,
          ),
          limit,
        ),
        techniques: exactFirst(
          entryHits<'techniques'>(
            techniques,
            terms,
            ({ slug, name }) => ({ slug, name }),
            ({ slug, name }) => nameKey(slug) === key || nameKey(name) === key,
          ),
          limit,
        ),
      }
    },

    async frames(query) {
      refuseDepth(query)
      const terms = parseQuery(query.q)
      const relevance = query.sort === 'relevance' && terms.length > 0
      if (relevance) {
        const { hits, ...counts } = await matches(query, terms)
        return {
          frames: query.variety ? await variedPage(query, terms) : frameHits(hits, terms),
          ...counts,
        }
      }
      // A stored order is read faster, and to any depth, from the read model. Words in such an order are asked of one engine alone, so that no page repeats.
      if (terms.length > 0 || query.q.trim() !== '' || !query.facets) return reads.frames(query)
      const [page, { facets, total }] = await Promise.all([
        reads.frames({ ...query, facets: false }),
        matches({ ...query, page: 1, pageSize: 0 }, terms),
      ])
      return { frames: page.frames, facets, total }
    },
  }
}

/** The built-in fetch sends head and body apart; with the server's delayed acknowledgement that adds 40 ms to most searches. */
const inOneWrite: NonNullable<Config['httpClient']> = async (input, init) => {
  const { statusCode, body } = await request(String(input), {
    method: 'POST',
    headers: Object.fromEntries(new Headers(init?.headers)),
    body: init?.body as string,
    signal: init?.signal ?? null,
  })
  const answer = await body.json()
  if (statusCode >= 400) throw new MeilisearchApiError(new Response(null, { status: statusCode }), answer as MeilisearchErrorResponse)
  return answer
}

function filterOf(filters: FrameFilters): Filter {
  const parts: Filter[] = []
  const add = (attribute: string, values: readonly (string | number)[] | undefined, asked: number) => {
    if (asked > 0) parts.push({ attribute, in: values ?? [] })
  }
  for (const attribute of ['subject', 'surface', 'shot', 'zone', 'tone', 'kind', 'platform'] as const)
    add(attribute, filters[attribute], filters[attribute]?.length ?? 0)
  // Compared without case by the engine: what is no slug or id can be no value, and must not match one.
  const slugs = (values: readonly string[] | undefined) => values?.filter((value) => /^[a-z0-9_-]{1,128}$/.test(value))
  add('technique', slugs(filters.technique), filters.technique?.length ?? 0)
  add('video_id', slugs(filters.video), filters.video?.length ?? 0)
  add('author_key', filters.author?.map(authorKey), filters.author?.length ?? 0)
  add('colors', filters.color?.map(cellOf), filters.color?.length ?? 0)
  return { and: parts }
}

/** Our own words only: what else a person types is no operator. */
function textOf(terms: readonly Term[]): string {
  return terms.map((term) => (term.exact ? `"${term.words.join(' ')}"` : term.words[0])).join(' ')
}

function countsOf(facet: Facet, distribution: Record<string, Record<string, number>> | undefined): Record<string, number> {
  const counts = distribution?.[FACET_ATTRIBUTES[facet]] ?? {}
  if (facet !== 'author') return counts
  return Object.fromEntries(
    Object.entries(counts).flatMap(([key, n]) => {
      const name = authorOf(key)
      return name === undefined ? [] : [[name, n]]
    }),
  )
}

function frameHits(
  hits: readonly StoredHit[],
  terms: readonly Term[],
  documents?: ReadonlyMap<string, FrameDocument>,
): Hit<FrameDocument>[] {
  const matchedIn = openMatched(terms)
  return hits.flatMap((hit) => {
    const document = documents ? documents.get(hit.key) : (JSON.parse(hit.doc) as FrameDocument)
    return document ? [{ document, score: scoreOf(hit), matched: matchedIn(document) }] : []
  })
}

function entryHits<K extends Exclude<DocumentKind, 'frames'>>(
  hits: readonly StoredHit[],
  terms: readonly Term[],
  fields: (document: LibraryDocuments[K]) => Record<string, string>,
  exact: (document: LibraryDocuments[K]) => boolean,
): Hit<LibraryDocuments[K]>[] {
  const highlight = openHighlighter(terms)
  return hits.map((hit) => {
    const document = JSON.parse(hit.doc) as LibraryDocuments[K]
    return { document, score: exact(document) ? 1 : Math.min(0.99, scoreOf(hit)), matched: matchedFields(fields(document), highlight) }
  })
}

/** What has some of the words, by how many; scored below everything that has all. */
function partial(all: readonly StoredHit[], byTerm: readonly StoredHit[][]): StoredHit[] {
  const held = new Set(all.map((hit) => hit.key))
  const found = new Map<string, { hit: StoredHit; matched: number; best: number }>()
  for (const hit of byTerm.flat()) {
    if (held.has(hit.key)) continue
    const known = found.get(hit.key)
    found.set(hit.key, { hit, matched: (known?.matched ?? 0) + 1, best: Math.max(known?.best ?? 0, hit._rankingScore ?? 0) })
  }
  return [...found.values()]
    .map(({ hit, matched, best }) => ({ ...hit, _rankingScore: (0.45 * matched) / byTerm.length + 0.04 * best }))
    .sort((a, b) => b._rankingScore - a._rankingScore || (a.key < b.key ? -1 : 1))
}

const scoreOf = (hit: StoredHit) => Math.round(Math.min(1, Math.max(0, hit._rankingScore ?? 1)) * 1e6) / 1e6

function exactFirst<T extends { score: number }>(hits: T[], limit: number): T[] {
  return [...hits.filter((hit) => hit.score === 1), ...hits.filter((hit) => hit.score !== 1)].slice(0, limit)
}
