import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, inject, test } from 'vitest'
import { parseConfig } from '../../src/config.ts'
import { openDb } from '../../src/db/client.ts'
import { migrateDatabase } from '../../src/db/migrate.ts'
import { createAccount } from '../../src/library/accounts/accounts.ts'
import { createKey } from '../../src/library/accounts/keys.ts'
import { type LocalPostgres, startLocalPostgres } from '../../src/local/postgres.ts'
import { untilGone } from '../../src/local/processes.ts'
import { startLocalRedis } from '../../src/local/redis.ts'
import { openApi } from '../../src/server/main.ts'
import { openStores } from '../support/stores.ts'
import { until } from '../support/until.ts'
import { addVideo, expectWhole, launchWorker, makeClips, outcomeOf, settled } from './support.ts'

let dir: string

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'frames-faults-'))
})

afterEach(() => rmSync(dir, { recursive: true, force: true }))

test('Redis wiped while videos are in work: all finish, nothing is done twice', { timeout: 600_000 }, async () => {
  const clips = makeClips(4)
  const redis = await startLocalRedis({ dir: join(dir, 'redis'), persistent: false })
  const stores = await openStores()
  const library = { ...stores, redisUrl: redis.url, dataDir: dir }
  const wipe = new Redis(redis.url)
  const worker = launchWorker(library)
  try {
    for (const path of clips.paths) await addVideo(library, path)
    // First while jobs wait and run, then while frames are described or recorded.
    for (const state of ['extracting', 'annotating']) {
      await until(async () => {
        const { rows } = await stores.db.execute(sql`select 1 from videos where status in (${state}, 'ready')`)
        return rows.length > 0
      })
      await wipe.flushall()
    }
    await settled(library)
    expectWhole(await outcomeOf(library), clips.paths.length)
  } finally {
    worker.child.kill('SIGTERM')
    await worker.ended
    wipe.disconnect()
    await stores[Symbol.asyncDispose]()
    await redis.stop()
    clips.remove()
  }
})

test('PostgreSQL restarted under writes: what was acknowledged is there, with its event, and the API lives on', {
  timeout: 600_000,
}, async () => {
  const settings = { max_connections: '60' }
  await using ends = new AsyncDisposableStack()
  let postgres = await startLocalPostgres({ dir: join(dir, 'postgres'), settings })
  ends.defer(() => postgres.stop())
  const port = Number(new URL(postgres.url).port)
  const db = openDb({ url: postgres.url })
  ends.defer(() => db.$client.end())
  const prefix = `f_${randomBytes(4).toString('hex')}`
  await migrateDatabase(db)
  const account = await createAccount(db, { email: 'writer@example.com', plan: 'pro' })
  const { key } = await createKey(db, { accountId: account.id, name: 'tests' })
  const config = parseConfig({ DATA_DIR: dir, RATE_LIMIT_SCALE: '100000' })
  const api = await openApi({
    config,
    databaseUrl: postgres.url,
    redisUrl: inject('redisUrl'),
    logger: pino({ level: 'silent' }),
    port: 0,
    host: '127.0.0.1',
    prefix,
  })
  ends.defer(() => api.stop())
  ends.defer(() => {
    over = true
  })
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
  const call = (init: RequestInit) => fetch(`http://127.0.0.1:${api.port}/api/boards`, { ...init, headers })

  const acknowledged: string[] = []
  const refusals = new Set<string>()
  let over = false
  const write = async (writer: number) => {
    for (let n = 0; !over; n++) {
      const name = `${writer}-${n}`
      const answer = await call({ method: 'POST', body: JSON.stringify({ name }) })
      const body = (await answer.json()) as { code?: string }
      if (answer.status === 201) acknowledged.push(name)
      else refusals.add(`${answer.status} ${body.code}`)
    }
  }
  const writers = [0, 1, 2, 3].map(write)
  for (let restart = 0; restart < 3; restart++) {
    const before = acknowledged.length
    await until(() => acknowledged.length >= before + 20)
    process.kill(postgres.pid, 'SIGQUIT')
    await untilGone(postgres.pid, 120_000)
    postgres = await restarted(port, settings)
  }
  const before = acknowledged.length
  await until(() => acknowledged.length >= before + 20)
  over = true
  await Promise.all(writers)

  const { boards } = (await (await call({ method: 'GET' })).json()) as { boards: { name: string }[] }
  const names = boards.map(({ name }) => name)
  expect(acknowledged.filter((name) => !names.includes(name))).toEqual([])
  // A write without a response may have happened, but only once and with its event.
  expect(new Set(names).size).toBe(names.length)
  const { rows } = await db.execute<{ name: string }>(
    sql`select data->>'name' as name from events where type = 'board.created'`,
  )
  expect(rows.map(({ name }) => name).sort()).toEqual([...names].sort())
  expect([...refusals].filter((refusal) => refusal !== '503 unavailable')).toEqual([])
  expect(refusals.size).toBe(1)

  async function restarted(port: number, settings: Record<string, string>): Promise<LocalPostgres> {
    return startLocalPostgres({ dir: join(dir, 'postgres'), settings, port })
  }
})
