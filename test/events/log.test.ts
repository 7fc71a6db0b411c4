import { pino } from 'pino'
import { expect, test } from 'vitest'
import type { Tx } from '../../src/db/client.ts'
import { appendEvent } from '../../src/events/append.ts'
import type { StoredEvent } from '../../src/events/catalogue.ts'
import { checkpointOf, startConsumer } from '../../src/events/consume.ts'
import { listDeadEvents } from '../../src/events/dead-events.ts'
import { findEnd, findHeldBack, readEvents } from '../../src/events/read.ts'
import { listOutages } from '../../src/events/waiting.ts'
import { sql } from '../../src/sql/orm.ts'
import { seededRandom } from '../support/seeded-random.ts'
import { holdTransaction, untilReadable, useStores } from '../support/stores.ts'

const logger = pino({ level: 'silent' })
const stores = useStores()

function write(subject: string) {
  return stores.db.transaction((tx) =>
    appendEvent(tx, { type: 'key.revoked', subject, accountId: null, data: { key_id: subject } }),
  )
}

/** How many runs of the writers. More find what is rarer: `EVENT_SEEDS=50`. */
const SEEDS = Number(process.env.EVENT_SEEDS ?? 6)

test(
  'under eight writers with slow and rolled-back transactions no committed event is missed, doubled or out of the ' +
    'order of its thing, and a naive cursor does miss some',
  async () => {
    const { $client } = stores.db
    await $client.query('create table things (id int primary key, version int not null default 0)')
    await $client.query('insert into things select generate_series(0, 3)')
    let missedByNaive = 0
    for (let seed = 1; seed <= SEEDS; seed++) {
      const random = seededRandom(seed)
      await untilReadable(stores.db)
      let cursor = await findEnd(stores.db)
      const committed = new Set<string>()
      let writing = true
      /** One change of a thing, which the transaction may begin long before: the order is that of the lock. */
      async function change(): Promise<void> {
        const [thing, early, slow, rollBack] = [Math.floor(random() * 4), random(), random() * 6, random() < 0.05]
        let subject = ''
        await stores.db
          .transaction(async (tx) => {
            if (early < 0.5) await tx.execute(`select pg_current_xact_id(), pg_sleep(${(early * 10) / 1000})`)
            const { rows } = await tx.execute<{ version: number }>(
              `update things set version = version + 1 where id = ${thing} returning version`,
            )
            subject = `${seed}-${thing}:${rows[0]!.version}`
            await appendEvent(tx, { type: 'key.revoked', subject, accountId: null, data: { key_id: subject } })
            await tx.execute(`select pg_sleep(${slow / 1000})`)
            if (rollBack) throw new Error('rolled back on purpose')
          })
          .then(
            () => committed.add(subject),
            () => undefined,
          )
      }
      const writers = Array.from({ length: 8 }, async () => {
        for (let n = 0; n < 25; n++) await change()
      })
      const done = Promise.all(writers).then(() => {
        writing = false
      })

      const seen: string[] = []
      const naive: string[] = []
      let last = cursor.seq
      let turnsAfter = 0
      // An open transaction in any database of the server, also another test file's, delays the reader. So this waits
      // for the committed events; three empty reads after them show that none comes twice.
      const deadline = Date.now() + 120_000
      while (Date.now() < deadline && (writing || seen.length < committed.size || turnsAfter++ < 3)) {
        const page = await readEvents(stores.db, { after: cursor, limit: 1 + Math.floor(random() * 50) })
        seen.push(...page.events.map((event) => event.subject))
        cursor = page.next
        const { rows } = await $client.query('select seq, subject from events where seq > $1 order by seq limit 50', [
          last,
        ])
        naive.push(...rows.map((row) => row.subject))
        last = Number(rows.at(-1)?.seq ?? last)
        if (page.events.length > 0) turnsAfter = 0
      }
      await done
      expect(new Set(seen)).toEqual(committed)
      expect(seen).toHaveLength(committed.size)
      for (let thing = 0; thing < 4; thing++) {
        const versions = seen
          .filter((one) => one.startsWith(`${seed}-${thing}:`))
          .map((one) => Number(one.split(':')[1]))
        expect(versions).toEqual(versions.toSorted((a, b) => a - b))
      }
      missedByNaive += committed.size - naive.length
    }
    expect(missedByNaive).toBeGreaterThan(0)
  },
)

