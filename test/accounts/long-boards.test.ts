import { afterAll, beforeAll, expect, test } from 'vitest'
import { shareBoard } from '../../src/library/collections/board-settings.ts'
import { createBoard } from '../../src/library/collections/boards.ts'
import { pinFrames } from '../../src/library/collections/pins.ts'
import { saveFrames } from '../../src/library/collections/saves.ts'
import { openTestApi, type TestApi } from './app.ts'
import { seedAccount, seedFrames } from './seed-frames.ts'

/** No answer grows with a board: its items come in pages of 120, and what holds them all is streamed. */

const PINS = 300

let api: TestApi
let key: string
let boardId: string
let frameIds: string[]
let token: string
beforeAll(async () => {
  api = await openTestApi()
  const seeded = await seedAccount(api.db)
  key = seeded.key
  frameIds = (await seedFrames(api.db, { count: PINS })).frameIds
  const at = { accountId: seeded.account.id }
  boardId = (await createBoard(api.db, { ...at, name: 'long' })).id
  await pinFrames(api.db, { ...at, boardId, frameIds })
  await saveFrames(api.db, { ...at, frameIds })
  token = (await shareBoard(api.db, { ...at, boardId })).token
})
afterAll(() => api[Symbol.asyncDispose]())

const idsOf = (items: { id: string }[]) => items.map(({ id }) => id)

test.each(['owner', 'link'])('a board is read in pages of 120 that join without loss: %s', async (reader) => {
  const path = reader === 'owner' ? `/api/boards/${boardId}` : `/api/shared/${token}`
  const call = (query: string) => api.call(path + query, reader === 'owner' ? { key } : {})
  const found: string[] = []
  const sizes: number[] = []
  let query = ''
  for (let next: string | null = ''; next !== null; query = `?after=${next}`) {
    const { json, headers } = await call(query)
    expect(json.board).toMatchObject({ id: boardId, item_count: PINS })
    expect(json.board.cover_urls).toHaveLength(4)
    found.push(...idsOf(json.board.items))
    sizes.push(json.board.items.length)
    next = json.next
    expect(headers.get('link')).toBe(next === null ? null : `<${api.url}${path}?after=${next}>; rel="next"`)
  }
  expect(sizes).toEqual([120, 120, 60])
  expect(found).toEqual(frameIds)
  expect((await call('?after=x')).status).toBe(400)
  expect((await call('?after=999999999')).json).toMatchObject({ board: { items: [] }, next: null })
})

test('the page of a shared board leads to its next pages by links', async () => {
  const first = await api.call(`/shared/${token}`)
  expect(first.text.match(/<figure>/g)).toHaveLength(120)
  expect(first.text).toContain('A board of 300 frames')
  const after = /rel="next" href="(\?after=\d+)"/.exec(first.text)![1]!
  const second = await api.call(`/shared/${token}${after}`)
  expect(second.text.match(/<figure>/g)).toHaveLength(120)
  expect(second.text).toContain('First page')
  const last = await api.call(`/shared/${token}${/rel="next" href="(\?after=\d+)"/.exec(second.text)![1]!}`)
  expect(last.text.match(/<figure>/g)).toHaveLength(60)
  expect(last.text).not.toContain('rel="next"')
})

test('a long answer is compressed', async () => {
  const raw = (path: string) =>
    fetch(api.url + path, { headers: { 'accept-encoding': 'gzip', authorization: `Bearer ${key}` } })
  for (const path of [`/api/shared/${token}`, `/api/boards/${boardId}/export`, '/api/favourites']) {
    const answer = await raw(path)
    expect([path, answer.status, answer.headers.get('content-encoding')]).toEqual([path, 200, 'gzip'])
    expect(answer.headers.get('vary')).toContain('Accept-Encoding')
  }
})

test('exports and the list of all saves hold everything', async () => {
  const board = await api.call(`/api/boards/${boardId}/export`, { key })
  expect(board.json.items.map((item: { frame_id: string }) => item.frame_id)).toEqual(frameIds)
  expect(board.json.board).toMatchObject({ id: boardId, item_count: PINS })
  const csv = await api.call(`/api/boards/${boardId}/export?format=csv`, { key })
  expect(csv.text.trimEnd().split('\r\n')).toHaveLength(PINS + 1)
  const saves = await api.call('/api/favourites', { key })
  expect(new Set(idsOf(saves.json.frames)).size).toBe(PINS)
  const file = await api.call('/api/favourites/export', { key })
  expect(file.json.items).toHaveLength(PINS)
})
