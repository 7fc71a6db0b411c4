import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deleteAccount, setPlan } from '../../src/library/accounts/accounts.ts'
import { createKey, revokeKey } from '../../src/library/accounts/keys.ts'
import { untilReadable } from '../support/stores.ts'
import { openTestApi, type TestApi } from './app.ts'
import { seedAccount, seedFrames } from './seed-frames.ts'

let api: TestApi
beforeAll(async () => {
  api = await openTestApi()
})
afterAll(() => api[Symbol.asyncDispose]())

describe('the four endpoints of the specification', () => {
  test('saving, twice and at once, leaves one save; the list has every saved frame, newest save first', async () => {
    const { key } = await seedAccount(api.db)
    const { frameIds } = await seedFrames(api.db, { count: 3 })
    for (const frameId of frameIds) {
      const answers = await Promise.all(
        Array.from({ length: 5 }, () => api.call('/api/favourites', { method: 'POST', key, body: { frameId } })),
      )
      for (const answer of answers) expect([answer.status, answer.json]).toEqual([200, { ok: true }])
    }
    const list = await api.call('/api/favourites', { key })
    expect(list.status).toBe(200)
    expect(list.json.frames.map((frame: { id: string }) => frame.id)).toEqual([...frameIds].reverse())
    expect(list.json.frames[0]).toMatchObject({
      t_sec: 2,
      kind: 'beat',
      subject: 'ui',
      save_count: 1,
      video: { author: 'Acme, Inc.' },
    })
    expect(list.json.frames[0].image_url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/media\//)
    expect(list.headers.get('cache-control')).toBe('no-store')
  })

  test('boards are created with 201 and listed with their item count', async () => {
    const { key } = await seedAccount(api.db)
    const { frameIds } = await seedFrames(api.db, { count: 5 })
    const made = await api.call('/api/boards', { method: 'POST', key, body: { name: ' Openings ' } })
    expect(made.status).toBe(201)
    expect(made.json.board).toMatchObject({ name: 'Openings', item_count: 0, cover_urls: [] })
    const pinned = await api.call(`/api/boards/${made.json.board.id}/frames`, {
      method: 'POST',
      key,
      body: { frameIds },
    })
    expect(pinned.json).toEqual({ ok: true, pinned: frameIds, already: [], noted: [], moved: [] })
    const list = await api.call('/api/boards', { key })
    expect(list.json.boards).toHaveLength(1)
    expect(list.json.boards[0]).toMatchObject({ id: made.json.board.id, name: 'Openings', item_count: 5 })
    expect(list.json.boards[0].cover_urls).toHaveLength(4)
  })

  test(
    'missing, malformed, unknown, expired and revoked keys are one answer, ' + 'and the account that is gone too',
    async () => {
      const { account, key, record } = await seedAccount(api.db)
      const expired = await createKey(api.db, {
        accountId: account.id,
        name: 'e',
        expiresAt: new Date(Date.now() + 60_000),
      })
      await api.db.$client.query(`update api_keys set expires_at = now() where id = $1`, [expired.record.id])
      await revokeKey(api.db, { accountId: account.id, keyId: record.id })
      const gone = await seedAccount(api.db)
      await deleteAccount(api.db, gone.account.id)
      const headers = [
        {},
        { authorization: 'Bearer' },
        { authorization: 'Basic abc' },
        { authorization: 'Bearer nonsense' },
        { authorization: `Bearer flk_live_${'a'.repeat(38)}` },
        { authorization: `Bearer ${expired.key}` },
        { authorization: `Bearer ${key}` },
        { authorization: `Bearer ${gone.key}` },
      ]
      const answers = []
      for (const header of headers)
        answers.push(await api.call('/api/favourites', { headers: header as Record<string, string> }))
      for (const answer of answers) {
        expect(answer.status).toBe(401)
        expect(answer.text).toBe('{"code":"unauthenticated"}')
        expect(answer.headers.get('www-authenticate')).toBe(answers[0]!.headers.get('www-authenticate'))
        expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer .*\/keys/)
        expect(answer.headers.get('cache-control')).toBe('no-store')
      }
    },
  )

  test(
    'a plan that no longer includes the endpoint is 403 at the next request, ' + 'before scope and body are looked at',
    async () => {
      const { account, key } = await seedAccount(api.db, { scopes: ['saves:read'] })
      expect((await api.call('/api/favourites', { key })).status).toBe(200)
      const operator = await seedAccount(api.db, { role: 'operator', plan: 'free' })
      const changed = await api.call(`/api/accounts/${account.id}`, {
        method: 'PATCH',
        key: operator.key,
        body: { plan: 'free' },
      })
      expect(changed.json.account).toMatchObject({ id: account.id, plan: 'free' })
      expect(await api.call('/api/favourites', { key })).toMatchObject({ status: 403, json: { code: 'plan_required' } })
      expect(await api.call('/api/favourites', { method: 'POST', key, body: '{broken' })).toMatchObject({
        status: 403,
        json: { code: 'plan_required' },
      })
      await setPlan(api.db, { accountId: account.id, plan: 'pro' })
      expect(await api.call('/api/favourites', { method: 'POST', key, body: '{broken' })).toMatchObject({
        status: 403,
        json: { code: 'forbidden' },
      })
      expect((await api.call('/api/favourites', { key })).status).toBe(200)
    },
  )

  test('what is wrong with a body is said, and an unknown frame is 404', async () => {
    const { key } = await seedAccount(api.db)
    const save = (body: unknown, headers = {}) => api.call('/api/favourites', { method: 'POST', key, body, headers })
    expect((await save({ more: 1 })).json.message).toBe(
      'The request body is not valid: frameId: is required and must be a text; unknown: more; allowed are frameId',
    )
    const operator = await seedAccount(api.db, { role: 'operator', scopes: ['videos:write'] })
    const video = { url: 'https://example.org/x.mp4', colour: 'red' }
    const { json } = await api.call('/api/videos', { method: 'POST', key: operator.key, body: video })
    expect(json.message).toMatch(/unknown: colour; allowed are .*url/)
    for (const body of ['null', '"x"', 'frameId=x'])
      expect((await save(body, { 'content-type': 'application/json' })).json.message).toContain('Send a JSON object.')
    const broken = await fetch(`${api.url}/api/boards`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: Buffer.from('{"name":"caf\xe9"}', 'latin1'),
    })
    expect([broken.status, await broken.text()]).toEqual([400, expect.stringContaining('not UTF-8')])
    const board = (body: unknown) => api.call('/api/boards', { method: 'POST', key, body })
    expect((await board({ name: 'two\nlines' })).json.message).toContain('stands on one line')
    const many = await save(Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`key-${n}`, 1])))
    expect(many.json.message.length).toBeLessThan(500)
    expect((await save({ frameId: 'nope' })).json).toEqual({
      code: 'not_found',
      message: 'No such frame: nope. GET /api/frames lists those there are.',
    })
    expect(await save({ frameId: 'a\0b' })).toMatchObject({ status: 404 })
    for (const path of ['/api/boards/%00', '/api/boards/%00/frames/x', '/api/favourites/%00', '/api/shared/%00'])
      expect((await api.call(path, { key, method: path.endsWith('x') ? 'PUT' : 'GET' })).status).toBeLessThan(500)
    expect((await api.call('/api/favourites/%00', { key, method: 'DELETE' })).status).toBe(200)
    expect(await save({ frameId: `x${' '.repeat(300_000)}` })).toMatchObject({ status: 413 })
  })
})