test('a change that began first and then waited for another stands behind it', async () => {
  const { $client } = stores.db
  const waiter = await $client.connect()
  const holder = await $client.connect()
  const append = (client: typeof waiter, subject: string) =>
    client.query(`insert into events (type, subject, data) values ('key.revoked', $1, '{"key_id":"x"}')`, [subject])
  const end = await findEnd(stores.db)
  try {
    await waiter.query('begin')
    // As the Idempotency-Key of a request does, or the lock of the first of two things.
    await waiter.query('select pg_current_xact_id()')
    await holder.query('begin')
    await holder.query('select pg_advisory_xact_lock(77)')
    await append(holder, 'unsaved')
    const waiting = waiter.query('select pg_advisory_xact_lock(77)')
    await holder.query('commit')
    await waiting
    await append(waiter, 'saved')
    await waiter.query('commit')
  } finally {
    holder.release()
    waiter.release()
  }
  await untilReadable(stores.db)
  const { events } = await readEvents(stores.db, { after: end, limit: 10 })
  expect(events.map(({ subject }) => subject)).toEqual(['unsaved', 'saved'])
})

test('what waits for an open transaction is told, with its age', async () => {
  const since = new Date('2020-01-01T00:00:00Z')
  {
    await using _older = await holdTransaction(stores)
    await stores.db.$client.query(
      `insert into events (type, subject, data, time) values ('key.revoked', 'old', '{"key_id":"old"}', $1)`,
      [since],
    )
    await write('held back')
    const held = await findHeldBack(stores.db)
    expect(held).toMatchObject({ since })
    expect(held!.events).toBeGreaterThanOrEqual(2)
  }
  await untilReadable(stores.db)
  expect(await findHeldBack(stores.db)).toBeNull()
})

test(
  'of two consumers of one name one waits; ' + 'it takes over when the first stops, and nothing is handled twice',
  async () => {
    const handled: string[] = []
    const consumer = (name: string) => ({
      name: 'pair',
      async handle(events: StoredEvent[]) {
        handled.push(...events.map((event) => `${name}:${event.subject}`))
        return undefined
      },
    })
    const context = { db: stores.db, url: stores.databaseUrl, logger, pollMs: 20 }
    const first = startConsumer(context, consumer('first'))
    await until(() => first.active())
    const second = startConsumer(context, consumer('second'))
    handled.length = 0
    await write('a')
    await first.drain()
    expect(second.active()).toBe(false)
    await first[Symbol.asyncDispose]()
    await write('b')
    await until(() => second.active())
    await second.drain()
    await second[Symbol.asyncDispose]()
    expect(handled.filter((entry) => /:(a|b)$/.test(entry))).toEqual(['first:a', 'second:b'])
  },
)

/** Lets a consumer that has not run yet begin behind what other tests wrote. */
async function beginAtEnd(consumer: string): Promise<void> {
  await untilReadable(stores.db)
  const { xid, seq } = await findEnd(stores.db)
  await stores.db.$client.query('insert into checkpoints (consumer, xid, seq) values ($1, $2, $3)', [
    consumer,
    xid,
    seq,
  ])
}

test(
  'a consumer that dies between effect and checkpoint sees the events again; ' +
    'an effect in its transaction counts once, and nothing is doubled',
  async () => {
    const handled: string[] = []
    let die = true
    await stores.db.$client.query('create table effects (subject text)')
    const consumer = {
      name: 'dies',
      async handle(events: StoredEvent[]) {
        handled.push(...events.map((event) => event.subject))
        return async (tx: Tx) => {
          for (const { subject } of events) await tx.execute(sql`insert into effects values (${subject})`)
          if (die) {
            die = false
            throw Object.assign(new Error('gone'), { code: '57P01' })
          }
        }
      },
    }
    await beginAtEnd('dies')
    await write('twice')
    await untilReadable(stores.db)
    const running = startConsumer({ db: stores.db, url: stores.databaseUrl, logger, pollMs: 20 }, consumer)
    await running.drain()
    await running[Symbol.asyncDispose]()
    expect(handled).toEqual(['twice', 'twice'])
    const { rows } = await stores.db.$client.query('select subject from effects')
    expect(rows).toEqual([{ subject: 'twice' }])
  },
)

test('one poison among 10,000 events is put aside with its reason, and every other event counts once', async () => {
  await beginAtEnd('ten thousand')
  const { $client } = stores.db
  await $client.query(
    `insert into events (type, subject, data)
     select 'key.revoked', case n when 6543 then 'poison' else 'n' || n end, '{"key_id":"x"}'
       from generate_series(1, 10000) n`,
  )
  await $client.query('create table counted (subject text primary key)')
  await untilReadable(stores.db)
  let calls = 0
  const running = startConsumer(
    { db: stores.db, url: stores.databaseUrl, logger, pollMs: 1 },
    {
      name: 'ten thousand',
      async handle(events: StoredEvent[]) {
        calls++
        if (events.some((event) => event.subject === 'poison')) throw new Error('this one cannot be handled')
        const subjects = sql.param(events.map(({ subject }) => subject))
        return async (tx: Tx) => {
          await tx.execute(sql`insert into counted select unnest(${subjects}::text[])`)
        }
      },
    },
  )
  await running.drain()
  await running[Symbol.asyncDispose]()
  const dead = await listDeadEvents(stores.db, { consumer: 'ten thousand' })
  expect(dead).toMatchObject([
    { error: 'this one cannot be handled', attempts: 10, event: { subject: 'poison' }, waiting: false },
  ])
  const { rows } = await $client.query('select count(*)::int as n from counted')
  expect(rows).toEqual([{ n: 9_999 }])
  // Halves of the failing batch, not one event at a time.
  expect(calls).toBeLessThan(100)
})

