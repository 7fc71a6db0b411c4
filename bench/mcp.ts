import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import autocannon from 'autocannon'
import express from 'express'
import { parseConfig } from '../src/config.ts'
import type { Db } from '../src/db/client.ts'
import { ensureAccount } from '../src/library/accounts/accounts.ts'
import { createGrant } from '../src/library/accounts/grants.ts'
import { openTokenChecks } from '../src/library/accounts/key-checks.ts'
import { createKey, MEMBER_SCOPES } from '../src/library/accounts/keys.ts'
import { putRecord } from '../src/library/accounts/oauth-records.ts'
import { createLogger } from '../src/logger.ts'
import { protectedResource } from '../src/oauth/routes.ts'
import { openPostgresSearch } from '../src/search/postgres/search.ts'
import { openApi } from '../src/server/main.ts'
import { type About, optionsOf } from './support/bench.ts'
import { SEED_WORDS, seedLibrary } from './support/library.ts'
import { openTemporaryDatabase } from './support/postgres.ts'
import { startTemporaryRedis } from './support/redis.ts'
import { median } from './support/stats.ts'

/**
 * Aims: `tools/call` reaches 0.7 of the HTTP read, `tools/list` 0.8 of the bare route, and a cold search costs at most
 * 1.2 times the same question over HTTP.
 */
export const about: About = {
  measures: 'Requests per second of the tool server, warm, and of cold searches that are asked once each.',
  against:
    'for each `tools/call` the HTTP route that reads the same rows. For `tools/list` a bare Express route that sends ' +
    'the same bytes. For a cold search the same question to `/api/frames`. The servers run in one child process and ' +
    'take many short turns. The median ratio counts.',
  figures: [
    { what: 'slowest `tools/call` ÷ HTTP read', at: ['ratio'], atLeast: 0.5 },
    { what: '`tools/list` ÷ bare Express', at: ['list_ratio'], atLeast: 0.8 },
    { what: '`list_boards` at `/mcp` with a token ÷ `GET /api/boards` with a key', at: ['signed_in'], atLeast: 0.5 },
    { what: 'check of a token ÷ one prepared look-up', at: ['token_check'], atMost: 1.3 },
    { what: 'cost of a cold `search_frames` ÷ HTTP, frames found', at: ['cold', 'found'], atMost: 1.2 },
    { what: 'the same, nothing found', at: ['cold', 'nothing'], atMost: 1.2 },
    { what: 'the same, nothing found with filters', at: ['cold', 'nothing_with_filters'], atMost: 1.2 },
  ],
}

