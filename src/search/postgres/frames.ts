import { setImmediate } from 'node:timers/promises'
import type pg from 'pg'
import { type SQL, sql } from '../../sql/orm.ts'
import type { FrameDocument, FrameFilters, FrameHit, FramePage } from '../library-search.ts'
import { VarietyFilter } from '../likeness.ts'
import { MAX_RELEVANCE_DEPTH, type WordsQuery } from '../query.ts'
import { Matcher, rounded } from '../text/match.ts'
import { namedValues } from '../text/named-words.ts'
import { type Question, readAsOf } from '../text/question.ts'
import { decisive, isFound, isMet, type Sense } from '../text/senses.ts'
import { adviceFor, countFacets, countSet } from './counts.ts'
import {
  type Asked,
  FEW_RANKED,
  type MatchSet,
  mostSelective,
  ORDERS,
  ranked,
  setsBelow,
  setWith,
  TIER,
  wholeSet,
} from './rank.ts'
import { DOCUMENTS, type Executor, FRAMES, inSnapshot, rowsOf, type Snapshot, whereOf } from './tables.ts'
import { type KnownSenses, sensesIn, type TermStats } from './words.ts'

export interface ReadModel {
  pool: pg.Pool
  common(): Promise<TermStats>
}

/** A page of the wall. */
export async function findFrames(
  readModel: ReadModel,
  query: WordsQuery,
  known: KnownSenses | undefined,
): Promise<FramePage> {
  const { question, filters } = query
  if (!question) return inSnapshot(readModel.pool, (reads) => findAll(reads, query))
  const common = await readModel.common()
  return inSnapshot(readModel.pool, async (reads) => {
    const senses = (await sensesIn(reads, question, ['frames'], known))('frames')
    return findInWords(reads, query, question, askedOf(filters, question, senses, common))
  })
}

type PageQuery = Omit<WordsQuery, 'question'>

export const askedOf = (
  filters: FrameFilters,
  { excluded }: Pick<Question, 'excluded'>,
  senses: readonly Sense[],
  common: TermStats,
): Asked => ({ filters, senses, found: senses.filter(isFound), excluded, common })

/** Whether there is something to look for: a word that the library may have, or one that is excluded. */
export const isAsked = ({ senses, found, excluded }: Asked): boolean =>
  found.length > 0 || (senses.length === 0 && excluded.length > 0)

async function findAll(reads: Snapshot, query: PageQuery): Promise<FramePage> {
  const where = whereOf(query.filters)
  const set: MatchSet = {
    ...{ level: 0, found: [], isFull: true, words: undefined, where, scored: allAlike },
    ...{ isLarge: false, isByIndex: false },
  }
  const rows = await findPage(reads, { ...query, sort: query.sort === 'strength' ? 'strength' : 'newest' }, set)
  const counts = await countsOf(reads, query, set, rows)
  const isAdvised = query.loosen && query.page === 1 && rows.length === 0
  return {
    engine: 'postgres',
    frames: hitsOf(rows, undefined),
    ...counts,
    ...(isAdvised ? { loosened: await adviceFor(reads, query.filters, undefined) } : {}),
  }
}

const allAlike = (source: SQL): SQL => sql`(select *, 1::float8 as score, null::bool[] as held from ${source}) scored`

/** The counts that a query asks for of its set, of which a page was found. */
async function countsOf(
  reads: Snapshot,
  query: PageQuery,
  set: MatchSet | undefined,
  rows: readonly FoundFrame[],
): Promise<Pick<FramePage, 'facets' | 'total'>> {
  if (query.facets) return countFacets(reads, query.filters, set)
  return { total: query.loosen ? await countSet(reads, query, set, rows) : undefined }
}

/** A page of a question in words. */
export async function findInWords(
  reads: Snapshot,
  query: PageQuery,
  question: Question,
  asked: Asked,
): Promise<FramePage> {
  const { set, rows, held } = await findSet(reads, query, asked)
  const { filters, page, fill, loosen } = query
  const { senses } = asked
  const counted = await countsOf(reads, query, set, rows)
  const letGo = set ? senses.filter((sense) => !isMetByAll(sense, set, held)) : []
  const isAdvised = loosen && page === 1 && rows.length === 0
  // What a word may stand for is told, and met, only where the set was looked for by it.
  const told = senses.map((sense) => (set?.found.includes(sense) ? sense : { ...sense, guesses: undefined }))
  const matcher = new Matcher(told)
  const room = page === 1 && set ? (fill ?? 0) - rows.length : 0
  return {
    engine: 'postgres',
    frames: hitsOf(rows, matcher),
    ...counted,
    readAs: readAsOf(question, told, letGo, set ? fullyMetBy(set) : 0),
    ...(loosen ? { full: set?.isFull ? counted.total : 0 } : {}),
    ...(isAdvised ? { loosened: await adviceFor(reads, filters, asked) } : {}),
    ...(room > 0
      ? { partialMatches: hitsOf(await findPartialMatches(reads, asked, set!, rows.at(-1)?.score, room), matcher) }
      : {}),
  }
}

