import { describe, expect, test } from 'vitest'
import { useTestApi } from './app.ts'
import { seedAccount, seedFrames } from './seed-frames.ts'

const api = useTestApi()

describe('the four endpoints of the specification', () => {
  test('saving, also twice, is ok; the list has every saved frame, newest save first', async () => {
    const { key } = await seedAccount(api.db)
    const { frameIds } = await seedFrames(api.db, { count: 3 })
    for (const frameId of frameIds) {
      const save = () => api.call('/api/favourites', { method: 'POST', key, body: { frameId } })
      for (const { status, json } of [await save(), await save()]) expect([status, json]).toEqual([200, { ok: true }])
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

  test('what is wrong with a write is said so that it can be mended', async () => {
    const { key } = await seedAccount(api.db)
    const save = (body?: unknown) => api.call('/api/favourites', { method: 'POST', key, body })
    expect((await save({ more: 1 })).json.message).toBe(
      'The request body is not valid: frameId: is required and must be a text; unknown: more; allowed are frameId',
    )
    const many = await save(Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`key-${n}`, 1])))
    expect(many.json.message.length).toBeLessThan(500)
    const board = await api.call('/api/boards', { method: 'POST', key, body: { name: 'two\nlines' } })
    expect(board.json.message).toContain('stands on one line')
    const { id } = (await api.call('/api/boards', { method: 'POST', key, body: { name: 'x' } })).json.board
    const refused: [method: string, path: string, body: object][] = [
      ...[{ name: '' }, { name: 'a\u0007b' }, { name: '\u2060\u200b' }, {}].map((body): [string, string, object] => [
        ...(['PATCH', '', body] as const),
      ]),
      ['PUT', '/frames/a', { position: -1 }],
      ['POST', '/frames', { frameIds: [] }],
    ]
    for (const [method, path, body] of refused)
      expect((await api.call(`/api/boards/${id}${path}`, { method, key, body })).status).toBe(400)
    expect(await save({ frameId: 'a\0b' })).toMatchObject({ status: 404 })
    expect((await save({ frameId: 'nope' })).json).toEqual({
      code: 'not_found',
      message: 'No such frame: nope. GET /api/frames lists those there are.',
    })
  })
})

describe('beyond the specification', () => {
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
})
