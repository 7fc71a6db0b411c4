import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, get, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { parseConfig } from '../src/config.ts'
import type { Db } from '../src/db/client.ts'
import { appendEvent } from '../src/events/append.ts'
import { createAccount } from '../src/library/accounts/accounts.ts'
import { createKey } from '../src/library/accounts/keys.ts'
import { createLogger } from '../src/logger.ts'
import { openApi } from '../src/server/main.ts'
import { type About, inTurns, optionsOf } from './support/bench.ts'
import { openTemporaryDatabase, type TemporaryDatabase } from './support/postgres.ts'
import { startTemporaryRedis } from './support/redis.ts'
import { median, percentile, round } from './support/stats.ts'

/** Aims: what the event log promises to those who follow it. */
export const about: About = {
  measures:
    'The event log over HTTP. The time from before a commit to the event on the live stream. Events per ' +
    'second of pages of 1,000.',
  against:
    'a bare LISTEN on a connection of its own, told by the same commits. A bare cursor of PostgreSQL ' +
    'over the same rows, in turns. Pages and cursor are read by one client in a process of its own.',
  figures: [
    { what: 'commit to stream, p95 in milliseconds', at: ['tail_p95_ms'], atMost: 250 },
    { what: 'the same ÷ commit to NOTIFY', at: ['tail_ratio'] },
    { what: 'events per second in pages ÷ of a bare cursor', at: ['ratio'], atLeast: 0.5 },
  ],
}

const PAGE = 1_000

export async function run(args: string[]): Promise<object | undefined> {
  if (args[0] === 'client') return serveReads(JSON.parse(args[1]!) as Addresses)
  const values = optionsOf(args, { commits: 200, events: 50_000, rounds: 5 })
  await using database = await openTemporaryDatabase()
  await using service = await serve(database)
  const tail = await measureTail(database, service, values)
  await fill(database.db, values.events)
  const pages = await measurePages(database, service, values)
  return {
    bench: 'events',
    ratio_of: 'events per second of GET /api/events in pages of 1,000 ÷ of a bare cursor over the same rows',
    ...tail,
    ...pages,
  }
}

function write(db: Db, subject: string): Promise<void> {
  return db.transaction((tx) =>
    appendEvent(tx, { type: 'key.revoked', subject, accountId: null, data: { key_id: subject } }),
  )
}

interface Service {
  url: string
  key: string
  [Symbol.asyncDispose](): Promise<void>
}

