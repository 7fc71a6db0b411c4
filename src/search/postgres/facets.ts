import { type SQL, sql } from 'drizzle-orm'
import { FACETS, type Facet, type FacetCounts, type FrameFilters } from '../library-search.ts'
import { MAX_FACET_VALUES } from '../limits.ts'
import { type Executor, FRAMES, rowsOf } from './tables.ts'
import { whereOf } from './where.ts'

interface Counted {
  facets: FacetCounts
  total: number
}

export async function countFacets(db: Executor, filters: FrameFilters, words: SQL | undefined): Promise<Counted> {
  const filtered = FACETS.filter((facet) => (filters[facet]?.length ?? 0) > 0)
  const isWhole = words === undefined && Object.values(filters).every((list) => list.length === 0)
  const { facets, total } = await (isWhole ? countAll(db) : countSome(db, filters, words, filtered))
  for (const facet of FACETS) facets[facet] = largest(facets[facet])
  return { facets, total }
}

/** Counts of nothing. */
export const noCounts = () => Object.fromEntries(FACETS.map((facet) => [facet, Object.create(null)])) as FacetCounts

/** Every column has its own index, which is faster to count than the rows. */
async function countAll(db: Executor): Promise<Counted> {
  const facets = noCounts()
  let total = 0
  const counts = FACETS.map(
    (facet) => `
    (select '${facet}' as facet, ${facet} as value, count(*)::int as n from library_search.frames group by ${facet})`,
  )
  const rows = await rowsOf<{ facet: Facet | ''; value: string | null; n: number }>(
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
  filtered: readonly Facet[],
): Promise<Counted> {
  const facets = noCounts()
  let total = 0
  const free = FACETS.filter((facet) => !filtered.includes(facet))

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

  async function countFiltered(facet: Facet): Promise<void> {
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
