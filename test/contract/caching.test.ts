import { createServer, get as httpGet, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import express from 'express'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AppError } from '../../src/errors.ts'
import { clientIp } from '../../src/http/client-address.ts'
import { createAccount } from '../../src/library/accounts/accounts.ts'
import { saveFrame } from '../../src/library/collections/saves.ts'
import { createLogger } from '../../src/logger.ts'
import type { LibrarySearch } from '../../src/search/library-search.ts'
import { openPostgresSearch } from '../../src/search/postgres/search.ts'
import { type ResilientOptions, resilientSearch } from '../../src/search/resilient.ts'
import type { AppOverrides } from '../../src/server/build-app.ts'
import { type OpenApi, openApi } from '../../src/server/main.ts'
import { seedVideo } from '../support/seed.ts'
import { openService, type Service } from '../support/service.ts'

/** What an edge cache and a client may keep. Reads run on real rows; calls to the engine are counted on their way through. */

let service: Service
let url: string
/** The real search; its calls are counted, and held or failed as a test asks. */
let counted: LibrarySearch
let calls: string[] = []
let version = 'v1'
/** While set, searches wait for it, or fail with it. */
let gate: Promise<void> | undefined
let failure: Error | undefined
let videoId: string
let frameId: string

const silent = createLogger({ level: 'silent' })

const openApis: OpenApi[] = []

/** Another API process on the service's stores, over `search`. */
async function apiOver(search: LibrarySearch, overrides: AppOverrides & { level?: string } = {}): Promise<string> {
  const { level = 'silent', ...others } = overrides
  const { stores, config } = service
  const api = await openApi({
    config,
    databaseUrl: stores.databaseUrl,
    redisUrl: stores.redisUrl,
    logger: createLogger({ level }, { write: () => undefined }),
    prefix: stores.prefix,
    port: 0,
    host: '127.0.0.1',
    overrides: { versionTtlMs: 0, search: () => search, ...others },
  })
  openApis.push(api)
  return `http://127.0.0.1:${api.port}`
}

beforeAll(async () => {
  service = await openService()
  const seeded = await seedVideo(service.stores.db, {
    title: 'Kept',
    frames: Array.from({ length: 40 }, (_, n) => ({
      caption: `Frame ${n} of a kite over the sea`,
      subject: n % 2 ? ('ui' as const) : ('chart' as const),
    })),
  })
  videoId = seeded.id
  frameId = seeded.frameIds[0]!
  await service.drain()
  const real = openPostgresSearch(service.stores.db.$client)
  const search = new Proxy(real, {
    get(target, name: keyof LibrarySearch) {
      const member = target[name]
      if (name === 'version') return async () => version
      if (typeof member !== 'function') return member
      return async (...given: unknown[]) => {
        calls.push(name)
        await gate
        if (failure) throw failure
        return (member as (...given: unknown[]) => unknown)(...given)
      }
    },
  })
  counted = search
  url = await apiOver(search)
})
afterAll(async () => {
  for (const api of openApis) await api.stop()
  await service[Symbol.asyncDispose]()
})

interface Raw {
  status: number
  headers: IncomingMessage['headers']
  body: Buffer
}

