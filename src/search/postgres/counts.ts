import { type SQL, sql } from '../../sql/orm.ts'
import { COUNTED, type CountedName } from '../../vocabulary.ts'
import type { FacetCounts, FrameFilters, FrameQuery, Loosened } from '../library-search.ts'
import { MAX_FACET_VALUES, MOST_COUNTED, MOST_LOOSENED } from '../query.ts'
import { decisive } from '../text/senses.ts'
import type { Asked, MatchSet } from './rank.ts'
import { anyOfSome, atLeast, type Executor, FRAMES, rowsOf, tsquery, whereOf } from './tables.ts'

/** How many frames there are beside a page: of its set, by value, and with fewer conditions. */

interface Counted {
  facets: FacetCounts
  total: number
}

/** How many frames a set has; undefined above MOST_COUNTED. */
export async function countSet(
  reads: Executor,
  { page, pageSize }: Pick<FrameQuery, 'page' | 'pageSize'>,
  set: MatchSet | undefined,
  rows: readonly { total?: number | null }[],
): Promise<number | undefined> {
  if (!set) return 0
  if (page === 1 && rows.length < pageSize) return rows.length
  if (rows[0]?.total) return rows[0].total
  const rest = sql`select from ${FRAMES} where ${set.where} limit ${MOST_COUNTED + 1}`
  const [row] = await rowsOf<{ n: number }>(reads, sql`select count(*)::int as n from (${rest}) counted`)
  return row!.n > MOST_COUNTED ? undefined : row!.n
}

/** Of a set, by value; undefined: of nothing. */
export async function countFacets(db: Executor, filters: FrameFilters, set: MatchSet | undefined): Promise<Counted> {
  if (!set) return { facets: noCounts(), total: 0 }
  const { words } = set
  const filtered = COUNTED.filter((facet) => (filters[facet]?.length ?? 0) > 0)
  const isWhole = words === undefined && Object.values(filters).every((list) => list.length === 0)
  const { facets, total } = await (isWhole ? countAll(db) : countSome(db, filters, words, filtered))
  for (const facet of COUNTED) facets[facet] = largest(facets[facet])
  return { facets, total }
}

const noCounts = () => Object.fromEntries(COUNTED.map((facet) => [facet, Object.create(null)])) as FacetCounts

/** Every column has its own index, which is faster to count than the rows. */
async function countAll(db: Executor): Promise<Counted> {
  const facets = noCounts()
  let total = 0
  const counts = COUNTED.map(
    (facet) => `
    (select '${facet}' as facet, ${facet} as value, count(*)::int as n from library_search.frames group by ${facet})`,
  )
  const rows = await rowsOf<{ facet: CountedName | ''; value: string | null; n: number }>(
    db,
    sql.raw([...counts, `(select '', null, count(*)::int from library_search.frames)`].join(' union all ')),
  )
  for (const { facet, value, n } of rows) {
    if (facet === '') total = n
    else if (value !== null) facets[facet][value] = n
  }
  return { facets, total }
}

/** One pass counts the total and every facet without a filter of its own. Each filtered facet takes another pass. */
async function countSome(
  db: Executor,
  filters: FrameFilters,
  words: SQL | undefined,
  filtered: readonly CountedName[],
): Promise<Counted> {
  const facets = noCounts()
  let total = 0
  const free = COUNTED.filter((facet) => !filtered.includes(facet))

  async function countFree(): Promise<void> {
    const columns = free.map((facet) => `${facet}, grouping(${facet}) as no_${facet}`).join(', ') || '1 as none'
    const sets = [...free.map((facet) => `(${facet})`), '()'].join(', ')
    const rows = await rowsOf<Record<string, string | number | null>>(
      db,
      sql`select ${sql.raw(columns)}, count(*)::int as n
            from ${FRAMES} where ${whereOf(filters, words)} group by grouping sets (${sql.raw(sets)})`,
    )
    for (const row of rows) {
      const facet = free.find((name) => row[`no_${name}`] === 0)
      if (!facet) total = Number(row.n)
      else if (row[facet] !== null) facets[facet][String(row[facet])] = Number(row.n)
    }
  }

  async function countFiltered(facet: CountedName): Promise<void> {
    const column = sql.raw(facet)
    const rows = await rowsOf<{ value: string | null; n: number }>(
      db,
      sql`select ${column} as value, count(*)::int as n
            from ${FRAMES} where ${whereOf({ ...filters, [facet]: [] }, words)} group by ${column}`,
    )
    for (const { value, n } of rows) if (value !== null) facets[facet][value] = n
  }

  await countFree()
  for (const facet of filtered) await countFiltered(facet)
  return { facets, total }
}

function largest(counts: Record<string, number>): Record<string, number> {
  const entries = Object.entries(counts)
  if (entries.length <= MAX_FACET_VALUES) return counts
  return Object.fromEntries(entries.sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, MAX_FACET_VALUES))
}

/**
 * What would be found without each filter, without all of them, and without the words, where nothing was found. A
 * question with several words finds the frames that meet most, so any word is enough.
 */
export async function adviceFor(reads: Executor, filters: FrameFilters, asked: Asked | undefined): Promise<Loosened[]> {
  const names = Object.keys(filters) as (keyof FrameFilters)[]
  if (names.length === 0) return []
  const isPartly = (asked?.senses.length ?? 0) > 1
  const words = asked && someWord(asked)
  const trials: { dropped: Loosened['dropped']; filters: FrameFilters; isInWords: boolean }[] = [
    ...(asked && words === undefined
      ? []
      : names.map((name) => ({ dropped: name, filters: { ...filters, [name]: [] }, isInWords: true }))),
    ...(words !== undefined && names.length > 1 ? [{ dropped: 'filters' as const, filters: {}, isInWords: true }] : []),
    ...(asked ? [{ dropped: 'words' as const, filters, isInWords: false }] : []),
  ]
  const counts = trials.map(({ filters: left, isInWords }) => {
    const where = whereOf(left, isInWords && words !== undefined ? tsquery(words) : undefined)
    return sql`(select count(*)::int from (select from ${FRAMES} where ${where} limit ${MOST_LOOSENED}) found)`
  })
  if (counts.length === 0) return []
  const [row] = await rowsOf<{ counts: number[] }>(reads, sql`select array[${sql.join(counts, sql`, `)}] as counts`)
  return trials.flatMap(({ dropped }, n) => {
    const frames = row!.counts[n]!
    return frames > 0 ? [{ dropped, frames, partly: isPartly && dropped !== 'words' }] : []
  })
}

/** What a frame must have: quotes, nothing excluded, and some word. */
function someWord({ senses, found: all, excluded }: Asked): string | undefined {
  const found = decisive(all)
  if (senses.length > 0 && found.length === 0) return undefined
  const free = found.filter((sense) => !sense.quoted)
  const fixed = atLeast({ senses: found.filter((sense) => sense.quoted), excluded }, found.length - free.length)
  const some = anyOfSome(free)
  return fixed && some ? `${fixed} & ${some}` : (fixed ?? some)
}
