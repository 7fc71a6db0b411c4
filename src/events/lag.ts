import type { Db } from '../db/client.ts'
import { counter, type Family, gauge } from '../metrics.ts'
import { sql } from '../sql/orm.ts'
import type { EventType } from './catalogue.ts'

/** Consumers that leave their checkpoint where it is while only events of other types come. */
export const READS_ONLY = {
  'search-save-counts': ['frame.saved', 'frame.unsaved'],
} as const satisfies Readonly<Record<string, readonly EventType[]>>

/** More unread events than this are not counted: counting them would take longer than a reader waits. */
export const MOST_UNREAD = 100_000

export type ConsumerLag = Awaited<ReturnType<typeof listConsumerLag>>[number]

/** How far every consumer is behind the log, by name. `dead`: events that it skipped after repeated failures. */
export async function listConsumerLag(db: Db) {
  const { rows } = await db.execute<{ consumer: string; moved_at: string; dead: number }>(sql`
    select c.consumer, c.updated_at as moved_at,
           (select count(*)::int from dead_events d where d.consumer = c.consumer) as dead
      from checkpoints c order by c.consumer`)
  return Promise.all(
    rows.map(async ({ consumer, moved_at, dead }) => ({
      consumer,
      ...(await unreadOf(db, consumer)),
      /** When it last moved. */
      moved_at: new Date(moved_at).toISOString(),
      dead,
    })),
  )
}

/** `unread`: events of its types that it has not read, at most MOST_UNREAD. `seconds`: age of the oldest, or 0. */
async function unreadOf(db: Db, consumer: string): Promise<{ seconds: number; unread: number }> {
  const types = (READS_ONLY as Readonly<Record<string, readonly EventType[]>>)[consumer]
  const wanted = types ? sql`and e.type = any(${sql.param([...types])}::text[])` : sql``
  const { rows } = await db.execute<{ seconds: number; unread: number }>(sql`
    with unread as (
      select e.time from checkpoints c join events e on (e.xid, e.seq) > (c.xid, c.seq)
       where c.consumer = ${consumer} ${wanted} order by e.xid, e.seq limit ${MOST_UNREAD})
    select count(*)::int as unread,
           coalesce(extract(epoch from clock_timestamp() - min(time)), 0)::float8 as seconds from unread`)
  return rows[0]!
}

/** How far consumers are behind the log, and what holds them back, for Prometheus. */
export async function eventFamilies(db: Db): Promise<Family[]> {
  const lag = await listConsumerLag(db)
  const { rows: total } = await db.execute<{ n: string }>(sql`select coalesce(max(seq), 0) as n from events`)
  const { rows: oldest } = await db.execute<{ sec: number }>(sql`
    select coalesce(extract(epoch from clock_timestamp() - min(t)), 0)::float8 as sec
      from (select xact_start as t from pg_stat_activity where backend_xid is not null
            union all select prepared from pg_prepared_xacts) open`)
  const of = (value: (row: ConsumerLag) => number) =>
    lag.map((row) => ({ labels: { consumer: row.consumer }, value: value(row) }))
  return [
    gauge(
      'frames_event_lag_seconds',
      'Age of the oldest event that a consumer has not read; 0 without one.',
      of(({ seconds }) => seconds),
    ),
    gauge(
      'frames_event_unread',
      'Events that a consumer has not read, up to 100,000.',
      of(({ unread }) => unread),
    ),
    gauge(
      'frames_dead_events',
      'Events that a consumer gave up.',
      of(({ dead }) => dead),
    ),
    counter('frames_events_total', 'Number of the last event of the log.', [{ value: Number(total[0]!.n) }]),
    gauge(
      'frames_oldest_transaction_seconds',
      'Age of the oldest writing transaction on the PostgreSQL server. Readers of the log wait for it.',
      [{ value: oldest[0]!.sec }],
    ),
  ]
}
