import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { parseConfig } from '../src/config.ts'
import type { Db } from '../src/db/client.ts'
import type { RateLimits } from '../src/http/rate-limit/rate-limits.ts'
import { listRoutes } from '../src/http/routes.ts'
import { createLogger } from '../src/logger.ts'
import { openApi } from '../src/server/main.ts'
import { type About, optionsOf } from './support/bench.ts'
import { type Dearest, dearestOf, NOT_MEASURED } from './support/dearest.ts'
import { seedLibrary } from './support/library.ts'
import { METHODS } from './support/methods.ts'
import { openTemporaryDatabase } from './support/postgres.ts'
import { askChild, postgresCpuMs, postmasterOf } from './support/question-cost.ts'
import { startTemporaryRedis } from './support/redis.ts'
import { APP_ADDRESS } from './support/sign-in-requests.ts'
import { median, round } from './support/stats.ts'
import { addReceivers, openWorld, type World } from './support/world.ts'

/**
 * Aim: at most 15 ms of CPU a point. Routes and tools are those that the service lists, so that a new one without its
 * dearest request ends the bench.
 */
export const about: About = {
  measures:
    'The CPU time of the API and of PostgreSQL, a point of the rate limit, for the dearest allowed request of every ' +
    'endpoint, page, action and tool. One account owns 1,000 boards, one of them with 5,000 frames and the longest ' +
    'notes, and has saved 5,000 frames. Nothing that a caller can vary comes from memory. Also how long each keeps a ' +
    'transaction open, for which the readers of the event log wait.',
  against: 'the dearest plain read of one row, `GET /api/frames/{id}`, in the same run.',
  figures: [
    { what: 'CPU a point, dearest request', at: ['worst_ms'], atMost: 15, unit: 'ms' },
    { what: 'the same ÷ a plain read', at: ['worst_ratio'] },
    { what: 'longest open transaction', at: ['longest_transaction_ms'], atMost: 1_000, unit: 'ms' },
  ],
}

interface Row {
  name: string
  status: number
  refusal?: string
  points: number
  api_ms: number
  postgres_ms: number
  ms_per_point: number
  /** The longest time that a transaction was seen open, looking every 5 ms. */
  transaction_ms: number
}

export async function run(args: string[]): Promise<object | undefined> {
  if (args[0] === 'serve') return serve(JSON.parse(args[1]!))
  const values = optionsOf(args, { frames: 20_000, rounds: 3, only: '' })
  const dir = mkdtempSync(join(tmpdir(), 'frames-bench-cost-'))
  const redis = await startTemporaryRedis({ dir, persistent: false })
  await using database = await openTemporaryDatabase()
  const { db } = database
  await seedLibrary(db, { frames: values.frames })
  const world = await openWorld(db)
  await db.$client.query('alter system set autovacuum = off')
  await db.$client.query('select pg_reload_conf()')
  await db.$client.query('vacuum analyze')
  const settings: Settings = { dir, databaseUrl: database.url, redisUrl: redis.url }
  const api = fork(join(import.meta.dirname, 'main.ts'), ['cost', 'serve', JSON.stringify(settings)])
  const [{ port, names }] = (await once(api, 'message')) as [{ port: number; names: string[] }]
  world.url = `http://127.0.0.1:${port}`
  await addReceivers(world)
  const postmaster = await postmasterOf(db)
  const rows: Row[] = []
  const all = [...names, ...Object.keys(METHODS)]
  for (const name of all.filter((name) => name.includes(values.only) && !NOT_MEASURED.has(name))) {
    const dearest = dearestOf(name)
    const row = await measure({ name, dearest, rounds: values.rounds }, { world, port, api, postmaster })
    if (row.status >= 400) console.error(`${name} was refused: ${row.refusal}`)
    rows.push(row)
  }
  api.send('stop')
  await once(api, 'exit')
  await redis.stop()
  rmSync(dir, { recursive: true, force: true })
  rows.sort((a, b) => b.ms_per_point - a.ms_per_point)
  console.table(rows, ['name', 'status', 'points', 'api_ms', 'postgres_ms', 'ms_per_point', 'transaction_ms'])
  const wrong = rows.filter(({ status }) => status >= 400)
  if (wrong.length > 0) throw new Error(`refused, so not measured: ${wrong.map(({ name }) => name).join(', ')}`)
  const plain = rows.find(({ name }) => name === 'GET /api/frames/:id')?.ms_per_point
  const worst = rows[0]!.ms_per_point
  return {
    bench: 'cost',
    frames: values.frames,
    worst_ms: worst,
    worst_name: rows[0]!.name,
    longest_transaction_ms: Math.max(...rows.map(({ transaction_ms }) => transaction_ms)),
    ...(plain ? { worst_ratio: round(worst / plain) } : {}),
    rows,
  }
}