/** How many words each frame of a set has as a word, an attribute or a synonym. */
const fullyMetBy = ({ found, level }: MatchSet): number => (found.every(isMet) ? level : found.filter(isMet).length)

/** Whether each frame of a set meets a concept in full. */
function isMetByAll(sense: Sense, { found, level }: MatchSet, held: FoundFrame['held']): boolean {
  if (!isMet(sense)) return false
  const at = found.indexOf(sense)
  return at >= 0 && (held?.[at] ?? level >= found.length)
}

/** A page of a set, and what each frame of the set meets. */
interface FoundSet {
  set?: MatchSet
  rows: FoundFrame[]
  held: FoundFrame['held']
}

/** The frames that meet every word, else those that meet most, and a page of them. */
async function findSet(reads: Snapshot, query: PageQuery, asked: Asked): Promise<FoundSet> {
  if (!isAsked(asked)) return NONE
  const whole = await tryPage(reads, query, wholeSet(asked))
  if (whole) return whole
  const choice = await mostSelective(reads, { ...asked, found: decisive(asked.found) })
  const least = Math.max(1, choice.found.filter((sense) => sense.quoted).length)
  const most = choice.found.length < asked.found.length ? choice.found.length : choice.found.length - 1
  for (let level = most; level >= least; level--) {
    const some = await tryPage(reads, query, setWith(choice, level))
    if (some) return some
  }
  return NONE
}

const NONE: FoundSet = { rows: [], held: null }

/** Undefined where no page of this set has a frame. */
async function tryPage(reads: Snapshot, query: PageQuery, set: MatchSet): Promise<FoundSet | undefined> {
  const rows = await findPage(reads, query, set)
  if (rows.length > 0) return { set, rows, held: rows[0]!.held }
  if (query.page === 1) return undefined
  const [first] = await findPage(reads, { ...query, page: 1, pageSize: 1, variety: false }, set)
  return first && { set, rows, held: first.held }
}

/** Frames beyond a set: more words first, then the rarer ones. `below`: the score of the last frame before them. */
async function findPartialMatches(
  reads: Snapshot,
  asked: Asked,
  set: MatchSet,
  below: number | undefined,
  limit: number,
): Promise<FoundFrame[]> {
  const found: FoundFrame[] = []
  for (const next of setsBelow(asked, set)) {
    if (found.length >= limit) break
    const most = found.at(-1)?.score ?? below ?? 1
    const few = next.scored(ranked(next.where, next.isLarge ? FEW_RANKED : undefined))
    const best = sql`select ${COLUMNS} from ${few} order by ${sql.raw(ORDERS.relevance)} limit ${limit - found.length}`
    const rows = await readFrames(reads, best, ORDERS.relevance)
    found.push(...rows.map((row) => ({ ...row, score: Math.min(row.score, most) })))
  }
  return found
}

interface FoundFrame {
  score: number
  /** Whether each frame of its set meets the nth of the concepts found. */
  held: boolean[] | null
  /** How many frames its set has, where that was counted. */
  total?: number | null
  doc: FrameDocument
}

/** The documents of these rows. The index alone cuts a page: documents are read for its rows only. */
const readFrames = (reads: Executor, page: SQL, order: string, also = sql``): Promise<FoundFrame[]> =>
  rowsOf<FoundFrame>(
    reads,
    sql`
    select p.score, p.held${also}, d.doc from (${page}) p
     cross join lateral (
       select doc from ${DOCUMENTS} held where held.kind = 'frames' and held.id = p.id offset 0) d
     order by ${sql.raw(order)}`,
  )

/** What a page is ordered by. */
const COLUMNS = sql.raw('id, score, held, strength, added_ms, video_id, t_ms')

