import {
  MeilisearchApiError,
  type MeilisearchErrorResponse,
  type MultiSearchQuery,
  type SearchResponse,
} from 'meilisearch'
import { Pool } from 'undici'
import { cellOf } from '../color.ts'
import {
  type DocumentKind,
  FACETS,
  type Facet,
  type FacetCounts,
  type FrameDocument,
  type FrameFilters,
  type FrameHit,
  type FrameQuery,
  type Hit,
  type LibraryDocuments,
  type LibrarySearch,
  type ShownFrame,
} from '../library-search.ts'
import { VarietyFilter } from '../likeness.ts'
import { MAX_RELEVANCE_DEPTH, matchedFields, matchedIn, refuseDepth, rounded, scoreByName } from '../postgres/search.ts'
import { nameKey } from '../postgres/sink.ts'
import type { ResilientOptions } from '../resilient.ts'
import { withCurrentSlugs } from '../techniques.ts'
import { isPartSearchable } from '../text/expand.ts'
import { Highlighter } from '../text/highlight.ts'
import { parseQuery, type Term } from '../text/query.ts'
import { type Filter, renderFilter } from './filter.ts'
import {
  authorKey,
  authorOf,
  NAMED_KINDS,
  type NamedKind,
  type StoredDocument,
  textsOf,
  toEngineWord,
  WHOLE_TEXTS,
} from './settings.ts'
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

const ANYTHING: FrameQuery = {
  filters: {},
  q: '',
  sort: 'newest',
  page: 1,
  pageSize: 120,
  facets: false,
  variety: false,
}

