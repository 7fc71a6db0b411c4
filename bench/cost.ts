import { setTimeout } from 'node:timers/promises'
import { parseConfig, spaceOf } from '../src/config.ts'
import type { Db } from '../src/db/client.ts'
import type { RateLimits } from '../src/http/rate-limit/rate-limits.ts'
import { type About, optionsOf } from './support/bench.ts'
import { DEAREST, LONG } from './support/dearest.ts'
import { giveVectors } from './support/library.ts'
import { openServed, openStores, type Served, serveApi } from './support/service.ts'
import { median, round } from './support/stats.ts'
import { openWorld, type World } from './support/world.ts'

/** Aim: at most 15 ms of CPU a point. `--only` takes those whose name holds a text. */
export const about: About = {
  measures:
    'The CPU time of the API, its text model and PostgreSQL, a point of the rate limit, for the dearest endpoints, ' +
    'pages, actions and tools with their dearest arguments. One account owns 300 boards, one with 5,000 frames, the ' +
    'longest notes, and has saved 5,000 frames. Nothing that a caller can vary comes from memory. An account has one ' +
    'long response at a time and four uploads: what counts of these is their CPU time for each second that they are ' +
    'held. Also how long each keeps a transaction open, for which the readers of the event log wait.',
  against: 'the dearest plain read of one row, `GET /api/frames/{id}`, in the same run.',
  figures: [
    { what: 'CPU a point, dearest request', at: ['worst_ms'], atMost: 15, unit: 'ms' },
    { what: 'the same ÷ a plain read', at: ['worst_ratio'] },
    { what: 'CPU a second held, dearest long request', at: ['longest_share'] },
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
  /** Null of a long request, which is limited by how many one account may hold at a time. */
  ms_per_point: number | null
  /** CPU seconds for each second from the first byte sent to the last received. */
  cpu_share: number
  /** The longest time that a transaction was seen open, looking every 5 ms. */
  transaction_ms: number
}

export async function run(args: string[]): Promise<object | undefined> {
  if (args[0] === 'serve') return serveCounted(args[1])
  const values = optionsOf(args, { frames: 20_000, rounds: 3, only: '' })
  await using stores = await openStores('cost', values)
  const { db } = stores
  const world = await openWorld(db)
  await db.$client.query('alter system set autovacuum = off')
  await db.$client.query('select pg_reload_conf()')
  await giveVectors(db, spaceOf(parseConfig({ EMBED: 'embedded' }).embed!))
  await using served = await openServed<undefined, Taken>(
    'cost',
    { ...stores.settings, scale: 1_000, embed: 'embedded' },
    db,
  )
  // The process of the text model starts with the first question.
  for (let [said, tries] = ['', 0]; !said.includes('close"'); await setTimeout(500)) {
    if (++tries > 100) throw new Error(`the text model does not answer: ${said.slice(0, 1000)}`)
    said = await (await fetch(`${served.url}/api/frames?q=warm%20up&facets=1`)).text()
  }
  const rows: Row[] = []
  for (const name of Object.keys(DEAREST).filter((name) => name.includes(values.only))) {
    const row = await measure(name, values.rounds, world, served)
    if (row.status >= 400) console.error(`${name} was refused: ${row.refusal}`)
    rows.push(row)
  }
  const perPoint = (row: Row | undefined) => row?.ms_per_point ?? 0
  rows.sort((a, b) => perPoint(b) - perPoint(a) || b.cpu_share - a.cpu_share)
  console.table(rows, [
    'name',
    'status',
    'points',
    'api_ms',
    'postgres_ms',
    'ms_per_point',
    'cpu_share',
    'transaction_ms',
  ])
  const wrong = rows.filter(({ status }) => status >= 400)
  if (wrong.length > 0) throw new Error(`refused, so not measured: ${wrong.map(({ name }) => name).join(', ')}`)
  const plain = perPoint(rows.find(({ name }) => name === 'GET /api/frames/:id'))
  const worst = perPoint(rows[0])
  return {
    bench: 'cost',
    frames: values.frames,
    worst_ms: worst,
    worst_name: rows[0]!.name,
    longest_share: Math.max(0, ...rows.filter(({ name }) => LONG.has(name)).map(({ cpu_share }) => cpu_share)),
    longest_transaction_ms: Math.max(...rows.map(({ transaction_ms }) => transaction_ms)),
    ...(plain ? { worst_ratio: round(worst / plain) } : {}),
    rows,
  }
}

/** Two requests warm the code, and are watched for open transactions; the median of the others counts. */
async function measure(
  name: string,
  rounds: number,
  world: World,
  { url, spent }: Served<undefined, Taken>,
): Promise<Row> {
  const seen: (Omit<Row, 'name' | 'ms_per_point' | 'cpu_share' | 'transaction_ms'> & { held_ms: number })[] = []
  let transaction_ms = 0
  for (let n = 0; n < rounds + 2; n++) {
    const { path, ...init } = await DEAREST[name]!(world, n)
    const before = await spent()
    const watch = n < 2 ? watchTransactions(world.db) : undefined
    const sentAt = performance.now()
    const answer = await fetch(url + path, { redirect: 'manual', ...init })
    const text = await answer.text()
    const held_ms = performance.now() - sentAt
    transaction_ms = Math.max(transaction_ms, (await watch?.longestMs()) ?? 0)
    const after = await spent()
    const points = after.account - before.account || after.address - before.address
    seen.push({
      status: text.includes('"isError":true') ? 400 : answer.status,
      ...(answer.status >= 400 || text.includes('"isError":true') ? { refusal: text.slice(0, 300) } : {}),
      points,
      api_ms: after.apiMs - before.apiMs,
      postgres_ms: after.postgresMs - before.postgresMs,
      held_ms,
    })
  }
  const counted = seen.slice(2)
  const [api_ms, postgres_ms, held_ms] = (['api_ms', 'postgres_ms', 'held_ms'] as const).map((of) =>
    round(median(counted.map((one) => one[of]))),
  ) as [number, number, number]
  const points = Math.min(...counted.map((one) => one.points))
  const { status, refusal } = seen.find((one) => one.status >= 400) ?? counted[0]!
  const cpuMs = api_ms + postgres_ms
  const ms_per_point = LONG.has(name) ? null : round(cpuMs / points)
  const cpu_share = round(cpuMs / held_ms)
  const costs = { points, api_ms, postgres_ms, ms_per_point, cpu_share, transaction_ms }
  return { ...(refusal ? { refusal } : {}), name, status, ...costs }
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

/** The points that requests have taken: of an account, or of an address. */
interface Taken {
  account: number
  address: number
}

/** Counts points. */
function serveCounted(settings: string | undefined): Promise<undefined> {
  const taken = { account: 0, address: 0 }
  const watched = (limits: RateLimits): RateLimits => ({
    ...limits,
    async consume(budget, subject, points) {
      taken[budget === 'free' || budget === 'pro' ? 'account' : 'address'] += points
      return limits.consume(budget, subject, points)
    },
    consumeLocally(budget, subject, points) {
      taken.address += points
      return limits.consumeLocally(budget, subject, points)
    },
  })
  return serveApi(settings, () => ({ told: undefined, count: () => taken }), { limits: watched })
}