const outageOf = async (consumer: string) =>
  (await listOutages(stores.db)).find((outage) => outage.consumer === consumer)

test('an outage is logged when it begins and when it ends, and counts against no event', async () => {
  const lines: { level: number; msg: string; attempts?: number }[] = []
  const recorder = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  let failures = 0
  let isDown = true
  const running = startConsumer(
    { db: stores.db, url: stores.databaseUrl, logger: recorder, pollMs: 1 },
    {
      name: 'outage',
      async handle() {
        if (!isDown) return undefined
        failures++
        throw new Error('the engine is away')
      },
      outageOf: () => 'the far end',
    },
  )
  await write('during an outage')
  await until(() => failures >= 4)
  expect(lines).toMatchObject([{ level: 40, msg: 'consumer waits for the end of an outage', attempts: 1 }])
  // Another process can read it.
  await expect.poll(async () => (await outageOf('outage'))?.attempts).toBeGreaterThanOrEqual(4)
  expect(await outageOf('outage')).toMatchObject({ of: 'the far end', since: expect.any(String) })
  isDown = false
  await running.drain()
  await until(() => lines.length > 1)
  await running[Symbol.asyncDispose]()
  expect(lines).toHaveLength(2)
  expect(await outageOf('outage')).toBeUndefined()
  expect(lines[1]).toMatchObject({ level: 30, msg: 'consumer continues after an outage', attempts: failures })
  const { rows } = await stores.db.$client.query(`select 1 from dead_events where consumer = 'outage'`)
  expect(rows).toEqual([])
})

test('events that take too long together are handled by fewer at a time', async () => {
  for (let n = 0; n < 8; n++) await write(`slow ${n}`)
  await untilReadable(stores.db)
  const handled = new Set<string>()
  const running = startConsumer(
    { db: stores.db, url: stores.databaseUrl, logger, pollMs: 1 },
    {
      name: 'too many',
      async handle(events: StoredEvent[]) {
        const slow = events.filter(({ subject }) => subject.startsWith('slow'))
        return async (tx: Tx) => {
          // As a statement that takes longer than one may, whatever the machine does.
          if (slow.length > 3) await tx.execute(sql`set local statement_timeout = 1; select pg_sleep(60)`)
          for (const { subject } of slow) handled.add(subject)
        }
      },
    },
  )
  await running.drain()
  await running[Symbol.asyncDispose]()
  expect(handled.size).toBe(8)
  expect(await listDeadEvents(stores.db, { consumer: 'too many' })).toEqual([])
})

test('a predecessor that only slept cannot move the checkpoint back', async () => {
  const context = { db: stores.db, url: stores.databaseUrl, logger, pollMs: 20 }
  let release: (() => void) | undefined
  const asleep = new Promise<void>((resolve) => {
    release = resolve
  })
  let entered: (() => void) | undefined
  const inside = new Promise<void>((resolve) => {
    entered = resolve
  })
  await write('fenced')
  let first = true
  const consumer = {
    name: 'fence',
    async handle() {
      if (first) {
        first = false
        entered?.()
        await asleep
      }
      return undefined
    },
  }
  const running = startConsumer(context, consumer)
  await inside
  // Another process takes the name meanwhile and reads to the end: the sleeper may not know that its lock is gone.
  await stores.db.$client.query(
    `update checkpoints set epoch = epoch + 1, xid = '99999999', seq = 7 where consumer = 'fence'`,
  )
  release?.()
  await until(() => !running.active())
  expect(await checkpointOf(stores.db, 'fence')).toEqual({ xid: '99999999', seq: 7 })
  await running[Symbol.asyncDispose]()
})

test('an event cannot be edited or taken back', async () => {
  await write('fixed')
  await expect(stores.db.$client.query(`update events set subject = 'x' where subject = 'fixed'`)).rejects.toThrow(
    /append-only/,
  )
  await expect(stores.db.$client.query(`delete from events where subject = 'fixed'`)).rejects.toThrow(/append-only/)
})

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5))
}
