import { sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { counter, type Family, gauge } from '../metrics.ts'
import type { EventType } from './catalogue.ts'

/** More unread events than this are not counted: counting them would take longer than a reader of metrics waits. */
const MOST_UNREAD = 100_000

/**
 * How far consumers are behind the log, and what holds them back.
 * `typesOf`: consumers that leave their checkpoint where it is when only other types come.
 */
export async function eventFamilies(
  db: Db,
  { typesOf }: { typesOf: Readonly<Record<string, readonly EventType[]>> },
): Promise<Family[]> {
  const { rows: consumers } = await db.execute<{ consumer: string }>(
    sql`select consumer from checkpoints order by consumer`,
  )
  const behind = await Promise.all(
    consumers.map(async ({ consumer }) => ({ consumer, ...(await unreadOf(db, consumer, typesOf[consumer])) })),
  )
  const { rows: dead } = await db.execute<{ consumer: string; n: number }>(
    sql`select c.consumer, count(d.consumer)::int as n
          from checkpoints c left join dead_events d on d.consumer = c.consumer group by 1`,
  )
  const { rows: total } = await db.execute<{ n: string }>(sql`select coalesce(max(seq), 0) as n from events`)
  const { rows: oldest } = await db.execute<{ sec: number }>(sql`
    select coalesce(extract(epoch from clock_timestamp() - min(t)), 0)::float8 as sec
      from (select xact_start as t from pg_stat_activity where backend_xid is not null
            union all select prepared from pg_prepared_xacts) open`)
  const of = (value: (row: (typeof behind)[number]) => number) =>
    behind.map((row) => ({ labels: { consumer: row.consumer }, value: value(row) }))
  return [
    gauge(
      'frames_event_lag_seconds',
      'Age of the oldest event that a consumer has not read; 0 without one.',
      of((row) => row.lag),
    ),
    gauge(
      'frames_event_unread',
      'Events that a consumer has not read, up to 100,000.',
      of((row) => row.unread),
    ),
    gauge(
      'frames_dead_events',
      'Events that a consumer gave up.',
      dead.map(({ consumer, n }) => ({ labels: { consumer }, value: n })),
    ),
    counter('frames_events_total', 'Number of the last event of the log.', [{ value: Number(total[0]!.n) }]),
    gauge(
      'frames_oldest_transaction_seconds',
      'Age of the oldest writing transaction on the PostgreSQL server. Readers of the log wait for it.',
      [{ value: oldest[0]!.sec }],
    ),
  ]
}

async function unreadOf(
  db: Db,
  consumer: string,
  types: readonly EventType[] | undefined,
): Promise<{ lag: number; unread: number }> {
  const wanted = types ? sql`and e.type = any(${sql.param([...types])}::text[])` : sql``
  const { rows } = await db.execute<{ lag: number; unread: number }>(sql`
    with unread as (
      select e.time from checkpoints c join events e on (e.xid, e.seq) > (c.xid, c.seq)
       where c.consumer = ${consumer} ${wanted} order by e.xid, e.seq limit ${MOST_UNREAD})
    select count(*)::int as unread,
           coalesce(extract(epoch from clock_timestamp() - min(time)), 0)::float8 as lag from unread`)
  return rows[0]!
}
