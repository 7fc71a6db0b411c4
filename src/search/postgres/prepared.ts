import { createHash } from 'node:crypto'
import { Param, SQL, StringChunk } from 'drizzle-orm'
import type pg from 'pg'
import type { Executor } from './tables.ts'

/** Statements kept by name: each connection holds the plans of those that it has run. */
const MAX_KEPT = 100

/** Runs statements that PostgreSQL plans for their values. */
export function planningEach(pool: Pick<pg.Pool, 'query'>): Executor {
  return {
    execute(query: SQL) {
      const { text, values } = written(query, { hidden: false })
      return pool.query({ text, values })
    },
  }
}

/**
 * Runs statements that each connection parses and plans once, which is most of the cost of a question to a small
 * library. PostgreSQL keeps a plan only if the values do not matter to it. A value in a query of its own is one that
 * the planner cannot see: words, and how many rows. Filters stay visible: their plan may depend on how rare a value is.
 */
export function keepingPlans(pool: Pick<pg.Pool, 'query'>): Executor {
  const names = new Map<string, string>()

  function nameOf(text: string): string | undefined {
    const known = names.get(text)
    if (known !== undefined || names.size >= MAX_KEPT) return known
    const name = createHash('sha256').update(text).digest('hex').slice(0, 32)
    names.set(text, name)
    return name
  }

  return {
    execute(query: SQL) {
      const { text, values } = written(query, { hidden: true })
      const name = nameOf(text)
      return pool.query(name === undefined ? { text, values } : { name, text, values })
    },
  }
}

/**
 * A statement with numbered values, as drizzle's dialect writes it, at a fifth of the cost: it knows the parts that
 * searches are made of. A part that stands in several places has its values once.
 */
function written(query: SQL, { hidden }: { hidden: boolean }): { text: string; values: unknown[] } {
  const values: unknown[] = []
  const pieces: string[] = []
  const known = new Map<SQL, string>()

  function add(query: SQL): void {
    const held = known.get(query)
    if (held !== undefined) {
      pieces.push(held)
      return
    }
    const from = pieces.length
    const chunks = query.queryChunks as readonly unknown[]
    for (let n = 0; n < chunks.length; n++) {
      const chunk = chunks[n]
      if (chunk instanceof StringChunk) pieces.push(...chunk.value)
      else if (chunk instanceof SQL) add(chunk)
      else if (chunk !== undefined) addValue(chunk instanceof Param ? chunk.value : chunk, chunks[n + 1])
    }
    // A word with its type, and no more than that: longer parts stand once.
    if (chunks.length > 1 && pieces.length - from <= 3) known.set(query, pieces.slice(from).join(''))
  }

  function addValue(value: unknown, next: unknown): void {
    values.push(value)
    const place = `$${values.length}`
    if (!hidden) pieces.push(place)
    else if (next instanceof StringChunk && next.value[0]!.startsWith('::tsquery'))
      pieces.push(`(select ${place}::tsquery)`)
    else pieces.push(/\b(?:limit|offset) $/.test(pieces.at(-1) ?? '') ? `(select ${place}::bigint)` : place)
  }

  add(query)
  return { text: pieces.join(''), values }
}