interface Measuring {
  world: World
  port: number
  api: ChildProcess
  postmaster: number
}

/** Two requests warm the code, and are watched for open transactions; the median of the others counts. */
async function measure(
  { name, dearest, rounds }: { name: string; dearest: Dearest; rounds: number },
  { world, port, api, postmaster }: Measuring,
): Promise<Row> {
  const seen: Omit<Row, 'name' | 'ms_per_point' | 'transaction_ms'>[] = []
  let transaction_ms = 0
  for (let n = 0; n < rounds + 2; n++) {
    const { path, ...init } = await dearest(world, n)
    const before = { api: await askChild<Spent>(api, { ask: 'cpu' }), postgres: postgresCpuMs(postmaster) }
    const watch = n < 2 ? watchTransactions(world.db) : undefined
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { redirect: 'manual', ...init })
    const text = await answer.text()
    transaction_ms = Math.max(transaction_ms, (await watch?.longestMs()) ?? 0)
    const after = { api: await askChild<Spent>(api, { ask: 'cpu' }), postgres: postgresCpuMs(postmaster) }
    const points = after.api.account - before.api.account || after.api.address - before.api.address
    seen.push({
      status: text.includes('"isError":true') ? 400 : answer.status,
      ...(answer.status >= 400 || text.includes('"isError":true') ? { refusal: text.slice(0, 300) } : {}),
      points,
      api_ms: after.api.cpuMs - before.api.cpuMs,
      postgres_ms: after.postgres - before.postgres,
    })
  }
  const counted = seen.slice(2)
  const [api_ms, postgres_ms] = (['api_ms', 'postgres_ms'] as const).map((of) =>
    round(median(counted.map((one) => one[of]))),
  ) as [number, number]
  const points = Math.min(...counted.map((one) => one.points))
  const { status, ...refused } = counted.toSorted((a, b) => b.status - a.status)[0]!
  const ms_per_point = round((api_ms + postgres_ms) / points)
  return { ...refused, name, status, points, api_ms, postgres_ms, ms_per_point, transaction_ms }
}

/** The age of the oldest transaction of other sessions, looked at every 5 ms until it is asked for. */
function watchTransactions(db: Db): { longestMs(): Promise<number> } {
  let over = false
  const watching = (async () => {
    let longest = 0
    while (!over) {
      const { rows } = await db.$client.query<{ ms: number }>(`
        select coalesce(max(extract(epoch from clock_timestamp() - xact_start)), 0)::float * 1000 as ms
          from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`)
      longest = Math.max(longest, rows[0]!.ms)
      await setTimeout(5)
    }
    return Math.round(longest)
  })()
  return {
    longestMs() {
      over = true
      return watching
    },
  }
}

interface Settings {
  dir: string
  databaseUrl: string
  redisUrl: string
}

/** What this process has used, and what it has taken: of an account, or of an address. */
interface Spent {
  cpuMs: number
  account: number
  address: number
}

async function serve({ dir, databaseUrl, redisUrl }: Settings): Promise<undefined> {
  const taken = { account: 0, address: 0 }
  const watched = (limits: RateLimits): RateLimits => ({
    ...limits,
    async consume(budget, subject, points) {
      taken[budget === 'free' || budget === 'pro' ? 'account' : 'address'] += points
      return limits.consume(budget, subject, points)
    },
    consumeLocally(budget, subject, points) {
      taken.address += points
      limits.consumeLocally(budget, subject, points)
    },
  })
  const config = parseConfig({
    PORT: '0',
    DATA_DIR: dir,
    // Loopback, so that apps can sign people in.
    PUBLIC_URL: APP_ADDRESS,
    RATE_LIMIT_SCALE: '1000',
  })
  const logger = createLogger({ level: 'warn' })
  const overrides = { limits: watched }
  const api = await openApi({ config, databaseUrl, redisUrl, logger, port: 0, host: '127.0.0.1', overrides })
  process.on('message', ({ ask }: { ask?: string }) => {
    const { user, system } = process.cpuUsage()
    if (ask === 'cpu') process.send!({ cpuMs: (user + system) / 1_000, ...taken })
  })
  const routes = listRoutes(api.app.routers).map(({ path, methods }) => `${methods[0]} ${path}`)
  process.send!({ port: api.port, names: [...routes, ...api.app.tools.map(({ name }) => name)] })
  await new Promise<void>((resolve) => {
    process.on('message', (message) => message === 'stop' && resolve())
    process.once('disconnect', resolve)
  })
  if (process.connected) process.disconnect()
  await api.stop({ deadlineMs: 2_000 })
  return undefined
}
