import { expect, test } from 'vitest'
import { createBoard, loadBoard } from '../../src/library/collections/boards.ts'
import { pinFrames } from '../../src/library/collections/pins.ts'
import { listSaves } from '../../src/library/collections/saves.ts'
import type { Plan } from '../../src/vocabulary.ts'
import { type FormFields, form, usePageVisitor } from './page-visitor.ts'
import { seedFrames } from './seed-frames.ts'

const visitor = usePageVisitor()
const { api } = visitor

let people = 0
/** A signed-in person who sends forms as a page without script does, or JSON as a script does. */
async function person(plan: Plan = 'pro') {
  const me = await visitor.signIn(`collector${++people}@example.org`, { plan })
  return {
    ...me,
    ask: (path: string, fields: FormFields) => me.post(path, fields, { accept: 'application/json' }),
    boardOf: async (boardId: string) => loadBoard(api.db, { accountId: me.account.id, boardId }),
  }
}

/** The form of a page that takes a removal back. */
function undoOf(page: string): { action: string; fields: FormFields } {
  const [, action, inner] = /<form class="notice done" method="post" action="([^"]+)"([\s\S]*?)<\/form>/.exec(page)!
  const fields = [...inner!.matchAll(/name="(\w+)" value="([^"]*)"/g)]
  const plain = (text: string) => text.replaceAll('&quot;', '"').replaceAll('&#34;', '"').replaceAll('&amp;', '&')
  const kept = Map.groupBy(fields, ([, name]) => name!)
  kept.delete('form')
  const valuesOf = ([name, all]: [string, RegExpExecArray[]]) => [name, all.map(([, , value]) => plain(value!))]
  return { action: action!, fields: Object.fromEntries([...kept].map(valuesOf)) }
}

test('saves many at once, takes some back, and an undo restores their places and times', async () => {
  const { frameIds } = await seedFrames(api.db, { count: 6 })
  const me = await person()
  expect((await me.ask('/web/saves', { frame: frameIds })).json).toMatchObject({ saved: frameIds, already: [] })
  const before = await listSaves(api.db, me.account.id)
  const gone = [frameIds[1]!, frameIds[4]!]
  const removed = await me.post('/web/unsaves', { frame: gone })
  expect(removed.status).toBe(200)
  expect((await listSaves(api.db, me.account.id)).saves).toHaveLength(4)
  expect(undoOf(removed.text)).toEqual({ action: '/web/unsaves/undo', fields: { frame: gone.toReversed() } })
  expect((await me.post('/web/unsaves/undo', { frame: gone })).headers.get('location')).toBe('/saves')
  expect(await listSaves(api.db, me.account.id)).toEqual(before)
  expect((await me.ask('/web/unsaves/undo', { frame: gone })).json).toMatchObject({ back: [] })
  // Who came from another page goes back there.
  const back = `/frames/${frameIds[0]}`
  expect((await me.post('/web/unsaves', { back, frame: frameIds[0]! })).headers.get('location')).toBe(back)
})

test('a form without the token of the session asks before it does anything', async () => {
  const { frameIds } = await seedFrames(api.db, { count: 2 })
  const me = await person()
  const asked = await api.call('/web/saves', form({ frame: frameIds }, { cookie: me.cookie }))
  expect(asked.status).toBe(200)
  expect(asked.text).toContain('Save 2 frames?')
  expect((await listSaves(api.db, me.account.id)).saves).toEqual([])
  const foreign = { cookie: me.cookie, 'sec-fetch-site': 'cross-site' }
  expect((await api.call('/web/saves', form({ frame: frameIds }, foreign))).status).toBe(403)
  const shown = asked.text.slice(asked.text.indexOf('action="/web/saves"'))
  const fields = [...shown.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)]
  const again = new URLSearchParams(fields.map(([, name, value]) => [name!, value!])).toString()
  expect((await api.call('/web/saves', { ...form({}, { cookie: me.cookie }), body: again })).status).toBe(303)
  expect((await listSaves(api.db, me.account.id)).saves).toHaveLength(2)
})

test('a script without the token of the session is refused as scripts are', async () => {
  const me = await person()
  for (const path of ['/web/saves', '/web/pins']) {
    const sent = form({ frame: 'a' }, { cookie: me.cookie, accept: 'application/json' })
    const { status, json } = await api.call(path, sent)
    expect([status, json?.code]).toEqual([403, 'forbidden'])
  }
})

