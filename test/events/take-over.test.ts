import { pino } from 'pino'
import { beforeAll, expect, test } from 'vitest'
import { openDb } from '../../src/db/client.ts'
import { startConsumer } from '../../src/events/consume.ts'
import { startCutOff } from '../support/cut-off.ts'
import { openStores, type Stores } from '../support/stores.ts'
import { until } from '../support/until.ts'

// The lock of a consumer lives on a connection of its own, beside the pool that it reads with.

let stores: Stores
beforeAll(async () => {
  stores = await openStores()
  return () => stores[Symbol.asyncDispose]()
})

async function startBehindCutOff(name: string) {
  const postgres = await startCutOff(stores.databaseUrl)
  const db = openDb({ url: postgres.url })
  const warnings: string[] = []
  const logger = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(line) })
  const consumer = { name, handle: async () => undefined }
  return {
    ...{ postgres, warnings },
    start: () => startConsumer({ db, url: stores.databaseUrl, logger, pollMs: 5 }, consumer),
    async [Symbol.asyncDispose]() {
      await db.$client.end()
      await postgres[Symbol.asyncDispose]()
    },
  }
}

async function holdersOf(name: string): Promise<number[]> {
  const { rows } = await stores.db.$client.query<{ pid: number }>(
    `select pid from pg_locks join pg_stat_activity using (pid)
      where locktype = 'advisory' and granted and application_name = $1`,
    [`consumer ${name}`],
  )
  return rows.map(({ pid }) => pid)
}

test('a consumer whose first read of the log fails gives its lock back, and takes it again', async () => {
  await using behind = await startBehindCutOff('unsettled')
  behind.postgres.cut()
  await using running = behind.start()
  await until(() => behind.warnings.length > 0)
  behind.postgres.restore()
  await until(() => running.active())
  expect(await holdersOf('unsettled')).toHaveLength(1)
})

test('a consumer whose lock is lost while it first reads the log takes it again', async () => {
  await using behind = await startBehindCutOff('early loss')
  behind.postgres.hold('all')
  await using running = behind.start()
  await until(async () => (await holdersOf('early loss')).length === 1)
  const [lost] = await holdersOf('early loss')
  await stores.db.$client.query('select pg_terminate_backend($1)', [lost])
  await until(async () => (await holdersOf('early loss')).length === 0)
  behind.postgres.release()
  await until(() => running.active())
  expect(await holdersOf('early loss')).toHaveLength(1)
})