async function findPage(reads: Snapshot, query: PageQuery, set: MatchSet): Promise<FoundFrame[]> {
  const { page, pageSize, sort } = query
  const offset = (page - 1) * pageSize
  if (query.variety) return findVaried(reads, query, set)
  if (sort !== 'relevance') {
    const rows = sql`(select * from ${ranked(set.where, undefined)}
                       order by ${sql.raw(ORDERS[sort])} limit ${pageSize} offset ${offset}) page`
    return readFrames(reads, sql`select ${COLUMNS} from ${set.scored(rows)}`, ORDERS[sort])
  }
  const tiers = set.isLarge ? tiersOf(offset, pageSize) : undefined
  const order = `${tiers ? 'tier, ' : ''}${ORDERS.relevance}`
  const source = tiers ? tieredFrames(set, tiers) : ranked(set.where, undefined)
  const columns = tiers ? sql`${COLUMNS}, tier` : COLUMNS
  // The barrier keeps words out of the rows that are counted.
  const matches = sql`(select ${columns} from ${set.scored(source)} offset 0) matches`
  const rows = sql`select ${columns}, ${query.loosen && !tiers ? sql`count(*) over ()::int` : sql`null::int`} as total
                     from ${matches} order by ${sql.raw(order)}
                    limit ${pageSize} offset ${offset - (tiers?.from ?? 0)}`
  return readFrames(reads, rows, order, sql`, p.total`)
}

/** The places by strength of the tiers that a page needs. */
function tiersOf(offset: number, pageSize: number): { from: number; to: number } {
  return { from: Math.floor(offset / TIER) * TIER, to: Math.ceil((offset + pageSize) / TIER) * TIER }
}

function tieredFrames({ where, isByIndex }: MatchSet, { from, to }: { from: number; to: number }): SQL {
  const by = ORDERS.strength
  const tier = sql.raw(to === TIER ? '0' : `(row_number() over (order by ${by}) - 1) / ${TIER}`)
  const tiers = sql.raw(String(from / TIER))
  if (!isByIndex)
    return sql`(select * from (select *, ${tier} as tier from ${ranked(where, to)}) numbered
                 where tier >= ${tiers}) tiers`
  // `offset 0` keeps the planner from the walk, whose cost it takes for less. Words are too wide to be sorted.
  return sql`(select f.*, tier
                from (select place, ${tier} as tier
                        from (select * from (
                                select ctid as place, id, strength from ${FRAMES} where ${where} offset 0) found
                               order by ${sql.raw(by)} limit ${to}) strongest) numbered
                join ${FRAMES} f on f.ctid = place
               where tier >= ${tiers}) tiers`
}

/** Between so many rows other requests get their turn. */
const COMPARED_AT_ONCE = 500

/** Reads from the top until the page is full, because the frames before it decide what is a near-duplicate. */
async function findVaried(reads: Snapshot, query: PageQuery, set: MatchSet): Promise<FoundFrame[]> {
  const filter = new VarietyFilter()
  const end = query.page * query.pageSize
  const kept: { id: string; score: number; held: boolean[] | null }[] = []
  const order = sql.raw(ORDERS[query.sort])
  let step = Math.max(1_000, end * 2)
  for (let read = 0; read < MAX_RELEVANCE_DEPTH && kept.length < end; read += step, step = 5_000) {
    const rows = await rowsOf<(typeof kept)[number] & { phash: string; luma: number }>(
      reads,
      sql`
      select id, luma, lpad(to_hex(phash::bigint), 16, '0') as phash, score, held
        from (select * from ${set.scored(ranked(set.where, undefined))}
               order by ${order} limit ${Math.min(step, MAX_RELEVANCE_DEPTH - read)} offset ${read}) p
       order by ${order}`,
    )
    for (const [n, row] of rows.entries()) {
      if (n % COMPARED_AT_ONCE === 0) await setImmediate()
      if (filter.keep(row)) kept.push(row)
    }
    if (rows.length < step) break
  }
  const page = kept.slice(end - query.pageSize, end)
  const ids = sql.param(page.map(({ id }) => id))
  const found = await rowsOf<{ id: string; doc: FrameDocument }>(
    reads,
    sql`select id, doc from ${DOCUMENTS} where kind = 'frames' and id = any(${ids})`,
  )
  const documents = new Map(found.map(({ id, doc }) => [id, doc]))
  return page.flatMap((row) => (documents.has(row.id) ? [{ ...row, doc: documents.get(row.id)! }] : []))
}

/** Without a matcher the query has no words. */
function hitsOf(rows: readonly FoundFrame[], matcher: Matcher | undefined): FrameHit[] {
  return rows.map(({ doc, score }) => ({
    document: doc,
    score: rounded(score),
    ...(matcher ? matcher.frame(doc, namedValues(doc, matcher.attributes)) : { matched: {} }),
  }))
}
