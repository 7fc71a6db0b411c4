import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import autocannon from 'autocannon'
import express from 'express'
import { type Config, parseConfig } from '../src/config.ts'
import { createLogger } from '../src/logger.ts'
import { imageKeysOf, imageNamesOf } from '../src/media/image-name.ts'
import { openMediaStore } from '../src/media/open-store.ts'
import { openApi } from '../src/server/main.ts'
import { type About, optionsOf } from './support/bench.ts'
import { seedLibrary } from './support/library.ts'
import { openSeededDatabase, openTemporaryDatabase } from './support/postgres.ts'
import { startTemporaryRedis } from './support/redis.ts'
import { median, round } from './support/stats.ts'

const PATHS = { wall: '/api/frames', search: '/api/search?q=dark' } as const

/** Aims: 0.7 of the bare route for a warm read, 0.6 for a 304. `--seeded` reads the library in DATABASE_URL. */
export const about: About = {
  measures: 'Requests per second of warm reads over HTTP.',
  against:
    'a bare Express route that sends the same bytes with the same headers (and compares the same ETag for the 304). ' +
    'Both servers run in one child process and the load generator in another. They take turns.',
  figures: [
    { what: 'slowest warm read ÷ bare Express', at: ['ratio'], atLeast: 0.7 },
    { what: 'image of 12 kB ÷ `sendFile`', at: ['image_ratio'], atLeast: 0.6 },
    { what: '304 ÷ bare Express', at: ['not_modified_ratio'], atLeast: 0.6 },
  ],
}

