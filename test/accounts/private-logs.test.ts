import { afterAll, beforeAll, expect, test } from 'vitest'
import { ensureAccount } from '../../src/library/accounts/accounts.ts'
import { createKey } from '../../src/library/accounts/keys.ts'
import { createSignInCode, redeemSignInCode } from '../../src/library/accounts/sessions.ts'
import { openService, type Service } from '../support/service.ts'
import { seedFrames } from './seed-frames.ts'

const EMAIL = 'planted.person@example.org'
const ADDRESS = '203.0.113.77'
const WORDS = 'plantedwords'
const PRIVATE = { email: EMAIL, person: 'planted.person', address: ADDRESS, words: WORDS }

let service: Service
beforeAll(async () => {
  service = await openService({
    // The level that writes the most.
    env: { LOG_LEVEL: 'debug', TRUST_PROXY: '1' },
    overrides: {
      mailer: {
        // As a mail server refuses a recipient.
        send: async ({ to }) => {
          throw Object.assign(new Error(`550 5.1.1 <${to}>: Recipient address rejected`), { rejected: [to] })
        },
        close: () => undefined,
      },
    },
  })
})
afterAll(() => service[Symbol.asyncDispose]())

test('no e-mail address, client address, key or text of a person is in the log of a whole session', async () => {
  const { db } = service.stores
  const { account } = await ensureAccount(db, { email: EMAIL, plan: 'pro' })
  const { key } = await createKey(db, { accountId: account.id, name: WORDS })
  const { frameIds } = await seedFrames(db, { count: 2 })
  await service.drain()
  const code = (await createSignInCode(db, { email: EMAIL, newPlan: 'free' }))!.code
  const session = (await redeemSignInCode(db, { code }))!.token

  const statuses: Record<string, number> = {}
  const call = async (path: string, init: RequestInit = {}) => {
    const headers = { 'x-forwarded-for': ADDRESS, 'user-agent': `${WORDS} ${EMAIL}`, ...init.headers }
    const response = await fetch(service.url + path, { redirect: 'manual', ...init, headers })
    await response.arrayBuffer()
    statuses[response.status] = (statuses[response.status] ?? 0) + 1
    return response
  }
  const bearer = { authorization: `Bearer ${key}` }
  const send = (method: string, path: string, body: unknown) =>
    call(path, {
      method,
      headers: { ...bearer, 'content-type': 'application/json', 'idempotency-key': `${WORDS}-${path.length}` },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  const form = (path: string, fields: Record<string, string>) =>
    call(path, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', cookie: `session=${session}` },
      body: new URLSearchParams(fields),
    })
  const tool = (name: string, args: object) =>
    send('POST', '/api/mcp', { jsonrpc: '2.0', id: WORDS, method: 'tools/call', params: { name, arguments: args } })

  // As it should be.
  const secret = `${WORDS} ${EMAIL}`
  for (const path of ['/api/search', '/api/frames', '/', '/api/brands', '/api/videos'])
    await call(`${path}?q=${encodeURIComponent(secret)}&author=${encodeURIComponent(secret)}`)
  await send('POST', '/api/favourites', { frameId: frameIds[0] })
  await send('POST', '/api/boards', { name: secret })
  const { boards } = (await service.get('/api/boards', bearer)).json
  await send('PUT', `/api/boards/${boards[0].id}/frames/${frameIds[0]}`, { note: secret })
  for (const name of ['search_frames', 'search_library', 'list_saves', 'no_such_tool'])
    await tool(name, { query: secret })
  await form('/web/sign-in', { email: EMAIL })
  await call('/keys', { headers: { cookie: `session=${session}` } })

  // And in every wrong place.
  for (const text of [WORDS, encodeURIComponent(EMAIL), ADDRESS]) {
    for (const path of ['/api/frames?tone=', '/api/frames?page=', '/api/favourites?limit=', '/api/events?after='])
      await call(path + text, { headers: bearer })
    await call(`/api/frames?${text}=1`)
    await call(`/api/frames?q=%zz${text}`)
    for (const path of ['/frames/', '/api/videos/', '/api/boards/', '/api/shared/', '/media/', '/shared/'])
      await call(path + text, { headers: bearer })
    await call(`/api/search`, { method: 'DELETE', headers: { 'x-request-id': 'mine' } })
    await send('POST', '/api/favourites', { frameId: text, [text]: text })
    await send('POST', '/api/boards', { name: text.repeat(30) })
    await send('POST', '/api/boards', `{"name": ${text}`)
    await send('PATCH', `/api/frames/${frameIds[0]}/annotation`, { subject: text })
    await send('POST', '/api/techniques', { slug: text })
    await send('POST', '/api/mcp', { jsonrpc: '2.0', id: 1, method: text, params: { [text]: text } })
    await form('/web/sign-in', { email: `${text} ` })
    await form('/web/keys', { name: text, form: text })
    await call('/api/boards', { headers: { authorization: `Bearer ${text}` } })
  }
  await call('/api/frames/', { method: 'POST', headers: { 'content-type': `text/${WORDS}` }, body: WORDS })
  await expect.poll(() => service.logs.some((line) => line.includes('sign-in mail not sent'))).toBe(true)

  expect(Object.keys(statuses)).toEqual(expect.arrayContaining(['200', '400', '401', '403', '404', '405']))
  expect(service.logs.length).toBeGreaterThan(80)
  for (const [name, value] of Object.entries({ ...PRIVATE, key, keyPiece: key.slice(9, 30) })) {
    const lines = service.logs.filter((line) => decoded(line).includes(value))
    expect([name, lines.slice(0, 3)]).toEqual([name, []])
  }
  // No line has a query either.
  expect(service.logs.filter((line) => /\?[\w%]+=/.test(line))).toEqual([])
})

function decoded(line: string): string {
  return line.replace(/%40/gi, '@')
}