type StoredHit = StoredDocument & {
  phash: string
  luma: number
  /** Of a name. */
  kind?: NamedKind
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
}: Options): ResilientOptions['primary'] {
  // A plain pool: the package's client over the built-in fetch sends head and body apart, which with the server's delayed acknowledgement adds 40 ms.
  const pool = new Pool(new URL(url).origin, {
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    connect: { timeout: timeoutMs },
  })
  const path = `${new URL(url).pathname.replace(/\/$/, '')}/multi-search`
  let headers: Record<string, string> | undefined
  let filledAt = -Infinity
  let known: { at: number; state: Awaited<ReturnType<typeof mirror>> } | undefined

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
    if (!known.state?.ready) throw new MeiliNotReady('the index is not ready')
  }

  /** One request for all; an answer that was cut off is none. */
  async function ask(queries: MultiSearchQuery[]): Promise<SearchResponse<StoredHit>[]> {
    await requireReady()
    const { statusCode, body } = await pool.request({
      method: 'POST',
      path,
      headers: await connected(),
      body: JSON.stringify({ queries }),
    })
    const answer = (await body.json()) as { results: SearchResponse<StoredHit>[] } | MeilisearchErrorResponse
    if (!('results' in answer)) {
      // A key that is no longer known is asked for again: the server may have been set up anew.
      if (statusCode === 401 || statusCode === 403) headers = undefined
      throw new MeilisearchApiError(new Response(null, { status: statusCode }), answer)
    }
    if (answer.results.some((result) => (result as { degraded?: boolean }).degraded))
      throw new MeiliNotReady('the search was cut off')
    return answer.results
  }

  const everything: MultiSearchQuery = { indexUid: indexName(prefix, 'frames'), q: '', limit: 0 }

  /** Nothing found may be nothing there: somebody emptied the index, and the mirror has not noticed yet. Looked at once a second at most. */
  async function requireFilled(found: readonly StoredHit[]): Promise<void> {
    if (found.length > 0 || performance.now() - filledAt < 1_000) return
    const [whole] = await ask([everything])
    if (whole!.estimatedTotalHits === 0 && (await reads.frames({ ...ANYTHING, pageSize: 1 })).frames.length > 0)
      throw new MeiliNotReady('the index is empty')
    filledAt = performance.now()
  }

  /** Counts of authors by their keys in the index as counts by their names. */
  async function authorCounts(counts: Record<string, number>): Promise<Record<string, number>> {
    const keys = Object.keys(counts)
    const names = keys.map(authorOf)
    const long = await longNames(keys.filter((_, n) => names[n] === undefined))
    const named: Record<string, number> = Object.create(null)
    keys.forEach((key, n) => {
      const name = names[n] ?? long.get(key)
      if (name !== undefined) named[name] = counts[key]!
    })
    return named
  }

  /** Names too long to stand in the index by themselves: any frame of theirs tells them. */
  async function longNames(keys: readonly string[]): Promise<Map<string, string>> {
    if (keys.length === 0) return new Map()
    const results = await ask(
      keys.map((key) => ({
        ...everything,
        filter: renderFilter({ attribute: 'author_key', in: [key] })!,
        limit: 1,
        attributesToRetrieve: ['doc'],
      })),
    )
    return new Map(
      results.flatMap(({ hits }, n) =>
        hits.map(({ doc }) => [keys[n]!, (JSON.parse(doc) as FrameDocument).author!] as const),
      ),
    )
  }

  function frameQuery(terms: readonly Term[], filters: FrameFilters): MultiSearchQuery {
    return {
      indexUid: indexName(prefix, 'frames'),
      q: textOf(terms),
      ...searchedOn(terms),
      filter: renderFilter(filterOf(filters)) ?? [],
      matchingStrategy: 'all',
      showRankingScore: true,
      attributesToRetrieve: ['key', 'doc'],
    }
  }

  /** From the first match to the end of the page. */
  async function varied(query: FrameQuery, terms: readonly Term[]): Promise<StoredHit[]> {
    const filter = new VarietyFilter()
    const from = (query.page - 1) * query.pageSize
    const kept: StoredHit[] = []
    for (let offset = 0; offset < MAX_RELEVANCE_DEPTH && kept.length < from + query.pageSize; offset += 1_000) {
      const [result] = await ask([
        { ...frameQuery(terms, query.filters), attributesToRetrieve: ['key', 'phash', 'luma'], offset, limit: 1_000 },
      ])
      if (offset === 0) await requireFilled(result!.hits)
      for (const hit of result!.hits) if (filter.keep(hit)) kept.push(hit)
      if (result!.hits.length < 1_000) break
    }
    return kept.slice(0, from + query.pageSize)
  }

  /** The page and, where asked for, the counts: one request. */
  async function matches(
    query: FrameQuery,
    terms: readonly Term[],
  ): Promise<{ hits: StoredHit[]; none: boolean; facets?: FacetCounts; total?: number }> {
    const page = {
      ...frameQuery(terms, query.filters),
      offset: query.variety ? 0 : (query.page - 1) * query.pageSize,
      limit: query.variety ? 0 : query.pageSize,
    }
    if (!query.facets) {
      if (query.variety) return { hits: [], none: false }
      const results = await ask([page])
      await requireFilled(results[0]!.hits)
      return { hits: results[0]!.hits, none: results[0]!.estimatedTotalHits === 0 }
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
    if (Object.keys(main!.facetDistribution?.tone ?? {}).length === 0) await requireFilled(main!.hits)
    const facets = Object.fromEntries(FACETS.map((facet) => [facet, {}])) as FacetCounts
    for (const facet of free) facets[facet] = main!.facetDistribution?.[FACET_ATTRIBUTES[facet]] ?? {}
    filtered.forEach((facet, n) => {
      facets[facet] = rest[n]!.facetDistribution?.[FACET_ATTRIBUTES[facet]] ?? {}
    })
    facets.author = await authorCounts(facets.author)
    const total = Object.values(main!.facetDistribution?.tone ?? {}).reduce((sum, n) => sum + n, 0)
    return { hits: main!.hits, none: total === 0, facets, total }
  }

  /** What has all words before what has some: the most frequent are dropped first, so that what has few of them is found by any. A phrase is never dropped. */
  async function framesOf(terms: readonly Term[], limit: number): Promise<StoredHit[]> {
    const query = (of: readonly Term[]): MultiSearchQuery => ({ ...frameQuery(of, {}), limit })
    if (terms.length === 1) return (await ask([query(terms)]))[0]!.hits
    const [together] = await ask([{ ...query(terms), matchingStrategy: 'frequency', showRankingScoreDetails: true }])
    const alone = together!.hits.length < limit ? await ask(terms.map((term) => query([term]))) : []
    return allBeforeSome(
      together!.hits,
      alone.map(({ hits }, n) => ({ n, hits })),
      terms.length,
      false,
    )
  }

  /** Likewise, but words are dropped from the end, and those that may be are asked for alone with the rest. */
  async function namesOf(terms: readonly Term[], limit: number): Promise<Record<NamedKind, StoredHit[]>> {
    // Some more of the small kinds, so that an exact name is among them wherever the engine ranks it.
    const rows = { techniques: limit + 20, brands: limit + 20, videos: limit }
    // Ranking rows costs more than asking again for the kinds that a full list has cut, which is seldom.
    const most = 3 * limit
    const query = (of: readonly Term[], kind?: NamedKind): MultiSearchQuery => ({
      indexUid: indexName(prefix, 'names'),
      q: textOf(of),
      limit: kind === undefined ? most : rows[kind],
      matchingStrategy: 'all',
      showRankingScore: true,
      attributesToRetrieve: ['key', 'doc', 'kind'],
      ...(kind === undefined ? {} : { filter: renderFilter({ attribute: 'kind', in: [kind] })! }),
    })
    const several = terms.length > 1
    const together = (kind?: NamedKind) =>
      several
        ? { ...query(terms, kind), matchingStrategy: 'last' as const, showRankingScoreDetails: true }
        : query(terms, kind)
    const alone = several
      ? terms.map((term, n) => ({ term, n })).filter(({ n }) => n > 0 || terms.some((term) => term.exact))
      : []
    const questions = [
      together,
      ...alone.map(
        ({ term }) =>
          (kind?: NamedKind) =>
            query([term], kind),
      ),
    ]
    const [[whole], parts] = await Promise.all([
      ask([together()]),
      alone.length > 0 ? ask(questions.slice(1).map((question) => question())) : [],
    ])
    const lists = [whole!, ...parts].map(({ hits }) => hits)
    // A full list may have left out some of its last kind and all of those after it.
    const cut = lists.flatMap((hits, n) => (hits.length < most ? [] : cutKinds(hits).map((kind) => ({ n, kind }))))
    const missing = cut.filter(({ n, kind }) => lists[n]!.filter((hit) => hit.kind === kind).length < rows[kind])
    if (missing.length > 0) {
      const more = await ask(missing.map(({ n, kind }) => questions[n]!(kind)))
      missing.forEach(({ n, kind }, at) => {
        lists[n] = [...lists[n]!.filter((hit) => hit.kind !== kind), ...more[at]!.hits]
      })
    }
    const [first, ...rest] = lists
    const ranked = (kind: NamedKind) =>
      allBeforeSome(
        first!.filter((hit) => hit.kind === kind),
        rest.map((hits, at) => ({ n: alone[at]!.n, hits: hits.filter((hit) => hit.kind === kind) })),
        terms.length,
        true,
      )
    return { techniques: ranked('techniques'), brands: ranked('brands'), videos: ranked('videos') }
  }

  /** Words by relevance, and the counts of all there is. */
  const isAsked: ResilientOptions['primary']['isAsked'] = {
    search: ({ q, sourceKey }) => sourceKey === undefined && parseQuery(q).length > 0,
    frames: ({ q, sort, facets }) => (q.trim() === '' ? facets : sort === 'relevance' && parseQuery(q).length > 0),
  }

  return {
    ...reads,
    engine: 'meilisearch',
    isAsked,

    async version() {
      return `${await reads.version()}.${(await mirror())?.version ?? 'none'}`
    },
    async probe() {
      known = undefined
      filledAt = -Infinity
      await ask([everything, { ...everything, indexUid: indexName(prefix, 'names') }])
      await requireFilled([])
    },
    asOf: async () => (await mirror())?.appliedAt ?? null,

    async search({ q, limit, sourceKey }) {
      if (!isAsked.search({ q, limit, sourceKey }))
        return reads.search({ q, limit, ...(sourceKey === undefined ? {} : { sourceKey }) })
      const terms = parseQuery(q)
      const [frames, names] = await Promise.all([framesOf(terms, limit), namesOf(terms, limit)])
      const found = [...frames, ...Object.values(names).flat()]
      await requireFilled(found)
      if (found.length === 0) return reads.search({ q, limit })
      const { videos, brands, techniques } = names
      const key = nameKey(q)
      return {
        videos: entryHits<'videos'>(videos, terms, { fields: ({ title }) => ({ title }) }).slice(0, limit),
        frames: frameHits(frames.slice(0, limit), terms),
        brands: entryHits<'brands'>(brands, terms, {
          fields: ({ name }) => ({ name }),
          byName: ({ name }) => scoreByName([nameKey(name)], key),
        }).slice(0, limit),
        techniques: entryHits<'techniques'>(techniques, terms, {
          fields: ({ slug, name }) => ({ slug, name }),
          byName: ({ slug, name }) => scoreByName([nameKey(slug), nameKey(name)], key),
        }).slice(0, limit),
      }
    },

    async frames(asked) {
      refuseDepth(asked)
      // A stored order is read faster, and to any depth, from the read model. Words in such an order are asked of one engine alone, so that no page repeats.
      if (!isAsked.frames(asked)) return reads.frames(asked)
      const query = await withCurrentSlugs(asked, reads.techniques)
      const terms = parseQuery(query.q)
      if (terms.length > 0) {
        const { hits, none, ...counts } = await matches(query, terms)
        const all = query.variety ? await varied(query, terms) : undefined
        // The read model forgives more: a first letter, and parts that are not the last word.
        if (all ? all.length === 0 : none) return reads.frames(query)
        const found = all?.slice((query.page - 1) * query.pageSize) ?? hits
        const whole =
          query.variety || query.provenance
            ? new Map((await reads.framesByIds(found.map((hit) => hit.key))).map((document) => [document.id, document]))
            : undefined
        return { frames: frameHits(found, terms, whole), ...counts }
      }
      const [page, { facets, total }] = await Promise.all([
        reads.frames({ ...query, facets: false }),
        matches({ ...query, page: 1, pageSize: 0 }, terms),
      ])
      return { frames: page.frames, facets, total }
    },
  }
}