/** As sent: fetch would decode the body and hide the encoding. */
function ask(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Raw> {
  return new Promise((resolve, reject) => {
    const req = httpGet(url + path, { headers, method }, (res) => {
      const chunks: Buffer[] = []
      res.on('data', (chunk: Buffer) => chunks.push(chunk))
      res.on('end', () => resolve({ status: res.statusCode!, headers: res.headers, body: Buffer.concat(chunks) }))
    })
    req.on('error', reject)
  })
}

/** The engine's work for what `act` does. */
async function searchesOf(act: () => Promise<unknown>): Promise<string[]> {
  calls = []
  await act()
  return calls
}

/** A question nobody has asked before, under a version of its own. */
let asked = 0
function fresh(): void {
  version = `v${++asked}-test`
}

const paths = () => [
  '/api/frames',
  '/api/search?q=kite',
  `/api/videos/${videoId}/frames`,
  '/api/videos',
  `/api/videos/${videoId}`,
  `/api/frames/${frameId}`,
  `/api/frames/${frameId}/similar`,
  '/api/techniques',
  '/api/brands',
]
const KEPT = ['etag', 'cache-control', 'vary', 'access-control-allow-origin', 'access-control-expose-headers']
const kept = ({ headers }: Raw) => Object.fromEntries(KEPT.map((name) => [name, headers[name]]))

test('every open read has an ETag, and a 304 for it runs no search at all', async () => {
  fresh()
  for (const path of paths()) {
    const first = await ask(path)
    expect([first.status, first.headers.etag], path).toEqual([200, expect.stringMatching(/^W\/"[^"]+"$/)])
    const searches = await searchesOf(async () => {
      const again = await ask(path, { 'if-none-match': first.headers.etag! })
      expect([again.status, again.body.length], path).toEqual([304, 0])
      expect(again.headers['content-type']).toBeUndefined()
    })
    expect(searches, path).toEqual([])
  }
})

test('the ETag is answered even where nothing is in memory: the version alone decides', async () => {
  fresh()
  const { headers } = await ask('/api/frames?subject=ui')
  // Another instance, whose memory is empty.
  const refuse = new Proxy({} as LibrarySearch, {
    get(_, name) {
      if (name === 'version') return async () => version
      if (name === 'engineEpoch') return undefined
      throw new Error('no search may run')
    },
  })
  const answer = await fetch(`${await apiOver(refuse)}/api/frames?subject=ui`, {
    headers: { 'if-none-match': headers.etag! },
  })
  expect(answer.status).toBe(304)
})

test('what the other engine answered is never kept under the first one’s version', async () => {
  let away = false
  const fake = (engine: 'meilisearch' | 'postgres', caption: string) =>
    ({
      engine,
      version: async () => '7',
      asOf: async () => null,
      handles: { search: () => true, frames: () => true },
      probe: async () => {
        if (away) throw new Error('away')
      },
      search: async () => {
        if (away && engine === 'meilisearch') throw new Error('away')
        return {
          videos: [{ document: { title: caption }, score: 1, matched: {} }],
          frames: [],
          brands: [],
          techniques: [],
        }
      },
    }) as unknown as ResilientOptions['primary']
  let time = 0
  const search = resilientSearch({
    primary: fake('meilisearch', 'first'),
    fallback: fake('postgres', 'second'),
    logger: silent,
    now: () => time,
  })
  const own = await apiOver(search, { versionTtlMs: 1_000 })
  const read = async (path: string) => {
    const answer = await fetch(`${own}${path}`)
    const { videos } = (await answer.json()) as { videos: { title: string }[] }
    return [videos[0]!.title, answer.headers.get('etag')?.slice(3, 4) ?? answer.headers.get('cache-control')]
  }
  expect(await read('/api/search?q=a')).toEqual(['first', 'm'])
  away = true
  expect(await read('/api/search?q=b')).toEqual(['second', 'no-store'])
  expect(await read('/api/search?q=b')).toEqual(['second', 'p'])
  expect(await read('/api/search?q=a')).toEqual(['second', 'p'])
  away = false
  time = 1_001
  await search.version()
  await expect.poll(() => search.engine).toBe('meilisearch')
  for (const q of ['a', 'b']) expect(await read(`/api/search?q=${q}`)).toEqual(['first', 'm'])
})

test('200 and 304 carry the same headers, from memory and not', async () => {
  fresh()
  const cold = await ask('/api/frames')
  const warm = await ask('/api/frames')
  const unchanged = await ask('/api/frames', { 'if-none-match': cold.headers.etag! })
  expect(kept(warm)).toEqual(kept(cold))
  expect(kept(unchanged)).toEqual(kept(cold))
  expect(kept(cold)).toMatchObject({
    'cache-control': 'public, max-age=300, s-maxage=300, stale-while-revalidate=60, stale-if-error=600',
    vary: 'Accept-Encoding',
    'access-control-allow-origin': '*',
  })
  for (const answer of [cold, warm, unchanged]) {
    expect(answer.headers['x-request-id']).toMatch(/^[\w.-]{1,64}$/)
    expect(answer.headers['x-content-type-options']).toBe('nosniff')
    expect(answer.headers['set-cookie']).toBeUndefined()
  }
  expect(Object.keys(warm.headers).sort()).toEqual(Object.keys(cold.headers).sort())
  expect(warm.body).toEqual(cold.body)
})

test.each([
  ['the tag', (etag: string) => etag, 304],
  ['its strong form', (etag: string) => etag.slice(2), 304],
  ['a list that holds it', (etag: string) => `"other", ${etag},W/"third"`, 304],
  ['a list without spaces', (etag: string) => `"other",${etag}`, 304],
  ['*', () => '*', 304],
  ['another tag', () => 'W/"other"', 200],
  ['its text without quotes', (etag: string) => etag.slice(3, -1), 200],
  ['a part of it', (etag: string) => etag.slice(0, -2), 200],
  ['nothing', () => '', 200],
  ['junk', () => ',,,"', 200],
])('If-None-Match with %s', async (_, condition, status) => {
  fresh()
  const { headers } = await ask('/api/frames')
  expect((await ask('/api/frames', { 'if-none-match': condition(headers.etag!) })).status).toBe(status)
})

test('* on what does not exist is 404, and on a bad question 400', async () => {
  fresh()
  expect((await ask('/api/videos/nosuchvideo', { 'if-none-match': '*' })).status).toBe(404)
  expect((await ask('/api/frames?q=kite&page=9999', { 'if-none-match': '*' })).status).toBe(400)
})

test('HEAD answers as GET does, without a body', async () => {
  fresh()
  for (const path of paths()) {
    const get = await ask(path)
    const head = await ask(path, {}, 'HEAD')
    expect([head.status, head.body.length], path).toEqual([200, 0])
    for (const name of [...KEPT, 'content-type', 'content-length'])
      expect(head.headers[name], `${path} ${name}`).toBe(get.headers[name])
    expect((await ask(path, { 'if-none-match': get.headers.etag! }, 'HEAD')).status).toBe(304)
  }
})

describe('equal questions share one answer', () => {
  test.each([
    ['/api/frames?subject=ui&tone=dark', '/api/frames?tone=dark&subject=ui'],
    ['/api/frames?subject=ui&subject=chart', '/api/frames?subject=chart,ui'],
    ['/api/frames?subject=ui&subject=ui', '/api/frames?subject=ui'],
    ['/api/frames', '/api/frames?page=1&q=&facets=0&variety=off&provenance=0&debug=0'],
    ['/api/frames?q=%20kite%20', '/api/frames?q=kite'],
    ['/api/frames?q=caf%C3%A9', '/api/frames?q=cafe%CC%81'],
    ['/api/frames?color=%23FFF', '/api/frames?color=ffffff'],
    ['/api/search?q=kite&limit=6', '/api/search?q=kite'],
    ['/api/search?q=kite&limit=20', '/api/search?limit=999&q=kite'],
    ['/api/search?q=two+words', '/api/search?q=two%20words'],
    ['/api/search?q=two++words', '/api/search?q=two%09words'],
    ['/api/search?q=+', '/api/search'],
    ['/api/frames?sort=newest', '/api/frames'],
    ['/api/frames?sort=relevance&q=kite', '/api/frames?q=kite'],
  ])('%s and %s', async (one, other) => {
    fresh()
    const first = await ask(one)
    const searches = await searchesOf(async () => {
      const second = await ask(other)
      expect(second.headers.etag).toBe(first.headers.etag)
      expect(second.body).toEqual(first.body)
    })
    expect(searches).toEqual([])
  })

  test.each([
    ['/api/frames?subject=ui', '/api/frames?subject=chart'],
    ['/api/frames?subject=ui', '/api/frames?subject=ui&page=2'],
    ['/api/frames?author=a,b', '/api/frames?author=a&author=b'],
    ['/api/frames?q=kite', '/api/search?q=kite'],
    ['/api/frames?q=kite', '/api/frames?q=kite&sort=newest'],
    ['/api/frames?facets=1', '/api/frames'],
  ])('%s and %s do not', async (one, other) => {
    fresh()
    expect((await ask(one)).headers.etag).not.toBe((await ask(other)).headers.etag)
  })
})

test('many who ask the same at once are answered by one search', async () => {
  fresh()
  let open = () => {}
  gate = new Promise((resolve) => {
    open = resolve
  })
  const searches = await searchesOf(async () => {
    const waiting = Array.from({ length: 25 }, (_, n) =>
      ask(n % 2 ? '/api/frames?subject=ui&kind=cut' : '/api/frames?kind=cut&subject=ui'),
    )
    await expect.poll(() => calls.length).toBeGreaterThan(0)
    open()
    gate = undefined
    const answers = await Promise.all(waiting)
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(new Set(answers.map(({ body }) => body.toString())).size).toBe(1)
  })
  expect(searches).toEqual(['frames'])
})

test('an error is told to all who wait, kept by nobody, and forgotten', async () => {
  fresh()
  failure = new AppError('unavailable', 'A store is not answering.', { retryAfterSec: 5 })
  const failed = await Promise.all([ask('/api/frames?tone=dark'), ask('/api/frames?tone=dark')])
  failure = undefined
  for (const { status, headers, body } of failed) {
    expect([
      status,
      JSON.parse(body.toString()).code,
      headers['cache-control'],
      headers.etag,
      headers['retry-after'],
    ]).toEqual([503, 'unavailable', 'no-store', undefined, '5'])
  }
  expect((await ask('/api/frames?tone=dark')).status).toBe(200)
})

test('a read that fails asks the engine once and takes one rate point', async () => {
  fresh()
  await ask('/api/frames')
  failure = new AppError('unavailable', 'The database does not answer.', { retryAfterSec: 5 })
  const searches = await searchesOf(async () => {
    expect((await ask('/api/frames?tone=bright')).status).toBe(503)
  })
  failure = undefined
  expect(searches).toEqual(['frames'])

  await using limited = await openService({
    worker: false,
    env: { RATE_LIMIT_SCALE: '0.05' },
    overrides: { search: () => counted },
  })
  expect((await limited.get('/api/frames')).status).toBe(200)
  failure = new AppError('unavailable', 'The database does not answer.', { retryAfterSec: 5 })
  const statuses: number[] = []
  for (let n = 1; n <= 30; n++) statuses.push((await limited.get(`/api/frames?page=${n + 1}`)).status)
  failure = undefined
  // The budget is 30 points, and the first read took one.
  expect(statuses).toEqual([...Array.from({ length: 29 }, () => 503), 429])
})

test('the log level changes no answer', async () => {
  fresh()
  const verbose = await apiOver(counted, { level: 'debug' })
  for (const path of [...paths(), '/api/frames?page=0', '/api/videos/nosuchvideo', '/api/nothing']) {
    const [quiet, loud] = await Promise.all([fetch(url + path), fetch(verbose + path)])
    const headersOf = (answer: Response) => {
      const { date: _, 'x-request-id': __, ...rest } = Object.fromEntries(answer.headers)
      return rest
    }
    expect([loud.status, headersOf(loud), await loud.text()], path).toEqual([
      quiet.status,
      headersOf(quiet),
      await quiet.text(),
    ])
  }
})

test('a store that is away is 503 with Retry-After, so that an edge goes on with what it holds (stale-if-error)', async () => {
  fresh()
  failure = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  const { status, headers, body } = await ask('/api/search?q=away')
  failure = undefined
  expect([status, headers['retry-after'], headers['cache-control']]).toEqual([503, '5', 'no-store'])
  expect(body.toString()).not.toContain('ECONNREFUSED')
})

test.each([
  '/api/frames?page=0',
  '/api/videos/nosuchvideo',
  '/api/nothing',
  '/api/search?limit=x',
  '/api/frames?debug=1',
])('%s is not kept by anybody', async (path) => {
  const { headers } = await ask(path)
  expect([headers['cache-control'], headers.etag]).toEqual(['no-store', undefined])
})

test('another version is another answer', async () => {
  fresh()
  const { headers } = await ask('/api/frames')
  fresh()
  const next = await ask('/api/frames', { 'if-none-match': headers.etag! })
  expect(next.status).toBe(200)
  expect(next.headers.etag).not.toBe(headers.etag)
})

describe('compressed answers', () => {
  test.each([
    ['br', 'br'],
    ['gzip', 'gzip'],
    ['gzip, deflate, br', 'br or gzip'],
    ['br;q=0, gzip', 'gzip'],
    ['gzip;q=0', undefined],
    ['identity', undefined],
    ['zstd', undefined],
    ['*', 'br or gzip'],
    [undefined, undefined],
  ])('Accept-Encoding: %s is answered with %s and the same bytes', async (accepted, expected) => {
    fresh()
    for (const path of ['/api/frames', '/api/search?q=kite']) {
      const plain = await ask(path)
      // Cold, and then from memory.
      for (let n = 0; n < 2; n++) {
        const { headers, body } = await ask(path, accepted === undefined ? {} : { 'accept-encoding': accepted })
        const encoding = headers['content-encoding']
        expect(expected?.split(' or ') ?? [undefined]).toContain(encoding)
        const decoded = encoding === 'br' ? brotliDecompressSync(body) : encoding === 'gzip' ? gunzipSync(body) : body
        expect(decoded.equals(plain.body)).toBe(true)
        expect(headers.etag).toBe(plain.headers.etag)
        expect(headers.vary).toBe('Accept-Encoding')
        expect(Number(headers['content-length'])).toBe(body.length)
      }
    }
  })

  test('small answers are sent as they are', async () => {
    fresh()
    expect(
      (await ask('/api/frames?author=nobody', { 'accept-encoding': 'br' })).headers['content-encoding'],
    ).toBeUndefined()
  })
})

test('the memory is bounded: what was asked long ago is asked again', async () => {
  let searched = 0
  const search = {
    version: async () => 'v',
    techniques: async () => [],
    frames: async () => ({ frames: [], total: searched++ }),
  } as unknown as LibrarySearch
  const small = await apiOver(search, { readCacheBytes: 64 * 1024, versionTtlMs: 60_000 })
  const base = `${small}/api/frames?author=`
  for (let n = 0; n < 300; n++) await (await fetch(base + n)).text()
  expect(searched).toBe(300)
  await (await fetch(`${base}299`)).text()
  expect(searched).toBe(300)
  await (await fetch(`${base}0`)).text()
  expect(searched).toBe(301)
})

test('a save does not change the version; its count comes in a batch', async () => {
  const account = await createAccount(service.stores.db, { email: 'saver@example.com', plan: 'pro' })
  const before = await service.get('/api/frames')
  await saveFrame(service.stores.db, { accountId: account.id, frameId })
  await service.drain()
  expect((await service.get('/api/frames', { 'if-none-match': before.headers.get('etag')! })).status).toBe(304)
})

test('a new video changes it', async () => {
  const before = await service.get('/api/frames')
  await seedVideo(service.stores.db, { title: 'Another' })
  await service.drain()
  const after = await service.get('/api/frames', { 'if-none-match': before.headers.get('etag')! })
  expect(after.status).toBe(200)
  expect(after.json.frames.length).toBe(before.json.frames.length + 1)
})

test('CORS: any origin may read, and a preflight says so', async () => {
  const answer = await fetch(`${service.url}/api/frames`, { headers: { origin: 'https://elsewhere.example' } })
  expect(answer.headers.get('access-control-allow-origin')).toBe('*')
  expect(answer.headers.get('access-control-allow-credentials')).toBeNull()
  expect(answer.headers.get('access-control-expose-headers')).toContain('ETag')
  expect(answer.headers.get('vary')).toBe('Accept-Encoding')
  const preflight = await fetch(`${service.url}/api/frames`, {
    method: 'OPTIONS',
    headers: { origin: 'https://elsewhere.example', 'access-control-request-method': 'GET' },
  })
  expect([
    preflight.status,
    preflight.headers.get('access-control-allow-origin'),
    preflight.headers.get('access-control-max-age'),
  ]).toEqual([204, '*', '86400'])
  const refused = await fetch(`${service.url}/api/frames?page=0`, { headers: { origin: 'https://elsewhere.example' } })
  expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([400, '*'])
})

test('OPTIONS without a preflight says what is allowed and, as nothing here is anything but JSON, has no body', async () => {
  for (const [path, allow] of [
    ['/api/frames', 'GET, HEAD'],
    ['/api/boards', 'GET, HEAD, POST'],
    ['/api/mcp', 'POST'],
  ] as const) {
    const answer = await fetch(`${service.url}${path}`, { method: 'OPTIONS' })
    expect([answer.status, answer.headers.get('allow'), await answer.text()], path).toEqual([204, allow, ''])
  }
  expect((await fetch(`${service.url}/api/nothing`, { method: 'OPTIONS' })).status).toBe(404)
})

test('images never change and say so; a name that is none is 404', async () => {
  for (const name of [
    'none.webp',
    '..%2f..%2fetc%2fpasswd',
    'abcdefgh-1-00000000.webp',
    '%00.webp',
    'a'.repeat(3_000),
    'abcdefgh-1-00000000.webp%00.png',
  ]) {
    const answer = await service.get(`/media/${name}`)
    expect([answer.status, answer.json.code], name).toEqual([404, 'not_found'])
    expect(answer.headers.get('cache-control')).toBe('no-store')
  }
})

test('what Node would answer by itself is JSON too', async () => {
  for (const [text, status] of [
    ['GARBAGE\r\n\r\n', 400],
    ['GET /api/frames HTTP/1.1\r\nHost: x\r\nBad Header: 1\r\n\r\n', 400],
    ['GET /api/frames HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    [`GET /api/frames HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
    [`GET /api/frames?q=${'a'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
    ['POST /api/mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 400],
  ] as const) {
    const answer = await rawRequest(service.api.port, text)
    expect(answer, text.slice(0, 60)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(answer.toLowerCase()).toContain('content-type: application/json')
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))).toMatchObject({
      code: 'invalid_request',
      message: expect.any(String),
    })
  }
  // Still there.
  expect((await service.get('/livez')).status).toBe(200)
})

function rawRequest(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    let answer = ''
    socket.setEncoding('utf8')
    socket.on('data', (chunk: string) => {
      answer += chunk
    })
    socket.on('close', () => resolve(answer))
    socket.on('error', (error) => (answer === '' ? reject(error) : resolve(answer)))
  })
}

test('warm reads count against the limit as cold ones do; the refusal is JSON and is not kept', async () => {
  await using limited = await openService({ worker: false, env: { RATE_LIMIT_SCALE: '0.05' } })
  const path = '/api/frames'
  for (let n = 0; n < 30; n++) expect((await limited.get(path)).status, String(n)).toBe(200)
  const { status, json, headers } = await limited.get(path)
  expect([status, json.code, headers.get('cache-control'), headers.get('etag')]).toEqual([
    429,
    'rate_limited',
    'no-store',
    null,
  ])
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  expect(headers.get('access-control-allow-origin')).toBe('*')
})

test.each([
  [0, undefined],
  [0, '1.1.1.1'],
  [1, undefined],
  [1, '1.1.1.1'],
  [1, '1.1.1.1, 2.2.2.2'],
  [2, '1.1.1.1, 2.2.2.2,3.3.3.3'],
  [5, '1.1.1.1, 2.2.2.2'],
  [1, ''],
])('behind %i proxies, X-Forwarded-For: %s is read as Express reads it', async (trustProxy, forwarded) => {
  const app = express()
  app.set('trust proxy', trustProxy)
  app.get('/', (req, res) => void res.json([req.ip, clientIp(req, trustProxy)]))
  const behind = createServer(app)
  await new Promise<void>((resolve) => behind.listen(0, '127.0.0.1', resolve))
  const answer = await fetch(`http://127.0.0.1:${(behind.address() as AddressInfo).port}/`, {
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  })
  const [theirs, ours] = (await answer.json()) as string[]
  expect(ours).toBe(theirs)
  behind.close()
})
