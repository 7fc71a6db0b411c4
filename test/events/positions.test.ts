import { beforeAll, expect, test } from 'vitest'
import type { Db } from '../../src/db/client.ts'
import { formatCursor } from '../../src/events/catalogue.ts'
import { readPosition } from '../../src/events/positions.ts'
import { findBreak } from '../../src/events/read.ts'
import { sql } from '../../src/sql/orm.ts'
import { untilReadable, useStores } from '../support/stores.ts'

const MINUTE = 60_000
const DAY = 1_440 * MINUTE
const START = Date.parse('2019-03-01T00:00:00Z')

const stores = useStores()
let db: Db
beforeAll(async () => {
  db = stores.db
  // Three years with a gap of one. Long transactions put some events up to 40 minutes behind later ones.
  // In parts: a statement has a minute, also on a busy machine.
  for (let first = 1; first < 120_000; first += 10_000)
    await db.$client.query(
      `insert into events (type, subject, data, time)
       select 'key.revoked', n, '{"key_id":"k"}',
              to_timestamp($1 / 1000.0) + n * interval '8 minutes' + (n / 60000) * interval '1 year'
                - (n % 7 = 0)::int * (n % 41) * interval '1 minute'
         from generate_series($2::int, $2::int + 9999) n`,
      [START, first],
    )
  await db.$client.query('vacuum analyze events')
  await untilReadable(db)
})

/** What stands right before the first event of a time, found by reading the whole log. */
async function readWholeLog(time: string): Promise<string> {
  const { rows } = await db.execute<{ place: string }>(sql`
    select coalesce(
      (select b.xid::text || '.' || b.seq from events b
        where (b.xid, b.seq) < (select a.xid, a.seq from events a where a.time >= ${time}::timestamptz
                                 order by a.xid, a.seq limit 1)
        order by b.xid desc, b.seq desc limit 1),
      case when exists (select from events where time >= ${time}::timestamptz) then '0.0'
           else (select xid::text || '.' || seq from events order by events.xid desc, seq desc limit 1) end) as place`)
  return rows[0]!.place
}

test('the place of a time is right before the first event of it or later, and a cursor of the log', async () => {
  const times = [
    '1970-01-01',
    '0001-01-01',
    '2019-03-01T00:08:00Z',
    '2020-06-01',
    '2099-12-31',
    new Date().toISOString(),
    ...Array.from({ length: 15 }, (_, n) => new Date(START + n * 78.1 * DAY + n * 7_919_000).toISOString()),
  ]
  for (const time of times) {
    const place = await readPosition(db, 'from', time)
    expect([time, formatCursor(place)]).toEqual([time, await readWholeLog(time)])
    expect(await findBreak(db, place), time).toBeUndefined()
  }
})

test('finding a time reads a small part of the log', async () => {
  const blocksOf = async () => {
    const { rows } = await db.execute<{ read: number; all: number }>(sql`
      select (heap_blks_read + heap_blks_hit)::int as read, relpages as all
        from pg_statio_user_tables s join pg_class c on c.oid = s.relid where s.relname = 'events'`)
    return rows[0]!
  }
  const flush = sql`select pg_stat_force_next_flush()`
  await db.execute(flush)
  const before = await blocksOf()
  await db.transaction(async (tx) => {
    await readPosition(tx, 'from', '2021-02-03')
    await tx.execute(flush)
  })
  const after = await blocksOf()
  expect(after.all).toBeGreaterThan(1_000)
  expect(after.read - before.read).toBeGreaterThan(0)
  expect(after.read - before.read).toBeLessThan(after.all / 4)
})

test('a date that PostgreSQL does not know is refused', async () => {
  for (const time of ['0000-01-01', '0001-01-01T00:00:00+14:00', '9999-12-31T23:59:59-23:59'])
    await expect(readPosition(db, 'from', time), time).rejects.toMatchObject({ code: 'invalid_request' })
})
