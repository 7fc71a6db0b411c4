import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, get, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { parseConfig } from '../src/config.ts'
import type { Db } from '../src/db/client.ts'
import { appendEvent } from '../src/events/append.ts'
import { findEnd } from '../src/events/read.ts'
import { openLogTail } from '../src/events/tail.ts'
import { createAccount } from '../src/library/accounts/accounts.ts'
import { createKey } from '../src/library/accounts/keys.ts'
import { createLogger } from '../src/logger.ts'
import { openApi } from '../src/server/main.ts'
import type { About } from './support/bench.ts'
import { openTemporaryDatabase, type TemporaryDatabase } from './support/postgres.ts'
import { startTemporaryRedis } from './support/redis.ts'
import { median, percentile, round } from './support/stats.ts'

/** Aims: what the event log promises to those who follow it. */
export const about: About = {
  measures:
    'The event log over HTTP. The time from before a commit to the event on the live stream. Reads of the log for ' +
    'many followers. Events per second of pages of 1,000.',
  against:
    'a bare LISTEN on a connection of its own, told by the same commits. One follower. A bare cursor of PostgreSQL ' +
    'over the same rows, in turns. Pages and cursor are read by one client in a process of its own.',
  figures: [
    { what: 'commit to stream, p95 in milliseconds', at: ['tail_p95_ms'], atMost: 250 },
    { what: 'the same ÷ commit to NOTIFY', at: ['tail_ratio'] },
    { what: 'reads of the log for many followers ÷ for one', at: ['reads_ratio'], atMost: 1.5 },
    { what: 'events per second in pages ÷ of a bare cursor', at: ['ratio'], atLeast: 0.5 },
  ],
}

const PAGE = 1_000

export async function run(args: string[]): Promise<object | undefined> {
  if (args[0] === 'client') return serveReads(JSON.parse(args[1]!) as Addresses)
  const { values } = parseArgs({
    args,
    options: {
      commits: { type: 'string', default: '200' },
      followers: { type: 'string', default: '500' },
      events: { type: 'string', default: '50000' },
      rounds: { type: 'string', default: '5' },
      json: { type: 'boolean' },
    },
  })
  const given = { commits: Number(values.commits), followers: Number(values.followers), rounds: Number(values.rounds) }
  await using database = await openTemporaryDatabase()
  const reads = await countReads(database, given)
  await using service = await serve(database)
  const tail = await measureTail(database, service, given)
  await fill(database.db, Number(values.events))
  const pages = await measurePages(database, service, given)
  if (!values.json) {
    console.log(
      `commit to stream    p50 ${tail.tail_p50_ms} ms, p95 ${tail.tail_p95_ms} ms (${tail.tail_ratio} × NOTIFY)`,
    )
    console.log(
      `reads of the log    ${reads.reads_of_many} for ${given.followers} followers, ${reads.reads_of_one} for one`,
    )
    console.log(`events per second   ${pages.pages_per_second} in pages, ${pages.cursor_per_second} of a bare cursor`)
  }
  return {
    bench: 'events',
    ratio_of: 'events per second of GET /api/events in pages of 1,000 ÷ of a bare cursor over the same rows',
    ...tail,
    ...reads,
    ...pages,
  }
}

function write(db: Db, subject: string): Promise<void> {
  return db.transaction((tx) =>
    appendEvent(tx, { type: 'key.revoked', subject, accountId: null, data: { key_id: subject } }),
  )
}

/** Counts the reads of the log while events are appended one by one, for one follower and for many. */
async function countReads({ db, url }: TemporaryDatabase, given: { commits: number; followers: number }) {
  const counts: number[] = []
  for (const followers of [1, given.followers]) {
    let reads = 0
    const execute: Db['execute'] = (query) => {
      reads++
      return db.execute(query)
    }
    const counted = Object.assign(Object.create(db), { execute }) as Db
    await using tail = openLogTail({ db: counted, url, logger: createLogger({ level: 'error' }) })
    const after = await findEnd(db)
    const stop = new AbortController()
    let seen = 0
    const all = Array.from({ length: followers }, async () => {
      for await (const events of tail.follow({ after, signal: stop.signal })) seen += events.length
    })
    while (reads < 2) await sleep(1)
    const before = reads
    for (let n = 1; n <= given.commits; n++) {
      await write(db, `${followers}-${n}`)
      while (seen < n * followers) await sleep(1)
    }
    counts.push(reads - before)
    stop.abort()
    await Promise.all(all)
  }
  const [one = 0, many = 0] = counts
  return { reads_of_one: one, reads_of_many: many, reads_ratio: round(many / one) }
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

const WAYS = ['cursor', 'pages'] as const

async function measurePages(
  { url: database }: TemporaryDatabase,
  { url, key }: Service,
  { rounds }: { rounds: number },
) {
  const addresses: Addresses = { database, url, key }
  const client = fork(join(import.meta.dirname, 'main.ts'), ['events', 'client', JSON.stringify(addresses)])
  const closed = once(client, 'exit')
  const speeds = { pages: [] as number[], cursor: [] as number[] }
  // The first turn warms both.
  for (let n = 0; n <= rounds; n++)
    for (const way of WAYS) {
      client.send(way)
      const [speed] = (await once(client, 'message')) as [number]
      if (n > 0) speeds[way].push(speed)
    }
  client.disconnect()
  await closed
  return {
    pages_per_second: Math.round(median(speeds.pages)),
    cursor_per_second: Math.round(median(speeds.cursor)),
    ratio: round(median(speeds.pages.map((speed, at) => speed / speeds.cursor[at]!))),
  }
}

/** The client's process: reads the whole log in the requested way, and answers with the events per second. */
async function serveReads(addresses: Addresses): Promise<undefined> {
  process.on('message', (way: (typeof WAYS)[number]) => {
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
