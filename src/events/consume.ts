import { sql } from 'drizzle-orm'
import pg from 'pg'
import type { Db, Tx } from '../db/client.ts'
import { isConnectionLoss } from '../db/connection-loss.ts'
import type { Logger } from '../logger.ts'
import type { Cursor, EventType, StoredEvent } from './catalogue.ts'
import { readEvents } from './read.ts'

/** What an event handler wants done in the very transaction that moves its checkpoint. */
export type Commit = (tx: Tx) => Promise<void>

export interface Consumer {
  /** Names the checkpoint and the lock: one active consumer of a name at a time. */
  name: string
  /** Others are passed over. */
  types?: readonly EventType[]
  batchSize?: number
  /**
   * Must bear being called again with the same events. An effect outside Postgres has happened for good when this resolves; an effect inside goes into the
   * returned commit.
   */
  handle(events: StoredEvent[], signal: AbortSignal): Promise<Commit | undefined>
  /** Failures of something that will come back: waited for without end, never counted against an event. */
  isOutage?(error: unknown): boolean
}

export interface RunningConsumer {
  readonly name: string
  /** True while this process holds the name's lock. */
  active(): boolean
  /** Handles everything that can be read now; for tests and for orderly stops. */
  drain(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

const MAX_FAILURES = 10

/** Takes a consumer's name, waits for its turn, then reads the log on every NOTIFY and at every poll. Lost connections are opened anew. */
export function startConsumer(
  { db, url, logger, pollMs = 1_000 }: { db: Db; url: string; logger: Logger; pollMs?: number },
  consumer: Consumer,
): RunningConsumer {
  const stop = new AbortController()
  const log = logger.child({ consumer: consumer.name })
  let session: { client: pg.Client; epoch: number } | undefined
  let wake: (() => void) | undefined
  let pending = false
  let failures = 0
  let batchSize = consumer.batchSize ?? 500

  const poke = () => {
    pending = true
    wake?.()
  }

  async function idle(ms: number): Promise<void> {
    if (pending || stop.signal.aborted) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    wake = undefined
  }

  /** The lock lives on a session of its own; the epoch fences out a predecessor that only slept. */
  async function takeOver(): Promise<boolean> {
    const client = new pg.Client({ connectionString: url, application_name: `consumer ${consumer.name}` })
    client.on('error', () => {
      if (session?.client === client) session = undefined
      poke()
    })
    try {
      await client.connect()
      const { rows } = await client.query<{ taken: boolean }>(
        'select pg_try_advisory_lock(hashtextextended($1, 0)) as taken',
        [`consumer:${consumer.name}`],
      )
      if (!rows[0]?.taken) {
        await client.end()
        return false
      }
      client.on('notification', poke)
      await client.query('listen events')
      const claimed = await client.query<{ epoch: string }>(
        `insert into checkpoints (consumer, epoch) values ($1, 1)
         on conflict (consumer) do update set epoch = checkpoints.epoch + 1 returning epoch`,
        [consumer.name],
      )
      session = { client, epoch: Number(claimed.rows[0]?.epoch) }
      return true
    } catch (error) {
      await client.end().catch(() => undefined)
      throw error
    }
  }

  /** One batch. False when there was nothing to read. */
  async function step(epoch: number): Promise<boolean> {
    const after = await checkpointOf(db, consumer.name)
    const { events, next } = await readEvents(db, { after, limit: batchSize })
    if (events.length === 0) return false
    const wanted = consumer.types ? events.filter((event) => consumer.types!.includes(event.type)) : events
    try {
      const commit = wanted.length > 0 ? await consumer.handle(wanted, stop.signal) : undefined
      await db.transaction(async (tx) => {
        await commit?.(tx)
        await moveCheckpoint(tx, consumer.name, next, epoch)
      })
      failures = 0
      batchSize = consumer.batchSize ?? 500
    } catch (error) {
      if (stop.signal.aborted) throw error
      if (error instanceof Fenced || isConnectionLoss(error) || consumer.isOutage?.(error)) throw error
      failures++
      log.error({ err: error, failures, eventId: wanted[0]?.id }, 'consumer failed on events')
      // Alone from now on, so that the one to blame is known.
      batchSize = 1
      if (failures < MAX_FAILURES || wanted.length !== 1) throw error
      await moveToDeadEvents(db, consumer.name, wanted[0]!, error, next, epoch)
      failures = 0
    }
    return true
  }

  async function run(): Promise<void> {
    while (!stop.signal.aborted) {
      try {
        if (!session && !(await takeOver())) {
          await idle(pollMs)
          pending = false
          continue
        }
        pending = false
        while (session && !stop.signal.aborted && (await step(session.epoch))) {}
        await idle(pollMs)
      } catch (error) {
        if (stop.signal.aborted) break
        if (error instanceof Fenced) {
          const lost = session
          session = undefined
          await lost?.client.end().catch(() => undefined)
        }
        log.warn({ err: error }, 'consumer waits after a failure')
        pending = false
        await idle(Math.min(100 * 2 ** failures, 5_000))
        pending = false
      }
    }
    const last = session
    session = undefined
    await last?.client.end().catch(() => undefined)
  }

  const running = run()
  return {
    name: consumer.name,
    active: () => session !== undefined,
    async drain() {
      for (;;) {
        poke()
        // Not by readEvents: an older transaction that is still open, in whatever database of the cluster, hides events that are there.
        const { xid, seq } = await checkpointOf(db, consumer.name)
        const { rows } = await db.execute(
          sql`select 1 from events where (xid, seq) > (${xid}::xid8, ${seq}::bigint) limit 1`,
        )
        if (rows.length === 0) return
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    },
    async [Symbol.asyncDispose]() {
      stop.abort()
      wake?.()
      await running
    },
  }
}

class Fenced extends Error {}

export async function checkpointOf(db: Db, consumer: string): Promise<Cursor> {
  const { rows } = await db.execute<{ xid: string; seq: string }>(
    sql`select xid::text as xid, seq from checkpoints where consumer = ${consumer}`,
  )
  return { xid: rows[0]?.xid ?? '0', seq: Number(rows[0]?.seq ?? 0) }
}

async function moveCheckpoint(tx: Tx, consumer: string, next: Cursor, epoch: number): Promise<void> {
  const { rowCount } = await tx.execute(
    sql`update checkpoints set xid = ${next.xid}::xid8, seq = ${next.seq}, updated_at = now() where consumer = ${consumer} and epoch = ${epoch}`,
  )
  if (rowCount !== 1) throw new Fenced(`another consumer took over ${consumer}`)
}

async function moveToDeadEvents(
  db: Db,
  consumer: string,
  event: StoredEvent,
  error: unknown,
  next: Cursor,
  epoch: number,
): Promise<void> {
  const message = error instanceof Error ? error.message : String(error)
  await db.transaction(async (tx) => {
    await tx.execute(
      sql`insert into dead_events (consumer, event_id, error) values (${consumer}, ${event.id}, ${message.slice(0, 2_000)}) on conflict do nothing`,
    )
    await moveCheckpoint(tx, consumer, next, epoch)
  })
}