test('a frame on a later page of a board can have a note', async () => {
  const { frameIds } = await seedFrames(api.db, { count: 121 })
  const me = await person()
  const { json } = await me.ask('/web/pins', { name: 'Long', frame: frameIds.slice(0, 120) })
  await me.ask('/web/pins', { board: json.board, frame: frameIds.slice(120) })
  const shown = `/boards/${json.board}?page=2`
  const [, link] = new RegExp(`href="([^"]*note=${frameIds[120]})"`).exec((await me.get(shown)).text)!
  const form = await me.get(link!.replaceAll('&amp;', '&'))
  expect(form.text).toContain('<h1>Note on a frame of “Long”</h1>')
  // Who works on that page comes back to it.
  const pin = `#pin-${frameIds[120]}`
  expect(form.text).toContain(`href="${shown}${pin}"`)
  const endOf = async (...asked: Parameters<typeof me.post>) => (await me.post(...asked)).headers.get('location')
  const path = `/web/boards/${json.board}`
  expect(await endOf(`${path}/note`, { page: '2', frame: frameIds[120]!, note: 'x' })).toBe(shown + pin)
  expect(await endOf(`${path}/cover`, { page: '2', cover: frameIds[120]! })).toBe(shown + pin)
  expect(await endOf(`${path}/move`, { page: '2', move: `${frameIds[120]}:120` })).toBe(shown + pin)
  const removed = { page: '2', board: json.board, only: frameIds[119]! }
  expect((await me.post('/web/unpins', removed)).text).toContain(`<a href="${shown}">Back</a>`)
  // Without its last frame that page is gone.
  await me.ask('/web/unpins', { board: json.board, only: frameIds[120]! })
  expect((await me.get(shown)).text).toContain(`id="pin-${frameIds[0]}"`)
})

test('a page behind the last one of the videos does not say that there are none', async () => {
  await seedFrames(api.db, { count: 1 })
  const page = await (await visitor.signIn('lists@example.org', { role: 'operator' })).get('/operator?page=9')
  expect(page.text).toContain('No video is on this page')
})

test('a refused address of an open page is a page, and what scripts are told holds no key', async () => {
  const paths = ['/privacy?x=1', '/connect?x=1', '/connect/skills/none.zip', '/docs?x=1']
  for (const path of paths) {
    const page = await api.call(path, { headers: { accept: 'text/html' } })
    expect([path, page.headers.get('content-type')]).toEqual([path, 'text/html; charset=utf-8'])
  }
  const { cookie } = await person()
  const refused = await api.call(`/boards?flk_live_${'a'.repeat(40)}=1`, {
    headers: { cookie, accept: 'application/json' },
  })
  expect([refused.status, refused.json.message]).toEqual([400, expect.stringMatching(/^flk_…: unknown/)])
})

test('unpinning can be taken back with notes, places and cover', async () => {
  const { frameIds } = await seedFrames(api.db, { count: 4 })
  const me = await person()
  const { json } = await me.ask('/web/pins', { name: 'Openings', frame: frameIds })
  const id = json.board as string
  await me.post(`/web/boards/${id}/note`, { frame: frameIds[2]!, note: 'hold\nthe logo' })
  await me.post(`/web/boards/${id}/cover`, { cover: frameIds[3]! })
  const before = await me.boardOf(id)
  expect(before.board.coverFrameIds[0]).toBe(frameIds[3])
  const gone = await me.ask('/web/unpins', { board: id, frame: [frameIds[2]!, frameIds[0]!] })
  expect((await me.boardOf(id)).pins.map((pin) => pin.frameId)).toEqual([frameIds[1], frameIds[3]])
  const { action, fields } = gone.json.undo
  expect((await me.ask(action, fields)).json.back).toEqual([frameIds[0], frameIds[2]])
  const shape = ({ board, pins }: typeof before) => ({
    name: board.name,
    cover: board.coverFrameIds,
    pins: pins.map(({ frameId, note }) => ({ frameId, note })),
  })
  expect(shape(await me.boardOf(id))).toEqual(shape(before))
  // A move or a note of a frame that was removed meanwhile does not pin it anew.
  const page = await me.post('/web/unpins', { board: id, frame: frameIds[1]! })
  const pins = [JSON.stringify([{ frameId: frameIds[1], note: null, position: 1 }])]
  expect(undoOf(page.text).fields).toMatchObject({ board: [id], pins })
  for (const pins of ['', 'x', '{}', '[{"frameId":"x"}]', `[{"frameId":"x","note":null,"position":-1}]`])
    expect((await me.ask('/web/unpins/undo', { board: id, pins })).status).toBe(400)
  expect((await me.ask(`/web/boards/${id}/note`, { frame: frameIds[1]!, note: 'x' })).status).toBe(404)
})

test('on the free plan everything can be seen, exported and removed; what pins anew is not offered', async () => {
  const { frameIds } = await seedFrames(api.db, { count: 2 })
  const me = await person('free')
  expect((await me.get('/saves')).text).toContain('need the <strong>pro</strong> plan')
  expect((await me.get('/saves/export?format=csv')).status).toBe(200)
  expect((await me.ask('/web/unsaves', { frame: frameIds })).json).toMatchObject({ removed: [], undo: null })
  const at = {
    accountId: me.account.id,
    boardId: (await createBoard(api.db, { accountId: me.account.id, name: 'x' })).id,
  }
  await pinFrames(api.db, { ...at, frameIds })
  const gone = await me.ask('/web/unpins', { board: at.boardId, frame: frameIds[0]! })
  expect(gone.json).toMatchObject({ removed: [frameIds[0]], undo: null })
})
