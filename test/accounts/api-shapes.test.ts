import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { beforeAll, expect, test } from 'vitest'
import { ensureAccount, setPlan } from '../../src/library/accounts/accounts.ts'
import { createKey } from '../../src/library/accounts/keys.ts'
import { openTestApi, useTestApi } from './app.ts'
import { seedAccount, seedFrames } from './seed-frames.ts'

const api = useTestApi()
let key: string
let accountId: string
let frameIds: string[]
beforeAll(async () => {
  const { account } = await ensureAccount(api.db, { email: 'shapes@example.org' })
  await setPlan(api.db, { accountId: account.id, plan: 'pro' })
  accountId = account.id
  key = (await createKey(api.db, { accountId, name: 'shapes' })).key
  frameIds = (await seedFrames(api.db, { count: 5 })).frameIds
})

const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  api.call(path, { method: 'POST', key, body, headers })

test('what is created has a Location, also when its answer is repeated', async () => {
  const first = await post('/api/boards', { name: 'Located' }, { 'Idempotency-Key': 'located' })
  const { board } = first.json
  expect([first.status, first.headers.get('location')]).toEqual([201, `/api/boards/${board.id}`])
  expect((await api.call(first.headers.get('location')!, { key })).json.board.id).toBe(board.id)
  const again = await post('/api/boards', { name: 'Located' }, { 'Idempotency-Key': 'located' })
  expect([again.headers.get('idempotent-replayed'), again.headers.get('location')]).toEqual([
    'true',
    `/api/boards/${board.id}`,
  ])
  const shared = await post(`/api/boards/${board.id}/share`, {})
  expect(shared.status).toBe(201)
  expect((await api.call(shared.headers.get('location')!)).json.board.id).toBe(board.id)
})

test('a page of boards or saves holds `next`, as its Link says; a whole list does not', async () => {
  for (const frameId of frameIds) await post('/api/favourites', { frameId })
  for (const name of ['a', 'b', 'c', 'd']) await post('/api/boards', { name })
  for (const [path, name] of [
    ['/api/favourites', 'frames'],
    ['/api/boards', 'boards'],
  ] as const) {
    const whole = (await api.call(path, { key })).json
    expect(Object.keys(whole)).toEqual([name])
    const found: string[] = []
    let after: string | null = null
    do {
      const query: string = after === null ? '' : `&after=${encodeURIComponent(after)}`
      const page = await api.call(`${path}?limit=2${query}`, { key })
      expect(Object.keys(page.json)).toEqual([name, 'next'])
      found.push(...page.json[name].map((item: { id: string }) => item.id))
      after = page.json.next
      const link = page.headers.get('link')
      if (after === null) expect(link).toBeNull()
      else expect(new URL(/<(.+)>; rel="next"/.exec(link!)![1]!).searchParams.get('after')).toBe(after)
    } while (after !== null)
    expect(found).toEqual(whole[name].map((item: { id: string }) => item.id))
    const bad = await api.call(`${path}?after=nonsense`, { key })
    expect([bad.status, bad.json.details[0].path]).toEqual([400, 'after'])
  }
})

test('a page that names no limit holds 500 rows', async () => {
  const { account } = await seedAccount(api.db)
  const many = await createKey(api.db, { accountId: account.id, name: 'many' })
  const of = [account.id, (await seedFrames(api.db, { count: 503 })).frameIds]
  await api.db.$client.query('insert into saves (account_id, frame_id) select $1, unnest($2::text[])', of)
  await api.db.$client.query(
    `insert into boards (id, account_id, name) select replace(f, '-', ''), $1, f from unnest($2::text[]) f`,
    of,
  )
  for (const path of ['/api/favourites', '/api/boards']) {
    const first = await api.call(`${path}?limit=1`, { key: many.key })
    const { json } = await api.call(`${path}?after=${first.json.next}`, { key: many.key })
    expect((json.frames ?? json.boards).length).toBe(500)
    const last = await api.call(`${path}?after=${json.next}`, { key: many.key })
    expect([(last.json.frames ?? last.json.boards).length, last.json.next]).toEqual([2, null])
  }
})

test('a frame is named by its id, by the address of its image or page, and in either spelling', async () => {
  const made = await seedFrames(api.db, { count: 3 })
  const [image, page, plain] = made.frameIds
  const saved = async (body: object) => (await post('/api/favourites', body)).status
  expect(await saved({ frameId: `http://frames.test/media/${image}-0123abcd.webp` })).toBe(200)
  expect(await saved({ frame_id: `http://frames.test/frames/${page}` })).toBe(200)
  expect(await saved({ frame_id: plain })).toBe(200)
  expect(await saved({ frameId: plain, frame_id: plain })).toBe(400)
  expect(await saved({ frame: plain })).toBe(400)
  expect(await saved({ frameId: 'x'.repeat(65) })).toBe(400)
  const { json } = await api.call('/api/favourites', { key })
  expect(json.frames.map(({ id }: { id: string }) => id)).toEqual(expect.arrayContaining(made.frameIds))
})