async function serve({ db, url }: TemporaryDatabase): Promise<Service> {
  const dir = mkdtempSync(join(tmpdir(), 'frames-bench-events-'))
  const redis = await startTemporaryRedis({ dir, persistent: false })
  const config = parseConfig({ DATA_DIR: dir, PUBLIC_URL: 'http://localhost:3000', RATE_LIMIT_SCALE: '1000000' })
  const logger = createLogger({ level: 'error' })
  const api = await openApi({ config, databaseUrl: url, redisUrl: redis.url, logger, port: 0, host: '127.0.0.1' })
  const account = await createAccount(db, { email: 'bench@example.org', role: 'operator', plan: 'pro' })
  const { key } = await createKey(db, { accountId: account.id, name: 'bench' })
  return {
    url: `http://127.0.0.1:${api.port}/api/events`,
    key,
    async [Symbol.asyncDispose]() {
      await api.stop({ deadlineMs: 2_000 })
      await redis.stop()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

/** Measures the time from before a commit to a NOTIFY on a bare connection, and to the event on the stream. */
async function measureTail({ db, url }: TemporaryDatabase, service: Service, { commits }: { commits: number }) {
  const listener = new pg.Client({ connectionString: url })
  await listener.connect()
  await listener.query('listen events')
  const stop = new AbortController()
  const stream = await fetch(`${service.url}?after=end&types=key.revoked`, {
    headers: { accept: 'text/event-stream', authorization: `Bearer ${service.key}` },
    signal: stop.signal,
  })
  let text = ''
  const reading = (async () => {
    for await (const chunk of stream.body!.pipeThrough(new TextDecoderStream())) text += chunk
  })().catch(() => undefined)
  const times = { notify: [] as number[], tail: [] as number[] }
  for (let n = 0; n < commits; n++) {
    const started = performance.now()
    const notified = once(listener, 'notification').then(() => times.notify.push(performance.now() - started))
    await write(db, `tail-${n}.`)
    while (!text.includes(`tail-${n}.`)) await new Promise(setImmediate)
    times.tail.push(performance.now() - started)
    await notified
    text = ''
    // The service is idle again.
    await sleep(20)
  }
  stop.abort()
  await reading
  await listener.end()
  const p95 = percentile(times.tail, 0.95)
  return {
    tail_p50_ms: round(median(times.tail)),
    tail_p95_ms: round(p95),
    tail_ratio: round(p95 / percentile(times.notify, 0.95)),
  }
}

async function fill(db: Db, events: number): Promise<void> {
  await db.$client.query(
    `insert into events (type, subject, account_id, data)
     select 'frame.saved', 'frame-' || n % 5000, 'account-' || n % 100, jsonb_build_object('frame_id',
            'frame-' || n % 5000, 'video_id', 'video-' || n % 300, 'author', 'Northwind Labs', 'technique',
            'cursor-zoom', 'subject', 'terminal')
       from generate_series(1, $1::int) n`,
    [events],
  )
  await db.$client.query('vacuum analyze events')
}

/** Where a client reads. */
interface Addresses {
  database: string
  /** Of the service. */
  url: string
  key: string
}

type Way = 'cursor' | 'pages'

async function measurePages(
  { url: database }: TemporaryDatabase,
  { url, key }: Service,
  { rounds }: { rounds: number },
) {
  const addresses: Addresses = { database, url, key }
  const client = fork(join(import.meta.dirname, 'main.ts'), ['events', 'client', JSON.stringify(addresses)])
  const closed = once(client, 'exit')
  const ask = async (way: Way) => {
    client.send(way)
    const [speed] = (await once(client, 'message')) as [number]
    return speed
  }
  const { ours, bare, ratio } = await inTurns({ ours: () => ask('pages'), bare: () => ask('cursor') }, { rounds })
  client.disconnect()
  await closed
  return { pages_per_second: ours, cursor_per_second: bare, ratio }
}

/** The client's process: reads the whole log in the requested way, and answers with the events per second. */
async function serveReads(addresses: Addresses): Promise<undefined> {
  process.on('message', (way: Way) => {
    void timed(() => (way === 'cursor' ? readCursor(addresses) : readPages(addresses))).then((speed) =>
      process.send!(speed),
    )
  })
  await once(process, 'disconnect')
  return undefined
}

async function timed(read: () => Promise<number>): Promise<number> {
  const started = performance.now()
  return (await read()) / ((performance.now() - started) / 1_000)
}

const EACH = '"specversion"'

/** Takes what is sent. What a client makes of it is its own affair: it only looks for `next` at the end. */
async function readPages({ url, key }: Addresses): Promise<number> {
  const agent = new Agent({ keepAlive: true })
  const headers = { authorization: `Bearer ${key}` }
  try {
    for (let after = '0.0', count = 0; ; ) {
      const [response] = (await once(get(`${url}?limit=${PAGE}&after=${after}`, { agent, headers }), 'response')) as [
        IncomingMessage,
      ]
      const body = Buffer.concat(await response.toArray())
      const next = /"next":"([0-9.]+)"\}$/.exec(body.toString('latin1', body.length - 80))![1]!
      if (next === after) return count
      for (let at = body.indexOf(EACH); at >= 0; at = body.indexOf(EACH, at + 1)) count++
      after = next
    }
  } finally {
    agent.destroy()
  }
}

async function readCursor({ database }: Addresses): Promise<number> {
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  await client.query('begin')
  await client.query(
    `declare c cursor for select seq, xid::text as xid_text, id, type, version, subject, account_id, data, time
       from events order by xid, seq`,
  )
  let count = 0
  for (;;) {
    const { rows } = await client.query(`fetch ${PAGE} from c`)
    count += rows.length
    if (rows.length < PAGE) break
  }
  await client.end()
  return count
}
