import type pg from 'pg'
import { type Db, type DbOrTx, isConnectionLoss, type Tx } from '../db/client.ts'
import type { Logger } from '../logger.ts'
import { type SQL, sql } from '../sql/orm.ts'
import type { Cursor, EventType, StoredEvent } from './catalogue.ts'
import { findRetries, forgetDeadEvent, moveToDeadEvents } from './dead-events.ts'
import { Fenced, followLog } from './follow.ts'
import { readEvents, settleLog } from './read.ts'
import { createOutage, type Poller, recordOutage } from './waiting.ts'

/** What an event handler wants done in the same transaction that moves its checkpoint. */
export type Commit = (tx: Tx) => Promise<void>

export interface Consumer {
  /** Names the checkpoint and the lock: one active consumer per name. */
  name: string
  /** Events of other types are skipped. */
  types?: readonly EventType[]
  batchSize?: number
  /**
   * May be called again with the same events. Effects outside Postgres must be complete when this resolves. Effects
   * inside Postgres belong into the returned commit.
   */
  handle(events: StoredEvent[], signal: AbortSignal): Promise<Commit | undefined>
  /** What is unavailable: the event is retried without limit, and the failure never counts against it. */
  outageOf?(error: unknown): string | undefined
}

export type RunningConsumer = ReturnType<typeof startConsumer>

const MAX_FAILURES = 10
const DEFAULT_BATCH_SIZE = 500

/**
 * Waits for the consumer's lock, then reads the log on every NOTIFY and at every poll. The lock lives on the connection
 * that listens. The epoch fences out a predecessor that was only suspended.
 */
export function startConsumer(
  { db, url, logger, pollMs = 1_000 }: { db: Db; url: string; logger: Logger; pollMs?: number },
  consumer: Consumer,
) {
  const stop = new AbortController()
  const { signal } = stop
  const { name } = consumer
  const log = logger.child({ consumer: name })
  const progress: Progress = { failures: 0, batchSize: consumer.batchSize ?? DEFAULT_BATCH_SIZE, suspects: 0 }
  const outage = createOutage()
  let epoch = 0
  const follower = followLog({
    ...{ url, pollMs, signal, name: `consumer ${name}` },
    async begin(client) {
      const taken = await takeOver(client, name)
      if (taken === undefined) return false
      epoch = taken
      if (await settleLog(db)) log.info('event log continues in another PostgreSQL cluster')
      return true
    },
    async step() {
      const handled = await handleBatch({ db, consumer, log, signal, epoch }, progress)
      const ended = outage.over()
      if (ended) {
        log.info(ended, 'consumer continues after an outage')
        await recordOutage(db, name, null)
      }
      return handled
    },
    failed(error) {
      const of = outageOf(consumer, error)
      if (of === undefined) {
        log.warn({ err: error }, 'consumer waits after a failure')
        return Math.min(100 * 2 ** progress.failures, 5_000)
      }
      const attempt = outage.failed()
      if (attempt.log) log.warn({ err: error, ...attempt.log }, 'consumer waits for the end of an outage')
      void recordOutage(db, name, { of, ...attempt.soFar })
      return attempt.pauseMs
    },
  })
  return {
    name,
    /** True while this process holds the name's lock. */
    active: follower.active,
    /** Handles everything that is readable now; for tests and for orderly stops. */
    drain: () => drain(db, name, follower.poller),
    async [Symbol.asyncDispose]() {
      stop.abort()
      await follower.ended
    },
  }
}

/** SQL: whether no process runs a consumer. */
export const isIdle = (consumer: SQL) => sql`pg_try_advisory_xact_lock(hashtextextended('consumer:' || ${consumer}, 0))`

/** Takes the lock and a new epoch. Undefined while another process holds the lock. */
async function takeOver(client: pg.Client, name: string): Promise<number | undefined> {
  const { rows } = await client.query<{ taken: boolean }>(
    'select pg_try_advisory_lock(hashtextextended($1, 0)) as taken',
    [`consumer:${name}`],
  )
  if (!rows[0]?.taken) return undefined
  const claimed = await client.query<{ epoch: string }>(
    `insert into checkpoints (consumer, epoch) values ($1, 1)
     on conflict (consumer) do update set epoch = checkpoints.epoch + 1, outage = null returning epoch`,
    [name],
  )
  return Number(claimed.rows[0]?.epoch)
}

/** How the reading goes on after failures. */
interface Progress {
  /** Failures in a row of one event alone. */
  failures: number
  batchSize: number
  /** The next events of which one has failed: half of them at a time are tried until that one is alone. */
  suspects: number
}

interface Handling {
  db: Db
  consumer: Consumer
  log: Logger
  signal: AbortSignal
  epoch: number
}

