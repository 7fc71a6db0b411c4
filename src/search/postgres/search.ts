import { type SQL, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import type pg from 'pg'
import { invalid } from '../../errors.ts'
import { cellOf } from '../color.ts'
import {
  type CursorPage,
  type DocumentKind,
  FACETS,
  type Facet,
  type FacetCounts,
  type FrameDocument,
  type FrameFilters,
  type FramePage,
  type FrameQuery,
  type Hit,
  type LibraryDocuments,
  type LibrarySearch,
  type SearchGroups,
} from '../library-search.ts'
import { frameLikeness, VarietyFilter, wordsOf } from '../likeness.ts'
import { withCurrentSlugs } from '../techniques.ts'
import {
  compare,
  type ExpandedTerm,
  expandTerms,
  isPartSearchable,
  JOINED_FROM,
  joinedTerms,
  type TypoCandidate,
} from '../text/expand.ts'
import { Highlighter } from '../text/highlight.ts'
import { parseQuery, type Term } from '../text/query.ts'
import { isCharacter, lexemesOf } from '../text/tokens.ts'
import { typosAllowed } from '../text/typos.ts'
import { nameKey, rowsOf as readRows } from './sink.ts'

/** Matches that `relevance` (and `variety`) can be paged through; past it only `newest` and `strength` go on. */
export const MAX_RELEVANCE_DEPTH = 20_000

/** Values counted per facet; the rest of a long tail of authors is left out. */
export const MAX_FACET_VALUES = 1_000

/** A word that more frames have than this tells little: looking at all of them takes long. */
const MANY_FRAMES = 50_000
/** Of so many matches the strongest few are ranked for a handful of hits; for pages, as many as can be paged through. */
const FEW_RANKED = 4_000

const FRAMES = sql.raw('library_search.frames')
const ENTRIES = sql.raw('library_search.entries')
const DOCUMENTS = sql.raw('library_search.documents')
const WORDS = sql.raw('library_search.words')

/** Total orders. `newest`: the video's arrival, then its time order. */
const ORDERS = {
  newest: { columns: 'added_ms, video_id, t_ms', by: 'added_ms desc, video_id, t_ms' },
  strength: { columns: 'strength', by: 'strength desc, id' },
  relevance: { columns: 'strength', by: 'score desc, strength desc, id' },
} as const
const STRENGTH = sql.raw(ORDERS.strength.by)

const COLUMNS = {
  subject: 'subject',
  surface: 'surface',
  shot: 'shot',
  technique: 'technique',
  zone: 'zone',
  tone: 'tone',
  kind: 'kind',
  author: 'author',
  platform: 'platform',
  video: 'video_id',
} as const

const TEXT_FIELDS = ['caption', 'composition', 'steal', 'on_screen_text'] as const
export type FrameTexts = Pick<FrameDocument, (typeof TEXT_FIELDS)[number]>

/** Search and reads on the read model in PostgreSQL. The pool stays the caller's. `manyFrames`: a word that more frames have than this is not ranked in all of them. */
export function openPostgresSearch(
  pool: pg.Pool,
  { manyFrames = MANY_FRAMES }: { manyFrames?: number } = {},
): LibrarySearch {
  const db = drizzle(pool)
  const rowsOf = <T>(query: SQL): Promise<T[]> => readRows<T>(db, query)

  let common = { until: -Infinity, frames: Promise.resolve(new Map<string, number>()) }

  /** Words that very many frames have, and how many, as PostgreSQL last counted; none in a small library. Asked once a minute. */
  function commonWords(): Promise<Map<string, number>> {
    if (performance.now() < common.until) return common.frames
    const frames = rowsOf<{ word: string; n: number }>(sql`
      select m.word, (m.share * c.reltuples)::float8 as n
        from pg_stats s join pg_class c on c.oid = 'library_search.frames'::regclass
        cross join unnest(s.most_common_elems::text::text[], s.most_common_elem_freqs) as m(word, share)
       where s.schemaname = 'library_search' and s.tablename = 'frames' and s.attname = 'words' and m.share * c.reltuples > ${manyFrames}`)
      // The shares end with three of another kind, which have no word.
      .then((rows) => new Map(rows.flatMap(({ word, n }) => (word === null ? [] : [[word, n] as const]))))
    common = { until: performance.now() + 60_000, frames }
    frames.catch(() => {
      common.until = -Infinity
    })
    return frames
  }

  async function documentsOf<K extends DocumentKind>(
    kind: K,
    ids: readonly string[],
  ): Promise<Map<string, LibraryDocuments[K]>> {
    const known = storable(ids)
    if (known.length === 0) return new Map()
    const rows = await rowsOf<{ id: string; doc: LibraryDocuments[K] }>(
      sql`select id, doc from ${DOCUMENTS} where kind = ${kind} and id = any(${sql.param(known)}) and doc is not null`,
    )
    return new Map(rows.map(({ id, doc }) => [id, doc]))
  }

  /** One look-up for all words of a query: what may have been meant by them in each scope. */
  async function candidatesFor(terms: readonly Term[]): Promise<Map<string, Candidates>> {
    const words = [...new Set(terms.filter((term) => !term.exact).map((term) => term.words[0]!))]
    const typed = words.filter((word) => typosAllowed(word) > 0)
    const parts = words.filter(isPartSearchable)
    // wifi for wi-fi, dont for don't.
    const joined = words.filter((word) => word.length >= JOINED_FROM)
    // signup for sign up; only what is there, since ranking by beginnings is slow.
    const together = joinedTerms(terms).flatMap((one) => one?.word ?? [])
    const byScope = new Map<string, Candidates>()
    if (parts.length === 0 && joined.length === 0 && together.length === 0) return byScope
    const rows = await rowsOf<{ asked: string; scope: string; word: string }>(sql`
      select q.word as asked, w.scope, w.word
        from unnest(${sql.param(typed)}::text[]) as q(word) cross join lateral (
          (select scope, word from ${WORDS}
            where word % q.word and abs(length(word) - length(q.word)) <= 2 order by similarity(word, q.word) desc, word limit 40)
          union
          (select s.scope, near.word
             from unnest(array['frames', 'videos', 'brands', 'techniques']) as s(scope) cross join lateral (
               select word from ${WORDS} w
                where w.scope = s.scope and w.word >= left(q.word, 1) and w.word < left(q.word, 1) || chr(1114111)
                  and abs(length(w.word) - length(q.word)) <= 1 and similarity(w.word, q.word) > 0.12
                order by similarity(w.word, q.word) desc, w.word limit 20) near)
          union
          -- The first two letters swapped leave few trigrams alike.
          (select s.scope, near.word
             from unnest(array['frames', 'videos', 'brands', 'techniques']) as s(scope) cross join lateral (
               select word from ${WORDS} w, concat(substr(q.word, 2, 1), left(q.word, 1)) as swapped
                where w.scope = s.scope and w.word >= swapped and w.word < swapped || chr(1114111)
                  and abs(length(w.word) - length(q.word)) <= 1 and similarity(w.word, q.word) > 0.12
                order by similarity(w.word, q.word) desc, w.word limit 20) near)
        ) w
      union
      select q.word, w.scope, w.word
        from unnest(${sql.param(parts)}::text[]) as q(word) cross join lateral (
          select scope, word from ${WORDS} where scope = 'screen' and word like '%' || q.word || '%' order by length(word), word limit 60
        ) w
      union
      select q.word, w.scope, w.word
        from unnest(${sql.param(together)}::text[]) as q(word)
        cross join unnest(array['frames', 'videos', 'brands', 'techniques']) as s(scope) cross join lateral (
          select scope, word from ${WORDS}
           where scope = s.scope and word >= q.word and word < q.word || chr(1114111) order by word limit 12) w
      union
      select q.word, one.scope, one.word || ' ' || other.word
        from unnest(${sql.param(joined)}::text[]) as q(word) cross join generate_series(1, length(q.word) - 1) as cut
        join ${WORDS} one on one.word = left(q.word, cut)
        join ${WORDS} other on other.scope = one.scope and other.word = substr(q.word, cut + 1)
       where one.scope = any('{frames,videos,brands,techniques}')`)
    for (const { asked, scope, word } of rows) {
      const home = scope === 'screen' ? 'frames' : scope
      const held = byScope.get(home) ?? new Map()
      byScope.set(home, held)
      held.set(asked, [...(held.get(asked) ?? []), { word, screen: scope === 'screen' }])
    }
    return byScope
  }

  async function expandFor(q: string): Promise<(scope: string) => ExpandedTerm[]> {
    const terms = parseQuery(q)
    const candidates = await candidatesFor(terms)
    return (scope) => expandTerms(terms, candidates.get(scope) ?? new Map())
  }

  async function searchFrames(terms: ExpandedTerm[], limit: number): Promise<Hit<FrameDocument>[]> {
    const frequent = await commonWords()
    const all = allOf(terms)
    const find = (where: SQL, score: SQL, many: boolean, most: number) =>
      rowsOf<{ id: string; score: number }>(
        sql`select id, ${score} as score from ${ranked(where, many ? FEW_RANKED : undefined)} order by score desc, strength desc, id limit ${most}`,
      )
    const best = await find(sql`words @@ ${all}`, scoreOf(terms), isFrequent(terms, frequent), limit)
    if (terms.length === 1) return frameHits(best, terms)
    // What has nothing of the query but a word that stands everywhere comes last.
    const rare = terms.filter((term) => !isFrequent([term], frequent))
    const told = rare.length > 0 && rare.length < terms.length
    const some = told ? rare : terms
    if (best.length < limit)
      best.push(
        ...(await find(
          sql`words @@ ${anyOf(some)} and not (words @@ ${all})`,
          partialScoreOf(some),
          rare.length === 0,
          limit - best.length,
        )),
      )
    if (best.length < limit && told)
      best.push(
        ...(await find(
          sql`words @@ ${anyOf(terms)} and not (words @@ ${anyOf(rare)})`,
          // Below the least of those before.
          sql`(0.04 * ${partialScoreOf(terms)})`,
          true,
          limit - best.length,
        )),
      )
    return frameHits(best, terms)
  }

  async function frameHits(
    found: readonly { id: string; score: number }[],
    terms: readonly ExpandedTerm[],
  ): Promise<Hit<FrameDocument>[]> {
    const documents = await documentsOf(
      'frames',
      found.map(({ id }) => id),
    )
    const highlighter = new Highlighter(terms)
    return found.flatMap(({ id, score }) => {
      const document = documents.get(id)
      return document ? [{ document, score: rounded(score), matched: matchedIn(document, highlighter) }] : []
    })
  }

  async function searchEntries<K extends Exclude<DocumentKind, 'frames'>>(
    kind: K,
    terms: ExpandedTerm[],
    q: string,
    limit: number,
    fields: (document: LibraryDocuments[K]) => Record<string, string>,
  ): Promise<Hit<LibraryDocuments[K]>[]> {
    const key = nameKey(q)
    const names = kind === 'techniques' ? [sql`name`, sql`replace(id, '-', ' ')`] : [sql`name`]
    const exact = sql.join(
      names.map((name) => sql`${name} = ${key}`),
      sql` or `,
    )
    // A name that stands whole among the words asked for.
    const within = names.map(
      (name) =>
        sql`case when ${name} <> '' and position(' ' || ${name} || ' ' in ${` ${key} `}) > 0 then length(${name}) else 0 end`,
    )
    const named = kind === 'videos' ? sql`0` : sql`greatest(${sql.join(within, sql`, `)})`
    const found = await rowsOf<{ id: string; score: number }>(sql`
      select id, case when ${exact} then 1 when words @@ ${allOf(terms)} then least(0.99, ${scoreOf(terms)})
                      when ${named} > 0 then ${namedScore(named, key)} else ${partialScoreOf(terms)} end as score
        from ${ENTRIES} where kind = ${kind} and words @@ ${anyOf(terms)} order by score desc, strength desc, id limit ${limit}`)
    const documents = await documentsOf(
      kind,
      found.map(({ id }) => id),
    )
    const highlighter = new Highlighter(terms)
    return found.flatMap(({ id, score }) => {
      const document = documents.get(id)
      if (!document) return []
      return [{ document, score: rounded(score), matched: matchedFields(fields(document), highlighter) }]
    })
  }

  async function strongestEntries<K extends Exclude<DocumentKind, 'frames'>>(
    kind: K,
    limit: number,
  ): Promise<Hit<LibraryDocuments[K]>[]> {
    const rows = await rowsOf<{ doc: LibraryDocuments[K] }>(sql`
      select d.doc from (select id, strength from ${ENTRIES} where kind = ${kind} order by ${STRENGTH} limit ${limit}) e
        join ${DOCUMENTS} d on d.kind = ${kind} and d.id = e.id order by e.strength desc, e.id`)
    return rows.map(({ doc }, n) => ({ document: doc, score: byPlace(n, rows.length), matched: {} }))
  }

  /** The best of every video first, then everyone's second best. */
  async function strongestFrames(limit: number): Promise<Hit<FrameDocument>[]> {
    const rows = await rowsOf<{ id: string }>(sql`
      select f.id
        from (select id from ${ENTRIES} where kind = 'videos' order by ${STRENGTH} limit ${limit}) v
        cross join lateral (
          select id, strength, row_number() over (order by strength desc, id) as place
            from ${FRAMES} where video_id = v.id order by strength desc, id limit ${limit}) f
       order by f.place, f.strength desc, f.id limit ${limit}`)
    return inOrder(rows.map(({ id }) => id))
  }

  async function inOrder(ids: readonly string[]): Promise<Hit<FrameDocument>[]> {
    const documents = await documentsOf('frames', ids)
    const held = ids.flatMap((id) => documents.get(id) ?? [])
    return held.map((document, n) => ({ document, score: byPlace(n, held.length), matched: {} }))
  }

  async function ofSource(sourceKey: string, limit: number): Promise<SearchGroups> {
    if (!isStorable(sourceKey)) return { videos: [], frames: [], brands: [], techniques: [] }
    const videos = await rowsOf<{ id: string; doc: LibraryDocuments['videos'] }>(
      sql`select e.id, d.doc from ${ENTRIES} e join ${DOCUMENTS} d on d.kind = 'videos' and d.id = e.id
           where e.source_key = ${sourceKey} and e.kind = 'videos' order by e.id limit 1`,
    )
    const video = videos[0]
    if (!video) return { videos: [], frames: [], brands: [], techniques: [] }
    const frames = await rowsOf<{ id: string }>(
      sql`select id from ${FRAMES} where video_id = ${video.id} order by strength desc, id limit ${limit}`,
    )
    return {
      videos: [{ document: video.doc, score: 1, matched: {} }],
      frames: await inOrder(frames.map(({ id }) => id)),
      brands: [],
      techniques: [],
    }
  }

  async function wallPage(query: FrameQuery, terms: ExpandedTerm[]): Promise<Hit<FrameDocument>[]> {
    const { page, pageSize } = query
    const frequent = terms.length > 0 && isFrequent(terms, await commonWords())
    const relevance = query.sort === 'relevance' && terms.length > 0
    const offset = (page - 1) * pageSize
    const where = whereOf(query.filters, terms)
    const order = ORDERS[relevance ? 'relevance' : query.sort === 'strength' ? 'strength' : 'newest']
    const score = terms.length > 0 ? scoreOf(terms) : sql`1::float8`
    if (query.variety) {
      const ids = await variedIds(query, where, sql.raw(order.by), score)
      return frameHits(ids, terms)
    }
    // The page is cut from the index alone; documents, and scores that do not order, are fetched for its rows only.
    const after = relevance ? sql`score` : terms.length > 0 ? scoreOf(terms) : sql`1::float8`
    const rows = await rowsOf<{ id: string; score: number; doc: FrameDocument }>(sql`
      select p.id, ${relevance ? sql`p.score` : terms.length > 0 ? sql`(select ${after} from ${FRAMES} f where f.id = p.id)` : after} as score, d.doc
        from (select id, ${sql.raw(order.columns)} ${relevance ? sql`, ${score} as score` : sql``}
                from ${ranked(where, relevance && frequent ? MAX_RELEVANCE_DEPTH + pageSize : undefined)} order by ${sql.raw(order.by)} limit ${pageSize} offset ${offset}) p
        join ${DOCUMENTS} d on d.kind = 'frames' and d.id = p.id
       order by ${sql.raw(order.by)}`)
    const highlighter = new Highlighter(terms)
    return rows.map(({ doc, score: found }) => ({
      document: doc,
      score: rounded(found),
      matched: matchedIn(doc, highlighter),
    }))
  }

  /** Reads on from the top until the page is full: what was shown before decides what is a repeat. */
  async function variedIds(
    query: FrameQuery,
    where: SQL,
    order: SQL,
    score: SQL,
  ): Promise<{ id: string; score: number }[]> {
    const filter = new VarietyFilter()
    const from = (query.page - 1) * query.pageSize
    const kept: { id: string; score: number }[] = []
    let step = Math.max(1_000, (from + query.pageSize) * 2)
    for (let read = 0; read < MAX_RELEVANCE_DEPTH && kept.length < from + query.pageSize; read += step, step = 5_000) {
      const rows = await rowsOf<{ id: string; score: number; phash: string; luma: number }>(sql`
        select id, luma, lpad(to_hex(phash::bigint), 16, '0') as phash, ${score} as score from ${FRAMES}
         where ${where} order by ${order} limit ${Math.min(step, MAX_RELEVANCE_DEPTH - read)} offset ${read}`)
      for (const row of rows) if (filter.keep(row)) kept.push({ id: row.id, score: row.score })
      if (rows.length < step) break
    }
    return kept.slice(from, from + query.pageSize)
  }

  async function countFacets(
    filters: FrameFilters,
    terms: ExpandedTerm[],
  ): Promise<{ facets: FacetCounts; total: number }> {
    const facets = Object.fromEntries(FACETS.map((facet) => [facet, Object.create(null)])) as FacetCounts
    const filtered = FACETS.filter((facet) => (filters[facet]?.length ?? 0) > 0)
    const free = FACETS.filter((facet) => !filtered.includes(facet))
    let total = 0
    if (filtered.length === 0 && terms.length === 0 && !filters.video?.length && !filters.color?.length) {
      // Every column has an index of its own, which counts faster than the rows do.
      const rows = await rowsOf<{ facet: Facet | ''; value: string | null; n: number }>(
        sql.raw(
          [
            ...FACETS.map(
              (facet) =>
                `(select '${facet}' as facet, ${facet} as value, count(*)::int as n from library_search.frames group by ${facet})`,
            ),
            `(select '', null, count(*)::int from library_search.frames)`,
          ].join(' union all '),
        ),
      )
      for (const { facet, value, n } of rows) {
        if (facet === '') total = n
        else if (value !== null) facets[facet][value] = n
      }
      for (const facet of FACETS) facets[facet] = largest(facets[facet])
      return { facets, total }
    }
    const counting = [
      // One pass counts every attribute whose own filter is off anyway, and the whole.
      rowsOf<Record<string, string | number | null>>(sql`
        select ${sql.raw(free.map((facet) => `${facet}, grouping(${facet}) as no_${facet}`).join(', ') || '1 as none')}${sql.raw(',')} count(*)::int as n
          from ${FRAMES} where ${whereOf(filters, terms)}
         group by grouping sets (${sql.raw([...free.map((facet) => `(${facet})`), '()'].join(', '))})`).then((rows) => {
        for (const row of rows) {
          const facet = free.find((name) => row[`no_${name}`] === 0)
          if (!facet) total = Number(row.n)
          else if (row[facet] !== null) facets[facet][String(row[facet])] = Number(row.n)
        }
      }),
      ...filtered.map(async (facet) => {
        const column = sql.raw(facet)
        const rows = await rowsOf<{ value: string | null; n: number }>(
          sql`select ${column} as value, count(*)::int as n from ${FRAMES} where ${whereOf({ ...filters, [facet]: [] }, terms)} group by ${column}`,
        )
        for (const { value, n } of rows) if (value !== null) facets[facet][value] = n
      }),
    ]
    await Promise.all(counting)
    for (const facet of FACETS) facets[facet] = largest(facets[facet])
    return { facets, total }
  }

  async function documentRows<K extends DocumentKind>(query: SQL): Promise<LibraryDocuments[K][]> {
    return (await rowsOf<{ doc: LibraryDocuments[K] }>(query)).map(({ doc }) => doc)
  }

  const self: LibrarySearch = {
    engine: 'postgres',

    async version() {
      const [row] = await rowsOf<{ version: string }>(
        sql`select left(generation::text, 8) || '-' || version as version from read_models where engine = 'postgres'`,
      )
      return row?.version ?? '0'
    },

    async asOf() {
      const [row] = await rowsOf<{ at: string | null }>(
        sql`select applied_at as at from read_models where engine = 'postgres'`,
      )
      return row?.at ? new Date(row.at) : null
    },

    async search({ q, limit, sourceKey }) {
      const ofVideo = sourceKey === undefined ? undefined : await ofSource(sourceKey, limit)
      // Words with a dot and a slash between them (node.js/express) look like an address: where no video has it they are words.
      if (ofVideo && (ofVideo.videos.length > 0 || !sourceKey?.startsWith('url:') || WRITTEN_OUT.test(q)))
        return ofVideo
      if (q.trim() === '') {
        const [videos, frames, brands, techniques] = await Promise.all([
          strongestEntries('videos', limit),
          strongestFrames(limit),
          strongestEntries('brands', limit),
          strongestEntries('techniques', limit),
        ])
        return { videos, frames, brands, techniques }
      }
      const expand = await expandFor(q)
      if (expand('frames').length === 0) return { videos: [], frames: [], brands: [], techniques: [] }
      const [videos, frames, brands, techniques] = await Promise.all([
        searchEntries('videos', expand('videos'), q, limit, ({ title }) => ({ title })),
        searchFrames(expand('frames'), limit),
        searchEntries('brands', expand('brands'), q, limit, ({ name }) => ({ name })),
        searchEntries('techniques', expand('techniques'), q, limit, ({ slug, name }) => ({ slug, name })),
      ])
      return { videos, frames, brands, techniques }
    },

    async frames(asked): Promise<FramePage> {
      refuseDepth(asked)
      const query = await withCurrentSlugs(asked, self.techniques)
      const blank = query.q.trim() === ''
      const terms = blank ? [] : (await expandFor(query.q))('frames')
      // Something was asked for, but it holds no word that could be found.
      if (!blank && terms.length === 0) {
        return query.facets
          ? { frames: [], total: 0, facets: Object.fromEntries(FACETS.map((facet) => [facet, {}])) as FacetCounts }
          : { frames: [] }
      }
      const [frames, counted] = await Promise.all([
        wallPage(query, terms),
        query.facets ? countFacets(query.filters, terms) : undefined,
      ])
      return counted ? { frames, ...counted } : { frames }
    },

    async videoFrames(videoId) {
      if (!isStorable(videoId)) return undefined
      const frames = await documentRows<'frames'>(sql`
        select d.doc from ${FRAMES} f join ${DOCUMENTS} d on d.kind = 'frames' and d.id = f.id where f.video_id = ${videoId} order by f.t_ms`)
      if (frames.length > 0) return frames
      return (await self.video(videoId)) ? [] : undefined
    },

    async frame(id) {
      if (!isStorable(id)) return undefined
      const frames = await documentRows<'frames'>(sql`
        with me as (select id, video_id, t_ms from ${FRAMES} where id = ${id}),
        near as (
          select id, 0 as place from me
          union all (select f.id, -1 from ${FRAMES} f, me where f.video_id = me.video_id and f.t_ms < me.t_ms order by f.t_ms desc limit 1)
          union all (select f.id, 1 from ${FRAMES} f, me where f.video_id = me.video_id and f.t_ms > me.t_ms order by f.t_ms limit 1))
        select d.doc from near join ${DOCUMENTS} d on d.kind = 'frames' and d.id = near.id order by near.place`)
      const at = frames.findIndex((frame) => frame.id === id)
      const frame = frames[at]
      return frame && { frame, previous: frames[at - 1] ?? null, next: frames[at + 1] ?? null }
    },

    async framesByIds(ids) {
      const documents = await documentsOf('frames', ids)
      return ids.flatMap((id) => documents.get(id) ?? [])
    },

    async similar(id, query) {
      const me = (await documentsOf('frames', [id])).get(id)
      if (!me) return undefined
      const { filters, limit } = await withCurrentSlugs(query, self.techniques)
      const rows = await db.transaction(async (tx) => {
        // Every kind of candidate has its index, but the planner cannot know how few frames share a key.
        await tx.execute(
          sql`select set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true), set_config('max_parallel_workers_per_gather', '0', true)`,
        )
        const others = sql`${whereOf(filters, [])} and id <> ${id}`
        const { narrow, wide } = candidatesLike(me, others, limit)
        const found = await readRows<{ id: string }>(tx, sql.join(narrow, sql` union `))
        // A small library has few frames that share so much, and there a wider look costs little.
        const more =
          found.length < ENOUGH_CANDIDATES && wide.length > 0
            ? await readRows<{ id: string }>(tx, sql.join(wide, sql` union `))
            : []
        const ids = new Set([...found, ...more].map((row) => row.id))
        if (ids.size < limit) {
          // Filters that leave few, or a frame that shares nothing: what is least unlike, rather than nothing.
          await tx.execute(sql`set local enable_seqscan to default`)
          for (const row of await readRows<{ id: string }>(
            tx,
            sql`select id from ${FRAMES} where ${others} order by ${STRENGTH} limit ${MAX_CANDIDATES}`,
          ))
            ids.add(row.id)
        }
        return [...ids]
      })
      const documents = await documentsOf('frames', rows)
      return [...documents.values()]
        .map((document) => ({ document, score: rounded(frameLikeness(me, document)), matched: {} }))
        .sort((a, b) => b.score - a.score || (a.document.id < b.document.id ? -1 : 1))
        .slice(0, limit)
    },

    async video(id) {
      return (await documentsOf('videos', [id])).get(id)
    },

    async videos({ after, limit, author, platform }): Promise<CursorPage<LibraryDocuments['videos']>> {
      if (author !== undefined && !isStorable(author)) return { items: [], next: null }
      const cursor = after === undefined ? undefined : readCursor(after, 'number')
      const items = await documentRows<'videos'>(sql`
        select d.doc from (
          select id, added_ms from ${ENTRIES} where kind = 'videos'
            ${author === undefined ? sql`` : sql`and author = ${author}`} ${platform === undefined ? sql`` : sql`and platform = ${platform}`}
            ${cursor ? sql`and (added_ms < ${cursor[0]} or (added_ms = ${cursor[0]} and id > ${cursor[1]}))` : sql``}
           order by added_ms desc, id limit ${limit + 1}) e
          join ${DOCUMENTS} d on d.kind = 'videos' and d.id = e.id order by e.added_ms desc, e.id`)
      return cursorPage(items, limit, (last) => [last.added_ms, last.id])
    },

    async brands({ after, limit }): Promise<CursorPage<LibraryDocuments['brands']>> {
      const cursor = after === undefined ? undefined : readCursor(after, 'string')
      const items = await documentRows<'brands'>(sql`
        select d.doc from (
          select id, name from ${ENTRIES} where kind = 'brands' ${cursor ? sql`and (name, id) > (${cursor[0]}, ${cursor[1]})` : sql``}
           order by name, id limit ${limit + 1}) e
          join ${DOCUMENTS} d on d.kind = 'brands' and d.id = e.id order by e.name, e.id`)
      return cursorPage(items, limit, (last) => [nameKey(last.name), last.id])
    },

    techniques: () =>
      documentRows<'techniques'>(
        sql`select doc from ${DOCUMENTS} where kind = 'techniques' and doc is not null order by id`,
      ),
  }
  return self
}

type Candidates = Map<string, TypoCandidate[]>

/** @throws AppError invalid_request past the depth that every engine can page through in an order that is not stored. */
export function refuseDepth(query: FrameQuery): void {
  if ((query.sort === 'relevance' && query.q.trim() !== '') || query.variety) {
    if ((query.page - 1) * query.pageSize >= MAX_RELEVANCE_DEPTH) {
      const what = query.variety ? 'variety=on' : 'sort=relevance'
      throw invalid(
        'page',
        `${what} goes ${MAX_RELEVANCE_DEPTH} matches deep; use sort=newest without variety to read every page.`,
      )
    }
  }
}

function whereOf(filters: FrameFilters, terms: readonly ExpandedTerm[]): SQL {
  const conditions: SQL[] = []
  for (const [attribute, column] of Object.entries(COLUMNS) as [keyof typeof COLUMNS, string][]) {
    const values = filters[attribute]
    if (!values || values.length === 0) continue
    const list = storable(values)
    conditions.push(
      list.length === 1
        ? sql`${sql.raw(column)} = ${list[0]}`
        : sql`${sql.raw(column)} = any(${sql.param(list)}::text[])`,
    )
  }
  if (filters.color && filters.color.length > 0)
    conditions.push(sql`colors && ${sql.param(filters.color.map(cellOf))}::smallint[]`)
  if (terms.length > 0) conditions.push(sql`words @@ ${allOf(terms)}`)
  return conditions.length > 0 ? sql.join(conditions, sql` and `) : sql`true`
}

/** Frames read of each kind of candidate before the nearest are chosen: what a question costs does not grow with the library. */
const MAX_CANDIDATES = 600
const ENOUGH_CANDIDATES = 350
const ALIKE = sql.raw('alike_keys(phash, subject, surface, shot, technique, tone)')

/**
 * Ids worth comparing with a frame, each kind from an index: nearly the same picture; the same colours with the same attributes, technique or alone; the same
 * attributes; the same technique; two of its rarer words.
 */
function candidatesLike(me: FrameDocument, where: SQL, limit: number): { narrow: SQL[]; wide: SQL[] } {
  const keys = sql`alike_keys(('x' || ${me.phash})::bit(64), ${me.subject}, ${me.surface}, ${me.shot}, ${me.technique}, ${me.tone})`
  const cells = [...new Set(me.palette.slice(0, 3).map(cellOf))]
  const colors = sql`colors @> ${sql.param(cells)}::smallint[]`
  const near = sql`bit_count(phash # ('x' || ${me.phash})::bit(64))`
  const shared = sql.join(
    (['subject', 'surface', 'shot', 'technique', 'zone', 'tone'] as const).flatMap((attribute) =>
      me[attribute] === null ? [] : [sql`(${sql.raw(attribute)} is not distinct from ${me[attribute]})::int`],
    ),
    sql` + `,
  )
  const some = (condition: SQL, most: number, order: SQL, take: number) => sql`
    (select id from (select id, phash, subject, surface, shot, technique, zone, tone from ${FRAMES} where ${where} and ${condition} limit ${most}) c
      order by ${order}, id limit ${take})`
  const byAttributes = sql`${shared} desc, ${near}`
  const key = (n: number) => sql`${ALIKE} @> (${keys})[${sql.raw(`${n}:${n}`)}]`
  const kinds = [
    some(sql`${ALIKE} && ${sql.param(hashProbes(me.phash))}::int[]`, 20_000, near, Math.max(100, limit)),
    some(key(5), MAX_CANDIDATES, byAttributes, 60),
  ]
  if (cells.length > 0) {
    kinds.push(some(sql`${colors} and ${key(5)}`, MAX_CANDIDATES, byAttributes, 100))
    kinds.push(some(sql`${colors} and ${key(6)}`, MAX_CANDIDATES, byAttributes, 60))
    if (me.technique !== null) kinds.push(some(sql`${colors} and ${key(7)}`, MAX_CANDIDATES, byAttributes, 100))
  }
  if (me.technique !== null)
    kinds.push(
      sql`(select id from ${FRAMES} where ${where} and technique = ${me.technique} order by ${STRENGTH} limit 60)`,
    )
  // Two words together: an index reads the shorter of two lists then, but all lists of a choice of words.
  const [one, two] = [...wordsOf(me)].sort((a, b) => b.length - a.length || compare(a, b))
  if (one && two)
    kinds.push(some(sql`words @@ ${`${quoted(one)} & ${quoted(two)}`}::tsquery`, MAX_CANDIDATES, byAttributes, 60))
  const wide =
    cells.length > 0
      ? [
          some(colors, MAX_CANDIDATES, byAttributes, 100),
          some(sql`colors @> ${sql.param(cells.slice(0, 1))}::smallint[]`, MAX_CANDIDATES, byAttributes, 100),
        ]
      : []
  return { narrow: kinds, wide }
}

/**
 * The keys of all hashes that differ in one bit at most in one of the four 16-bit bands: two hashes within seven bits share one of them, by the pigeonhole
 * principle (Norouzi, Punjani and Fleet 2012, multi-index hashing).
 */
function hashProbes(phash: string): number[] {
  const probes: number[] = []
  for (let band = 0; band < 4; band++) {
    const value = Number.parseInt(phash.slice(band * 4, band * 4 + 4), 16)
    probes.push(band * 65_536 + value)
    for (let bit = 0; bit < 16; bit++) probes.push(band * 65_536 + (value ^ (1 << bit)))
  }
  return probes
}

/** PostgreSQL text cannot hold NUL or half a surrogate pair: no row has such a value, so neither may the question. */
const isStorable = (value: string) => !value.includes('\0') && value.isWellFormed()
const storable = (values: readonly string[]) => values.filter(isStorable)

/** Frames that meet a condition; only the strongest `most` of them where there are too many to rank. */
function ranked(where: SQL, most: number | undefined): SQL {
  return most === undefined
    ? sql`${FRAMES} where ${where}`
    : sql`(select id, strength, words from ${FRAMES} where ${where} order by ${STRENGTH} limit ${most}) strongest`
}

/** Whether even the rarest of these stands in very many frames. */
function isFrequent(terms: readonly ExpandedTerm[], common: ReadonlyMap<string, number>): boolean {
  if (common.size === 0) return false
  const held = [...common.keys()]
  const begins = (beginning: string) => held.some((word) => word.startsWith(beginning))
  return terms.every(
    ({ words, prefix, close }) =>
      (prefix
        ? begins(words[0]!)
        : rowOf(words).every((part) => (part.prefix ? begins(part.lexeme) : common.has(part.lexeme)))) ||
      close.some((word) => common.has(word)),
  )
}

/** Words in a row as the index holds them (`lexemesOf`): the last of several characters is told by the one before it, one alone by the beginning of its lexemes. */
function rowOf(words: readonly string[]): { lexeme: string; prefix: boolean; at: number }[] {
  return lexemesOf(words).flatMap((lexeme, at) => {
    const single = lexeme === words[at] && isCharacter(lexeme)
    return single && at > 0 && isCharacter(words[at - 1]!) ? [] : [{ lexeme, prefix: single, at }]
  })
}

const quoted = (lexeme: string) => `'${lexeme}'`

function phraseOf(words: readonly string[]): string {
  const parts = rowOf(words).map(({ lexeme, prefix, at }, n, row) => {
    const gap = n > 0 ? ` <${at - row[n - 1]!.at}> ` : ''
    return `${gap}${quoted(lexeme)}${prefix ? ':*' : ''}`
  })
  return `(${parts.join('')})`
}

function textOf(term: ExpandedTerm): string {
  if (term.exact) return phraseOf(term.words)
  const word = quoted(term.words[0]!)
  const options = [
    term.prefix ? `${word}:*` : word,
    ...term.close.map(quoted),
    ...term.pairs.map(phraseOf),
    ...term.joined.map(quoted),
    ...term.parts.map((part) => `${quoted(part)}:C`),
  ]
  return `(${options.join(' | ')})`
}

const allOf = (terms: readonly ExpandedTerm[]): SQL => sql`${terms.map(textOf).join(' & ')}::tsquery`
const anyOf = (terms: readonly ExpandedTerm[]): SQL => sql`${terms.map(textOf).join(' | ')}::tsquery`
const asTyped = (terms: readonly ExpandedTerm[]): SQL =>
  sql`${terms.map((term) => phraseOf(term.words)).join(' & ')}::tsquery`

/** Composition, on-screen text, steal, caption. */
const WEIGHTS = sql.raw(`'{0.3, 0.6, 0.7, 1}'::float4[]`)

/** Every word there: 0.5–1; more where they stand as typed, in the caption, close together. */
function scoreOf(terms: readonly ExpandedTerm[]): SQL {
  return sql`(0.5 + 0.2 * (words @@ ${asTyped(terms)})::int + 0.3 * least(1, ts_rank(${WEIGHTS}, words, ${allOf(terms)})))::float8`
}

/** Some words there: below 0.5, by how many. */
function partialScoreOf(terms: readonly ExpandedTerm[]): SQL {
  const matches = terms.map((term) => sql`(words @@ ${textOf(term)}::tsquery)::int`)
  return sql`(0.45 * (${sql.join(matches, sql` + `)}) / ${sql.raw(String(terms.length))} + 0.04 * least(1, ts_rank(${WEIGHTS}, words, ${anyOf(terms)})))::float8`
}

/** A name that is only part of what was asked for, but stands there whole: before what else has some of the words, the longer the better. */
const NAMED = 0.45
const namedScore = (letters: SQL, key: string) => sql`(${NAMED} + 0.04 * ${letters} / ${key.length})::float8`

/** The score of a brand or technique by its names alone; undefined where none of them stands whole in the query. */
export function scoreByName(names: readonly string[], key: string): number | undefined {
  const letters = names.map((name) => (name !== '' && ` ${key} `.includes(` ${name} `) ? name.length : 0))
  const most = Math.max(...letters)
  return names.includes(key) ? 1 : most > 0 ? NAMED + (0.04 * most) / key.length : undefined
}

/** What of a frame the words matched, field by field. */
export function matchedIn(texts: FrameTexts, highlighter: Highlighter): Record<string, string> {
  const matched: Record<string, string> = {}
  for (const field of TEXT_FIELDS) {
    const text = texts[field]
    const html = text ? highlighter.mark(text, { parts: field === 'on_screen_text' }) : undefined
    if (html !== undefined) matched[field] = html
  }
  return matched
}

export function matchedFields(fields: Record<string, string>, highlighter: Highlighter): Record<string, string> {
  const matched: Record<string, string> = {}
  for (const [field, text] of Object.entries(fields)) {
    const html = highlighter.mark(text)
    if (html !== undefined) matched[field] = html
  }
  return matched
}

export const rounded = (score: number) => Math.round(Math.min(1, Math.max(0, Number(score))) * 1e6) / 1e6

const WRITTEN_OUT = /https?(?::|%3a)(?:\/\/|%2f%2f)/i

/** Where no word was asked for the order is all there is to tell. */
const byPlace = (n: number, of: number) => rounded(of <= 1 ? 1 : 1 - n / of)

function largest(counts: Record<string, number>): Record<string, number> {
  const entries = Object.entries(counts)
  if (entries.length <= MAX_FACET_VALUES) return counts
  return Object.fromEntries(entries.sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, MAX_FACET_VALUES))
}

function cursorPage<T>(items: T[], limit: number, keyOf: (last: T) => [string | number, string]): CursorPage<T> {
  const page = items.slice(0, limit)
  const last = page.at(-1)
  return {
    items: page,
    next: items.length > limit && last ? Buffer.from(JSON.stringify(keyOf(last))).toString('base64url') : null,
  }
}

function readCursor(after: string, first: 'number' | 'string'): [string | number, string] {
  try {
    const value: unknown = JSON.parse(Buffer.from(after, 'base64url').toString())
    if (Array.isArray(value) && value.length === 2 && typeof value[0] === first && typeof value[1] === 'string') {
      const [key, id] = value as [string | number, string]
      if (storable([String(key), id]).length === 2 && (typeof key === 'string' || Number.isSafeInteger(key)))
        return [key, id]
    }
  } catch {}
  throw invalid('after', '`after` must be the `next` of an earlier answer')
}
