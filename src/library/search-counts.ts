import { cleanText } from '../clean-text.ts'
import type { Db } from '../db/client.ts'
import { appendEvent } from '../events/append.ts'
import type { Logger } from '../logger.ts'
import { ASKERS, type Asker } from '../vocabulary.ts'

/** Terms per batch. Further terms are only counted, so that a flood of invented words stays small. */
const MAX_TERMS = 100
/** Searches are written at most this much later than they were made. */
export const SEARCHES_WRITTEN_EVERY_MS = 5 * 60_000

/** A question in words. */
interface Asked {
  q: string
  answer: 'full' | 'weak' | 'none'
  /** An empty or weak answer says nothing of the words. */
  filtered: boolean
}

export interface SearchCounts {
  /** In memory, so that no read waits for it. */
  count(asker: Asker, asked: Asked): void
  /** Writes the counts as events. After a failure they are kept for the next time. */
  flush(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

interface Batch {
  askers: Record<Asker, { searches: number; unanswered: number; weak: number }>
  /** Searches of each term; null: of words that are not kept. */
  unanswered: Map<string | null, number>
  weak: Map<string | null, number>
}

const KINDS = ['unanswered', 'weak'] as const

function emptyBatch(): Batch {
  const askers = Object.fromEntries(ASKERS.map((asker) => [asker, { searches: 0, unanswered: 0, weak: 0 }]))
  return { askers: askers as Batch['askers'], unanswered: new Map(), weak: new Map() }
}

function addTerm(terms: Batch['weak'], term: string | null, count: number): void {
  const kept = terms.size >= MAX_TERMS && !terms.has(term) ? null : term
  terms.set(kept, (terms.get(kept) ?? 0) + count)
}

/** Counts searches and writes them as events every five minutes, if there were any. */
export function openSearchCounts({
  db,
  logger,
  everyMs = SEARCHES_WRITTEN_EVERY_MS,
}: {
  db: Db
  logger: Logger
  everyMs?: number | undefined
}): SearchCounts {
  let batch = emptyBatch()

  function count(asker: Asker, { q, answer, filtered }: Asked): void {
    const counts = batch.askers[asker]
    counts.searches++
    if (answer === 'full' || filtered) return
    const kind = answer === 'none' ? 'unanswered' : 'weak'
    counts[kind]++
    addTerm(batch[kind], toAnonymousTerm(q), 1)
  }

  async function flush(): Promise<void> {
    const given = batch
    const askers = ASKERS.map((asker) => ({ asker, ...given.askers[asker] })).filter(({ searches }) => searches > 0)
    if (askers.length === 0) return
    batch = emptyBatch()
    const terms = KINDS.flatMap((kind) => [...given[kind]].map(([term, count]) => ({ kind, term, count })))
    try {
      await db.transaction((tx) =>
        appendEvent(tx, { type: 'searches.counted', subject: 'search', accountId: null, data: { askers, terms } }),
      )
    } catch (error) {
      for (const { asker, ...counts } of askers)
        for (const name of ['searches', 'unanswered', 'weak'] as const) batch.askers[asker][name] += counts[name]
      for (const kind of KINDS) for (const [term, count] of given[kind]) addTerm(batch[kind], term, count)
      logger.debug({ err: error }, 'counts of searches are written later')
    }
  }

  const timer = setInterval(() => void flush(), everyMs)
  timer.unref()
  return {
    count,
    flush,
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await flush()
    },
  }
}

/**
 * The words of a search in a form that may be kept for ever: lower case, at most eight words and 60 characters.
 * Null for text that may identify a person or hold a secret: addresses, five digits or more, words of 20
 * characters or more.
 */
export function toAnonymousTerm(q: string): string | null {
  const term = cleanText(q).toLowerCase()
  const words = term.split(' ')
  const isTelling = /[@/\\]|\bwww\./.test(term) || term.replace(/\P{Nd}/gu, '').length >= 5
  if (term === '' || term.length > 60 || words.length > 8 || isTelling) return null
  return words.some((word) => word.length >= 20) ? null : term
}