/** Reads and handles one batch. False when there was nothing to read. */
async function handleBatch(handling: Handling, progress: Progress): Promise<boolean> {
  const { db, consumer, log, signal, epoch } = handling
  const { after, retries } = await progressOf(db, consumer.name)
  if (retries) await retryDeadEvents(handling)
  const { events, next } = await readEvents(db, { after, limit: progress.batchSize })
  if (events.length === 0) return false
  const wanted = consumer.types ? events.filter((event) => consumer.types!.includes(event.type)) : events
  try {
    const commit = wanted.length > 0 ? await consumer.handle(wanted, signal) : undefined
    await db.transaction(async (tx) => {
      await commit?.(tx)
      await moveOwn(tx, consumer.name, { after, next, epoch })
    })
    progress.failures = 0
    narrow(consumer, progress, progress.suspects - events.length)
  } catch (error) {
    const isFault = isFaultOf(handling, error)
    if (isFault)
      log.error({ err: error, failures: progress.failures + 1, eventId: wanted[0]?.id }, 'consumer failed on events')
    // Too many at once look like an outage too: their statement takes longer than one may.
    if (wanted.length > 1) narrow(consumer, progress, events.length)
    if (!isFault || wanted.length > 1) throw error
    progress.failures++
    if (progress.failures < MAX_FAILURES) throw error
    await db.transaction(async (tx) => {
      await moveToDeadEvents(tx, { consumer: consumer.name, eventId: wanted[0]!.id, error, attempts: MAX_FAILURES })
      await moveOwn(tx, consumer.name, { after, next, epoch })
    })
    progress.failures = 0
    narrow(consumer, progress, 0)
  }
  return true
}

function narrow({ batchSize = DEFAULT_BATCH_SIZE }: Consumer, progress: Progress, suspects: number): void {
  progress.suspects = Math.max(0, suspects)
  progress.batchSize = suspects > 0 ? Math.ceil(suspects / 2) : batchSize
}

/** Whether the events are to blame, and not the stop, a successor or an outage. */
function isFaultOf({ consumer, signal }: Handling, error: unknown): boolean {
  return !signal.aborted && !(error instanceof Fenced) && outageOf(consumer, error) === undefined
}

/** Makes the attempts that operators asked for, one event at a time. */
async function retryDeadEvents(handling: Handling): Promise<void> {
  const { db, consumer, log, signal, epoch } = handling
  const { name } = consumer
  for (const event of await findRetries(db, name)) {
    try {
      const commit = await consumer.handle([event], signal)
      await db.transaction(async (tx) => {
        await commit?.(tx)
        await requireEpoch(tx, name, epoch)
        await forgetDeadEvent(tx, name, event.id)
      })
      log.info({ eventId: event.id }, 'dead event handled')
    } catch (error) {
      if (!isFaultOf(handling, error)) throw error
      log.error({ err: error, eventId: event.id }, 'dead event failed again')
      await db.transaction(async (tx) => {
        await requireEpoch(tx, name, epoch)
        await moveToDeadEvents(tx, { consumer: name, eventId: event.id, error, attempts: 1 })
      })
    }
  }
}

async function drain(db: Db, consumer: string, poller: Poller): Promise<void> {
  for (;;) {
    poller.hurry()
    // Not readEvents: an open older transaction, in any database of the server, hides events that exist.
    const { xid, seq } = await checkpointOf(db, consumer)
    const { rows } = await db.execute(
      sql`select 1 from events where (xid, seq) > (${xid}::xid8, ${seq}::bigint) limit 1`,
    )
    if (rows.length === 0) return
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

function outageOf(consumer: Consumer, error: unknown): string | undefined {
  return consumer.outageOf?.(error) ?? (isConnectionLoss(error) ? 'PostgreSQL' : undefined)
}

/** The checkpoint of a consumer that needs no lock. */
export async function beginCheckpoint(db: DbOrTx, consumer: string): Promise<void> {
  await db.execute(sql`insert into checkpoints (consumer) values (${consumer}) on conflict do nothing`)
}

export async function checkpointOf(db: DbOrTx, consumer: string): Promise<Cursor> {
  const { rows } = await db.execute<{ xid: string; seq: string }>(
    sql`select xid::text as xid, seq from checkpoints where consumer = ${consumer}`,
  )
  return { xid: rows[0]?.xid ?? '0', seq: Number(rows[0]?.seq ?? 0) }
}

/** The position of the consumer, and whether an operator asked it to try dead events again. */
async function progressOf(db: Db, consumer: string): Promise<{ after: Cursor; retries: boolean }> {
  const { rows } = await db.execute<{ xid: string; seq: string; retries: boolean }>(sql`
    select xid::text as xid, seq,
           exists (select from dead_events d where d.consumer = c.consumer and d.retry_at is not null) as retries
      from checkpoints c where consumer = ${consumer}`)
  const { xid = '0', seq = '0', retries = false } = rows[0] ?? {}
  return { after: { xid, seq: Number(seq) }, retries }
}

interface Move {
  after: Cursor
  next: Cursor
  /** That of the one who moves it, where only one consumer of the name may. */
  epoch?: number
}

/** False, and nothing happens, where the checkpoint was moved meanwhile, as by a replay. */
export async function moveCheckpoint(db: DbOrTx, consumer: string, { after, next, epoch }: Move): Promise<boolean> {
  const { rowCount } = await db.execute(sql`
    update checkpoints set xid = ${next.xid}::xid8, seq = ${next.seq}, updated_at = now()
     where consumer = ${consumer} and epoch = coalesce(${epoch ?? null}, epoch)
       and xid = ${after.xid}::xid8 and seq = ${after.seq}`)
  return rowCount === 1
}

async function moveOwn(tx: Tx, consumer: string, move: Required<Move>): Promise<void> {
  if (await moveCheckpoint(tx, consumer, move)) return
  throw new Fenced(`another process took over the consumer ${consumer}, or it was moved`)
}

async function requireEpoch(tx: Tx, consumer: string, epoch: number): Promise<void> {
  const { rows } = await tx.execute(
    sql`select 1 from checkpoints where consumer = ${consumer} and epoch = ${epoch} for update`,
  )
  if (rows.length === 0) throw new Fenced(`another process took over the consumer ${consumer}`)
}
