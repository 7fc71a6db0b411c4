import { cleanText } from '../clean-text.ts'
import type { Db } from '../db/client.ts'
import { appendEvent } from '../events/append.ts'
import type { Logger } from '../logger.ts'

/** Terms per batch. Further terms are only counted, so that a flood of invented words stays small. */
const MAX_TERMS = 100
const EVERY_MS = 5 * 60_000

export interface UnansweredSearches {
  /** Counts a search that found nothing. In memory, so that no read waits for it. */
  note(q: string): void
  /** Writes the counts as one event. After a failure they are kept for the next time. */
  flush(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Collects searches that found nothing and writes them as an event every five minutes, if there were any. */
export function openUnansweredSearches({
  db,
  logger,
  everyMs = EVERY_MS,
}: {
  db: Db
  logger: Logger
  everyMs?: number
}): UnansweredSearches {
  let counts = new Map<string, number>()
  let withheld = 0

  function add(term: string | undefined, count: number): void {
    if (term === undefined || (counts.size >= MAX_TERMS && !counts.has(term))) withheld += count
    else counts.set(term, (counts.get(term) ?? 0) + count)
  }

  async function flush(): Promise<void> {
    if (counts.size === 0 && withheld === 0) return
    const given = { counts, withheld }
    counts = new Map()
    withheld = 0
    const terms = [...given.counts].map(([term, count]) => ({ term, count }))
    try {
      await db.transaction((tx) =>
        appendEvent(tx, {
          type: 'searches.unanswered',
          subject: 'search',
          accountId: null,
          data: { terms, withheld: given.withheld },
        }),
      )
    } catch (error) {
      for (const [term, count] of given.counts) add(term, count)
      withheld += given.withheld
      logger.debug({ err: error }, 'searches without an answer are written later')
    }
  }

  const timer = setInterval(() => void flush(), everyMs)
  timer.unref()
  return {
    note: (q) => add(toAnonymousTerm(q), 1),
    flush,
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await flush()
    },
  }
}

/**
 * The words of a search in a form that may be kept for ever: lower case, at most eight words and 60 characters.
 * Undefined for text that may identify a person or hold a secret: addresses, five digits or more, words of 20
 * characters or more.
 */
export function toAnonymousTerm(q: string): string | undefined {
  const term = cleanText(q).toLowerCase()
  const words = term.split(' ')
  const isTelling = /[@/\\]|\bwww\./.test(term) || term.replace(/\P{Nd}/gu, '').length >= 5
  if (term === '' || term.length > 60 || words.length > 8 || isTelling) return undefined
  return words.some((word) => word.length >= 20) ? undefined : term
}