test('a text may have as many characters as it is said to, of whatever script', async () => {
  const named = async (name: string) => (await post('/api/boards', { name })).status
  expect([await named('🎬'.repeat(120)), await named('🎬'.repeat(121))]).toEqual([201, 400])
  const { board } = (await post('/api/boards', { name: 'Of signs' })).json
  const patch = (body: object) => api.call(`/api/boards/${board.id}`, { method: 'PATCH', key, body })
  const noted = (body: object) =>
    api.call(`/api/boards/${board.id}/frames/${frameIds[0]}`, { method: 'PUT', key, body })
  for (const [length, status] of [
    [2_000, 200],
    [2_001, 400],
  ] as const) {
    expect((await patch({ description: '🎬'.repeat(length) })).status).toBe(status)
    expect((await noted({ note: '🎬'.repeat(length) })).status).toBe(status)
  }
})

test('each place in a body is told its first fault alone', async () => {
  const { board } = (await post('/api/boards', { name: 'Faults' })).json
  const { json } = await post(`/api/boards/${board.id}/frames`, { frameIds: [frameIds[0]], position: 1e300 })
  expect(json.details).toHaveLength(1)
})

test('an export is no item of that name: other methods are refused and take nothing back', async () => {
  for (const path of ['/api/favourites/export', '/api/boards/export', '/api/Favourites/Export/']) {
    const options = await api.call(path, { method: 'OPTIONS' })
    expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, HEAD'])
    for (const method of ['DELETE', 'PATCH', 'PUT']) {
      const { status, headers } = await api.call(path, { method, key })
      expect([path, method, status, headers.get('allow')]).toEqual([path, method, 405, 'GET, HEAD'])
    }
  }
  const other = await api.call(`/api/favourites/${frameIds[0]}`, { method: 'OPTIONS' })
  expect(other.headers.get('allow')).toBe('DELETE')
})

test('a flag is written as 1 or true, and both are one answer', async () => {
  const [one, same, none] = await Promise.all(
    ['facets=1', 'facets=true', 'facets=false'].map((query) => api.call(`/api/frames?${query}`)),
  )
  expect(one!.json.facets).toBeDefined()
  expect(same!.headers.get('etag')).toBe(one!.headers.get('etag'))
  expect(none!.headers.get('etag')).toBe((await api.call('/api/frames')).headers.get('etag'))
  expect((await api.call('/api/frames?facets=yes')).json.message).toMatch(/0, 1, false, true/)
})

test('pages and style sheets are compressed, have an ETag and answer 304; a page with forms is not', async () => {
  const page = await api.call('/')
  const sheet = /href="(\/assets\/style-[^"]+\.css)"/.exec(page.text)![1]!
  for (const path of ['/', '/docs', sheet]) {
    const plain = await fetch(api.url + path, { headers: { 'accept-encoding': 'identity' } })
    const text = await plain.text()
    for (const [encoding, decode] of [
      ['br', brotliDecompressSync],
      ['gzip', gunzipSync],
    ] as const) {
      const { status, headers, body } = await raw(path, { 'accept-encoding': encoding })
      expect([path, status, headers['content-encoding']]).toEqual([path, 200, encoding])
      expect(headers.vary).toMatch(/Accept-Encoding/)
      expect(body.length).toBeLessThan(text.length / 2)
      expect(decode(body).toString()).toBe(text)
      const again = await raw(path, { 'accept-encoding': encoding, 'if-none-match': headers.etag! })
      expect([path, again.status, again.body.length, again.headers.etag]).toEqual([path, 304, 0, headers.etag])
      expect(again.headers.vary).toMatch(/Accept-Encoding/)
    }
    const head = await fetch(api.url + path, { method: 'HEAD' })
    expect([head.status, await head.text()]).toEqual([200, ''])
  }
  const forms = await raw('/sign-in', { 'accept-encoding': 'br' })
  expect([forms.headers['content-encoding'], forms.headers.etag, forms.headers['cache-control']]).toEqual([
    undefined,
    undefined,
    'no-store',
  ])
})

async function raw(path: string, headers: Record<string, string>) {
  const { request } = await import('undici')
  const answer = await request(api.url + path, { headers })
  return {
    status: answer.statusCode,
    headers: answer.headers as Record<string, string | undefined>,
    body: Buffer.from(await answer.body.arrayBuffer()),
  }
}

test('a refused anonymous read says what its budget is, though an answer that is cached does not', async () => {
  await using tight = await openTestApi({ scale: 0.01 })
  const statuses: number[] = []
  for (let n = 0; n < 8; n++) {
    const { status, headers, json } = await tight.call('/api/videos')
    statuses.push(status)
    expect(headers.has('ratelimit')).toBe(status === 429)
    if (status !== 429) continue
    expect(headers.get('ratelimit-policy')).toBe('"default";q=6;w=60')
    expect(headers.get('ratelimit')).toMatch(/^"default";r=0;t=\d+$/)
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    const kept = ['cache-control', 'etag', 'access-control-allow-origin'].map((name) => headers.get(name))
    expect([json.code, ...kept]).toEqual(['rate_limited', 'no-store', null, '*'])
  }
  expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 429, 429])
})
