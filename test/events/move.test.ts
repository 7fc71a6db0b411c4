import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Db, openDb } from '../../src/db/client.ts'
import { migrateDatabase } from '../../src/db/migrate.ts'
import { appendEvent } from '../../src/events/append.ts'
import { type Cursor, START, type StoredEvent } from '../../src/events/catalogue.ts'
import { checkpointOf, startConsumer } from '../../src/events/consume.ts'
import { findBreak, findHeldBack, readEvents } from '../../src/events/read.ts'
import { type LocalServer, startLocalPostgres } from '../../src/local/postgres.ts'
import { memoryFolder } from '../support/memory-folder.ts'
import { openStores, type Stores, untilReadable } from '../support/stores.ts'
import { until } from '../support/until.ts'

// The transaction numbers of a new cluster begin again. A plain dump that is loaded there must not stop the log.

const logger = pino({ level: 'silent' })
const dir = mkdtempSync(join(memoryFolder(), 'frames-move-'))
chmodSync(dir, 0o755)
let stores: Stores
let other: LocalServer

beforeAll(async () => {
  stores = await openStores()
  await burnTransactions(stores.db, 20_000)
  other = await startLocalPostgres({ dir: join(dir, 'postgres'), settings: { fsync: 'off' } })
})
afterAll(async () => {
  await stores[Symbol.asyncDispose]()
  await other.stop()
  rmSync(dir, { recursive: true, force: true })
})

test('the log of a dump goes on in another cluster without loss or repeat, under continuing writes', async () => {
  const before = recorder('search')
  for (let n = 0; n < 20; n++) await write(stores.db, `before ${n}`)
  const first = startConsumer({ db: stores.db, url: stores.databaseUrl, logger, pollMs: 20 }, before)
  await first.drain()
  await first[Symbol.asyncDispose]()
  for (let n = 0; n < 10; n++) await write(stores.db, `unread ${n}`)
  await untilReadable(stores.db)
  const page = await readEvents(stores.db, { after: START, limit: 5 })

  const writing = writers(stores.db, 'during')
  await using moved = await openMoved('moved', (url) => dump(stores.databaseUrl, url))
  await writing.stop()
  const { rows: copied } = await moved.db.$client.query('select subject from events')
  const subjects = copied.map((row) => row.subject as string)
  expect(await numbersOf(moved.db)).toBeLessThan(await numbersOf(stores.db))
  expect(await findHeldBack(moved.db)).toBeNull()
  // A cursor from before the move goes on, before anything is written and after.
  expect(await readAll(moved.db, page.next)).toHaveLength(subjects.length - 5)

  const going = writers(moved.db, 'after')
  await until(() => going.written.size > 10)
  const after = recorder('search')
  const second = startConsumer({ db: moved.db, url: moved.url, logger, pollMs: 20 }, after)
  await until(() => after.handled.length > 20)
  await going.stop()
  await second.drain()
  await second[Symbol.asyncDispose]()

  const expected = [...subjects.filter((subject) => !before.handled.includes(subject)), ...going.written]
  expect(after.handled.toSorted()).toEqual(expected.toSorted())
  for (const writer of ['0', '1', '2', '3']) {
    const own = after.handled.filter((subject) => subject.startsWith(`after ${writer}-`))
    expect(own).toEqual(own.toSorted((a, b) => Number(a.split('-')[1]) - Number(b.split('-')[1])))
  }
  expect(await findHeldBack(moved.db)).toBeNull()
  expect((await readAll(moved.db, page.next)).slice(-expected.length).toSorted()).toEqual(expected.toSorted())
  const end = await checkpointOf(moved.db, 'search')
  expect((await readEvents(moved.db, { after: end, limit: 1 })).events).toEqual([])
})

test('a cursor of events after the backup is refused and told where to go on', async () => {
  await write(stores.db, 'in both')
  const common = await endOf(stores.db)
  await using moved = await openMoved('earlier', (url) => dump(stores.databaseUrl, url))
  await write(stores.db, 'lost')
  const lost = await endOf(stores.db)
  await write(moved.db, 'new')

  expect(await findBreak(moved.db, lost)).toEqual(common)
  expect(await readAll(moved.db, common)).toEqual(['new'])
  expect(await findBreak(moved.db, common)).toBeUndefined()
  expect(await findBreak(moved.db, await endOf(moved.db))).toBeUndefined()
  expect(await findBreak(moved.db, START)).toBeUndefined()
  // Nor does a copy of the same backup take the other copy's cursors.
  await using copy = await openMoved('copy', (url) => dump(stores.databaseUrl, url))
  await write(copy.db, 'new')
  expect(await findBreak(copy.db, await endOf(moved.db))).toBeDefined()
})

test('a log that is moved back goes on behind all that was written elsewhere', async () => {
  await using away = await openMoved('away', (url) => dump(stores.databaseUrl, url))
  for (let n = 0; n < 3; n++) await write(away.db, `away ${n}`)
  const end = await endOf(away.db)
  await using home = await openStores()
  await dump(away.url, home.databaseUrl)
  await write(home.db, 'home again')
  await untilReadable(home.db)
  expect(await readAll(home.db, end)).toEqual(['home again'])
})

