import type { SQL } from 'drizzle-orm'
import type { FrameFilters, FrameHit, FramePage, FrameQuery } from '../library-search.ts'
import { VarietyFilter } from '../likeness.ts'
import { MAX_RELEVANCE_DEPTH } from '../limits.ts'
import { missingOf, readAsOf } from '../read-as.ts'
import { rounded } from '../score.ts'
import { StoredFrame } from '../stored-frame.ts'
import type { ExpandedTerm } from '../text/expand.ts'
import { Highlighter } from '../text/highlight.ts'
import type { NamedWords } from '../text/named-words.ts'
import { type Question, readQuestion } from '../text/question.ts'
import { VERSION } from './candidates.ts'
import { expectedWith, hasFrequent, isFrequent } from './common-words.ts'
import { SHOWN_TEXT } from './documents.ts'
import { countFacets, noCounts } from './facets.ts'
import { countLoosened, loosenOf } from './loosened.ts'
import { type FoundText, findNextBest } from './next-best.ts'
import { ORDERS, ranked, scoreOf } from './rank.ts'
import type { ReadModel } from './read-model.ts'
import { type Relaxed, type Relaxing, relax } from './relax.ts'
import { sql } from './sql.ts'
import { DOCUMENTS, type Executor, FRAMES, rowsOf } from './tables.ts'
import { allOf, type ExpandedQuestion, oneOf } from './tsquery.ts'
import { whereOf } from './where.ts'

/** What a page of the wall asks the read model for. */
interface Reading {
  /** Undefined without words. */
  words: SQL | undefined
  score: SQL
  terms: readonly ExpandedTerm[]
  /** The matches may be too many to rank all of them. */
  frequent: boolean
  /** The index of words finds all matches sooner than a walk by strength finds the strongest. */
  isByIndex?: boolean
  relaxed?: Relaxed
}

/** A page of the wall. Techniques of the query are current slugs. */
export async function findFrames(readModel: ReadModel, query: FrameQuery, techniques: NamedWords): Promise<FramePage> {
  if (query.q.trim() === '') {
    const { db } = readModel
    const reading = { words: undefined, score: sql`1::float8`, terms: [], frequent: false }
    const [{ frames }, counted] = await Promise.all([findPage(db, query, reading), countOf(db, query, reading)])
    const isAdvised = query.loosen && query.page === 1 && frames.length === 0
    return {
      frames,
      ...counted,
      ...(isAdvised ? { loosened: await countLoosened(db, loosenOf(query.filters, undefined)) } : {}),
    }
  }
  const question = readQuestion(query.q, techniques)
  const { wanted, excluded } = question
  const nothing = () => ({
    frames: [],
    readAs: readAsOf(question),
    ...(query.facets ? { total: 0, facets: noCounts() } : {}),
    ...(query.loosen && query.page === 1 ? { loosened: [] } : {}),
  })
  // The query holds signs only, no word that could be found.
  if (wanted.length === 0 && excluded.length === 0) return nothing()
  // Filters that could be dropped are worth an advice.
  const unheard = isUnfiltered(query.filters) ? nothing : undefined
  return readModel.expand(question, (expanded) => askFrames(readModel, query, question, expanded('frames')), unheard)
}

/** A page of a question in words, and the version of the read model that it is of, if it is known. */
async function askFrames(
  readModel: ReadModel,
  query: FrameQuery,
  question: Question,
  expanded: ExpandedQuestion,
): Promise<{ answer: FramePage; version: string | undefined }> {
  const { db, kept } = readModel
  const { filters, page } = query
  const { terms } = expanded
  const common = await readModel.commonWords()
  const whole: Reading = {
    words: allOf(expanded),
    score: scoreOf(terms),
    terms,
    frequent: terms.length === 0 || isFrequent(terms, common),
    isByIndex: isSparse(expectedWith(terms, common), common.frames),
  }
  // A stored order or a filter may be quicker than the words: that depends on how rare they are.
  const isByWords = query.sort === 'relevance' && isUnfiltered(filters)
  const on = isByWords && !hasFrequent(terms, common) ? kept : db
  const onWhole = isByWords && !whole.frequent ? kept : db
  let [found, counted] = await Promise.all([findPage(onWhole, query, whole), countOf(db, query, whole)])
  const isNowhere = found.frames.length === 0 && (await isEmpty(db, query, whole, counted))
  const loosen = query.loosen && page === 1 && isNowhere ? loosenOf(filters, expanded) : undefined
  const { relaxed, loosened, version } = isNowhere
    ? await relax(on, { filters, loosen }, expanded)
    : neverRelaxed(found)
  if (relaxed) {
    // How many frames have the words that are left is not known.
    const reading = { ...whole, ...relaxed, relaxed, frequent: hasFrequent(terms, common), isByIndex: false }
    ;[found, counted] = await Promise.all([findPage(on, query, reading), countOf(db, query, reading)])
  }
  const { frames } = found
  const isAdvised = query.loosen && page === 1 && frames.length === 0
  // Where nothing was found, no frame meets any of the words, and there is no next best.
  const room = page === 1 && frames.length > 0 ? (query.fill ?? 0) - frames.length : 0
  const beyond = relaxed ?? { words: allOf(expanded), met: terms.length }
  const more = { filters, question: expanded, beyond, limit: room, text: textOf(query) }
  const answer = {
    frames,
    ...counted,
    readAs: readAsOf(question, relaxed?.letGo, relaxed?.met),
    ...(isAdvised ? { loosened: loosened ?? (await countLoosened(on, loosen)) } : {}),
    ...(room > 0 ? { nextBest: hitsOf(query, await findNextBest(readModel, more), terms) } : {}),
  }
  return { answer, version }
}

