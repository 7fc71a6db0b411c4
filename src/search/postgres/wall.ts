import { type SQL, sql } from 'drizzle-orm'
import {
  FACETS,
  type FacetCounts,
  type FrameDocument,
  type FramePage,
  type FrameQuery,
  type Hit,
} from '../library-search.ts'
import { VarietyFilter } from '../likeness.ts'
import { MAX_RELEVANCE_DEPTH } from '../limits.ts'
import { matchedInFrame } from '../matched.ts'
import { rounded } from '../score.ts'
import type { ExpandedTerm } from '../text/expand.ts'
import { Highlighter } from '../text/highlight.ts'
import { expandQuery } from './candidates.ts'
import { type CommonWords, isFrequent } from './common-words.ts'
import { documentsOf } from './documents.ts'
import { countFacets } from './facets.ts'
import { ORDERS, ranked, scoreOf } from './rank.ts'
import { DOCUMENTS, type Executor, FRAMES, rowsOf } from './tables.ts'
import { whereOf } from './where.ts'

/** A page of the wall. Techniques of the query are current slugs. */
export async function findFrames(db: Executor, commonWords: CommonWords, query: FrameQuery): Promise<FramePage> {
  const isBlank = query.q.trim() === ''
  const terms = isBlank ? [] : (await expandQuery(db, query.q))('frames')
  // The query holds signs only, no word that could be found.
  if (!isBlank && terms.length === 0) {
    if (!query.facets) return { frames: [] }
    return { frames: [], total: 0, facets: Object.fromEntries(FACETS.map((facet) => [facet, {}])) as FacetCounts }
  }
  const [frames, counted] = await Promise.all([
    findPage(db, commonWords, query, terms),
    query.facets ? countFacets(db, query.filters, terms) : undefined,
  ])
  return counted ? { frames, ...counted } : { frames }
}

async function findPage(
  db: Executor,
  commonWords: CommonWords,
  query: FrameQuery,
  terms: readonly ExpandedTerm[],
): Promise<Hit<FrameDocument>[]> {
  const { page, pageSize } = query
  const frequent = terms.length > 0 && isFrequent(terms, await commonWords())
  const isRanked = query.sort === 'relevance' && terms.length > 0
  const where = whereOf(query.filters, terms)
  const { columns, by } = ORDERS[orderOf(query, isRanked)]
  const order = sql.raw(by)
  if (query.variety) return frameHits(db, await variedIds(db, query, where, order, scoreOrOne(terms)), terms)
  // The index alone cuts the page. Documents, and scores that do not order, are read for its rows only.
  const rows = await rowsOf<{ id: string; score: number; doc: FrameDocument }>(
    db,
    sql`
    select p.id, ${pageScore(isRanked, terms)} as score, d.doc
      from (select id, ${sql.raw(columns)} ${isRanked ? sql`, ${scoreOf(terms)} as score` : sql``}
              from ${ranked(where, isRanked && frequent ? MAX_RELEVANCE_DEPTH + pageSize : undefined)}
             order by ${order} limit ${pageSize} offset ${(page - 1) * pageSize}) p
      join ${DOCUMENTS} d on d.kind = 'frames' and d.id = p.id
     order by ${order}`,
  )
  const highlighter = new Highlighter(terms)
  return rows.map(({ doc, score }) => ({
    document: doc,
    score: rounded(score),
    matched: matchedInFrame(doc, highlighter),
  }))
}

function orderOf(query: FrameQuery, isRanked: boolean): keyof typeof ORDERS {
  if (isRanked) return 'relevance'
  return query.sort === 'strength' ? 'strength' : 'newest'
}

const scoreOrOne = (terms: readonly ExpandedTerm[]): SQL => (terms.length > 0 ? scoreOf(terms) : sql`1::float8`)

function pageScore(isRanked: boolean, terms: readonly ExpandedTerm[]): SQL {
  if (isRanked) return sql`p.score`
  return terms.length > 0 ? sql`(select ${scoreOf(terms)} from ${FRAMES} f where f.id = p.id)` : sql`1::float8`
}

/** Reads from the top until the page is full, because the frames before it decide what is a near-duplicate. */
async function variedIds(
  db: Executor,
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
    const rows = await rowsOf<{ id: string; score: number; phash: string; luma: number }>(
      db,
      sql`
      select id, luma, lpad(to_hex(phash::bigint), 16, '0') as phash, ${score} as score from ${FRAMES}
       where ${where} order by ${order} limit ${Math.min(step, MAX_RELEVANCE_DEPTH - read)} offset ${read}`,
    )
    for (const row of rows) if (filter.keep(row)) kept.push({ id: row.id, score: row.score })
    if (rows.length < step) break
  }
  return kept.slice(from, from + query.pageSize)
}

/** Frames that were found, with their documents and highlights. */
export async function frameHits(
  db: Executor,
  found: readonly { id: string; score: number }[],
  terms: readonly ExpandedTerm[],
): Promise<Hit<FrameDocument>[]> {
  const ids = found.map(({ id }) => id)
  const documents = await documentsOf(db, 'frames', ids)
  const highlighter = new Highlighter(terms)
  return found.flatMap(({ id, score }) => {
    const document = documents.get(id)
    return document ? [{ document, score: rounded(score), matched: matchedInFrame(document, highlighter) }] : []
  })
}
