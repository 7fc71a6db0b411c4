import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { saveFrames } from '../../src/library/collections/saves.ts'
import { useFolder } from '../support/folder.ts'
import { openTestApi, useTestApi } from './app.ts'
import { seedAccount, seedFrames } from './seed-frames.ts'

/** What one client may have under way at a time: uploads, and answers that have no bound. */

const api = useTestApi({ scale: 1 })
const dataDir = useFolder()

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

test('an account has one long answer at a time; the next waits for it, and all else goes on', async () => {
  const { key, account } = await seedAccount(api.db)
  const { frameIds } = await seedFrames(api.db, { count: 600 })
  // More than a connection holds unread.
  await api.db.$client.query(`update frames set caption = repeat('a long caption ', 1000)`)
  await saveFrames(api.db, { accountId: account.id, frameIds })
  const headers = { authorization: `Bearer ${key}`, 'x-forwarded-for': '203.0.113.90' }
  const unread = begin('/api/favourites', { method: 'GET', headers })
  unread.end()
  expect((await answerOf(unread)).statusCode).toBe(200)
  const order: string[] = []
  const next = api.call('/api/favourites/export', { key }).then((answer) => {
    order.push('next')
    return answer
  })
  const other = await seedAccount(api.db)
  const beside = await api.call('/api/favourites', { key: other.key, headers: { 'x-forwarded-for': '203.0.113.90' } })
  const short = await api.call('/api/favourites?limit=10', { key })
  order.push('others')
  unread.destroy()
  expect([(await next).status, beside.status, short.status]).toEqual([200, 200, 200])
  expect(order).toEqual(['others', 'next'])
})

test('an upload is stored byte by byte, and what is sent after a refusal is passed over', async () => {
  await using api = await openTestApi({ env: { DATA_DIR: dataDir } })
  const { key } = await seedAccount(api.db, { role: 'operator' })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const send = (bytes: Buffer, path = '/api/videos') =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'video/mp4', 'content-length': bytes.length }
      const sent = request(api.url + path, { method: 'POST', agent, headers }, (answer) => {
        let text = ''
        answer.setEncoding('utf8').on('data', (part: string) => (text += part))
        answer.once('end', () => resolve({ status: answer.statusCode!, text }))
      })
      sent.once('error', reject).end(bytes)
    })
  const film = randomBytes(9 * 1024 * 1024 + 7)
  const { status, text } = await send(film)
  expect(status).toBe(202)
  const { rows } = await api.db.$client.query<{ source_key: string; upload_key: string }>(
    'select source_key, upload_key from videos where id = $1',
    [JSON.parse(text).video.id],
  )
  expect(rows[0]!.source_key).toBe(`sha256:${createHash('sha256').update(film).digest('hex')}`)
  expect(readFileSync(join(dataDir, 'store', rows[0]!.upload_key)).equals(film)).toBe(true)
  // Nothing takes this body, and the same connection serves the next request.
  expect((await send(film, '/api/nothing')).status).toBe(404)
  expect((await send(film.subarray(0, 5_000_000))).status).toBe(202)
  agent.destroy()
})
