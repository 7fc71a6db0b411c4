import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { AppError } from '../../src/errors.ts'
import { createAccount } from '../../src/library/accounts/accounts.ts'
import { saveFrame } from '../../src/library/collections/saves.ts'
import type { LibrarySearch } from '../../src/search/library-search.ts'
import { useOpened } from '../support/closing.ts'
import { seedVideo } from '../support/seed.ts'
import { openService } from '../support/service.ts'
import { openCountedApi, type Raw } from './counted-api.ts'

/** What an edge cache and a client may keep. Reads run on real rows, and calls to the engine are counted. */

const api = useOpened(openCountedApi)

const paths = () => [
  '/api/frames',
  '/api/search?q=kite',
  `/api/videos/${api.videoId}/frames`,
  '/api/videos',
  `/api/videos/${api.videoId}`,
  `/api/frames/${api.frameId}`,
  `/api/frames/${api.frameId}/similar`,
  '/api/techniques',
  '/api/brands',
]
const KEPT = ['etag', 'cache-control', 'vary', 'access-control-allow-origin', 'access-control-expose-headers']
const kept = ({ headers }: Raw) => Object.fromEntries(KEPT.map((name) => [name, headers[name]]))

test('every open read has an ETag, and a 304 for it runs no search at all', async () => {
  api.fresh()
  for (const path of paths()) {
    const first = await api.ask(path)
    expect([first.status, first.headers.etag], path).toEqual([200, expect.stringMatching(/^W\/"[^"]+"$/)])
    expect(first.headers['cache-control'], path).toBe(
      'public, max-age=300, s-maxage=300, stale-while-revalidate=60, stale-if-error=600',
    )
    const searches = await api.searchesOf(async () => {
      const again = await api.ask(path, { 'if-none-match': first.headers.etag! })
      expect([again.status, again.body.length], path).toEqual([304, 0])
      expect(again.headers['content-type']).toBeUndefined()
    })
    expect(searches, path).toEqual([])
  }
})

test('the ETag is answered even where nothing is in memory: the version alone decides', async () => {
  api.fresh()
  const { headers } = await api.ask('/api/frames?subject=ui')
  // Another instance, whose memory is empty.
  const refuse = new Proxy({} as LibrarySearch, {
    get(_, name) {
      if (name === 'version') return async () => api.engine.version
      throw new Error('no search may run')
    },
  })
  const answer = await fetch(`${await api.apiOver(refuse)}/api/frames?subject=ui`, {
    headers: { 'if-none-match': headers.etag! },
  })
  expect(answer.status).toBe(304)
})

test('200 and 304 carry the same headers, from memory and not', async () => {
  api.fresh()
  const cold = await api.ask('/api/frames')
  const warm = await api.ask('/api/frames')
  const unchanged = await api.ask('/api/frames', { 'if-none-match': cold.headers.etag! })
  expect(kept(warm)).toEqual(kept(cold))
  expect(kept(unchanged)).toEqual(kept(cold))
  expect(kept(cold)).toMatchObject({
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
  api.fresh()
  const { headers } = await api.ask('/api/frames')
  expect((await api.ask('/api/frames', { 'if-none-match': condition(headers.etag!) })).status).toBe(status)
})

test('* on what does not exist is 404, and on a bad question 400', async () => {
  api.fresh()
  expect((await api.ask('/api/videos/nosuchvideo', { 'if-none-match': '*' })).status).toBe(404)
  expect((await api.ask('/api/frames?q=kite&page=9999', { 'if-none-match': '*' })).status).toBe(400)
})

test('HEAD answers as GET does, without a body', async () => {
  api.fresh()
  for (const path of paths()) {
    const get = await api.ask(path)
    const head = await api.ask(path, {}, 'HEAD')
    expect([head.status, head.body.length], path).toEqual([200, 0])
    for (const name of [...KEPT, 'content-type', 'content-length'])
      expect(head.headers[name], `${path} ${name}`).toBe(get.headers[name])
    expect((await api.ask(path, { 'if-none-match': get.headers.etag! }, 'HEAD')).status).toBe(304)
  }
})

describe('equal questions share one answer', () => {
  test.each([
    ['/api/frames?subject=ui&tone=dark', '/api/frames?tone=dark&subject=ui'],
    ['/api/frames?subject=ui&subject=chart', '/api/frames?subject=chart,ui'],
    ['/api/frames?subject=ui&subject=ui', '/api/frames?subject=ui'],
    ['/api/frames', '/api/frames?page=1&q=&facets=0&variety=off&provenance=0'],
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
    api.fresh()
    const first = await api.ask(one)
    const searches = await api.searchesOf(async () => {
      const second = await api.ask(other)
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
    api.fresh()
    expect((await api.ask(one)).headers.etag).not.toBe((await api.ask(other)).headers.etag)
  })
})

test('an error is told to all who wait, kept by nobody, and forgotten', async () => {
  api.fresh()
  api.engine.failure = new AppError('unavailable', 'A store is not answering.', { retryAfterSec: 5 })
  const failed = await Promise.all([api.ask('/api/frames?tone=dark'), api.ask('/api/frames?tone=dark')])
  api.engine.failure = undefined
  for (const { status, headers, body } of failed) {
    expect([
      status,
      JSON.parse(body.toString()).code,
      headers['cache-control'],
      headers.etag,
      headers['retry-after'],
    ]).toEqual([503, 'unavailable', 'no-store', undefined, '5'])
  }
  expect((await api.ask('/api/frames?tone=dark')).status).toBe(200)
})

test('a read that fails asks the engine once and takes its price once', async () => {
  api.fresh()
  await api.ask('/api/frames')
  api.engine.failure = new AppError('unavailable', 'The database does not answer.', { retryAfterSec: 5 })
  const searches = await api.searchesOf(async () => {
    expect((await api.ask('/api/frames?tone=bright')).status).toBe(503)
  })
  api.engine.failure = undefined
  expect(searches).toEqual(['frames'])

  await using limited = await openService({
    worker: false,
    env: { RATE_LIMIT_SCALE: '0.05' },
    overrides: { search: () => api.search },
  })
  expect((await limited.get('/api/frames')).status).toBe(200)
  api.engine.failure = new AppError('unavailable', 'The database does not answer.', { retryAfterSec: 5 })
  const statuses: number[] = []
  for (let n = 1; n <= 15; n++) statuses.push((await limited.get(`/api/frames?page=${n + 1}`)).status)
  api.engine.failure = undefined
  // The budget is 30 points, and the first read took two.
  expect(statuses).toEqual([...Array.from({ length: 14 }, () => 503), 429])
})

test(
  'a store that is away is 503 with Retry-After, ' + 'so that an edge goes on with what it holds (stale-if-error)',
  async () => {
    api.fresh()
    api.engine.failure = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    const { status, headers, body } = await api.ask('/api/search?q=away')
    api.engine.failure = undefined
    expect([status, headers['retry-after'], headers['cache-control']]).toEqual([503, '5', 'no-store'])
    expect(body.toString()).not.toContain('ECONNREFUSED')
  },
)

test.each(['/api/frames?page=0', '/api/videos/nosuchvideo', '/api/nothing', '/api/search?limit=x'])(
  '%s is not kept by anybody',
  async (path) => {
    const { headers } = await api.ask(path)
    expect([headers['cache-control'], headers.etag]).toEqual(['no-store', undefined])
  },
)

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
    api.fresh()
    for (const path of ['/api/frames', '/api/search?q=kite']) {
      const plain = await api.ask(path)
      // Cold, and then from memory.
      for (let n = 0; n < 2; n++) {
        const { headers, body } = await api.ask(path, accepted === undefined ? {} : { 'accept-encoding': accepted })
        const encoding = headers['content-encoding']
        expect(expected?.split(' or ') ?? [undefined]).toContain(encoding)
        const decode = encoding === undefined ? undefined : { br: brotliDecompressSync, gzip: gunzipSync }[encoding]
        const decoded = decode ? decode(body) : body
        expect(decoded.equals(plain.body)).toBe(true)
        expect(headers.etag).toBe(plain.headers.etag)
        expect(headers.vary).toBe('Accept-Encoding')
        expect(Number(headers['content-length'])).toBe(body.length)
      }
    }
  })

  test('small answers are sent as they are', async () => {
    api.fresh()
    expect(
      (await api.ask('/api/frames?author=nobody', { 'accept-encoding': 'br' })).headers['content-encoding'],
    ).toBeUndefined()
  })
})

test('a save does not change the version; its count comes in a batch', async () => {
  const account = await createAccount(api.service.stores.db, { email: 'saver@example.com', plan: 'pro' })
  const before = await api.service.get('/api/frames')
  await saveFrame(api.service.stores.db, { accountId: account.id, frameId: api.frameId })
  await api.service.drain()
  expect((await api.service.get('/api/frames', { 'if-none-match': before.headers.get('etag')! })).status).toBe(304)
})

test('a new video changes it', async () => {
  const before = await api.service.get('/api/frames')
  await seedVideo(api.service.stores.db, { title: 'Another' })
  await api.service.drain()
  const after = await api.service.get('/api/frames', { 'if-none-match': before.headers.get('etag')! })
  expect(after.status).toBe(200)
  expect(after.headers.get('etag')).not.toBe(before.headers.get('etag'))
  expect(after.json.frames.length).toBe(before.json.frames.length + 1)
})
