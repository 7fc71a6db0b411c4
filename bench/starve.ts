import { fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { setPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { parseConfig } from '../src/config.ts'
import type { Db } from '../src/db/client.ts'
import { frames as framesTable } from '../src/db/schema/frames.ts'
import { createAccount } from '../src/library/accounts/accounts.ts'
import { createKey, revokeKey } from '../src/library/accounts/keys.ts'
import { createSignInCode, formToken, redeemSignInCode } from '../src/library/accounts/sessions.ts'
import { shareBoard } from '../src/library/collections/board-settings.ts'
import { createBoard } from '../src/library/collections/boards.ts'
import { pinFrames } from '../src/library/collections/pins.ts'
import { createLogger } from '../src/logger.ts'
import { openApi } from '../src/server/main.ts'
import { ATTACKS, type Outcome, type Target } from './support/attacks.ts'
import { type About, watchMemory } from './support/bench.ts'
import { seedLibrary } from './support/library.ts'
import { BENCH_PREFIX, fillMirror } from './support/mirror.ts'
import { openSeededDatabase, openTemporaryDatabase } from './support/postgres.ts'
import { startTemporaryRedis } from './support/redis.ts'
import { percentile, round } from './support/stats.ts'

/**
 * Aims: a warm read at most three times as slow as without the client, and `/livez` within 250 ms. `--seeded` takes the
 * library in DATABASE_URL, and leaves the accounts, boards and uploads of the clients in it.
 */
export const about: About = {
  measures:
    'What a reader notices while another client is careless or hostile. The 99th percentile of warm reads, and the ' +
    'slowest `/livez`. Searches that are not kept, and saves of another account. Rate limits are as in production. ' +
    'Each client runs three times, in three rounds of all clients. The median counts, and the worst is reported.',
  against:
    'the same reader without the client, in a quiet phase before each spell and one at the end. Their median counts, ' +
    'because one phase swings by half. Server, reader and client are processes of one machine. The client would have ' +
    'a machine of its own, so it yields to the others (nice 19).',
  figures: [
    { what: 'warm reads, worst row ÷ quiet', at: ['ratio'], atMost: 5 },
    { what: 'the same in the worst spell', at: ['worst_ratio'] },
    { what: 'slowest `/livez` of all rows', at: ['livez_ms'], atMost: 250, unit: 'ms' },
    { what: 'memory that page exports take', at: ['rows', 'page exports', 'grown_mb'], atMost: 100, unit: 'MB' },
    ...Object.keys(ATTACKS).map((name) => ({ what: name, at: ['rows', name, 'ratio'], atMost: 5 })),
  ],
}

export async function run(args: string[]): Promise<object | undefined> {
  if (args[0] === 'serve') return serve(JSON.parse(args[1]!))
  if (args[0] === 'attack') return attack(args[1]!, JSON.parse(args[2]!))
  const { values } = parseArgs({
    args,
    options: {
      frames: { type: 'string', default: '20000' },
      seconds: { type: 'string', default: '5' },
      spells: { type: 'string', default: '3' },
      only: { type: 'string', default: '' },
      seeded: { type: 'boolean', default: false },
      json: { type: 'boolean' },
    },
  })
  const dir = mkdtempSync(join(tmpdir(), 'frames-bench-starve-'))
  const redis = await startTemporaryRedis({ dir, persistent: false })
  await using database = values.seeded ? openSeededDatabase('starve') : await openTemporaryDatabase()
  if (!values.seeded) await seedLibrary(database.db, { frames: Number(values.frames) })
  const settings: Settings = { dir, databaseUrl: database.url, redisUrl: redis.url, meili: meiliOfEnvironment() }
  const { meili } = configOf(settings)
  const drop = meili && (await fillMirror(database.db, meili, values))
  const prepared = await prepare(database.db)
  await database.db.$client.query('vacuum analyze')
  const { api, port, logged } = await startApi(settings)
  const reader = openReader(port, prepared)
  const seconds = Number(values.seconds)
  await reader.measure(4)

  const quiet: Seen[] = []
  const measured: Spell[] = []
  const names = Object.keys(ATTACKS).filter((name) => name.includes(values.only))
  const planned = Array.from({ length: Number(values.spells) }, (_, spell) => names.map((name) => ({ name, spell })))
  for (const [n, { name, spell }] of planned.flat().entries()) {
    const before = logged()
    const owned = prepared.owned[n % prepared.owned.length]!
    // A new address, because the budget of the last spell is spent.
    const target = { ...prepared.target, ...owned, port, address: `127.0.2.${n + 1}`, seconds, spell }
    const begin = await prepareAttack(name, target)
    if (name === 'page exports') await writeNotes(database.db, owned.boardId)
    quiet.push(await reader.measure(seconds))
    const memory = watchMemory(api.pid!)
    const ended = begin()
    const seen = await reader.measure(seconds)
    measured.push({ name, seen, outcome: await ended, logBytes: logged() - before, grownMb: memory.grownMb() })
    await reader.calm()
    if (name === 'page exports') await writeNotes(database.db, owned.boardId, '')
  }
  quiet.push(await reader.measure(seconds))

  reader.close()
  api.send('stop')
  await once(api, 'exit')
  await redis.stop()
  await drop?.()
  rmSync(dir, { recursive: true, force: true })
  return figuresOf({
    quiet,
    measured,
    frames: prepared.frames,
    engine: meili ? 'meilisearch' : 'postgres',
    values,
  })
}

interface Settings {
  dir: string
  databaseUrl: string
  redisUrl: string
  meili: { url: string; key: string } | undefined
}

function meiliOfEnvironment(): Settings['meili'] {
  const { MEILI_URL, MEILI_KEY } = process.env
  return MEILI_URL && MEILI_KEY ? { url: MEILI_URL, key: MEILI_KEY } : undefined
}

function configOf({ dir, meili }: Settings) {
  const config = parseConfig({
    PORT: '0',
    DATA_DIR: dir,
    PUBLIC_URL: 'http://frames.test',
    ...(meili ? { MEILI_URL: meili.url, MEILI_KEY: meili.key } : {}),
  })
  return { ...config, meili: config.meili && { ...config.meili, prefix: BENCH_PREFIX } }
}

interface Prepared {
  target: Pick<Target, 'frameIds' | 'deadKey'>
  /** Accounts with a full board each, so that clients one after the other do not share a budget. */
  owned: Pick<Target, 'key' | 'boardId' | 'shareToken' | 'operatorKey' | 'cookie' | 'form'>[]
  /** The key of the account that saves beside. */
  key: string
  /** Frames of the library. */
  frames: number
}

async function prepare(db: Db): Promise<Prepared> {
  const { rows } = await db.$client.query<{ id: string }>('select id from frames order by md5(id) limit 5000')
  const frameIds = rows.map(({ id }) => id)
  const frames = await db.$count(framesTable)
  const run = randomUUID()
  const newKey = async (name: string, role: 'member' | 'operator' = 'member') => {
    const account = await createAccount(db, { email: `${name}-${run}@example.org`, plan: 'pro', role })
    return { accountId: account.id, ...(await createKey(db, { accountId: account.id, name })) }
  }
  const owned = []
  for (const name of ['one', 'two', 'three', 'four']) {
    const { accountId, key } = await newKey(name)
    const { id: boardId } = await createBoard(db, { accountId, name: 'full' })
    for (let from = 0; from < frameIds.length; from += 500)
      await pinFrames(db, { accountId, boardId, frameIds: frameIds.slice(from, from + 500) })
    const { token: shareToken } = await shareBoard(db, { accountId, boardId })
    await db.$client.query(
      'insert into boards (id, account_id, name) select $1 || n, $1, $2 || n from generate_series(1, 999) n',
      [accountId, 'board '],
    )
    const { code } = (await createSignInCode(db, { email: `${name}-${run}@example.org`, newPlan: null }))!
    const { token } = (await redeemSignInCode(db, { code }))!
    const session = { cookie: `session=${token}`, form: formToken(token) }
    owned.push({
      key,
      boardId,
      shareToken,
      operatorKey: (await newKey(`operator-${name}`, 'operator')).key,
      ...session,
    })
  }
  const dead = await newKey('dead')
  await revokeKey(db, { accountId: dead.accountId, keyId: dead.record.id })
  return {
    target: { frameIds, deadKey: dead.key },
    owned,
    key: (await newKey('beside')).key,
    frames,
  }
}

/** The longest notes on every pin of a board, or none. */
async function writeNotes(db: Db, boardId: string, note = 'n'.repeat(2_000)): Promise<void> {
  await db.$client.query("update board_items set note = nullif($2, '') where board_id = $1", [boardId, note])
}

async function startApi(settings: Settings) {
  const api = fork(join(import.meta.dirname, 'main.ts'), ['starve', 'serve', JSON.stringify(settings)], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  let bytes = 0
  api.stdout!.on('data', (chunk: Buffer) => {
    bytes += chunk.length
  })
  const [port] = (await once(api, 'message')) as [number]
  return { api, port, logged: () => bytes }
}

async function serve(settings: Settings): Promise<undefined> {
  const { databaseUrl, redisUrl } = settings
  const logger = createLogger({ level: 'info' })
  // As `frames api` does.
  const api = await openApi({ config: configOf(settings), databaseUrl, redisUrl, logger, port: 0, host: '127.0.0.1' })
  process.send!(api.port)
  await new Promise((resolve) => {
    process.once('message', resolve)
    process.once('disconnect', resolve)
  })
  process.disconnect?.()
  await api.stop({ deadlineMs: 2_000 })
  return undefined
}

/** Starts the client's process, so that its start weighs on no figure. The returned function lets it begin. */
async function prepareAttack(name: string, target: Target): Promise<() => Promise<Outcome>> {
  const child = fork(join(import.meta.dirname, 'main.ts'), ['starve', 'attack', name, JSON.stringify(target)])
  await once(child, 'message')
  return async () => {
    const ended = once(child, 'exit')
    const told = once(child, 'message')
    child.send('begin')
    const [outcome] = (await Promise.race([told, ended])) as [Outcome]
    await ended
    return typeof outcome === 'object' ? outcome : {}
  }
}

async function attack(name: string, target: Target): Promise<undefined> {
  setPriority(19)
  process.send!('ready')
  await once(process, 'message')
  process.send!(await ATTACKS[name]!(target))
  process.disconnect()
  return undefined
}

/** Milliseconds of each request, by what was asked. */
interface Seen {
  warm: number[]
  livez: number[]
  cold: number[]
  save: number[]
  failed: number
}

interface Asked {
  method?: string
  path: string
  headers?: Record<string, string>
  body?: string
}

/** Asks at a fixed pace, whether or not the answers come: a slow answer does not make the next one late. */
function openReader(port: number, { key, target }: Prepared) {
  // Each address may spend 600 points a minute.
  const agents = Array.from({ length: 30 }, (_, n) => ({
    agent: new Agent({ keepAlive: true }),
    localAddress: `127.0.1.${n + 1}`,
  }))
  let count = 0

  function ask({ method = 'GET', path, headers = {}, body }: Asked): Promise<number> {
    const { agent, localAddress } = agents[count++ % agents.length]!
    const started = performance.now()
    return new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port, agent, localAddress, method, path, headers, timeout: 30_000 }
      const sent = request(options, (res) => {
        res.resume()
        res.once('end', () => {
          if (res.statusCode! < 400) resolve(performance.now() - started)
          else reject(new Error(`${path}: ${res.statusCode}`))
        })
      })
      sent.once('timeout', () => sent.destroy(new Error(`${path}: no answer`)))
      sent.once('error', reject)
      sent.end(body)
    })
  }

  const questions: Record<Exclude<keyof Seen, 'failed'>, { everyMs: number; next: () => Asked }> = {
    warm: { everyMs: 10, next: () => ({ path: count % 2 ? '/api/frames' : '/api/search?q=dark' }) },
    livez: { everyMs: 50, next: () => ({ path: '/livez' }) },
    cold: { everyMs: 250, next: () => ({ path: `/api/search?q=terminal-${count}` }) },
    save: {
      everyMs: 250,
      next: () => ({
        method: 'POST',
        path: '/api/favourites',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ frameId: target.frameIds[count % target.frameIds.length] }),
      }),
    },
  }

  async function measure(seconds: number): Promise<Seen> {
    const seen: Seen = { warm: [], livez: [], cold: [], save: [], failed: 0 }
    const asked: Promise<void>[] = []
    const timers = Object.entries(questions).map(([name, { everyMs, next }]) =>
      setInterval(() => {
        const answered = ask(next()).then(
          (ms) => void seen[name as 'warm'].push(ms),
          () => void seen.failed++,
        )
        asked.push(answered)
      }, everyMs),
    )
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
    for (const timer of timers) clearInterval(timer)
    await Promise.all(asked)
    return seen
  }

  return {
    measure,
    /** Until the service has nothing left to do for the client that has gone. */
    async calm() {
      for (let n = 0; n < 20; n++) if ((await ask({ path: '/livez' }).catch(() => 1_000)) < 10) return
    },
    close() {
      for (const { agent } of agents) agent.destroy()
    },
  }
}

