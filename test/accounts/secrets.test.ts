import { afterAll, beforeAll, expect, test } from 'vitest'
import { ensureAccount } from '../../src/library/accounts/accounts.ts'
import { createKey } from '../../src/library/accounts/keys.ts'
import { createSignInCode, formToken, redeemSignInCode } from '../../src/library/accounts/sessions.ts'
import { shareBoard } from '../../src/library/collections/board-settings.ts'
import { createBoard } from '../../src/library/collections/boards.ts'
import { openService, type Service } from '../support/service.ts'
import { authenticate } from './authenticate.ts'
import { seedFrames } from './seed-frames.ts'

let service: Service
beforeAll(async () => {
  service = await openService({
    // A mail server that is not there: its failure is logged.
    // At debug level, which logs the most.
    env: { LOG_LEVEL: 'debug', SMTP_URL: 'smtp://mailuser%40example.org:canary-smtp-password@127.0.0.1:1' },
  })
})
afterAll(() => service[Symbol.asyncDispose]())

test('secrets are in no log, error, Redis value, event or row, and a stolen dump lets nobody in', async () => {
  const { db } = service.stores
  const { account } = await ensureAccount(db, { email: 'canary@example.org', plan: 'pro' })
  const { key } = await createKey(db, { accountId: account.id, name: 'canary' })
  const used = (await createSignInCode(db, { email: account.email, newPlan: 'free' }))!.code
  const pending = (await createSignInCode(db, { email: account.email, newPlan: 'free' }))!.code
  const session = (await redeemSignInCode(db, { code: used }))!.token
  const board = await createBoard(db, { accountId: account.id, name: 'b' })
  const { token } = await shareBoard(db, { accountId: account.id, boardId: board.id })
  const { frameIds } = await seedFrames(db, { count: 1 })
  const database = new URL(service.stores.databaseUrl).password
  const redis = new URL(service.stores.redisUrl).password
  const secrets = {
    key,
    used,
    pending,
    session,
    token,
    form: formToken(session),
    smtp: 'canary-smtp-password',
    database,
    redis,
  }

  // Everything is used as it should be, and in every wrong place.
  const answers: string[] = []
  const call = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(service.url + path, { redirect: 'manual', ...init })
    const text = await response.text()
    if (response.status >= 400) answers.push(text, JSON.stringify([...response.headers]))
    return response
  }
  const bearer = { authorization: `Bearer ${key}` }
  const json = { ...bearer, 'content-type': 'application/json' }
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  expect(
    (
      await call('/api/favourites', {
        method: 'POST',
        headers: { ...json, 'idempotency-key': 'canary-idempotency' },
        body: JSON.stringify({ frameId: frameIds[0] }),
      })
    ).status,
  ).toBe(200)
  expect(
    (
      await call(`/api/boards/${board.id}/share`, {
        method: 'POST',
        headers: { ...json, 'idempotency-key': 'share-canary' },
      })
    ).status,
  ).toBe(201)
  expect((await call('/keys', { headers: { cookie: `session=${session}` } })).status).toBe(200)
  for (const path of ['/api/shared/', '/shared/', '/api/boards/', '/api/favourites/', '/frames/', '/nothing/'])
    for (const secret of [key, session, token]) await call(path + secret, { headers: bearer })
  for (const query of [`limit=${key}`, `after=${key}`, `${key}=1`])
    await call(`/api/favourites?${query}`, { headers: bearer })
  await call(`/api/frames?subject=${key}`)
  await call('/api/favourites', { method: 'POST', headers: json, body: JSON.stringify({ frameId: key, [key]: key }) })
  await call('/api/favourites', { method: 'POST', headers: json, body: `{${key}` })
  await call('/api/favourites', { headers: { authorization: `Bearer ${key}x` } })
  await call('/web/keys', {
    method: 'POST',
    headers: { ...form, cookie: `session=${session}` },
    body: new URLSearchParams({ form: 'wrong', name: key }),
  })
  await call('/web/sign-in/confirm', { method: 'POST', headers: form, body: new URLSearchParams({ code: used }) })
  await call('/web/sign-in', { method: 'POST', headers: form, body: new URLSearchParams({ email: account.email }) })
  await call('/api/mcp', {
    method: 'POST',
    headers: json,
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'save_frame', arguments: { frame_ids: [key] } },
    }),
  })
  await expect.poll(() => service.logs.some((line) => line.includes('sign-in mail not sent'))).toBe(true)
  await service.drain()

  const rows = await everyRow()
  const redisText = await everyRedisValue()
  expect(rows.length).toBeGreaterThan(20)
  expect(redisText.length).toBeGreaterThan(0)
  const places = { logs: service.logs.join('\n'), errors: answers.join('\n'), redis: redisText, rows: rows.join('\n') }
  for (const [place, text] of Object.entries(places))
    for (const [name, secret] of Object.entries(secrets))
      if (secret.length > 5) expect([place, name, text.includes(secret)]).toEqual([place, name, false])
  // The hidden part of a key is not there in pieces either.
  expect(places.logs).not.toContain(key.slice(9, 30))
  expect(places.rows).not.toContain('canary-idempotency')

  // Whoever has the dump tries every text in it as every kind of credential.
  const texts = new Set(rows.flatMap((row) => stringsOf(JSON.parse(row))))
  for (const text of texts) {
    expect(await authenticate(db, text)).toBeUndefined()
    expect(await redeemSignInCode(db, { code: text })).toBeUndefined()
    if (!/^[0-9A-Za-z_-]+$/.test(text)) continue
    const cookie = await fetch(`${service.url}/keys`, { redirect: 'manual', headers: { cookie: `session=${text}` } })
    expect(cookie.status).toBe(303)
    expect((await fetch(`${service.url}/api/shared/${text}`)).status).toBe(404)
  }
  expect(await redeemSignInCode(db, { code: pending })).toBeDefined()
})

function stringsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (value === null || typeof value !== 'object') return []
  return Object.values(value).flatMap(stringsOf)
}

async function everyRow(): Promise<string[]> {
  const pool = service.stores.db.$client
  const { rows: tables } = await pool.query<{ name: string }>(
    `select quote_ident(tablename) as name from pg_tables where schemaname = 'public'`,
  )
  const lists = []
  for (const { name } of tables)
    lists.push(
      (
        await pool.query<{ row: string }>(
          `select to_jsonb(t)::text as row from ${name} t where '${name}' <> 'techniques' limit 500`,
        )
      ).rows,
    )
  return lists.flat().map(({ row }) => row)
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
    const value = await readValue(key)
    parts.push(key, JSON.stringify(value))
  }
  return parts.join('\n')
}
