import type { Db } from '../db/client.ts'
import { sql } from '../sql/orm.ts'

export type Poller = ReturnType<typeof createPoller>

/** A wait that a wake-up ends early. A wake-up before the wait counts, until it is reset. */
export function createPoller(stop: AbortSignal) {
  let endWait: (() => void) | undefined
  let endPause: (() => void) | undefined
  let pending = false
  // It listens to the stop only while it waits: many pollers share one signal that outlives them.
  const wake = () => {
    pending = true
    endWait?.()
  }
  return {
    wake,
    /** Wakes up, and ends a pause too. */
    hurry() {
      wake()
      endPause?.()
    },
    /** Forgets a wake-up. False when there was none. */
    reset() {
      const was = pending
      pending = false
      return was
    },
    async wait(ms: number) {
      if (pending || stop.aborted) return
      await new Promise<void>((resolve) => {
        endWait = resolveAfter(ms, stop, resolve)
      })
      endWait = undefined
    },
    /** A wait between two failed attempts, which wake-ups do not shorten. */
    async pause(ms: number) {
      if (stop.aborted) return
      await new Promise<void>((resolve) => {
        endPause = resolveAfter(ms, stop, resolve)
      })
      endPause = undefined
    },
  }
}

/** Calls `resolve` after `ms` or at the stop. Returns a function that calls it at once. */
function resolveAfter(ms: number, stop: AbortSignal, resolve: () => void): () => void {
  const end = () => {
    clearTimeout(timer)
    stop.removeEventListener('abort', end)
    resolve()
  }
  const timer = setTimeout(end, ms)
  stop.addEventListener('abort', end, { once: true })
  return end
}

interface OutageFields {
  attempts: number
  outageSec: number
}

const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5_000
const LOG_EVERY_MS = 60_000

/** Counts the attempts of one outage, which is not the fault of what is attempted. */
export function createOutage(now: () => number = () => performance.now()) {
  let attempts = 0
  let since = 0
  let loggedAt = 0
  const fields = (): OutageFields => ({ attempts, outageSec: Math.round((now() - since) / 1_000) })
  return {
    /**
     * How long to wait, and what to log now, if anything: the first failure of an outage is logged, and then at most
     * one a minute.
     */
    failed() {
      if (attempts === 0) since = now()
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** attempts, LONGEST_PAUSE_MS)
      attempts++
      if (attempts > 1 && now() - loggedAt < LOG_EVERY_MS) return { pauseMs, soFar: fields(), log: undefined }
      loggedAt = now()
      return { pauseMs, soFar: fields(), log: fields() }
    },
    /** An attempt succeeded. Returns what ended. Undefined when there was no outage. */
    over() {
      if (attempts === 0) return undefined
      const ended = fields()
      attempts = 0
      return ended
    },
  }
}

/** What a consumer waits for, where other processes can read it. */
interface OutageRecord {
  /** What does not answer: `Meilisearch`. */
  of: string
  /** ISO dates. */
  since: string
  lastAttempt: string
  attempts: number
}

/** Keeps an outage beside the consumer's checkpoint, or forgets it. It is no fact: a failure is no matter. */
export async function recordOutage(
  db: Db,
  consumer: string,
  outage: ({ of: string } & OutageFields) | null,
): Promise<void> {
  const value = outage === null ? null : JSON.stringify(outageRecord(outage))
  await db
    .execute(sql`update checkpoints set outage = ${value}::jsonb where consumer = ${consumer}`)
    .catch(() => undefined)
}

export function outageRecord({ of, attempts, outageSec }: { of: string } & OutageFields): OutageRecord {
  const ago = (ms: number) => new Date(Date.now() - ms).toISOString()
  return { of, since: ago(outageSec * 1_000), lastAttempt: ago(0), attempts }
}

export async function listOutages(db: Db): Promise<(OutageRecord & { consumer: string })[]> {
  const { rows } = await db.execute<{ consumer: string; outage: OutageRecord }>(
    sql`select consumer, outage from checkpoints where outage is not null
        union all select 'copy to ' || engine, outage from read_models where outage is not null order by consumer`,
  )
  return rows.map(({ consumer, outage }) => ({ consumer, ...outage }))
}