/** One client for some seconds, with a quiet phase before it. */
interface Spell {
  name: string
  seen: Seen
  outcome: Outcome
  logBytes: number
  grownMb: number
}

interface Measured {
  quiet: Seen[]
  measured: Spell[]
  frames: number
  engine: string
  values: { json?: boolean | undefined; seconds: string }
}

function figuresOf({ quiet, measured, frames, engine, values }: Measured): object {
  const limit = percentile(
    quiet.map(({ warm }) => percentile(warm, 0.99)),
    0.5,
  )
  const shown = (seen: Seen) => ({
    warm_p50_ms: round(percentile(seen.warm, 0.5)),
    warm_p99_ms: round(percentile(seen.warm, 0.99)),
    ratio: round(percentile(seen.warm, 0.99) / limit),
    livez_ms: round(Math.max(...seen.livez)),
    cold_ms: round(Math.max(...seen.cold)),
    save_ms: round(Math.max(...seen.save)),
    failed: seen.failed,
  })
  const rowOf = (spells: Spell[]) => {
    const sorted = spells.map((spell) => ({ ...spell, ...shown(spell.seen) })).sort((a, b) => a.ratio - b.ratio)
    const { seen, name, logBytes, grownMb: _, ...middle } = sorted[Math.floor(sorted.length / 2)]!
    const worst = {
      worst_ratio: sorted.at(-1)!.ratio,
      livez_ms: Math.max(...sorted.map(({ livez_ms }) => livez_ms)),
      grown_mb: Math.max(...spells.map((spell) => spell.grownMb)),
    }
    return { ...middle, ...worst, log_bytes: logBytes }
  }
  const rows = Object.fromEntries([...Map.groupBy(measured, ({ name }) => name)].map(([n, all]) => [n, rowOf(all)]))
  if (!values.json) {
    console.log(`${frames} frames, ${engine}; quiet: p99 of warm reads ${round(limit)} ms`)
    console.table(
      Object.fromEntries([
        ...quiet.map((seen, n) => [`quiet ${n + 1}`, shown(seen)]),
        ...Object.entries(rows).map(([name, { outcome, ...row }]) => [
          name,
          { ...row, outcome: JSON.stringify(outcome) },
        ]),
      ]),
    )
  }
  const all = Object.values(rows)
  return {
    bench: 'starve',
    frames,
    engine,
    ratio: Math.max(...all.map(({ ratio }) => ratio)),
    ratio_of: '99th percentile of warm reads beside the worst client ÷ the same without one, median of its spells',
    worst_ratio: Math.max(...all.map(({ worst_ratio }) => worst_ratio)),
    livez_ms: Math.max(...all.map(({ livez_ms }) => livez_ms)),
    quiet_p99_ms: round(limit),
    quiet: quiet.map(shown),
    rows,
  }
}