export async function run(args: string[]): Promise<object | undefined> {
  if (args[0] === 'serve') return serve({ seeded: args[1] === 'seeded' })
  const values = optionsOf(args, { rounds: 7, seconds: 2, connections: 20, seeded: false })
  const server = fork(join(import.meta.dirname, 'main.ts'), ['reads', 'serve', values.seeded ? 'seeded' : ''], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const closed = once(server, 'exit')
  const [{ api, bare, etag, image }] = (await once(server, 'message')) as [Served]
  const cases: { name: string; path: string; headers: Record<string, string>; target: number }[] = [
    { name: 'wall', path: PATHS.wall, headers: {}, target: 0.7 },
    { name: 'wall, brotli', path: PATHS.wall, headers: { 'accept-encoding': 'br' }, target: 0.7 },
    { name: 'search', path: PATHS.search, headers: {}, target: 0.7 },
    { name: '304', path: PATHS.wall, headers: { 'if-none-match': etag }, target: 0.6 },
    { name: 'image', path: image, headers: {}, target: 0.6 },
  ]
  const cpuMs = async () => {
    server.send('cpu')
    return ((await once(server, 'message')) as [number])[0]
  }
  const load = async (base: string, { path, headers }: (typeof cases)[number], seconds: number) => {
    const before = await cpuMs()
    const result = await autocannon({
      url: base + path,
      headers,
      connections: values.connections,
      duration: seconds,
    })
    if (result.errors > 0 || result['4xx'] + result['5xx'] > 0)
      throw new Error(`${path}: ${result.errors} failed, ${result.non2xx} refused`)
    return { perSecond: result.requests.average, cpuMs: ((await cpuMs()) - before) / result.requests.total }
  }
  const rows = []
  for (const one of cases) {
    for (const base of [api, bare]) await load(base, one, 1)
    const rounds: { ours: Load; bare: Load }[] = []
    for (let n = 0; n < values.rounds; n++) {
      const [first, second] = n % 2 === 0 ? [api, bare] : [bare, api]
      const a = await load(first, one, values.seconds)
      const b = await load(second, one, values.seconds)
      rounds.push(n % 2 === 0 ? { ours: a, bare: b } : { ours: b, bare: a })
    }
    rows.push({
      name: one.name,
      ours: Math.round(median(rounds.map((each) => each.ours.perSecond))),
      bare: Math.round(median(rounds.map((each) => each.bare.perSecond))),
      ratio: round(median(rounds.map((each) => each.ours.perSecond / each.bare.perSecond))),
      // The server's processor time per request: what a busy machine does not blur.
      cpu_ratio: round(median(rounds.map((each) => each.bare.cpuMs / each.ours.cpuMs))),
      target: one.target,
    })
  }
  server.send('stop')
  await closed
  console.table(rows)
  return {
    bench: 'reads',
    ratio: Math.min(...rows.filter(({ target }) => target === 0.7).map(({ ratio }) => ratio)),
    ratio_of: 'requests per second of the slowest warm read to a bare Express route that sends the same bytes',
    not_modified_ratio: rows.find(({ name }) => name === '304')!.ratio,
    not_modified_ratio_of: 'requests per second of a 304 to a bare Express route that compares the ETag',
    image_ratio: rows.find(({ name }) => name === 'image')!.ratio,
    image_ratio_of: "requests per second of an image of 12 kB to Express's sendFile of the same file",
    cases: rows,
  }
}

/** The headers that a 200 and a 304 of the API share: the bare route sends the same. */
const ON_EVERY_ANSWER = [
  'etag',
  'cache-control',
  'vary',
  'x-request-id',
  'x-content-type-options',
  'referrer-policy',
  'access-control-allow-origin',
  'access-control-expose-headers',
]

interface Load {
  perSecond: number
  cpuMs: number
}

interface Served {
  api: string
  bare: string
  /** Of the wall's first page. */
  etag: string
  /** The path of an image of 12 kB. */
  image: string
}

async function serve({ seeded }: { seeded: boolean }): Promise<undefined> {
  const dir = mkdtempSync(join(tmpdir(), 'frames-bench-reads-'))
  const redis = await startTemporaryRedis({ dir, persistent: false })
  const database = seeded ? openSeededDatabase('reads') : await openTemporaryDatabase()
  if (!seeded) await seedLibrary(database.db, { frames: 2_000 })
  const config = parseConfig({
    PORT: '0',
    DATA_DIR: dir,
    PUBLIC_URL: 'http://localhost:3000',
    RATE_LIMIT_SCALE: '1000000',
  })
  const logger = createLogger({ level: 'info' })
  // As `frames api` does.
  const api = await openApi({
    config,
    databaseUrl: database.url,
    redisUrl: redis.url,
    logger,
    port: 0,
    host: '127.0.0.1',
  })
  const app = express()
  app.disable('etag')
  let etag = ''
  for (const path of Object.values(PATHS)) {
    const answers = new Map<string, { body: Buffer; headers: Record<string, string> }>()
    for (const encoding of ['identity', 'br']) {
      const answer = await rawAnswer(`http://127.0.0.1:${api.port}${path}`, encoding)
      answers.set(encoding, answer)
      if (path === PATHS.wall) etag = answer.headers.etag ?? ''
    }
    app.get(path.split('?')[0]!, (req, res) => {
      const { body, headers } = answers.get(req.headers['accept-encoding'] ?? 'identity')!
      for (const name of ON_EVERY_ANSWER) res.setHeader(name, headers[name]!)
      if (req.headers['if-none-match'] === headers.etag) {
        res.statusCode = 304
        res.end()
        return
      }
      res.setHeader('content-type', headers['content-type']!)
      if (headers['content-encoding']) res.setHeader('content-encoding', headers['content-encoding'])
      res.setHeader('content-length', body.length)
      res.end(body)
    })
  }
  const image = await putImage(config)
  app.get(image.path, (_req, res) => res.sendFile(image.file))
  const bare = createServer(app)
  await new Promise<void>((resolve) => bare.listen(0, '127.0.0.1', resolve))
  const served: Served = {
    api: `http://127.0.0.1:${api.port}`,
    bare: `http://127.0.0.1:${(bare.address() as AddressInfo).port}`,
    etag,
    image: image.path,
  }
  process.send!(served)
  await new Promise<void>((resolve) => {
    process.once('disconnect', resolve)
    process.on('message', (asked) => {
      if (asked === 'stop') return resolve()
      const { user, system } = process.cpuUsage()
      process.send!((user + system) / 1000)
    })
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

async function putImage(config: Config): Promise<{ path: string; file: string }> {
  const keys = imageKeysOf('benchvideo00-1a4c', '0f3c21ab'.repeat(8))
  await openMediaStore(config).put(keys.thumb, randomBytes(12_000), 'image/webp')
  return {
    path: `/media/${imageNamesOf('benchvideo00-1a4c', '0f3c21ab'.repeat(8)).thumb}`,
    file: join(config.dataDir, 'store', keys.thumb),
  }
}

/** The bytes as sent: fetch would decode them. */
function rawAnswer(url: string, encoding: string): Promise<{ body: Buffer; headers: Record<string, string> }> {
  return new Promise((resolve, reject) => {
    get(url, { headers: { 'accept-encoding': encoding } }, (res) => {
      const chunks: Buffer[] = []
      res.on('data', (chunk: Buffer) => chunks.push(chunk))
      res.on('end', () => resolve({ body: Buffer.concat(chunks), headers: res.headers as Record<string, string> }))
    }).on('error', reject)
  })
}
