import { expect, test } from 'vitest'
import { ensureAccount } from '../../src/library/accounts/accounts.ts'
import { createKey } from '../../src/library/accounts/keys.ts'
import { createSignInCode, formToken, redeemSignInCode } from '../../src/library/accounts/sessions.ts'
import { shareBoard } from '../../src/library/collections/board-settings.ts'
import { createBoard } from '../../src/library/collections/boards.ts'
import { useService } from '../support/service.ts'
import { authenticate } from './authenticate.ts'
import { seedFrames } from './seed-frames.ts'

const EMAIL = 'planted.person@example.org'
const ADDRESS = '203.0.113.77'
const WORDS = 'plantedwords'
const SMTP_PASSWORD = 'canary-smtp-password'

const service = useService({
  // The level that writes the most.
  env: { LOG_LEVEL: 'debug', TRUST_PROXY: '1', SMTP_URL: `smtp://mailuser:${SMTP_PASSWORD}@127.0.0.1:1` },
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

/** A person with every kind of secret, and ways to use them. */
async function openPerson() {
  const { db, databaseUrl, redisUrl } = service.stores
  const { account } = await ensureAccount(db, { email: EMAIL, plan: 'pro' })
  const { key } = await createKey(db, { accountId: account.id, name: WORDS })
  const codeOf = async () => (await createSignInCode(db, { email: EMAIL, newPlan: 'free' }))!.code
  const [used, pending] = [await codeOf(), await codeOf()]
  const session = (await redeemSignInCode(db, { code: used }))!.token
  const { id: boardId } = await createBoard(db, { accountId: account.id, name: 'b' })
  const { token } = await shareBoard(db, { accountId: account.id, boardId })
  const [database, redis] = [new URL(databaseUrl).password, new URL(redisUrl).password]
  const secrets = { key, used, pending, session, token, form: formToken(session), smtp: SMTP_PASSWORD, database, redis }

  const statuses = new Set<number>()
  const refusals: string[] = []
  const call = async (path: string, init: RequestInit = {}) => {
    const headers = { 'x-forwarded-for': ADDRESS, 'user-agent': `${WORDS} ${EMAIL}`, ...init.headers }
    const response = await fetch(service.url + path, { redirect: 'manual', ...init, headers })
    const text = await response.text()
    statuses.add(response.status)
    if (response.status >= 400) refusals.push(text, JSON.stringify([...response.headers]))
    return response.status
  }
  const bearer = { authorization: `Bearer ${key}` }
  return {
    ...{ secrets, boardId, statuses, refusals, call, bearer },
    cookie: { cookie: `session=${session}` },
    send: (method: string, path: string, body: unknown, idempotency = `${WORDS}-${path.length}`) =>
      call(path, {
        method,
        headers: { ...bearer, 'content-type': 'application/json', 'idempotency-key': idempotency },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    form: (path: string, fields: Record<string, string>) =>
      call(path, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', cookie: `session=${session}` },
        body: new URLSearchParams(fields),
      }),
  }
}
type User = Awaited<ReturnType<typeof openPerson>>

/** Everything is used as it should be, */
async function useAll({ call, bearer, cookie, send, form, boardId }: User, frameId: string): Promise<void> {
  const text = `${WORDS} ${EMAIL}`
  for (const path of ['/api/search', '/api/frames', '/', '/api/brands', '/api/videos'])
    await call(`${path}?q=${encodeURIComponent(text)}&author=${encodeURIComponent(text)}`)
  expect(await send('POST', '/api/favourites', { frameId }, 'canary-idempotency')).toBe(200)
  expect(await send('POST', `/api/boards/${boardId}/share`, {}, 'canary-share')).toBe(201)
  expect(await send('POST', '/api/boards', { name: text })).toBe(201)
  expect(await send('PUT', `/api/boards/${boardId}/frames/${frameId}`, { note: text })).toBe(200)
  for (const name of ['search_frames', 'search_library', 'list_saves', 'no_such_tool']) {
    const params = { name, arguments: { query: text } }
    await send('POST', '/api/mcp', { jsonrpc: '2.0', id: WORDS, method: 'tools/call', params })
  }
  await form('/web/sign-in', { email: EMAIL })
  expect(await call('/keys', { headers: cookie })).toBe(200)
  expect(await call('/api/boards', { headers: bearer })).toBe(200)
}

/** and in every wrong place. */
async function misuse({ call, bearer, send, form }: User, text: string, frameId: string): Promise<void> {
  for (const path of ['/api/frames?tone=', '/api/frames?page=', '/api/favourites?limit=', '/api/events?after='])
    await call(path + text, { headers: bearer })
  for (const path of [`/api/frames?${text}=1`, `/api/favourites?${text}=1`, `/api/frames?q=${text}%zz`])
    await call(path, { headers: bearer })
  for (const place of ['frames', 'api/videos', 'api/boards', 'api/shared', 'media', 'shared'])
    await call(`/${place}/${text}`, { headers: bearer })
  await call(`/api/search`, { method: 'DELETE', headers: { 'x-request-id': 'mine' } })
  await send('POST', '/api/favourites', { frameId: text, [text]: text })
  await send('POST', '/api/boards', { name: text.repeat(30) })
  await send('POST', '/api/boards', `{"name": ${text}`)
  await send('PATCH', `/api/frames/${frameId}/annotation`, { subject: text })
  await send('POST', '/api/techniques', { slug: text })
  await send('POST', '/api/mcp', { jsonrpc: '2.0', id: 1, method: text, params: { [text]: text } })
  const params = { name: 'save_frame', arguments: { frame_ids: [text] } }
  await send('POST', '/api/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  await form('/web/sign-in/confirm', { code: text })
  await form('/web/keys', { name: text, form: text })
  await call('/api/boards', { headers: { authorization: `Bearer ${text}x` } })
}

test('secrets and what is personal are in no log, and no secret in an error, Redis, an event or a row', async () => {
  const { db } = service.stores
  const person = await openPerson()
  const { secrets } = person
  const { frameIds } = await seedFrames(db, { count: 1 })
  await service.drain()
  await useAll(person, frameIds[0]!)
  const { key, used, session, token } = secrets
  for (const text of [WORDS, encodeURIComponent(EMAIL), ADDRESS]) {
    await misuse(person, text, frameIds[0]!)
    await person.form('/web/sign-in', { email: `${text} ` })
  }
  const { refusals } = person
  refusals.length = 0
  for (const text of [key, used, session, token]) {
    await misuse(person, text, frameIds[0]!)
    for (const place of ['api/favourites', 'nothing'])
      await person.call(`/${place}/${text}`, { headers: person.bearer })
  }
  await person.call('/api/frames/', { method: 'POST', headers: { 'content-type': `text/${WORDS}` }, body: WORDS })
  await expect.poll(() => service.logs.some((line) => line.includes('sign-in mail not sent'))).toBe(true)
  await service.drain()
  expect([...person.statuses]).toEqual(expect.arrayContaining([200, 400, 401, 403, 404, 405]))

  const rows = await everyRow()
  const redisText = await everyRedisValue()
  expect(rows.length).toBeGreaterThan(20)
  expect(redisText.length).toBeGreaterThan(0)
  expect(service.logs.length).toBeGreaterThan(80)
  const logs = service.logs.join('\n').replace(/%40/gi, '@')
  const places = { logs, errors: refusals.join('\n'), redis: redisText, rows: rows.join('\n') }
  for (const [place, text] of Object.entries(places))
    for (const [name, secret] of Object.entries(secrets))
      if (secret.length > 5) expect([place, name, text.includes(secret)]).toEqual([place, name, false])
  // The hidden part of a key is not there in pieces either.
  for (const text of [EMAIL, 'planted.person', ADDRESS, WORDS, key.slice(9, 30)]) expect(logs).not.toContain(text)
  expect(places.rows).not.toContain('canary-idempotency')
  // No line has a query.
  expect(service.logs.filter((line) => /\?[\w%]+=/.test(line))).toEqual([])
  await expectDumpToOpenNothing(rows, secrets.pending)
})

/** Whoever has the dump tries every text in it as every kind of credential. */
async function expectDumpToOpenNothing(rows: string[], pending: string): Promise<void> {
  const { db } = service.stores
  for (const text of new Set(rows.flatMap((row) => stringsOf(JSON.parse(row))))) {
    expect(await authenticate(db, text)).toBeUndefined()
    expect(await redeemSignInCode(db, { code: text })).toBeUndefined()
    if (!/^[0-9A-Za-z_-]+$/.test(text)) continue
    const keys = await fetch(`${service.url}/keys`, { redirect: 'manual', headers: { cookie: `session=${text}` } })
    expect(keys.status).toBe(303)
    expect((await fetch(`${service.url}/api/shared/${text}`)).status).toBe(404)
  }
  expect(await redeemSignInCode(db, { code: pending })).toBeDefined()
}

function stringsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (value === null || typeof value !== 'object') return []
  return Object.values(value).flatMap(stringsOf)
}

async function everyRow(): Promise<string[]> {
  const pool = service.stores.db.$client
  const { rows: tables } = await pool.query<{ name: string }>(
    `select quote_ident(tablename) as name from pg_tables where schemaname = 'public' and tablename <> 'techniques'`,
  )
  const lists: string[][] = []
  for (const { name } of tables) {
    const { rows } = await pool.query<{ row: string }>(`select to_jsonb(t)::text as row from ${name} t limit 500`)
    lists.push(rows.map(({ row }) => row))
  }
  return lists.flat()
}

async function everyRedisValue(): Promise<string> {
  const { redis, prefix } = service.stores
  const read: Record<string, (key: string) => Promise<unknown>> = {
    string: (key) => redis.get(key),
    hash: (key) => redis.hgetall(key),
    list: (key) => redis.lrange(key, 0, -1),
    zset: (key) => redis.zrange(key, '0', '-1'),
    set: (key) => redis.smembers(key),
  }
  const parts: string[] = []
  for (const key of await redis.keys(`*${prefix}*`)) {
    const readValue = read[await redis.type(key)] ?? ((stream) => redis.xrange(stream, '-', '+'))
    parts.push(key, JSON.stringify(await readValue(key)))
  }
  return parts.join('\n')
}