test('a log is read on a standby, and goes on when that becomes the primary', async () => {
  const place = join(dir, 'standby')
  await using ends = new AsyncDisposableStack()
  const first = await startLocalPostgres({ dir: place, settings: { fsync: 'off' } })
  ends.defer(first.stop)
  const before = openDb({ url: first.url, max: 1 })
  await migrateDatabase(before)
  for (let n = 0; n < 3; n++) await write(before, `primary ${n}`)
  const end = await endOf(before)
  await before.$client.end()
  await first.stop()
  writeFileSync(join(place, 'standby.signal'), '')
  const second = await startLocalPostgres({ dir: place, settings: { fsync: 'off' } })
  const after = openDb({ url: second.url, max: 2 })
  try {
    expect((await after.$client.query('select pg_is_in_recovery() as standby')).rows).toEqual([{ standby: true }])
    expect(await readAll(after, START)).toEqual(['primary 0', 'primary 1', 'primary 2'])
    await after.$client.query('select pg_promote()')
    expect(await readAll(after, START)).toHaveLength(3)
    await write(after, 'promoted')
    expect(await readAll(after, end)).toEqual(['promoted'])
    const { rows } = await after.$client.query('select cluster, shift > 0 as shifted from event_log')
    expect(rows).toEqual([{ cluster: expect.stringMatching(/\/00000002$/), shifted: true }])
  } finally {
    await after.$client.end()
    await second.stop()
  }
})

test('a role without special rights reads and writes the log', async () => {
  await using moved = await openMoved('plain_role', async () => undefined)
  const { $client } = moved.db
  await $client.query(`create role plain login password 'plain'; grant all on all tables in schema public to plain`)
  await $client.query(
    `update event_log set cluster = 'elsewhere'; grant all on all sequences in schema public to plain`,
  )
  const db = openDb({ url: moved.url.replace(/\/\/.*@/, '//plain:plain@'), max: 2 })
  await write(db, 'by a plain role')
  expect(await readAll(db, START)).toEqual(['by a plain role'])
  await db.$client.end()
})

/** The cursor of the last event. */
async function endOf(db: Db): Promise<Cursor> {
  const { rows } = await db.$client.query('select xid::text as xid, seq from events order by events.xid desc, seq desc')
  return { xid: rows[0].xid, seq: Number(rows[0].seq) }
}

async function numbersOf(db: Db): Promise<number> {
  const { rows } = await db.$client.query<{ n: string }>('select pg_snapshot_xmax(pg_current_snapshot())::text as n')
  return Number(rows[0]!.n)
}

function recorder(name: string) {
  const handled: string[] = []
  return {
    name,
    handled,
    async handle(events: StoredEvent[]) {
      handled.push(...events.map((event) => event.subject))
      return undefined
    },
  }
}

function write(db: Db, subject: string): Promise<void> {
  return db.transaction((tx) =>
    appendEvent(tx, { type: 'key.revoked', subject, accountId: null, data: { key_id: subject } }),
  )
}

/** Four writers of numbered events until they are stopped. */
function writers(db: Db, name: string) {
  const written = new Set<string>()
  let stopped = false
  const all = ['0', '1', '2', '3'].map(async (writer) => {
    for (let n = 0; !stopped; n++) {
      const subject = `${name} ${writer}-${n}`
      await write(db, subject)
      written.add(subject)
    }
  })
  return {
    written,
    async stop() {
      stopped = true
      await Promise.all(all)
    },
  }
}

async function readAll(db: Db, after: Cursor): Promise<string[]> {
  const subjects: string[] = []
  for (let cursor = after; ; ) {
    const page = await readEvents(db, { after: cursor, limit: 50 })
    if (page.events.length === 0) return subjects
    subjects.push(...page.events.map((event) => event.subject))
    cursor = page.next
  }
}

async function burnTransactions(db: Db, count: number): Promise<void> {
  await db.$client.query(`do $$ begin for i in 1..${count} loop perform pg_current_xact_id(); commit; end loop; end $$`)
}

/** A database of the other cluster, filled by `load`. */
async function openMoved(name: string, load: (url: string) => Promise<void>) {
  const admin = openDb({ url: other.url, max: 1 })
  await admin.$client.query(`create database ${name}`)
  await admin.$client.end()
  const url = other.url.replace(/postgres$/, name)
  const db = openDb({ url, max: 10 })
  await migrateDatabase(db)
  await load(url)
  return { db, url, [Symbol.asyncDispose]: () => db.$client.end() }
}

/** What pg_dump and psql do: every table as it was in one snapshot, whatever is written meanwhile. */
async function dump(fromUrl: string, toUrl: string): Promise<void> {
  const source = new pg.Client({ connectionString: fromUrl })
  const target = new pg.Client({ connectionString: toUrl })
  await Promise.all([source.connect(), target.connect()])
  await source.query('begin isolation level repeatable read read only')
  await target.query('begin')
  const { rows } = await source.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`,
  )
  await target.query(`truncate ${rows.map((row) => row.name).join(', ')}`)
  await target.query('set local session_replication_role = replica')
  for (const { name } of rows)
    await pipeline(source.query(copyTo(`copy ${name} to stdout`)), target.query(copyFrom(`copy ${name} from stdin`)))
  await target.query(`select setval(pg_get_serial_sequence('events', 'seq'), (select max(seq) from events))`)
  await target.query('commit')
  await Promise.all([source.end(), target.end()])
}