export async function run(args: string[]): Promise<object | undefined> {
  if (args[0] === 'serve') return serve()
  const values = optionsOf(args, { frames: 10_000, rounds: 15, connections: 20, only: '' })
  const server = fork(join(import.meta.dirname, 'main.ts'), ['mcp', 'serve'], {
    env: { ...process.env, BENCH_FRAMES: String(values.frames) },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const closed = once(server, 'exit')
  const [served] = (await once(server, 'message')) as [Served]
  const pairs = pairsOf(served)
  const connections = values.connections
  const measure = async ({ url, ask }: Target): Promise<Measured> => {
    const before = await cpuOf(server)
    const started = performance.now()
    const result = await autocannon({
      url,
      connections,
      duration: 1,
      requests: [{ setupRequest: (request) => ({ ...request, ...ask() }) }],
    })
    const seconds = (performance.now() - started) / 1000
    if (result.non2xx > 0 || result.errors > 0)
      throw new Error(`${url}: ${result.non2xx} refused, ${result.errors} failed`)
    return {
      perSecond: result.requests.total / seconds,
      cpuUs: ((await cpuOf(server)) - before) / result.requests.total,
      p99Ms: result.latency.p99,
    }
  }
  const rows: Row[] = []
  for (const { name, ours, against } of pairs) {
    if (!name.includes(values.only)) continue
    for (const target of [ours, against, ours, against]) await measure(target)
    const rounds: Round[] = []
    for (let round = 0; round < values.rounds; round++) {
      const [first, second] = round % 2 === 0 ? [ours, against] : [against, ours]
      const [one, other] = [await measure(first), await measure(second)]
      rounds.push(round % 2 === 0 ? { ours: one, against: other } : { ours: other, against: one })
    }
    rows.push({ name, ...toFigures(rounds) })
  }
  server.send('stop')
  await closed
  console.table(rows)
  const isCall = ({ name }: Row) => !/^(?:cold|tools\/list|\/mcp)/.test(name)
  const costOf = (what: string) => {
    const row = rows.find(({ name }) => name === `cold search_frames / GET /api/frames, ${what}`)
    return row && Math.round(100 / row.ratio) / 100
  }
  return {
    bench: 'mcp',
    ratio: Math.min(...rows.filter(isCall).map((row) => row.ratio)),
    ratio_of: 'requests per second of tools/call to the HTTP route that reads the same rows, the least of the pairs',
    list_ratio: rows.find(({ name }) => name.startsWith('tools/list'))?.ratio,
    list_ratio_of: 'requests per second of tools/list to a bare Express route that sends the same bytes',
    signed_in: rows.find(({ name }) => name.startsWith('/mcp'))?.ratio,
    signed_in_of: 'requests per second of list_boards at /mcp with a token to GET /api/boards with a key',
    token_check: served.tokenCheck,
    token_check_of: 'time of a check of a token to one prepared look-up by primary key, one at a time',
    cold: {
      found: costOf('found'),
      nothing: costOf('nothing'),
      nothing_with_filters: costOf('nothing with filters'),
    },
    cold_of: 'requests per second of the HTTP route to those of tools/call: every question is asked once',
    pairs: rows,
  }
}

interface Served {
  api: string
  bare: string
  frameId: string
  videoId: string
  key: string
  token: string
  /** Its check, in prepared look-ups. */
  tokenCheck: number
}
interface Target {
  url: string
  /** The next request. */
  ask(): { method?: 'POST'; path: string; headers?: Record<string, string>; body?: string }
}

interface Pair {
  name: string
  ours: Target
  against: Target
}

function pairsOf({ api, bare, frameId, videoId, key, token }: Served): Pair[] {
  const rpc = (message: object) => ({
    method: 'POST' as const,
    path: '/api/mcp',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
  })
  const always = (url: string, request: ReturnType<Target['ask']>): Target => ({ url, ask: () => request })
  const read = (path: string) => always(api, { path })
  const call = (name: string, given: object) =>
    always(api, rpc({ method: 'tools/call', params: { name, arguments: given } }))
  const list = rpc({ method: 'tools/list' })
  const signedIn = (message: object) => {
    const request = rpc(message)
    return { ...request, path: '/mcp', headers: { ...request.headers, authorization: `Bearer ${token}` } }
  }
  const cold = (what: string, question: (n: number) => Record<string, string>): Pair => {
    let asked = 0
    return {
      name: `cold search_frames / GET /api/frames, ${what}`,
      ours: {
        url: api,
        ask() {
          const { q, ...filters } = question(asked++)
          return rpc({ method: 'tools/call', params: { name: 'search_frames', arguments: { query: q, ...filters } } })
        },
      },
      against: { url: api, ask: () => ({ path: `/api/frames?${new URLSearchParams(question(asked++))}` }) },
    }
  }
  return [
    {
      name: 'find_similar_frames / GET …/similar (20 frames)',
      ours: call('find_similar_frames', { frame_id: frameId, limit: 20 }),
      against: read(`/api/frames/${frameId}/similar?limit=20`),
    },
    {
      name: 'search_library / GET /api/search (5 of each)',
      ours: call('search_library', { query: 'dark', limit: 5 }),
      against: read('/api/search?q=dark&limit=5'),
    },
    {
      name: 'get_video_frames / GET …/frames (one video)',
      ours: call('get_video_frames', { video_id: videoId, limit: 120 }),
      against: read(`/api/videos/${videoId}/frames`),
    },
    {
      name: '/mcp list_boards with a token / GET /api/boards with a key',
      ours: always(api, signedIn({ method: 'tools/call', params: { name: 'list_boards', arguments: {} } })),
      against: always(api, { path: '/api/boards', headers: { authorization: `Bearer ${key}` } }),
    },
    {
      name: 'tools/list / bare Express, same bytes',
      ours: always(api, list),
      against: always(bare, { ...list, path: '/' }),
    },
    cold('found', (n) => ({ q: threeWords(n) })),
    cold('nothing', (n) => ({ q: `zqx${n} wplk${n}` })),
    cold('nothing with filters', (n) => ({ q: threeWords(n), ...NOWHERE })),
  ]
}

/** Values that no frame of the seed has together. */
const NOWHERE = { subject: 'crowd', surface: 'slide', shot: 'close-presenter', zone: 'top-left', kind: 'intro' }

/** Another question for each `n`. */
function threeWords(n: number): string {
  const { adjectives, things } = SEED_WORDS
  const pairs = adjectives.length * things.length
  const thing = (at: number) => things[at % things.length]
  const second = thing(Math.floor(n / adjectives.length))
  return `${adjectives[n % adjectives.length]} ${second} ${thing(Math.floor(n / pairs) + n)}`
}

interface Measured {
  perSecond: number
  /** The server's CPU time, user and system, a request. */
  cpuUs: number
  p99Ms: number
}

interface Row {
  name: string
  ours: number
  against: number
  ratio: number
  /** The same by the server's CPU time a request. */
  cpuRatio: number
  oursCpuUs: number
  againstCpuUs: number
  p99Ms: number
}

interface Round {
  ours: Measured
  against: Measured
}

function toFigures(rounds: readonly Round[]): Omit<Row, 'name'> {
  const middle = (pick: (round: Round) => number) => median(rounds.map(pick))
  const hundredths = (value: number) => Math.round(value * 100) / 100
  return {
    ours: Math.round(middle((round) => round.ours.perSecond)),
    against: Math.round(middle((round) => round.against.perSecond)),
    ratio: hundredths(middle((round) => round.ours.perSecond / round.against.perSecond)),
    cpuRatio: hundredths(middle((round) => round.against.cpuUs / round.ours.cpuUs)),
    oursCpuUs: Math.round(middle((round) => round.ours.cpuUs)),
    againstCpuUs: Math.round(middle((round) => round.against.cpuUs)),
    p99Ms: middle((round) => round.ours.p99Ms),
  }
}

async function cpuOf(server: ChildProcess): Promise<number> {
  const answer = once(server, 'message')
  server.send('cpu')
  const [usage] = (await answer) as [NodeJS.CpuUsage]
  return usage.user + usage.system
}

async function serve(): Promise<undefined> {
  const dir = mkdtempSync(join(tmpdir(), 'frames-bench-mcp-'))
  const redis = await startTemporaryRedis({ dir, persistent: false })
  const database = await openTemporaryDatabase()
  await seedLibrary(database.db, { frames: Number(process.env.BENCH_FRAMES ?? 10_000) })
  const logger = createLogger({ level: 'error' })
  const publicUrl = 'http://localhost:3000'
  const config = parseConfig({
    PORT: '0',
    DATA_DIR: dir,
    PUBLIC_URL: publicUrl,
    RATE_LIMIT_SCALE: '1000000',
  })
  // As `frames api` does.
  const api = await openApi({
    config,
    databaseUrl: database.url,
    redisUrl: redis.url,
    logger,
    port: 0,
    host: '127.0.0.1',
  })
  const list = await fetch(`http://127.0.0.1:${api.port}/api/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  }).then((response) => response.text())
  const app = express()
  app.post('/', express.json(), (_req, res) => {
    res.type('application/json').send(list)
  })
  const bare = createServer(app)
  await new Promise<void>((resolve) => bare.listen(0, '127.0.0.1', resolve))
  const { frames } = await openPostgresSearch(database.db.$client).frames({
    filters: {},
    q: '',
    sort: 'newest',
    page: 1,
    pageSize: 1,
    facets: false,
    variety: false,
  })
  const { id, video_id } = frames[0]!.document
  const served: Served = {
    api: `http://127.0.0.1:${api.port}`,
    bare: `http://127.0.0.1:${(bare.address() as AddressInfo).port}`,
    frameId: id,
    videoId: video_id,
    ...(await openAccess(database.db, publicUrl)),
  }
  process.send!(served)
  await new Promise((resolve) => {
    process.on('message', (message) => (message === 'cpu' ? process.send!(process.cpuUsage()) : resolve(undefined)))
    process.once('disconnect', resolve)
  })
  process.disconnect?.()
  bare.closeAllConnections()
  bare.close()
  await api.stop({ deadlineMs: 2_000 })
  await redis.stop()
  await database[Symbol.asyncDispose]()
  rmSync(dir, { recursive: true, force: true })
  return undefined
}

/** A member's key, an app's token, and what a check of the token costs. */
async function openAccess(db: Db, publicUrl: string): Promise<Pick<Served, 'key' | 'token' | 'tokenCheck'>> {
  const { account } = await ensureAccount(db, { email: 'member@example.com', plan: 'pro' })
  const { key } = await createKey(db, { accountId: account.id, name: 'bench' })
  const { resource } = protectedResource(publicUrl)
  const app = { clientId: 'bench', clientName: 'Bench', returnsTo: 'app.example.com', scopes: MEMBER_SCOPES }
  const grantId = await createGrant(db, { accountId: account.id, ...app })
  const token = 't'.repeat(43)
  const payload = { grantId, aud: resource, scope: MEMBER_SCOPES.join(' ') }
  await putRecord(db, { kind: 'AccessToken', id: token, payload, lifetimeSec: 3_600 })
  await db.$client.query('analyze oauth_records, grants, accounts, api_keys')
  const checks = openTokenChecks(db, resource, () => undefined)
  const lookUp = { name: 'bench-look-up', text: 'select id, role, plan from accounts where id = $1' }
  const times = { check: [] as number[], lookUp: [] as number[] }
  for (let n = 0; n < 4_000; n++) {
    const started = performance.now()
    if (!(await checks.check(token))) throw new Error('the token does not work')
    const checked = performance.now()
    await db.$client.query({ ...lookUp, values: [account.id] })
    if (n < 500) continue
    times.check.push(checked - started)
    times.lookUp.push(performance.now() - checked)
  }
  return { key, token, tokenCheck: Math.round((100 * median(times.check)) / median(times.lookUp)) / 100 }
}