const isUnfiltered = (filters: FrameFilters): boolean => Object.values(filters).every((values) => !values?.length)

const neverRelaxed = ({ version }: Found): Relaxing => ({ version })

const countOf = async (db: Executor, { facets, filters }: FrameQuery, { words }: Reading) =>
  facets ? countFacets(db, filters, words) : undefined

/** Whether no page has a frame. */
async function isEmpty(
  db: Executor,
  { page, filters }: FrameQuery,
  { words }: Reading,
  counted: { total: number } | undefined,
): Promise<boolean> {
  if (counted) return counted.total === 0
  if (page === 1) return true
  const [row] = await rowsOf<{ some: boolean }>(
    db,
    sql`select exists (select from ${FRAMES} where ${whereOf(filters, words)}) as some`,
  )
  return !row!.some
}

/** `version`: of the read model, where a frame was found. */
interface Found {
  frames: FrameHit[]
  version: string | undefined
}

async function findPage(db: Executor, query: FrameQuery, reading: Reading): Promise<Found> {
  const { page, pageSize } = query
  const { words, score, terms, relaxed } = reading
  const isRanked = query.sort === 'relevance' && words !== undefined
  const where = whereOf(query.filters, words)
  const { columns, by } = ORDERS[orderOf(query, isRanked)]
  const order = sql.raw(by)
  const flags = relaxed ? sql`array[${sql.join(terms.map(metOf), sql`, `)}]` : sql`null::bool[]`
  if (query.variety) return frameHits(db, query, await variedIds(db, query, where, order, { score, flags }), terms)
  const tiers = isRanked && reading.frequent ? tiersOf(query) : undefined
  const ofRow = (column: SQL) => sql`(select ${column} from ${FRAMES} f where f.id = p.id)`
  const read = words === undefined ? score : ofRow(score)
  const byTier = tiers ? sql`tier, ${order}` : order
  // The index alone cuts the page. Documents, and scores that do not order, are read for its rows only.
  const rows = await rowsOf<FoundText & { version: string }>(
    db,
    sql`
    select ${VERSION} as version, ${isRanked ? sql`p.score` : read} as score,
           ${relaxed ? ofRow(flags) : flags} as met, d.text
      from (select id, ${sql.raw(columns)} ${isRanked ? sql`, ${score} as score` : sql``} ${tiers ? sql`, tier` : sql``}
              from ${tiers ? tieredFrames(where, tiers, reading.isByIndex) : ranked(where, undefined)}
             order by ${byTier} limit ${pageSize} offset ${(page - 1) * pageSize - (tiers ? tiers.from : 0)}) p
     cross join lateral (
       select ${textOf(query)} as text from ${DOCUMENTS} held where held.kind = 'frames' and held.id = p.id offset 0) d
     order by ${byTier}`,
  )
  return { frames: hitsOf(query, rows, terms), version: rows[0]?.version }
}

/** Where the matches are too many, the strongest of them are ranked first, then the next ones: a total order too. */
const TIER = 4_800

/** The places by strength of the tiers that a page needs. */
function tiersOf({ page, pageSize }: FrameQuery): { from: number; to: number } {
  const offset = (page - 1) * pageSize
  return { from: Math.floor(offset / TIER) * TIER, to: Math.ceil((offset + pageSize) / TIER) * TIER }
}

