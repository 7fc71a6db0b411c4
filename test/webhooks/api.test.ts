import { beforeAll, describe, expect, test } from 'vitest'
import { useTestApi } from '../accounts/app.ts'
import { seedAccount } from '../accounts/seed-frames.ts'

const api = useTestApi()
const open = useTestApi({ env: { WEBHOOK_ALLOW_PRIVATE: '1', SECRETS_KEY: 'ab'.repeat(32) } })
let key: string
let otherKey: string

beforeAll(async () => {
  key = (await seedAccount(api.db, { role: 'operator', plan: 'pro' })).key
  otherKey = (await seedAccount(open.db, { role: 'operator', plan: 'pro' })).key
})

const call = (method: string, path: string, body?: unknown) =>
  api.call(path, { method, key, ...(body === undefined ? {} : { body }) })

const create = (body: object = {}) =>
  call('POST', '/api/webhooks', { url: 'https://hooks.example.com/frames', ...body })

test('a secret is shown when it is made and when it is rotated, and never again', async () => {
  const made = await create({ types: ['video.ready'], description: 'ours' })
  expect(made.status).toBe(201)
  const { webhook, secret } = made.json
  expect(made.headers.get('location')).toBe(`/api/webhooks/${webhook.id}`)
  expect(webhook).toMatchObject({
    url: 'https://hooks.example.com/frames',
    types: ['video.ready'],
    state: 'active',
    waiting: 0,
  })
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]+=*$/)
  expect(Buffer.from(secret.slice(6), 'base64').length).toBeGreaterThanOrEqual(24)

  const rotated = await call('POST', `/api/webhooks/${webhook.id}/secret`, { overlap_hours: 2 })
  expect(rotated.json.secret).not.toBe(secret)
  const overlap = Date.parse(rotated.json.webhook.old_secret_until) - Date.now()
  expect(overlap).toBeGreaterThan(1.9 * 3_600_000)
  expect(overlap).toBeLessThanOrEqual(2 * 3_600_000)

  const shown = [
    await call('GET', '/api/webhooks'),
    await call('GET', `/api/webhooks/${webhook.id}`),
    await call('PATCH', `/api/webhooks/${webhook.id}`, { description: 'changed' }),
    await call('POST', `/api/webhooks/${webhook.id}/pause`),
    await call('POST', `/api/webhooks/${webhook.id}/resume`),
    await call('POST', `/api/webhooks/${webhook.id}/test`),
    await call('GET', `/api/webhooks/${webhook.id}/deliveries`),
  ]
  for (const { status, text } of shown) {
    expect([200, 202]).toContain(status)
    for (const one of [secret, rotated.json.secret]) expect(text).not.toContain(one.slice(6, 20))
  }
  for (const one of [secret, rotated.json.secret]) expect(api.logs.join('')).not.toContain(one.slice(6, 20))
})

test('a repeated creation with one Idempotency-Key does not show the secret twice', async () => {
  const send = () =>
    api.call('/api/webhooks', {
      method: 'POST',
      key,
      headers: { 'idempotency-key': 'one-webhook' },
      body: { url: 'https://hooks.example.com/once' },
    })
  const [first, second] = [await send(), await send()]
  expect(first.status).toBe(201)
  expect(second.text).not.toContain(first.json.secret.slice(6, 20))
  const { webhooks } = (await call('GET', '/api/webhooks')).json
  expect(webhooks.filter(({ url }: { url: string }) => url.endsWith('/once'))).toHaveLength(1)
})

