import { pino } from 'pino'
import { expect, test } from 'vitest'
import type { Db } from '../../src/db/client.ts'
import { appendEvent } from '../../src/events/append.ts'
import { type Cursor, START } from '../../src/events/catalogue.ts'
import { findEnd, readEvents } from '../../src/events/read.ts'
import { openLogTail } from '../../src/events/tail.ts'
import { holdTransaction, untilReadable, useStores } from '../support/stores.ts'
import { until } from '../support/until.ts'

const logger = pino({ level: 'silent' })
const stores = useStores()

function write(subject: string) {
  return stores.db.transaction((tx) =>
    appendEvent(tx, { type: 'key.revoked', subject, accountId: null, data: { key_id: subject } }),
  )
}

/** Follows in the background. */
function follower(tail: ReturnType<typeof openLogTail>, after: Cursor, { slow = false } = {}) {
  const stop = new AbortController()
  const seen: string[] = []
  const running = (async () => {
    for await (const events of tail.follow({ after, signal: stop.signal })) {
      seen.push(...events.map(({ subject }) => subject))
      if (slow) await new Promise((resolve) => setTimeout(resolve, 20))
    }
  })()
  return {
    seen,
    async stop() {
      stop.abort()
      await running
    },
  }
}

/** The same database, and the number of times that the log was read. */
function counted(db: Db) {
  const count = { reads: 0 }
  const execute: Db['execute'] = (query) => {
    if (JSON.stringify(query, (key, value) => (key === 'table' ? undefined : value)).includes('from events'))
      count.reads++
    return db.execute(query)
  }
  return { count, db: Object.assign(Object.create(db), { execute }) as Db }
}

test('two hundred followers cost no more reads of the log than one, and each sees every event once', async () => {
  const reads: number[] = []
  for (const followers of [1, 200]) {
    const { count, db } = counted(stores.db)
    await using tail = openLogTail({ db, url: stores.databaseUrl, logger })
    await untilReadable(stores.db)
    const after = await findEnd(stores.db)
    const all = Array.from({ length: followers }, () => follower(tail, after))
    // The first read finds the end, the second that there is nothing behind it.
    await until(() => count.reads >= 2)
    const written: string[] = []
    for (let n = 0; n < 20; n++) {
      written.push(`${followers}-${n}`)
      await write(written.at(-1)!)
      await until(() => all.every(({ seen }) => seen.length === written.length))
    }
    for (const { seen } of all) expect(seen).toEqual(written)
    reads.push(count.reads)
    await Promise.all(all.map(({ stop }) => stop()))
  }
  // Looks after a NOTIFY are repeated for a while, whoever follows. A read for each follower would be 4,000.
  expect(reads[1]).toBeLessThan(reads[0]! + 1_000)
})

test('a follower that falls behind the window reads the log itself, and misses and repeats nothing', async () => {
  await using tail = openLogTail({ db: stores.db, url: stores.databaseUrl, logger, windowSize: 5 })
  await untilReadable(stores.db)
  const after = await findEnd(stores.db)
  const quick = follower(tail, after)
  const slow = follower(tail, after, { slow: true })
  const written: string[] = []
  for (let n = 0; n < 60; n++) {
    written.push(`behind ${n}`)
    await write(written.at(-1)!)
  }
  await until(() => quick.seen.length >= 60 && slow.seen.length >= 60)
  expect(slow.seen).toEqual(written)
  expect(quick.seen).toEqual(written)
  const late = follower(tail, after)
  await until(() => late.seen.length >= 60)
  expect(late.seen).toEqual(written)
  await Promise.all([quick, slow, late].map(({ stop }) => stop()))
})

test('an event that an older transaction hides comes when that ends, and a rolled-back one never', async () => {
  await using tail = openLogTail({ db: stores.db, url: stores.databaseUrl, logger })
  await untilReadable(stores.db)
  const one = follower(tail, await findEnd(stores.db))
  await write('first')
  await until(() => one.seen.length === 1)
  {
    await using _older = await holdTransaction(stores)
    await write('hidden')
    await stores.db
      .transaction(async (tx) => {
        await appendEvent(tx, { type: 'key.revoked', subject: 'never', accountId: null, data: { key_id: 'never' } })
        throw new Error('rolled back on purpose')
      })
      .catch(() => undefined)
    expect(one.seen).toEqual(['first'])
  }
  await until(() => one.seen.length === 2)
  expect(one.seen).toEqual(['first', 'hidden'])
  await one.stop()
})

test('a cursor that is newer than the reader brings no event twice', async () => {
  // Without NOTIFY of its own and with a long poll the reader lies behind.
  await using tail = openLogTail({ db: stores.db, url: stores.databaseUrl, logger, pollMs: 30_000 })
  await untilReadable(stores.db)
  const held = follower(tail, await findEnd(stores.db))
  await write('known')
  await until(() => held.seen.length === 1)
  await stores.db.$client.query('alter table events disable trigger user')
  await write('read from a page')
  await untilReadable(stores.db)
  const newer = follower(tail, await findEnd(stores.db))
  await stores.db.$client.query('alter table events enable trigger user')
  await write('new')
  await until(() => held.seen.length === 3 && newer.seen.length > 0)
  expect(newer.seen).toEqual(['new'])
  await Promise.all([held.stop(), newer.stop()])
})

test('a tail whose connections are cut goes on without loss or repeat', async () => {
  await using tail = openLogTail({ db: stores.db, url: stores.databaseUrl, logger })
  await untilReadable(stores.db)
  const one = follower(tail, await findEnd(stores.db))
  const written: string[] = []
  for (let n = 0; n < 30; n++) {
    written.push(`cut ${n}`)
    await write(written.at(-1)!)
    if (n % 10 === 5) {
      await until(() => one.seen.length > n - 5)
      await stores.db.$client.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where application_name = 'event tail' and datname = current_database()`,
      )
    }
  }
  await until(() => one.seen.length >= written.length)
  expect(one.seen).toEqual(written)
  await one.stop()
})

test('nothing is held open when nobody follows', async () => {
  await using tail = openLogTail({ db: stores.db, url: stores.databaseUrl, logger })
  const open = async () =>
    (
      await stores.db.$client.query(
        `select 1 from pg_stat_activity where application_name = 'event tail' and datname = current_database()`,
      )
    ).rows.length
  const one = follower(tail, START)
  const { events } = await readEvents(stores.db, { after: START, limit: 1 })
  await until(() => one.seen.length >= events.length)
  expect(await open()).toBe(1)
  await one.stop()
  await until(async () => (await open()) === 0)
  tail.end()
  const late = follower(tail, START)
  await late.stop()
  expect(late.seen).toEqual([])
})
