import { fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import type { Db } from '../src/db/client.ts'
import { frames as framesTable } from '../src/db/schema/frames.ts'
import { shareBoard } from '../src/library/collections/board-settings.ts'
import { type Asked, ATTACKS, type Outcome, type Target } from './support/attacks.ts'
import { type About, optionsOf } from './support/bench.ts'
import { openMirror } from './support/mirror.ts'
import { openServed, openStores, serveApi } from './support/service.ts'
import { median, percentile, round } from './support/stats.ts'
import { fullBoard, MOST, newPerson } from './support/world.ts'

/**
 * With MEILI_URL and MEILI_KEY Meilisearch answers. `--only` takes the clients whose name holds a text.
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
    { what: 'slowest `/livez` of all rows', at: ['livez_ms'], atMost: 250, unit: 'ms' },
    ...Object.keys(ATTACKS).map((name) => ({ what: name, at: ['rows', name, 'ratio'], atMost: 5 })),
  ],
}

export async function run(args: string[]): Promise<object | undefined> {
  if (args[0] === 'serve') return serveApi(args[1])
  if (args[0] === 'attack') return attack(args[1]!, JSON.parse(args[2]!))
  const values = optionsOf(args, { frames: 20_000, seconds: 5, spells: 3, only: '' })
  await using stores = await openStores('starve', values)
  const { db } = stores
  await using mirror = await openMirror(db)
  const prepared = await prepare(db)
  await db.$client.query('vacuum analyze')
  await using served = await openServed('starve', { ...stores.settings, meili: mirror?.meili, scale: 1 }, db)
  const { port } = served
  const reader = openReader(port, prepared)
  const { seconds } = values
  await reader.measure(4)

  const quiet: Seen[] = []
  const measured: Spell[] = []
  const names = Object.keys(ATTACKS).filter((name) => name.includes(values.only))
  const planned = Array.from({ length: values.spells }, (_, spell) => names.map((name) => ({ name, spell })))
  for (const [n, { name, spell }] of planned.flat().entries()) {
    const owned = prepared.owned[n % prepared.owned.length]!
    // A new address, because the budget of the last spell is spent.
    const target = { ...prepared.target, ...owned, port, address: `127.0.2.${n + 1}`, seconds, spell }
    const begin = await prepareAttack(name, target)
    quiet.push(await reader.measure(seconds))
    const ended = begin()
    const seen = await reader.measure(seconds)
    measured.push({ name, seen, outcome: await ended })
    await reader.calm()
  }
  quiet.push(await reader.measure(seconds))
  reader.close()
  const figures = figuresOf(quiet, measured)
  return {
    bench: 'starve',
    frames: await db.$count(framesTable),
    engine: mirror ? 'meilisearch' : 'postgres',
    ...figures,
  }
}

interface Prepared {
  target: Pick<Target, 'frameIds'>
  /** Accounts with a full board each, so that clients one after the other do not share a budget. */
  owned: Pick<Target, 'key' | 'boardId' | 'shareToken' | 'operatorKey' | 'cookie'>[]
  /** The key of the account that saves beside. */
  key: string
}

async function prepare(db: Db): Promise<Prepared> {
  const { rows } = await db.$client.query<{ id: string }>(`select id from frames order by md5(id) limit ${MOST.pins}`)
  const frameIds = rows.map(({ id }) => id)
  const owned: Prepared['owned'] = []
  for (let n = 0; n < 4; n++) {
    const { accountId, key, cookie } = await newPerson(db)
    const boardId = await fullBoard(db, accountId, frameIds, null)
    const { token: shareToken } = await shareBoard(db, { accountId, boardId })
    await db.$client.query(
      'insert into boards (id, account_id, name) select $1 || n, $1, $2 || n from generate_series(1, 999) n',
      [accountId, 'board '],
    )
    owned.push({ key, cookie, boardId, shareToken, operatorKey: (await newPerson(db, 'operator')).key })
  }
  return { target: { frameIds }, owned, key: (await newPerson(db)).key }
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
}

function figuresOf(quiet: readonly Seen[], measured: readonly Spell[]) {
  const limit = median(quiet.map(({ warm }) => percentile(warm, 0.99)))
  const shown = (seen: Seen) => ({
    warm_p50_ms: round(percentile(seen.warm, 0.5)),
    warm_p99_ms: round(percentile(seen.warm, 0.99)),
    ratio: round(percentile(seen.warm, 0.99) / limit),
    livez_ms: round(Math.max(...seen.livez)),
    cold_ms: round(Math.max(...seen.cold)),
    save_ms: round(Math.max(...seen.save)),
    failed: seen.failed,
  })
  const rowOf = (spells: readonly Spell[]) => {
    const sorted = spells.map(({ seen, ...spell }) => ({ ...spell, ...shown(seen) })).sort((a, b) => a.ratio - b.ratio)
    const { name: _, ...middle } = sorted[Math.floor(sorted.length / 2)]!
    return {
      ...middle,
      livez_ms: Math.max(...sorted.map(({ livez_ms }) => livez_ms)),
    }
  }
  const rows = Object.fromEntries([...Map.groupBy(measured, ({ name }) => name)].map(([n, all]) => [n, rowOf(all)]))
  console.table(rows, ['ratio', 'warm_p50_ms', 'warm_p99_ms', 'livez_ms', 'cold_ms', 'save_ms', 'failed'])
  const all = Object.values(rows)
  return {
    ratio: Math.max(...all.map(({ ratio }) => ratio)),
    ratio_of: '99th percentile of warm reads beside the worst client ÷ the same without one, median of its spells',
    livez_ms: Math.max(...all.map(({ livez_ms }) => livez_ms)),
    quiet_p99_ms: round(limit),
    rows,
  }
}