test('what was registered can be changed, paused, resumed, and deleted', async () => {
  const { id } = (await create()).json.webhook
  const path = `/api/webhooks/${id}`
  const patch = {
    url: 'https://other.example.com/x#part',
    types: ['frame.saved', 'frame.unsaved'],
  }
  expect((await call('PATCH', path, patch)).json.webhook).toMatchObject({
    url: 'https://other.example.com/x',
    types: ['frame.saved', 'frame.unsaved'],
  })
  expect((await call('PATCH', path, { types: null })).json.webhook.types).toBeNull()
  expect((await call('POST', `${path}/pause`)).json.webhook).toMatchObject({
    state: 'paused',
    paused_because: 'operator',
  })
  expect((await call('POST', `${path}/pause`)).json.webhook.state).toBe('paused')
  expect((await call('POST', `${path}/resume`, { from: 'now' })).json.webhook).toMatchObject({
    state: 'active',
    paused_because: null,
  })
  expect((await call('POST', `${path}/resume`)).json).toMatchObject({ code: 'conflict' })
  expect((await call('DELETE', path)).json).toEqual({ ok: true })
  expect((await call('GET', path)).status).toBe(404)
})

describe('refused, with what is allowed:', () => {
  const refusals: [what: string, body: object, says: RegExp][] = [
    ['http', { url: 'http://hooks.example.com/' }, /https/],
    ['a loopback address', { url: 'https://127.0.0.1/' }, /public address/],
    ['a private address in other digits', { url: 'https://0x0a010203/' }, /public address/],
    ['a private name', { url: 'https://db.internal/' }, /public address/],
    ['another port', { url: 'https://hooks.example.com:8443/' }, /443/],
    ['a password', { url: 'https://me:pw@hooks.example.com/' }, /password/],
    ['no address', { url: 'hooks' }, /https:\/\//],
    ['a long address', { url: `https://hooks.example.com/${'x'.repeat(2_000)}` }, /2000|2,000/],
    ['an unknown type', { types: ['frame.stolen'] }, /frame\.saved/],
    ['no type at all', { types: [] }, /types/],
    ['an unknown field', { secret: 'whsec_mine' }, /secret/],
  ]
  test.each(refusals)('%s', async (_, body, says) => {
    const answer = await create(body)
    expect(answer.status).toBe(400)
    expect(answer.text).toMatch(says)
  })

  test('places and events that are none', async () => {
    const { id } = (await create()).json.webhook
    await call('POST', `/api/webhooks/${id}/pause`)
    for (const from of ['yesterday', '2026-13-40', '99.99', '../..', '1.2.3']) {
      const answer = await call('POST', `/api/webhooks/${id}/resume`, { from })
      expect([from, answer.status, answer.json.code]).toEqual([from, 400, 'invalid_request'])
      expect(answer.json.message).toMatch(/cursor|date/)
    }
    expect((await call('GET', `/api/webhooks/${id}`)).json.webhook.state).toBe('paused')
    const resend = (body: unknown) => call('POST', `/api/webhooks/${id}/resend`, body)
    expect((await resend({ event_id: 'x' })).status).toBe(400)
    expect((await resend({})).json.message).toContain('event_id')
    expect((await resend({ event_id: '01979c3e-5d6f-7c1a-9d0e-3f6f6f0c8a11' })).status).toBe(404)
    expect((await call('POST', `/api/webhooks/${id}/secret`, { overlap_hours: 1_000 })).status).toBe(400)
    expect((await call('GET', `/api/webhooks/${id}/deliveries?state=lost`)).text).toMatch(/delivered/)
    expect((await call('GET', `/api/webhooks/${id}/deliveries/none`)).status).toBe(404)
  })
})

test('private receivers are allowed where the operator says so', async () => {
  const made = await open.call('/api/webhooks', {
    method: 'POST',
    key: otherKey,
    body: { url: 'http://10.0.0.8:9000/x' },
  })
  expect(made.json.webhook.url).toBe('http://10.0.0.8:9000/x')
  const { rows } = await open.db.$client.query('select secret from webhook_endpoints')
  expect(made.json.secret).toMatch(/^whsec_/)
  expect(rows[0].secret).toMatch(/^aes256gcm\./)
  const refused = await open.call('/api/webhooks', { method: 'POST', key: otherKey, body: { url: 'ftp://10.0.0.8/x' } })
  expect(refused.status).toBe(400)
})
