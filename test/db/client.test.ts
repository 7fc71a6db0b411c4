import { createServer, type Socket } from 'node:net'
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { isConnectionLoss, openAdmission, openDb } from '../../src/db/client.ts'
import { toAppError } from '../../src/http/problem.ts'
import { sql } from '../../src/sql/orm.ts'
import { listenOn } from '../support/listening.ts'
import { ownPostgresUrl } from '../support/stores.ts'

test(
  'a connection that dies before or within a transaction is an outage, ' + 'and its place in the pool is free again',
  async () => {
    const db = openDb({ url: ownPostgresUrl(), max: 1 })
    const cut = (client: unknown) => (client as { connection: { stream: Socket } }).connection.stream.destroy()
    try {
      const client = await db.$client.connect()
      client.release()
      cut(client)
      const begun = db.transaction((tx) => tx.execute(sql`select 1`)).catch((error: unknown) => error)
      expect(isConnectionLoss(await begun)).toBe(true)

      let lent: unknown
      db.$client.once('acquire', (acquired) => {
        lent = acquired
      })
      const within = db
        .transaction(async (tx) => {
          await tx.execute(sql`select 1`)
          cut(lent)
          // The connection dies while no query runs.
          await new Promise((resolve) => setImmediate(resolve))
          await tx.execute(sql`select 2`)
        })
        .catch((error: unknown) => error)
      expect(isConnectionLoss(await within)).toBe(true)

      const { rows } = await db.transaction((tx) => tx.execute<{ n: number }>(sql`select 3 as n`))
      expect(rows).toEqual([{ n: 3 }])
    } finally {
      await db.$client.end()
    }
  },
)

test('a network without a way to PostgreSQL, and a full disk of PostgreSQL, are outages', async () => {
  // No host has the address of all hosts of a network.
  const away = openDb({ url: 'postgres://postgres@255.255.255.255/postgres' })
  const db = openDb({ url: ownPostgresUrl(), max: 1 })
  try {
    const lost = await away.$client.query('select 1').catch((error: unknown) => error)
    expect(lost).toMatchObject({ code: 'ENETUNREACH' })
    expect(isConnectionLoss(lost)).toBe(true)
    const full = await db
      .execute(sql`do $$ begin raise exception using errcode = 'disk_full'; end $$`)
      .catch((error: unknown) => error)
    expect(isConnectionLoss(full)).toBe(true)
    expect(toAppError(full)).toMatchObject({ code: 'unavailable', retryAfterSec: 60 })
    expect(toAppError(full).message).toMatch(/disk of the service is full/)
    for (const [state, told] of [
      ['53200', 'cannot reach its database'],
      ['58030', 'cannot reach its database'],
      ['57014', 'took too long'],
      ['40P01', 'changing the same thing'],
      ['40001', 'changing the same thing'],
    ] as const) {
      const error = await db.execute(sql.raw(`do $$ begin raise sqlstate '${state}'; end $$`)).catch((one) => one)
      expect([state, isConnectionLoss(error), toAppError(error).message]).toEqual([
        state,
        true,
        expect.stringContaining(told),
      ])
    }
  } finally {
    await Promise.all([away.$client.end(), db.$client.end()])
  }
})

test('a Redis that does not answer in time is an outage', async () => {
  const silent = createServer()
  const { port } = await listenOn(silent)
  const redis = new Redis({ port, host: '127.0.0.1', commandTimeout: 20, enableReadyCheck: false })
  redis.on('error', () => undefined)
  try {
    expect(isConnectionLoss(await redis.ping().catch((error: unknown) => error))).toBe(true)
  } finally {
    redis.disconnect()
    silent.close()
  }
})

test('transactions leave connections to reads; one that waits too long for its turn is refused', async () => {
  const db = openDb({ url: ownPostgresUrl(), max: 2, maxTransactions: 1, turnMs: 50 })
  let finish!: () => void
  const finished = new Promise<void>((resolve) => {
    finish = resolve
  })
  try {
    const first = db.transaction(() => finished)
    const refused = await db.transaction((tx) => tx.execute(sql`select 1`)).catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: 'unavailable', retryAfterSec: 1 })
    expect((await db.execute(sql`select 1 as n`)).rows).toEqual([{ n: 1 }])
    finish()
    await first
    expect((await db.transaction((tx) => tx.execute(sql`select 2 as n`))).rows).toEqual([{ n: 2 }])
  } finally {
    finish()
    await db.$client.end()
  }
})

test('a statement that waits too long for a lock is an outage to its caller, not a fault', async () => {
  const db = openDb({ url: ownPostgresUrl(), max: 2, lockTimeoutMs: 50 })
  let finish!: () => void
  const finished = new Promise<void>((resolve) => {
    finish = resolve
  })
  const lock = sql`select pg_advisory_xact_lock(7310999)`
  try {
    let held!: () => void
    const holding = new Promise<void>((resolve) => {
      held = resolve
    })
    const first = db.transaction(async (tx) => {
      await tx.execute(lock)
      held()
      await finished
    })
    await holding
    const error = await db.transaction((tx) => tx.execute(lock)).catch((caught: unknown) => caught)
    expect(toAppError(error)).toMatchObject({ code: 'unavailable', retryAfterSec: 1 })
    finish()
    await first
  } finally {
    finish()
    await db.$client.end()
  }
})

test('plans are made for memory, and DATABASE_URL may say otherwise', async () => {
  const settingsOf = async (url: string) => {
    const db = openDb({ url, max: 1 })
    const { rows } = await db.execute(
      sql`select current_setting('random_page_cost') as pages, current_setting('jit') as jit`,
    )
    await db.$client.end()
    return rows[0]
  }
  const url = ownPostgresUrl()
  expect(await settingsOf(url)).toEqual({ pages: '1.1', jit: 'off' })
  const given = new URL(url)
  given.searchParams.set('options', '-c random_page_cost=3')
  expect(await settingsOf(given.href)).toMatchObject({ pages: '3' })
})

test('an act that waits too long for one of its own subject is refused with the code of its kind', async () => {
  const limits = { max: Number.POSITIVE_INFINITY, ofOne: 1, waitMs: 1, refusal: 'Another one runs.' }
  const admit = openAdmission({ ...limits, code: 'rate_limited' })
  const leave = await admit('one')
  await expect(admit('one')).rejects.toMatchObject({ code: 'rate_limited', message: limits.refusal })
  await admit('other')
  leave()
  await admit('one')
})
