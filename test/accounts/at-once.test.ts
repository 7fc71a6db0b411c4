import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { saveFrames } from '../../src/library/collections/saves.ts'
import { openTestApi, type TestApi } from './app.ts'
import { seedAccount, seedFrames } from './seed-frames.ts'

/** What one client may have under way at a time: uploads, and answers that have no bound. */

let api: TestApi
beforeAll(async () => {
  api = await openTestApi({ scale: 1 })
})
afterAll(() => api[Symbol.asyncDispose]())

const remaining = (headers: Headers) => Number(/r=(\d+)/.exec(headers.get('ratelimit')!)![1])

function begin(path: string, options: { method: string; headers: Record<string, string> }): ClientRequest {
  return request(api.url + path, options).on('error', () => {})
}

/** The answer, without reading it. */
const answerOf = (sent: ClientRequest) =>
  new Promise<IncomingMessage>((resolve) => sent.once('response', (answer) => resolve(answer.pause())))

test('an account has four uploads under way; a fifth is refused until one ends', async () => {
  const { key } = await seedAccount(api.db, { role: 'operator' })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'video/mp4' }
  const running: ClientRequest[] = []
  /** Begins again when another request took its place meanwhile. */
  const drip = (n: number) => {
    const sent = begin('/api/videos', { method: 'POST', headers: { ...headers, 'content-length': '1000' } })
    running[n] = sent.once('response', () => drip(n))
    sent.write('x')
  }
  const small = () => api.call('/api/videos', { method: 'POST', body: 'xy', headers })
  for (let n = 0; n < 4; n++) drip(n)
  await expect.poll(async () => (await small()).status).toBe(429)
  const refused = await small()
  expect(refused.json).toMatchObject({ code: 'rate_limited' })
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  running[0]!.destroy()
  await expect.poll(async () => (await small()).status).toBe(202)
  for (const sent of running) sent.removeAllListeners('response').destroy()
})

test('an upload costs a point a megabyte', async () => {
  const { key } = await seedAccount(api.db, { role: 'operator' })
  const upload = async (bytes: number) =>
    fetch(`${api.url}/api/videos`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'video/mp4' },
      body: new Uint8Array(bytes),
    })
  const first = remaining((await upload(1)).headers)
  expect(remaining((await upload(3_000_000)).headers)).toBe(first - 5 - 3)
})

test('four long answers that nobody reads are all that an account may hold, and other answers go on', async () => {
  const { key, account } = await seedAccount(api.db)
  for (let n = 0; n < 12; n++)
    await saveFrames(api.db, { accountId: account.id, frameIds: (await seedFrames(api.db, { count: 500 })).frameIds })
  const headers = { authorization: `Bearer ${key}`, 'x-forwarded-for': '203.0.113.90' }
  const unread = Array.from({ length: 4 }, () => {
    const sent = begin('/api/favourites', { method: 'GET', headers })
    sent.end()
    return sent
  })
  for (const answer of await Promise.all(unread.map(answerOf))) expect(answer.statusCode).toBe(200)
  for (const path of ['/api/favourites', '/api/favourites/export'])
    expect(await api.call(path, { key })).toMatchObject({ status: 429, json: { code: 'rate_limited' } })
  const other = await seedAccount(api.db)
  const elsewhere = (address: string) =>
    api.call('/api/favourites', { key: other.key, headers: { 'x-forwarded-for': address } })
  expect((await elsewhere('203.0.113.90')).status).toBe(429)
  expect((await elsewhere('203.0.113.91')).status).toBe(200)
  expect((await api.call('/api/favourites?limit=10', { key })).status).toBe(200)
  for (const sent of unread) sent.destroy()
  await expect.poll(async () => (await api.call('/api/favourites', { key })).status).toBe(200)
})
