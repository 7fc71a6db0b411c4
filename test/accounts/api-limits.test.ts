import { createServer } from 'node:net'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { openRateLimits } from '../../src/http/rate-limit/rate-limits.ts'
import { setPlan } from '../../src/library/accounts/accounts.ts'
import { createKey, revokeKey } from '../../src/library/accounts/keys.ts'
import { listenOn } from '../support/listening.ts'
import { openTestApi, useTestApi } from './app.ts'
import { openPageVisitor } from './page-visitor.ts'
import { seedAccount, seedFrames } from './seed-frames.ts'

const api = useTestApi()

describe('Idempotency-Key', () => {
  test('the stored answer is replayed; another body is 422; a write that failed may be sent again', async () => {
    const { key } = await seedAccount(api.db)
    const post = (idempotency: string, body: unknown, path = '/api/boards') =>
      api.call(path, { method: 'POST', key, body, headers: { 'idempotency-key': idempotency } })
    const first = await post('k1', { name: 'once' })
    const again = await post('k1', { name: 'once' })
    expect([again.status, again.text]).toEqual([201, first.text])
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
    const { key: other } = await seedAccount(api.db)
    const asked = { method: 'POST', key: other, body: { name: 'mine' }, headers: { 'idempotency-key': 'k1' } }
    expect((await api.call('/api/boards', asked)).json.board.name).toBe('mine')
  })

  test('of twelve equal requests at once one writes; the others get its answer or are told that it runs', async () => {
    const { key } = await seedAccount(api.db)
    const sent = { method: 'POST', key, body: { name: 'once' }, headers: { 'idempotency-key': 'at-once' } }
    const answers = await Promise.all(Array.from({ length: 12 }, () => api.call('/api/boards', sent)))
    const { boards } = (await api.call('/api/boards', { key })).json
    expect(boards).toHaveLength(1)
    for (const { status, json } of answers) {
      if (status === 409) expect(json.code).toBe('conflict')
      else expect([status, json.board.id]).toEqual([201, boards[0].id])
    }
  })

  test('while the first request runs, the second is told when to ask again', async () => {
    const { account, key } = await seedAccount(api.db)
    const sent = { method: 'POST', key, body: { name: 'held' }, headers: { 'idempotency-key': 'held' } }
    const holder = await api.db.$client.connect()
    await holder.query('begin')
    await holder.query('select 1 from accounts where id = $1 for update', [account.id])
    const both = [api.call('/api/boards', sent), api.call('/api/boards', sent)]
    const { status, headers } = await Promise.race(both)
    expect([status, headers.get('retry-after')]).toEqual([409, '1'])
    await holder.query('rollback')
    holder.release()
    expect((await Promise.all(both)).map((answer) => answer.status).sort()).toEqual([201, 409])
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
  const remaining = (headers: Headers) => Number(/r=(\d+)/.exec(headers.get('ratelimit')!)![1])

  test('all keys of an account share one budget, over HTTP, MCP and pages; a new key is no new budget', async () => {
    // A Pro account may spend 60 points, a free one 12.
    await using visitor = await openPageVisitor({ scale: 0.01 })
    const { api } = visitor
    const { key, account } = await seedAccount(api.db)
    const second = await createKey(api.db, { accountId: account.id, name: 'second' })
    const { headers } = await api.call('/api/boards', { key })
    expect(headers.get('ratelimit-policy')).toBe('"default";q=60;w=60')
    expect(headers.get('ratelimit')).toMatch(/^"default";r=59;t=\d+$/)
    expect(remaining((await api.call('/api/boards', { key: second.key })).headers)).toBe(58)
    const tools = { method: 'POST', body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } }
    expect(remaining((await api.call('/api/mcp', { ...tools, key })).headers)).toBe(57)
    for (let n = 0; n < 57; n++) expect((await api.call('/api/boards', { key })).status).toBe(200)
    await revokeKey(api.db, { accountId: account.id, keyId: second.record.id })
    const third = await createKey(api.db, { accountId: account.id, name: 'third' })
    for (const one of [key, third.key]) {
      const over = await api.call('/api/boards', { key: one })
      expect(over).toMatchObject({ status: 429, json: { code: 'rate_limited' } })
      expect(Number(over.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(remaining(over.headers)).toBe(0)
    }
    expect((await api.call('/api/mcp', { ...tools, key: third.key })).status).toBe(429)
    await setPlan(api.db, { accountId: account.id, plan: 'free' })
    expect((await api.call('/api/boards', { key })).status).toBe(429)

    const { cookie, post } = await visitor.signIn('pages@example.org')
    // Wherever they come from.
    const usedUp = { 'x-forwarded-for': '198.51.100.7', accept: 'text/html' }
    const status = async (path: string, given: string) =>
      (await api.call(path, { headers: { ...usedUp, cookie: given } })).status
    for (let n = 0; n < 6; n++) await status(`/nothing/${n}`, '')
    for (const path of ['/nothing', '/privacy', '/keys'])
      for (const none of ['', cookie.replace(/.{5}$/, 'AAAAA')])
        expect([path, await status(path, none)]).toEqual([path, 429])
    expect([await status('/nothing', cookie), await status('/privacy', cookie)]).toEqual([404, 200])
    const page = await api.call('/keys', { headers: { ...usedUp, cookie } })
    expect(page.text).toContain('3 of 12 points')
    const create = async () => (await post('/web/keys', { name: 'one', scope: 'saves:read', expires: '0' })).status
    expect([await create(), await create()]).toEqual([201, 429])
    const { rows } = await api.db.$client.query(`select count(*)::int as made from api_keys where name = 'one'`)
    expect(rows[0].made).toBe(1)
  })

  test('with Redis away requests are answered and still limited, by this process', async () => {
    const silent = createServer((socket) => socket.on('error', () => undefined))
    const { port } = await listenOn(silent)
    for (const redisUrl of ['redis://127.0.0.1:1', `redis://127.0.0.1:${port}`]) {
      await using cut = await openTestApi({ scale: 0.001, redisUrl })
      const { key } = await seedAccount(cut.db)
      const statuses = []
      for (let n = 0; n < 8; n++) statuses.push((await cut.call('/api/boards', { key })).status)
      expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 429, 429])
    }
    silent.close()
  })

  test.each([1, 2])('%i processes give out one budget to the last point, however many ask at once', async (count) => {
    const { redisUrl, prefix } = api.stores
    const logger = pino({ level: 'silent' })
    // A busy machine is no Redis that is away.
    const open = () => openRateLimits({ redisUrl, scale: 1, logger, prefix: `${prefix}:${count}`, patienceMs: 15_000 })
    const limits = Array.from({ length: count }, open)
    const consume = (n: number, from: string) => limits[n % count]!.consume('anonymous', from, count)
    for (let n = 1; n <= 20; n++) expect((await consume(n, '192.0.2.2')).remaining).toBe(600 - count * n)
    expect((await limits[0]!.peek('anonymous', '192.0.2.2')).remaining).toBe(600 - 20 * count)
    let spent = 0
    const spendAll = async (n: number) => {
      try {
        for (;;) {
          await consume(n, '192.0.2.1')
          spent += count
        }
      } catch (error) {
        expect(error).toMatchObject({ code: 'rate_limited' })
      }
    }
    await Promise.all(Array.from({ length: 8 }, (_, n) => spendAll(n)))
    expect(spent).toBe(600)
    for (const one of limits) await one[Symbol.asyncDispose]()
  })
})