function cutKinds(hits: readonly StoredHit[]): NamedKind[] {
  return NAMED_KINDS.slice(NAMED_KINDS.indexOf(hits.at(-1)!.kind!))
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

/** Our own words only: what else a person types is no operator. A space at the end says that the last word is whole. */
function textOf(terms: readonly Term[]): string {
  const text = terms.map(({ exact, words }) => (exact ? `"${words.map(toEngineWord).join(' ')}"` : words[0])).join(' ')
  return terms.at(-1)?.prefix === false ? `${text} ` : text
}

/** A letter or two begin too many parts of words, and a phrase is of whole ones. */
function searchedOn(terms: readonly Term[]): { attributesToSearchOn?: string[] } {
  const last = terms.at(-1)
  const whole = terms.some((term) => term.exact) || (last?.prefix && !isPartSearchable(last.words[0]!))
  return whole ? { attributesToSearchOn: [...WHOLE_TEXTS] } : {}
}

function frameHits(
  hits: readonly StoredHit[],
  terms: readonly Term[],
  documents?: ReadonlyMap<string, FrameDocument>,
): FrameHit[] {
  const highlighter = new Highlighter(terms)
  return hits.flatMap((hit): FrameHit[] => {
    if (!documents) return [new StoredFrame(hit.doc, scoreOf(hit), matchedIn(textsOf(hit.doc), highlighter))]
    const document = documents.get(hit.key)
    return document ? [{ document, score: scoreOf(hit), matched: matchedIn(document, highlighter) }] : []
  })
}

/** Its document is read where somebody wants it. */
class StoredFrame implements FrameHit {
  readonly text: string
  readonly score: number
  readonly matched: Record<string, string>
  #document: ShownFrame | undefined

  constructor(text: string, score: number, matched: Record<string, string>) {
    this.text = text
    this.score = score
    this.matched = matched
  }

  get document(): ShownFrame {
    this.#document ??= JSON.parse(this.text) as ShownFrame
    return this.#document
  }
}

/** Best first: what is called as asked before what the engine found. */
function entryHits<K extends Exclude<DocumentKind, 'frames'>>(
  hits: readonly StoredHit[],
  terms: readonly Term[],
  {
    fields,
    byName = () => undefined,
  }: {
    fields: (document: LibraryDocuments[K]) => Record<string, string>
    byName?: (document: LibraryDocuments[K]) => number | undefined
  },
): Hit<LibraryDocuments[K]>[] {
  const highlighter = new Highlighter(terms)
  return hits
    .map((hit) => {
      const document = JSON.parse(hit.doc) as LibraryDocuments[K]
      const score = Math.max(byName(document) ?? 0, Math.min(0.99, scoreOf(hit)))
      return { document, score: rounded(score), matched: matchedFields(fields(document), highlighter) }
    })
    .sort((a, b) => b.score - a.score)
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
const scoreOf = (hit: StoredHit) => rounded(hit.partial ?? 0.5 + 0.5 * (hit._rankingScore ?? 1))
