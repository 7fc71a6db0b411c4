import { beforeAll, expect, test } from 'vitest'
import { listAccountOverviews, whatAccountHolds } from '../../src/library/accounts/accounts.ts'
import { createKey } from '../../src/library/accounts/keys.ts'
import { createBoard, ensureBoard } from '../../src/library/collections/boards.ts'
import { pinFrames } from '../../src/library/collections/pins.ts'
import { whatGoesWith } from '../../src/library/videos/lifecycle.ts'
import { OPERATIONS } from '../../src/server/build-app.ts'
import { type Person, usePageVisitor } from './page-visitor.ts'
import { typesOf } from './records.ts'
import { seedAccount, seedFrames } from './seed-frames.ts'

/** A deleted board rests for a day. Until its owner takes it back, it is at no door, as another account's board is. */

const visitor = usePageVisitor()
const { api } = visitor
let accountId: string
let otherId: string
let person: Person
let key: string
let frameId: string
let videoId: string
let id: string
let token: string
/** The deleted board, another's, and one that never was. */
let absent: string[]
beforeAll(async () => {
  person = await visitor.signIn('rests@example.org', { plan: 'pro' })
  accountId = person.account.id
  ;({ key } = await createKey(api.db, { accountId, name: 'k' }))
  const seeded = await seedFrames(api.db, { count: 2 })
  ;[frameId, videoId] = [seeded.frameIds[0]!, seeded.videoId]
  id = (await createBoard(api.db, { accountId, name: 'Openings' })).id
  await pinFrames(api.db, { accountId, boardId: id, frameIds: seeded.frameIds, note: 'hold' })
  token = (await http('POST', `/api/boards/${id}/share`, {})).json.url.split('/').at(-1)
  // Read once, so that a page in memory would show.
  for (const path of [`/api/boards/${id}`, `/api/shared/${token}`, `/shared/${token}`])
    expect((await api.call(path, { key })).status).toBe(200)
  expect((await http('DELETE', `/api/boards/${id}`)).status).toBe(200)
  otherId = (await seedAccount(api.db)).account.id
  absent = [id, (await createBoard(api.db, { accountId: otherId, name: 'Theirs' })).id, 'never']
})

const named = <T>(given: T): T => JSON.parse(JSON.stringify(given ?? null).replaceAll('FRAME', frameId))
const http = (method: string, path: string, body?: object | null) =>
  api.call(path, { method, key, ...(body ? { body } : {}) })
const post = (path: string, fields: Record<string, string> = {}) =>
  person.post(path, fields, { accept: 'application/json' })
const tool = async (name: string, args: object) => {
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }
  return (await api.call('/api/mcp', { method: 'POST', key, body })).json.result
}

const ofBoards = OPERATIONS.filter(({ path }) => path.startsWith('/api/boards/:id'))
test.each(ofBoards)('over HTTP it is like one that never was: $method $path', async ({ method, path, ...given }) => {
  const example = given.example as object | undefined
  const at = path.replace(':frameId', frameId).replace(':format', 'csv')
  const body = example === undefined ? null : { ...example, ...('frameIds' in example ? { frameIds: [frameId] } : {}) }
  const answers = []
  for (const board of absent) answers.push(await http(method.toUpperCase(), at.replace(':id', board), body))
  expect(answers.map(({ status }) => status)).toEqual([404, 404, 404])
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
})

test('it is in no list, and its link is dead', async () => {
  expect((await http('GET', '/api/boards')).json.boards).toEqual([])
  expect((await http('GET', '/api/boards/export')).text).not.toContain(id)
  for (const path of [`/api/shared/${token}`, `/shared/${token}`]) expect((await api.call(path)).status).toBe(404)
  expect((await person.get('/boards')).text).not.toContain(id)
  expect((await post('/web/pins', { frame: frameId })).text).not.toContain(id)
})

test.each(['', '/export?format=zip', '/timeline.csv', '?note=FRAME'])('it is no page: %s', async (path) => {
  for (const board of absent) expect((await person.get(`/boards/${board}${named(path)}`)).status).toBe(404)
})

test.each([
  ['rename', { name: 'x' }],
  ['cover', { cover: 'FRAME' }],
  ['delete', {}],
  ['share', {}],
  ['unshare', {}],
  ['note', { frame: 'FRAME', note: 'x' }],
  ['move', { move: 'FRAME:0' }],
])('it takes no form of a page: %s', async (act, fields) => {
  for (const board of absent) expect((await post(`/web/boards/${board}/${act}`, named(fields))).status).toBe(404)
})

test.each([
  ['pins', { frame: 'FRAME' }],
  ['unpins', { frame: 'FRAME' }],
  ['unpins/undo', { pins: '[{"frameId":"FRAME","note":null,"position":0}]' }],
])('it takes no pins from a page: %s', async (act, fields) => {
  for (const board of absent) expect((await post(`/web/${act}`, { board, ...named(fields) })).status).toBe(404)
})

test.each([
  ['get_board', {}],
  ['edit_board', { name: 'x' }],
  ['remove', { link: true }],
  ['remove', { confirm: true }],
  ['export_board', {}],
  ['pin_frame', { frame_ids: ['FRAME'] }],
  ['remove', { frame_ids: ['FRAME'] }],
])('no tool finds it, by id or by name: %s', async (name, args) => {
  for (const board of [...absent, 'Openings', 'Theirs']) {
    const { isError, content } = await tool(name, { board_id: board, ...named(args) })
    const text = `No such board: "${board}". get_board names yours, edit_board makes one.`
    expect([isError, content[0].text]).toEqual([true, text])
  }
})

test('it is not counted, and nothing has happened to it', async () => {
  expect((await tool('get_board', {})).structuredContent).toMatchObject({ boards: [], total: 0 })
  expect(await whatAccountHolds(api.db, accountId)).toMatchObject({ boards: 0 })
  const { accounts } = await listAccountOverviews(api.db, { like: 'rests@', limit: 1, skip: 0 })
  expect(accounts).toMatchObject([{ boards: 0 }])
  expect(await whatGoesWith(api.db, [videoId])).toMatchObject({ pins: 0, accounts: 0 })
  expect((await typesOf(api.db, accountId)).at(-1)).toBe('board.deleted')
  expect(await typesOf(api.db, otherId)).toEqual(['board.created'])
})

test('it leaves its name, and comes back beside a new board of it with its notes, but without its link', async () => {
  const { created } = await ensureBoard(api.db, { accountId, name: 'Openings' })
  expect(created).toBe(true)
  const told = (await typesOf(api.db, accountId)).length
  const undo = `/web/boards/${id}/delete/undo`
  const stranger = await visitor.signIn('stranger@example.org')
  expect((await stranger.post(undo)).status).toBe(404)
  // The page that follows a deletion has the form of its undo.
  expect((await person.get(`/boards?deleted=${id}`)).text).toContain(`action="${undo}"`)
  const back = await person.post(undo)
  expect([back.status, back.headers.get('location')]).toEqual([303, `/boards/${id}`])
  expect((await post(undo)).status).toBe(404)
  const { board } = (await http('GET', `/api/boards/${id}`)).json
  expect(board).toMatchObject({ name: 'Openings', item_count: 2, shared_at: null })
  expect(board.items.map(({ note }: { note: string }) => note)).toEqual(['hold', 'hold'])
  expect((await api.call(`/api/shared/${token}`)).status).toBe(404)
  const types = (await typesOf(api.db, accountId)).slice(told)
  expect(types).toEqual(['board.created', 'board.frame_pinned', 'board.frame_pinned'])
})
