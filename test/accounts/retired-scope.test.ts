import { afterAll, beforeAll, expect, test } from 'vitest'
import { createKey, rotateKey } from '../../src/library/accounts/keys.ts'
import { openTestApi, type TestApi } from './app.ts'
import { seedAccount } from './seed-frames.ts'

let api: TestApi
beforeAll(async () => {
  api = await openTestApi()
})
afterAll(() => api[Symbol.asyncDispose]())

test('a key with a scope that is no longer offered works for its other scopes and loses it when rotated', async () => {
  const { account } = await seedAccount(api.db, { role: 'operator' })
  const old = await createKey(api.db, { accountId: account.id, name: 'old', scopes: ['events:read'] })
  await api.db.$client.query(`update api_keys set scopes = '{plans:write,events:read}' where id = $1`, [old.record.id])
  expect((await api.call('/api/events', { key: old.key })).status).toBe(200)
  expect((await api.call('/api/accounts/x', { method: 'PATCH', key: old.key, body: { plan: 'pro' } })).status).toBe(403)
  const rotated = await rotateKey(api.db, { accountId: account.id, keyId: old.record.id })
  expect(rotated.record.scopes).toEqual(['events:read'])
  expect((await api.call('/api/events', { key: rotated.key })).status).toBe(200)
  await expect(
    createKey(api.db, { accountId: account.id, name: 'new', scopes: ['plans:write' as never] }),
  ).rejects.toMatchObject({ code: 'invalid_request' })
})
