import { afterAll, beforeAll, expect, test } from 'vitest'
import { createKey, revokeKey } from '../../src/library/accounts/keys.ts'
import { form, openPageVisitor, type PageVisitor } from './page-visitor.ts'
import { seedAccount } from './seed-frames.ts'

/** A budget belongs to the account: all its keys, the tools and the pages draw on it. */

let visitor: PageVisitor
beforeAll(async () => {
  // A Pro account may spend 60 points, a free one 12.
  visitor = await openPageVisitor({ scale: 0.01 })
})
afterAll(() => visitor[Symbol.asyncDispose]())

const remaining = (headers: Headers) => Number(/r=(\d+)/.exec(headers.get('ratelimit')!)![1])

test('all keys of an account share one budget, over HTTP and MCP, and a new key is no new budget', async () => {
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
    expect(over.headers.get('ratelimit')).toMatch(/r=0/)
  }
  expect((await api.call('/api/mcp', { ...tools, key: third.key })).status).toBe(429)
})

test('the pages draw on the same budget, wherever they come from, and show what is left of it', async () => {
  const { api } = visitor
  const { cookie } = await visitor.signIn('pages@example.org')
  const usedUp = { 'x-forwarded-for': '198.51.100.7', accept: 'text/html' }
  const status = async (path: string, given: string) =>
    (await api.call(path, { headers: { ...usedUp, cookie: given } })).status
  for (let n = 0; n < 6; n++) await api.call(`/nothing/${n}`, { headers: usedUp })
  for (const path of ['/nothing', '/privacy', '/keys'])
    expect([path, await status(path, ''), await status(path, cookie.replace(/.{5}$/, 'AAAAA'))]).toEqual([
      path,
      429,
      429,
    ])
  expect([await status('/nothing', cookie), await status('/privacy', cookie)]).toEqual([404, 200])
  const page = await api.call('/keys', { headers: { ...usedUp, cookie } })
  expect(page.text).toContain('1 of 12 points')
  const token = /name="form" value="([^"]+)"/.exec(page.text)![1]!
  const create = () =>
    api.call('/web/keys', form({ form: token, name: 'one', scope: 'saves:read', expires: '0' }, { cookie }))
  expect([(await create()).status, (await create()).status, (await create()).status]).toEqual([201, 201, 429])
  const { rows } = await api.db.$client.query(`select count(*)::int as made from api_keys where name = 'one'`)
  expect(rows[0].made).toBe(2)
})
