import { createHash } from 'node:crypto'
import type { SQL } from 'drizzle-orm'
import { PgDialect } from 'drizzle-orm/pg-core'
import type pg from 'pg'
import type { Executor } from './tables.ts'

/** Statements kept by name: each connection holds the plans of those that it has run. */
const MAX_KEPT = 100

/** Words, and how many rows. Filters stay visible: their plan may depend on how rare a value is. */
const HIDDEN = /\$\d+::tsquery\b|(?<=\b(?:limit|offset) )\$\d+/g

/**
 * Runs statements that each connection parses and plans once, which is most of the cost of a question to a small
 * library. PostgreSQL keeps a plan only if the values do not matter to it. A value in a query of its own is one that
 * the planner cannot see.
 */
export function keepingPlans(pool: Pick<pg.Pool, 'query'>): Executor {
  const dialect = new PgDialect()
  const names = new Map<string, { name: string; text: string }>()

  function nameOf(written: string): { name?: string; text: string } {
    const known = names.get(written)
    if (known) return known
    const text = written.replace(HIDDEN, (value) => `(select ${value.includes('::') ? value : `${value}::bigint`})`)
    if (names.size >= MAX_KEPT) return { text }
    const named = { name: createHash('sha256').update(text).digest('hex').slice(0, 32), text }
    names.set(written, named)
    return named
  }

  return {
    execute(query: SQL) {
      const { sql: written, params } = dialect.sqlToQuery(query)
      return pool.query({ ...nameOf(written), values: params })
    },
  }
}
