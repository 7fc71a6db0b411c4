import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTestApi, type TestApi } from './app.ts'
import { seedAccount, seedFrames } from './seed-frames.ts'

let api: TestApi
beforeAll(async () => {
  api = await openTestApi()
})
afterAll(() => api[Symbol.asyncDispose]())

describe('Idempotency-Key', () => {
  test('the stored answer is replayed; another body is 422; a write that failed may be sent again', async () => {
    const { key } = await seedAccount(api.db)
    const post = (idempotency: string, body: unknown, path = '/api/boards') =>
      api.call(path, { method: 'POST', key, body, headers: { 'idempotency-key': idempotency } })
    const first = await post('k1', { name: 'once' })
    const again = await post('k1', { name: 'once' })
    expect([again.status, again.json]).toEqual([201, first.json])
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(await post('k1', { name: 'other' })).toMatchObject({ status: 422, json: { code: 'idempotency_key_reused' } })
    expect(await post('k1', { name: 'once' }, `/api/boards/${first.json.board.id}/frames`)).toMatchObject({
      status: 400,
    })
    expect((await api.call('/api/boards', { key })).json.boards).toHaveLength(1)
    expect((await post('k2', { frameId: 'later' }, '/api/favourites')).status).toBe(404)
    const { frameIds } = await seedFrames(api.db, { count: 1 })
    expect((await post('k2', { frameId: frameIds[0] }, '/api/favourites')).status).toBe(200)
    expect((await post('white space', { name: 'x' })).status).toBe(400)
    // Another account's equal key is another key.
    const other = await seedAccount(api.db)
    expect(
      (
        await api.call('/api/boards', {
          method: 'POST',
          key: other.key,
          body: { name: 'mine' },
          headers: { 'idempotency-key': 'k1' },
        })
      ).json.board.name,
    ).toBe('mine')
  })

  test('after a day the key is free; a share link is told once and kept nowhere', async () => {
    const { key } = await seedAccount(api.db)
    const headers = { 'idempotency-key': 'day' }
    const first = await api.call('/api/boards', { method: 'POST', key, body: { name: 'a' }, headers })
    await api.db.$client.query(`update idempotency_keys set created_at = now() - interval '25 hours'`)
    const second = await api.call('/api/boards', { method: 'POST', key, body: { name: 'b' }, headers })
    expect(second.json.board.id).not.toBe(first.json.board.id)
    const share = () =>
      api.call(`/api/boards/${first.json.board.id}/share`, {
        method: 'POST',
        key,
        headers: { 'idempotency-key': 'share' },
      })
    const shared = await share()
    expect(shared.status).toBe(201)
    expect(await share()).toMatchObject({ status: 409, json: { code: 'conflict' } })
    expect((await api.call(shared.json.json_url.replace(api.url, ''))).status).toBe(200)
  })
})

describe('limits', () => {
  test('too many failed keys from one address are stopped before the look-up; others go on', async () => {
    await using small = await openTestApi({ scale: 0.1 })
    const { key } = await seedAccount(small.db)
    const from = (address: string, presented: string) =>
      small.call('/api/boards', { key: presented, headers: { 'x-forwarded-for': address } })
    for (let n = 0; n < 6; n++) expect((await from('203.0.113.7', 'wrong')).status).toBe(401)
    const stopped = await from('203.0.113.7', 'wrong')
    expect([stopped.status, stopped.json.code]).toEqual([429, 'rate_limited'])
    expect((await from('203.0.113.8', key)).status).toBe(200)
    for (let n = 0; n < 7; n++) await from(`2001:db8:1:2::${n}`, 'wrong')
    expect((await from('2001:db8:1:2:ffff::1', 'wrong')).status).toBe(429)
    expect((await from('2001:db8:1:3::1', 'wrong')).status).toBe(401)
  })

  test('with Redis away requests are answered and still limited, by this process', async () => {
    const silent = createServer((socket) => socket.on('error', () => undefined))
    silent.listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as { port: number }
    for (const redisUrl of ['redis://127.0.0.1:1', `redis://127.0.0.1:${port}`]) {
      await using cut = await openTestApi({ scale: 0.001, redisUrl })
      const { key } = await seedAccount(cut.db)
      const statuses = []
      for (let n = 0; n < 8; n++) statuses.push((await cut.call('/api/boards', { key })).status)
      expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 429, 429])
    }
    silent.close()
  })
})
