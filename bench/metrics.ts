import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import autocannon from 'autocannon'
import { parseConfig } from '../src/config.ts'
import { openEdge } from '../src/http/edge.ts'
import { openRequestTimes } from '../src/http/request-times.ts'
import { createLogger } from '../src/logger.ts'
import { openApi } from '../src/server/main.ts'
import type { About } from './support/bench.ts'
import { seedLibrary } from './support/library.ts'
import { openTemporaryDatabase } from './support/postgres.ts'
import { startTemporaryRedis } from './support/redis.ts'
import { median, round } from './support/stats.ts'

/** Aim: counting takes at most 2 % of a warm read. A busy machine blurs the other ratio more than that. */
export const about: About = {
  measures: 'Processor time of a warm read with the times of requests kept, and read by Prometheus once a second.',
  against: 'the same API without them, in the same process. They take turns, many short ones.',
  figures: [
    { what: 'counting one request ÷ a warm read', at: ['counting_share'], atMost: 0.02 },
    { what: 'a warm read with metrics ÷ without, to within the control below', at: ['ratio'] },
    { what: 'a second API without them ÷ the first', at: ['control_ratio'] },
    { what: 'reading the metrics of an API', at: ['scrape_ms'], unit: 'ms' },
  ],
}

interface Served {
  on: string
  off: string
  /** As `off`: what differs between these two is noise. */
  control: string
}

export async function run(args: string[]): Promise<object | undefined> {
  if (args[0] === 'serve') return serve()
  const { values } = parseArgs({
    args,
    options: {
      rounds: { type: 'string', default: '40' },
      requests: { type: 'string', default: '6000' },
      json: { type: 'boolean' },
    },
  })
  const server = fork(join(import.meta.dirname, 'main.ts'), ['metrics', 'serve'], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const closed = once(server, 'exit')
  const [served] = (await once(server, 'message')) as [Served]
  const ask = async (what: string) => {
    server.send(what)
    return ((await once(server, 'message')) as [number])[0]
  }
  /** Microseconds of the server's processor for one request. */
  const load = async (base: string) => {
    const before = await ask('cpu')
    const result = await autocannon({ url: `${base}/api/frames`, connections: 10, amount: Number(values.requests) })
    if (result.errors > 0 || result.non2xx > 0) throw new Error('requests failed')
    return ((await ask('cpu')) - before) / result.requests.total
  }
  for (const base of [...Object.values(served), ...Object.values(served)]) await load(base)
  const ratios: number[] = []
  const noise: number[] = []
  const costs: number[] = []
  for (let n = 0; n < Number(values.rounds); n++) {
    const names: (keyof Served)[] = ['on', 'off', 'control']
    const order = [...names.slice(n % 3), ...names.slice(0, n % 3)]
    const cost: Record<string, number> = {}
    for (const name of order) cost[name] = await load(served[name])
    ratios.push(cost.on! / cost.off!)
    noise.push(cost.control! / cost.off!)
    costs.push(cost.off!)
  }
  const scrapeMs = await ask('scrape')
  server.send('stop')
  await closed
  const figures = {
    bench: 'metrics',
    ratio: round(median(ratios)),
    ratio_of: "the server's processor time for a warm read with metrics to that without",
    control_ratio: round(median(noise)),
    read_us: round(median(costs)),
    counting_us: round(countingUs()),
    counting_share: round(countingUs() / median(costs)),
    scrape_ms: round(scrapeMs),
  }
  if (!values.json) console.table(figures)
  return figures
}

/** Microseconds of processor time that counting adds to one request: what is left when nothing else is done. */
function countingUs(): number {
  const ends = () => ({ end: () => undefined })
  const [bare, watched] = [ends(), ends()]
  openRequestTimes().watch(watched as never)
  const answer = { setHeader: () => undefined, getHeader: () => 'application/json', statusCode: 200, req: {} }
  const req = { url: '/api/frames', method: 'GET', headers: {}, socket: {}, route: { path: '/api/frames' } }
  answer.req = req
  const context = openEdge({ logger: createLogger({ level: 'silent' }), trustProxy: 0 })(req as never, answer as never)
  const cost = (of: { end(): unknown }, clock: () => number) => {
    const { user, system } = process.cpuUsage()
    for (let n = 0; n < 1_000_000; n++) {
      context.startedAt = clock()
      of.end.call(answer)
    }
    const used = process.cpuUsage({ user, system })
    return (used.user + used.system) / 1_000_000
  }
  for (const side of [bare, watched]) cost(side, () => performance.now())
  return cost(watched, () => performance.now()) - cost(bare, () => 0)
}

async function serve(): Promise<undefined> {
  const dir = mkdtempSync(join(tmpdir(), 'frames-bench-'))
  const database = await openTemporaryDatabase()
  await seedLibrary(database.db, { frames: 2_000 })
  const redis = await startTemporaryRedis({ dir: join(dir, 'redis') })
  const config = parseConfig({ DATA_DIR: dir, RATE_LIMIT_SCALE: '1000000', LOG_LEVEL: 'silent' })
  const logger = createLogger({ level: 'silent' })
  const shared = { config, databaseUrl: database.url, redisUrl: redis.url, logger, port: 0, host: '127.0.0.1' }
  const on = await openApi(shared)
  const off = await openApi({ ...shared, overrides: { times: false } })
  const control = await openApi({ ...shared, overrides: { times: false } })
  const timer = setInterval(() => void on.metrics(), 1_000)
  const [onUrl, offUrl, controlUrl] = [on, off, control].map(({ port }) => `http://127.0.0.1:${port}`)
  process.send!({ on: onUrl!, off: offUrl!, control: controlUrl! } satisfies Served)
  await new Promise<void>((resolve) => {
    process.once('disconnect', resolve)
    process.on('message', async (asked) => {
      if (asked === 'stop') return resolve()
      if (asked === 'scrape') {
        const started = performance.now()
        for (let n = 0; n < 100; n++) await on.metrics()
        process.send!((performance.now() - started) / 100)
        return
      }
      const { user, system } = process.cpuUsage()
      process.send!(user + system)
    })
  })
  clearInterval(timer)
  process.disconnect?.()
  for (const api of [on, off, control]) await api.stop({ deadlineMs: 2_000 })
  await redis.stop()
  await database[Symbol.asyncDispose]()
  rmSync(dir, { recursive: true, force: true })
  return undefined
}
