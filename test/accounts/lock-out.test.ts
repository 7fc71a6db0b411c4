import { expect, test } from 'vitest'
import { generateKey, openKeyChecks } from '../../src/library/accounts/key-checks.ts'
import { revokeKey } from '../../src/library/accounts/keys.ts'
import { useTestApi } from './app.ts'
import { seedAccount } from './seed-frames.ts'

/** Failed key checks are refused by address and by key. A valid key is never refused for them. */

// Six failed checks a minute; a Pro account may still spend 600 points.
const api = useTestApi({ scale: 0.1 })

const wrongKey = (n: number) => (n % 4 === 0 ? `wrong-${n}` : generateKey())

const CALLS = {
  HTTP: { path: '/api/boards', call: {} },
  MCP: { path: '/api/mcp', call: { method: 'POST', body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } } },
}

test.each(['HTTP', 'MCP'] as const)(
  'of many wrong keys and a right one at one address, the right one is always served: %s',
  async (over) => {
    const { key } = await seedAccount(api.db)
    const { path, call } = CALLS[over]
    const headers = { 'x-forwarded-for': over === 'HTTP' ? '203.0.113.20' : '203.0.113.21' }
    const ask = async (presented: string) => (await api.call(path, { ...call, key: presented, headers })).status
    const started = performance.now()
    const right: number[] = []
    const wrong: number[] = []
    for (let wave = 0; wave < (over === 'HTTP' ? 20 : 4); wave++) {
      const asked = Array.from({ length: 50 }, (_, n) => ask(wrongKey(n)))
      right.push(await ask(key))
      wrong.push(...(await Promise.all(asked)))
    }
    expect(new Set(right)).toEqual(new Set([200]))
    expect(new Set(wrong)).toEqual(new Set([401, 429]))
    // Each minute begins anew, with a wave of them at most.
    const minutes = 1 + Math.floor((performance.now() - started) / 60_000)
    expect(wrong.filter((status) => status === 401).length).toBeLessThanOrEqual(50 * minutes)
  },
)

test('addresses of one /64 of IPv6 count as one', async () => {
  const from = async (address: string) =>
    (await api.call('/api/boards', { key: 'wrong', headers: { 'x-forwarded-for': address } })).status
  for (let n = 0; n < 7; n++) await from(`2001:db8:1:2::${n}`)
  expect([await from('2001:db8:1:2:ffff::1'), await from('2001:db8:1:3::1')]).toEqual([429, 401])
})

test('a key that has died is refused by itself, from whatever address it comes', async () => {
  const { key, record, account } = await seedAccount(api.db)
  const second = await seedAccount(api.db)
  const from = async (address: number, presented: string) => {
    const headers = { 'x-forwarded-for': `203.0.113.${address}` }
    return api.call('/api/boards', { key: presented, headers })
  }
  expect((await from(30, key)).status).toBe(200)
  await revokeKey(api.db, { accountId: account.id, keyId: record.id })
  const statuses: number[] = []
  for (let n = 0; n < 8; n++) statuses.push((await from(30 + n, key)).status)
  expect(statuses).toEqual([401, 401, 401, 401, 401, 401, 429, 429])
  expect(Number((await from(40, key)).headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await from(31, second.key)).status).toBe(200)
})

test('concurrent requests with one key share look-ups, and one after a revocation is refused', async () => {
  const { key, record, account } = await seedAccount(api.db)
  const { counted, questions } = countedClient()
  let uses = 0
  const checks = openKeyChecks({ $client: counted }, () => uses++)
  expect(await checks.check(key)).toBeDefined()
  questions.asked = 0
  const found = await Promise.all(Array.from({ length: 500 }, () => checks.check(key)))
  expect(new Set(found.map((caller) => caller?.account.id))).toEqual(new Set([account.id]))
  expect(questions.asked).toBe(2)
  expect(uses).toBe(3)

  const before = Array.from({ length: 10 }, () => checks.check(key))
  await revokeKey(api.db, { accountId: account.id, keyId: record.id })
  expect(await checks.check(key)).toBeUndefined()
  await Promise.all(before)
})

/** A pool that counts its queries. */
function countedClient() {
  const { $client } = api.db
  const questions = { asked: 0 }
  const query = (...given: Parameters<typeof $client.query>) => {
    questions.asked++
    return $client.query(...given)
  }
  return { counted: { query } as unknown as typeof $client, questions }
}

test('unknown keys share a look-up, malformed and known wrong ones need none, a revoked one is dead', async () => {
  const { key, record, account } = await seedAccount(api.db)
  const { counted, questions } = countedClient()
  const checks = openKeyChecks({ $client: counted })
  const wrong = Array.from({ length: 1_000 }, generateKey)
  const found = await Promise.all([...wrong, key].map((presented) => checks.check(presented)))
  expect(found.map((caller) => caller !== undefined)).toEqual([...wrong.map(() => false), true])
  expect(questions.asked).toBeLessThan(10)

  questions.asked = 0
  await Promise.all([...wrong.slice(-500), 'flk_live_x', undefined].map((presented) => checks.check(presented)))
  expect(questions.asked).toBe(0)
  expect(await checks.check(key)).toBeDefined()
  expect(questions.asked).toBe(1)
  await revokeKey(api.db, { accountId: account.id, keyId: record.id })
  expect(await checks.check(key)).toBeUndefined()
})
