import { MeilisearchApiError, type MeilisearchErrorResponse, type MultiSearchQuery, type SearchResponse } from 'meilisearch'
import { Pool } from 'undici'
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

const ANYTHING: FrameQuery = { filters: {}, q: '', sort: 'newest', page: 1, pageSize: 120, facets: false, variety: false }

type StoredHit = StoredDocument & {
  phash: string
  luma: number
  _rankingScore?: number
  /** Of one that has only some of the words: below 0.5. */
  partial?: number
  _rankingScoreDetails?: { words?: { matchingWords: number; maxMatchingWords: number } }
}

/** Words by relevance, and counts, are Meilisearch's. `key` needs no right but to search. */
export function openMeiliSearch({
  url,
  key,
  prefix = 'library',
  reads,
  mirror,
  timeoutMs = 1_000,
}: Options): LibrarySearch & { probe(): Promise<void> } {
  // A plain pool: the package's client over the built-in fetch sends head and body apart, which with the server's delayed acknowledgement adds 40 ms.
  const pool = new Pool(new URL(url).origin, { headersTimeout: timeoutMs, bodyTimeout: timeoutMs, connect: { timeout: timeoutMs } })
  const path = `${new URL(url).pathname.replace(/\/$/, '')}/multi-search`
  let headers: Record<string, string> | undefined
  let filledAt = -Infinity
  let known: { at: number; state: Awaited<ReturnType<typeof mirror>> } | undefined

  async function connected(): Promise<Record<string, string>> {
    if (headers) return headers
    const apiKey = typeof key === 'function' ? await key() : key
    headers = { 'content-type': 'application/json', ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }) }
    return headers
  }

  async function requireReady(): Promise<void> {
    if (!known || performance.now() - known.at > 1_000) known = { at: performance.now(), state: await mirror() }
    if (!known.state?.ready) throw new MeiliNotReady('the index is not ready')
  }

  /** One request for all; an answer that was cut off is none. */
  async function ask(queries: MultiSearchQuery[]): Promise<SearchResponse<StoredHit>[]> {
    await requireReady()
    const { statusCode, body } = await pool.request({ method: 'POST', path, headers: await connected(), body: JSON.stringify({ queries }) })
    const answer = (await body.json()) as { results: SearchResponse<StoredHit>[] } | MeilisearchErrorResponse
    if (!('results' in answer)) {
      // A key that is no longer known is asked for again: the server may have been set up anew.
      if (statusCode === 401 || statusCode === 403) headers = undefined
      throw new MeilisearchApiError(new Response(null, { status: statusCode }), answer)
    }
    if (answer.results.some((result) => (result as { degraded?: boolean }).degraded)) throw new MeiliNotReady('the search was cut off')
    return answer.results
  }

  const everything: MultiSearchQuery = { indexUid: indexName(prefix, 'frames'), q: '', limit: 0 }

  /** Nothing found may be nothing there: somebody emptied the index, and the mirror has not noticed yet. Looked at once a second at most. */
  async function requireFilled(results: readonly SearchResponse<StoredHit>[]): Promise<void> {
    if (results.some((result) => result.hits.length > 0) || performance.now() - filledAt < 1_000) return
    const [whole] = await ask([everything])
    if (whole!.estimatedTotalHits === 0 && (await reads.frames({ ...ANYTHING, pageSize: 1 })).frames.length > 0)
      throw new MeiliNotReady('the index is empty')
    filledAt = performance.now()
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

  async function variedPage(query: FrameQuery, terms: readonly Term[]): Promise<StoredHit[]> {
    const filter = new VarietyFilter()
    const from = (query.page - 1) * query.pageSize
    const kept: StoredHit[] = []
    for (let offset = 0; offset < MAX_RELEVANCE_DEPTH && kept.length < from + query.pageSize; offset += 1_000) {
      const [result] = await ask([
        { ...frameQuery(terms, query.filters), attributesToRetrieve: ['key', 'phash', 'luma'], offset, limit: 1_000 },
      ])
      if (offset === 0) await requireFilled([result!])
      for (const hit of result!.hits) if (filter.keep(hit)) kept.push(hit)
      if (result!.hits.length < 1_000) break
    }
    return kept.slice(from, from + query.pageSize)
  }

  /** The page and, where asked for, the counts: one request. */
  async function matches(query: FrameQuery, terms: readonly Term[]): Promise<{ hits: StoredHit[]; facets?: FacetCounts; total?: number }> {
    const page = {
      ...frameQuery(terms, query.filters),
      offset: query.variety ? 0 : (query.page - 1) * query.pageSize,
      limit: query.variety ? 0 : query.pageSize,
    }
    if (!query.facets) {
      if (query.variety) return { hits: [] }
      const results = await ask([page])
      await requireFilled(results)
      return { hits: results[0]!.hits }
    }
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
    if (Object.keys(main!.facetDistribution?.tone ?? {}).length === 0) await requireFilled([main!])
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
      filledAt = -Infinity
      await requireFilled(await ask([everything]))
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
      const several = terms.length > 1
      // One request as a rule. A query that drops words finds what has all of them first: of the last ones where documents are few, and each that may be dropped
      // is asked for alone there; of frames the most frequent ones. A phrase is never dropped.
      const small = ['videos', 'brands', 'techniques'] as const
      const alone = several ? small.flatMap((kind) => terms.map((term, n) => ({ kind, term, n }))) : []
      const asked = alone.filter(({ n }) => n > 0 || terms.some((term) => term.exact))
      const dropping = (strategy: 'last' | 'frequency') =>
        several ? { matchingStrategy: strategy, showRankingScoreDetails: true } : { matchingStrategy: 'all' as const }
      const results = await ask([
        ...kinds.map((kind) => ({ ...query(kind, terms), ...dropping(kind === 'frames' ? 'frequency' : 'last') })),
        ...asked.map(({ kind, term }) => query(kind, [term])),
      ])
      await requireFilled(results)
      const more = several && results[1]!.hits.length < limit ? await ask(terms.map((term) => query('frames', [term]))) : []
      const byTerm = (kind: DocumentKind) =>
        kind === 'frames'
          ? more.map(({ hits }, n) => ({ n, hits }))
          : results.slice(kinds.length).flatMap(({ hits }, at) => (asked[at]!.kind === kind ? { n: asked[at]!.n, hits } : []))
      const ranked = (kind: DocumentKind) =>
        allBeforeSome(results[kinds.indexOf(kind)]!.hits, byTerm(kind), terms.length, kind !== 'frames')
      const hits = { videos: ranked('videos'), frames: ranked('frames'), brands: ranked('brands'), techniques: ranked('techniques') }
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
        const found = query.variety ? await variedPage(query, terms) : hits
        const whole =
          query.variety || query.provenance
            ? new Map((await reads.framesByIds(found.map((hit) => hit.key))).map((document) => [document.id, document]))
            : undefined
        return { frames: frameHits(found, terms, whole), ...counts }
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

/**
 * What has some of the `of` words comes after what has all, by how many, and is scored below it. `byTerm`: hits of the nth alone; `leading`: words
 * were dropped from the end.
 */
function allBeforeSome(
  hits: readonly StoredHit[],
  byTerm: readonly { n: number; hits: readonly StoredHit[] }[],
  of: number,
  leading: boolean,
): StoredHit[] {
  const all = hits.filter((hit) => shareOfWords(hit) === 1)
  const held = new Set(all.map((hit) => hit.key))
  const found = new Map<string, { hit: StoredHit; share: number; terms: Set<number>; best: number }>()
  const note = (hit: StoredHit) => {
    const known = found.get(hit.key) ?? { hit, share: 0, terms: new Set(), best: 0 }
    known.best = Math.max(known.best, hit._rankingScore ?? 0)
    found.set(hit.key, known)
    return known
  }
  for (const hit of hits) {
    if (held.has(hit.key)) continue
    const known = note(hit)
    known.share = shareOfWords(hit)
    if (leading) for (let n = 0; n < Math.round(known.share * of); n++) known.terms.add(n)
  }
  for (const one of byTerm) for (const hit of one.hits) if (!held.has(hit.key)) note(hit).terms.add(one.n)
  const some = [...found.values()]
    .map(({ hit, share, terms, best }) => ({ ...hit, partial: 0.45 * Math.max(share, terms.size / of) + 0.04 * best }))
    .sort((a, b) => b.partial - a.partial || (a.key < b.key ? -1 : 1))
  return [...all, ...some]
}

/** Of the words asked for together. */
function shareOfWords(hit: StoredHit): number {
  const words = hit._rankingScoreDetails?.words
  return words ? words.matchingWords / words.maxMatchingWords : 1
}

/** What has all words scores 0.5–1, as on the other engine: the engine's own score falls to a fifth for a typo. */
const scoreOf = (hit: StoredHit) => Math.round(Math.min(1, hit.partial ?? 0.5 + 0.5 * (hit._rankingScore ?? 1)) * 1e6) / 1e6

function exactFirst<T extends { score: number }>(hits: T[], limit: number): T[] {
  return [...hits.filter((hit) => hit.score === 1), ...hits.filter((hit) => hit.score !== 1)].slice(0, limit)
}