describe('beyond the specification', () => {
  test('a board is read, renamed, filled, reordered, emptied and deleted', async () => {
    const { key } = await seedAccount(api.db)
    const { frameIds } = await seedFrames(api.db, { count: 3 })
    const [a, b, c] = frameIds as [string, string, string]
    const { id } = (await api.call('/api/boards', { method: 'POST', key, body: { name: 'x' } })).json.board
    const at = `/api/boards/${id}`
    const put = (frameId: string, body?: unknown) => api.call(`${at}/frames/${frameId}`, { method: 'PUT', key, body })
    const items = async () =>
      (await api.call(at, { key })).json.board.items.map((item: { id: string; note: string }) => [item.id, item.note])
    expect((await put(a)).json).toEqual({ ok: true, position: 0 })
    expect((await put(b, { note: 'the cut' })).json).toEqual({ ok: true, position: 1 })
    expect((await put(c, { position: 0 })).json).toEqual({ ok: true, position: 0 })
    expect((await put(c, { position: 99 })).json).toEqual({ ok: true, position: 2 })
    expect(await items()).toEqual([
      [a, null],
      [b, 'the cut'],
      [c, null],
    ])
    expect((await put(b, { note: null })).status).toBe(200)
    expect((await api.call(`${at}/frames/${a}`, { method: 'DELETE', key })).json).toEqual({ ok: true })
    expect((await api.call(`${at}/frames/${a}`, { method: 'DELETE', key })).json).toEqual({ ok: true })
    expect(await items()).toEqual([
      [b, null],
      [c, null],
    ])
    const renamed = await api.call(at, { method: 'PATCH', key, body: { name: 'y' } })
    expect(renamed.json.board).toMatchObject({ id, name: 'y', item_count: 2 })
    for (const body of [{ name: '' }, { name: 'a\u0007b' }, { name: 'x'.repeat(121) }, {}])
      expect((await api.call(at, { method: 'PATCH', key, body })).status).toBe(400)
    expect((await put(b, { position: -1 })).status).toBe(400)
    expect((await api.call(`${at}/frames`, { method: 'POST', key, body: { frameIds: [] } })).status).toBe(400)
    expect((await api.call(at, { method: 'DELETE', key })).json).toEqual({ ok: true })
    expect((await api.call(at, { key })).status).toBe(404)
    expect((await api.call(at, { method: 'DELETE', key })).status).toBe(404)
  })

  test('unsaving is idempotent', async () => {
    const { key } = await seedAccount(api.db)
    const { frameIds } = await seedFrames(api.db, { count: 1 })
    await api.call('/api/favourites', { method: 'POST', key, body: { frameId: frameIds[0] } })
    for (let n = 0; n < 2; n++)
      expect((await api.call(`/api/favourites/${frameIds[0]}`, { method: 'DELETE', key })).json).toEqual({ ok: true })
    expect((await api.call('/api/favourites', { key })).json).toEqual({ frames: [] })
  })

  test('saves and boards are taken away as JSON and CSV with credit and source', async () => {
    const { key } = await seedAccount(api.db)
    const { frameIds, videoId } = await seedFrames(api.db, { count: 2 })
    const { id } = (await api.call('/api/boards', { method: 'POST', key, body: { name: 'x' } })).json.board
    await api.call(`/api/boards/${id}/frames`, { method: 'POST', key, body: { frameIds, note: '=cmd()' } })
    await api.call('/api/favourites', { method: 'POST', key, body: { frameId: frameIds[0] } })
    const json = (await api.call(`/api/boards/${id}/export`, { key })).json
    expect(json.items).toHaveLength(2)
    expect(json.items[0]).toMatchObject({
      note: '=cmd()',
      credit: `“Launch ${videoId}” by Acme, Inc., web, at 0:00`,
      source_url: `https://example.org/${videoId}`,
    })
    const all = await api.call('/api/boards/export', { key })
    expect(all.headers.get('content-disposition')).toBe('attachment; filename="boards.json"')
    expect(all.json.boards).toMatchObject([{ id, name: 'x', item_count: 2 }])
    expect(all.json.boards[0].items).toEqual(json.items)
    const csv = await api.call(`/api/boards/${id}/export?format=csv`, { key })
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(csv.headers.get('content-disposition')).toBe(`attachment; filename="board-${id}.csv"`)
    expect(csv.text).toContain(`'=cmd()`)
    expect(csv.text).toContain(`'=a frame`)
    expect(csv.text).not.toMatch(/(^|,)"?=/m)
    expect((await api.call('/api/favourites/export?format=csv', { key })).text.trim().split('\r\n')).toHaveLength(2)
    expect((await api.call('/api/favourites/export?format=pdf', { key })).status).toBe(400)
  })

  test('the event log is read in pages with a cursor that goes on, by type, and only with its scope', async () => {
    const operator = await seedAccount(api.db, { role: 'operator', plan: 'free' })
    const person = await seedAccount(api.db)
    const { frameIds } = await seedFrames(api.db, { count: 3 })
    await untilReadable(api.db)
    let cursor = (await api.call('/api/events?limit=1000', { key: operator.key })).json.next
    for (const frameId of frameIds)
      await api.call('/api/favourites', { method: 'POST', key: person.key, body: { frameId } })
    await untilReadable(api.db)
    const seen: { id: string; subject: string }[] = []
    for (;;) {
      const page = await api.call(`/api/events?after=${cursor}&types=frame.saved,frame.unsaved&limit=2`, {
        key: operator.key,
      })
      expect(page.status).toBe(200)
      if (page.json.events.length === 0) break
      seen.push(...page.json.events)
      cursor = page.json.next
    }
    expect(seen.map((event) => event.subject)).toEqual(frameIds)
    expect(seen[0]).toMatchObject({
      specversion: '1.0',
      type: 'frame.saved',
      account_id: person.account.id,
      data: { frame_id: frameIds[0] },
    })
    // The cursor of an event that this log does not hold: of another library, or lost with a restored backup.
    const foreign = await api.call('/api/events?after=987654321.987654321', { key: operator.key })
    expect(foreign.status).toBe(400)
    const goOn = /Go on from (\S+), or/.exec(foreign.json.message)?.[1]
    expect((await api.call(`/api/events?after=${goOn}`, { key: operator.key })).json.events).toEqual([])
    for (const query of ['after=x', 'types=nope', 'limit=0'])
      expect((await api.call(`/api/events?${query}`, { key: operator.key })).status).toBe(400)
    expect((await api.call('/api/events', { key: person.key })).status).toBe(403)
  })
})