/**
 * A walk by strength looks at `TIER` ÷ share frames. Each costs about 2.5 times as much as a match that the index of
 * words finds: 4 µs and 1.6 µs at 100,000 frames.
 */
const isSparse = (matches: number, frames: number): boolean => matches ** 2 < 2.5 * TIER * frames

function tieredFrames(where: SQL, { from, to }: { from: number; to: number }, isByIndex = false): SQL {
  const by = ORDERS.strength.by
  const tier = sql.raw(`(row_number() over (order by ${by}) - 1) / ${TIER}`)
  const tiers = sql.raw(String(from / TIER))
  if (!isByIndex)
    return sql`(select * from (select id, strength, words, ${tier} as tier from ${ranked(where, to)}) numbered
                 where tier >= ${tiers}) tiers`
  // `offset 0` keeps the planner from the walk, whose cost it takes for less. Words are too wide to be sorted.
  return sql`(select f.id, f.strength, f.words, tier
                from (select place, ${tier} as tier
                        from (select * from (
                                select ctid as place, id, strength from ${FRAMES} where ${where} offset 0) found
                               order by ${sql.raw(by)} limit ${to}) strongest) numbered
                join ${FRAMES} f on f.ctid = place
               where tier >= ${tiers}) tiers`
}

const metOf = (term: ExpandedTerm): SQL => sql`words @@ ${oneOf(term)}`

const textOf = ({ provenance }: FrameQuery): SQL => (provenance ? sql`doc::text` : SHOWN_TEXT)

/** Without a highlighter the query has no words. */
export function toFrameHit(
  { score, met, text }: FoundText,
  terms: readonly ExpandedTerm[],
  highlighter: Highlighter | undefined,
): StoredFrame {
  return new StoredFrame(text, rounded(score), highlighter, missingOf(terms, met ?? undefined))
}

function hitsOf({ q, provenance }: FrameQuery, rows: readonly FoundText[], terms: readonly ExpandedTerm[]): FrameHit[] {
  const highlighter = q.trim() === '' ? undefined : new Highlighter(terms)
  const hits = rows.map((row) => toFrameHit(row, terms, highlighter))
  // The text holds more than responses show.
  return provenance
    ? hits.map(({ document, score, matched, missing }) => ({ document, score, matched, missing }))
    : hits
}

function orderOf(query: FrameQuery, isRanked: boolean): keyof typeof ORDERS {
  if (isRanked) return 'relevance'
  return query.sort === 'strength' ? 'strength' : 'newest'
}

interface FoundFrame extends Omit<FoundText, 'text'> {
  id: string
}

/** Reads from the top until the page is full, because the frames before it decide what is a near-duplicate. */
async function variedIds(
  db: Executor,
  query: FrameQuery,
  where: SQL,
  order: SQL,
  { score, flags }: { score: SQL; flags: SQL },
): Promise<FoundFrame[]> {
  const filter = new VarietyFilter()
  const from = (query.page - 1) * query.pageSize
  const kept: FoundFrame[] = []
  let step = Math.max(1_000, (from + query.pageSize) * 2)
  for (let read = 0; read < MAX_RELEVANCE_DEPTH && kept.length < from + query.pageSize; read += step, step = 5_000) {
    const rows = await rowsOf<FoundFrame & { phash: string; luma: number }>(
      db,
      sql`
      select id, luma, lpad(to_hex(phash::bigint), 16, '0') as phash, ${score} as score, ${flags} as met
        from ${FRAMES}
       where ${where} order by ${order} limit ${Math.min(step, MAX_RELEVANCE_DEPTH - read)} offset ${read}`,
    )
    for (const row of rows) if (filter.keep(row)) kept.push(row)
    if (rows.length < step) break
  }
  return kept.slice(from, from + query.pageSize)
}

/** Frames that were found, with their documents and highlights. */
async function frameHits(
  db: Executor,
  query: FrameQuery,
  found: readonly FoundFrame[],
  terms: readonly ExpandedTerm[],
): Promise<Found> {
  if (found.length === 0) return { frames: [], version: undefined }
  const ids = sql.param(found.map(({ id }) => id))
  const rows = await rowsOf<{ id: string; text: string; version: string }>(
    db,
    sql`select ${VERSION} as version, id, ${textOf(query)} as text
          from ${DOCUMENTS} where kind = 'frames' and id = any(${ids})`,
  )
  const texts = new Map(rows.map(({ id, text }) => [id, text]))
  const held = found.flatMap((one) => (texts.has(one.id) ? [{ ...one, text: texts.get(one.id)! }] : []))
  return { frames: hitsOf(query, held, terms), version: rows[0]?.version }
}
