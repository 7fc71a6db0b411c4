import { afterAll, beforeAll, expect, test } from 'vitest'
import { ensureAccount, setPlan } from '../../src/library/accounts/accounts.ts'
import { createKey } from '../../src/library/accounts/keys.ts'
import { formToken } from '../../src/library/accounts/sessions.ts'
import { createBoard } from '../../src/library/collections/boards.ts'
import { pinFrames } from '../../src/library/collections/pins.ts'
import { saveFrames } from '../../src/library/collections/saves.ts'
import type { TestApi } from './app.ts'
import { type FormFields, form, openPageVisitor, type PageVisitor } from './page-visitor.ts'
import { seedAccount, seedFrames } from './seed-frames.ts'

/** What a page takes back or brings back costs what it touches, as through the API, on every plan. */

let visitor: PageVisitor
let api: TestApi
beforeAll(async () => {
  visitor = await openPageVisitor({ scale: 1 })
  ;({ api } = visitor)
})
afterAll(() => visitor[Symbol.asyncDispose]())

const PINS = 300

/** A signed-in person with a key, and the points that the account has left after a write of its own. */
async function openPayer(email: string, role: 'member' | 'operator' = 'member') {
  const { account } = await ensureAccount(api.db, { email, plan: 'pro', role })
  const { cookie } = await visitor.signIn(email)
  const { key } = await createKey(api.db, { accountId: account.id, name: 'k' })
  const left = async () => {
    const { headers } = await api.call('/api/favourites/none', { method: 'DELETE', key })
    return Number(/r=(\d+)/.exec(headers.get('ratelimit')!)![1])
  }
  return { account, cookie, key, left, token: formToken(cookie.split('=')[1]!) }
}

test.each(['pro', 'free'] as const)('A1, A4: unpin, delete and undo are paid by frames: %s', async (plan) => {
  const { account, cookie, key, left, token } = await openPayer(`${plan}@example.org`)
  const { frameIds } = await seedFrames(api.db, { count: PINS })
  const at = { accountId: account.id }
  const { id: boardId } = await createBoard(api.db, { ...at, name: 'b' })
  await pinFrames(api.db, { ...at, boardId, frameIds })
  const { id: other } = await createBoard(api.db, { ...at, name: 'other' })
  await pinFrames(api.db, { ...at, boardId: other, frameIds: frameIds.slice(0, 200) })
  await saveFrames(api.db, { ...at, frameIds })
  await setPlan(api.db, { accountId: account.id, plan })

  const cost = async (path: string, fields: FormFields = {}) => {
    const before = await left()
    const answer = await api.call(path, form({ form: token, ...fields }, { cookie, accept: 'application/json' }))
    return { ...answer, points: before - (await left()) - 5 }
  }
  const some = { frame: frameIds.slice(0, 100) }
  const unpinned = await cost('/web/unpins', { board: boardId, ...some })
  expect([unpinned.status, unpinned.points]).toEqual([200, 100])
  if (plan === 'pro') {
    const { action, fields } = unpinned.json.undo
    const back = await cost(action, fields)
    expect([back.status, back.points]).toEqual([200, 100])
  }
  const saves = await cost('/web/unsaves', some)
  expect([saves.status, saves.points]).toEqual([200, 100])
  const saved = await cost(saves.json.undo.action, some)
  expect([saved.json.back.length, saved.points]).toEqual([100, 100])
  const pinned = plan === 'pro' ? PINS : PINS - 100
  const deleted = await cost(`/web/boards/${boardId}/delete`)
  expect([deleted.status, deleted.points]).toEqual([200, pinned])
  const restored = await cost(`/web/boards/${boardId}/delete/undo`)
  expect([restored.status, restored.points]).toEqual([200, pinned])
  expect((await cost(`/web/boards/${boardId}/delete/undo`)).points).toBe(5)
  const before = await left()
  const removed = await api.call(`/api/boards/${other}`, { method: 'DELETE', key })
  expect([removed.status, before - (await left()) - 5]).toEqual([200, 200])
})

test('a page that asks before a deed tells what goes and costs a read of each video, the deed a write', async () => {
  const { cookie, left, token } = await openPayer('asks@example.org', 'operator')
  const { videoId, frameIds } = await seedFrames(api.db, { count: 1 })
  const price = async (more: FormFields) => {
    const before = await left()
    const fields = { form: token, act: 'delete', video: [videoId, 'none'], ...more }
    const { status } = await api.call('/web/operator/videos', form(fields, { cookie }))
    return [status, before - (await left()) - 5]
  }
  expect(await price({})).toEqual([200, 2])
  for (const told of ['1 person', '2 people']) {
    await saveFrames(api.db, { accountId: (await seedAccount(api.db)).account.id, frameIds })
    const asked = await api.call('/web/operator/videos', form({ form: token, one: `delete:${videoId}` }, { cookie }))
    expect(asked.text).toContain('1 frame goes with it')
    expect(asked.text).toContain(`<strong>${told}</strong> would lose`)
  }
  expect(await price({ sure: '1' })).toEqual([409, 10])
})

test('a report costs four points and more for its rows, through the API and as a tool', async () => {
  const { key, left } = await openPayer('reports@example.org', 'operator')
  const params = { name: 'report', arguments: { of: 'activity' } }
  for (const [path, more] of [
    ['/api/analytics/activity', {}],
    ['/api/mcp', { method: 'POST', body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params } }],
  ] as const) {
    const before = await left()
    expect([path, (await api.call(path, { key, ...more })).status]).toEqual([path, 200])
    expect([path, before - (await left()) - 5]).toEqual([path, 4])
  }
})

test('a switch of an operator that is sent without its value changes nothing', async () => {
  const { account } = await openPayer('disabled@example.org')
  const { cookie, token } = await openPayer('switches@example.org', 'operator')
  const post = async (fields: FormFields) =>
    (await api.call(`/web/accounts/${account.id}/disable`, form({ form: token, ...fields }, { cookie }))).status
  const isDisabled = async () =>
    (await api.db.$client.query('select disabled_at from accounts where id = $1', [account.id])).rows[0].disabled_at !==
    null
  expect([await post({ disabled: '1' }), await isDisabled()]).toEqual([303, true])
  expect([await post({}), await post({ disabled: 'x' }), await isDisabled()]).toEqual([400, 400, true])
  expect([await post({ disabled: '0' }), await isDisabled()]).toEqual([303, false])
})

test('A2: a format that does not exist is refused before anything is looked for, and costs a page', async () => {
  const { cookie } = await visitor.signIn('exports@example.org')
  const get = (path: string) => api.call(path, { headers: { cookie } })
  for (const format of ['zzz', 'csv'])
    expect((await get(`/boards/none/timeline.${format}`)).status).toBe(format === 'zzz' ? 400 : 404)
  for (const path of ['/saves/export', '/boards/none/export']) {
    expect([path, (await get(`${path}?format=zzz`)).status]).toEqual([path, 400])
    expect([path, (await get(`${path}?format=csv`)).status]).toEqual([path, path === '/saves/export' ? 200 : 404])
  }
})

test('a description shows on the page of a board and its share link, and outlives a new name and an undo', async () => {
  const { account, cookie, key, token } = await openPayer('describes@example.org')
  const { id } = await createBoard(api.db, { accountId: account.id, name: 'Plans' })
  const post = (path: string, fields: FormFields) =>
    api.call(path, form({ form: token, ...fields }, { cookie, accept: 'application/json' }))
  const described = async () => (await api.call(`/api/boards/${id}`, { key })).json.board
  await post(`/web/boards/${id}/rename`, { name: 'May', description: 'For <the> launch' })
  expect(await described()).toMatchObject({ name: 'May', description: 'For <the> launch' })
  expect((await api.call(`/boards/${id}`, { headers: { cookie } })).text).toContain('For &lt;the&gt; launch')
  const { json } = await api.call(`/api/boards/${id}/share`, { method: 'POST', key, body: {} })
  expect((await api.call(new URL(json.url).pathname)).text).toContain('For &lt;the&gt; launch')
  await post(`/web/boards/${id}/rename`, { name: 'June' })
  expect(await described()).toMatchObject({ name: 'June', description: 'For <the> launch' })
  await post(`/web/boards/${id}/delete`, {})
  await post(`/web/boards/${id}/delete/undo`, {})
  expect(await described()).toMatchObject({ name: 'June', description: 'For <the> launch' })
  await post(`/web/boards/${id}/rename`, { name: 'June', description: '' })
  expect((await described()).description).toBeNull()
})

test('each door takes the same points for the same, and a refusal costs the account nothing', async () => {
  const { account, cookie, key, left, token } = await openPayer('payer@example.org')
  const { frameIds } = await seedFrames(api.db, { count: PINS })
  const { id: boardId } = await createBoard(api.db, { accountId: account.id, name: 'b' })
  await pinFrames(api.db, { accountId: account.id, boardId, frameIds })
  await saveFrames(api.db, { accountId: account.id, frameIds })
  const priceOf = async (path: string, call: Parameters<TestApi['call']>[1]) => {
    const before = await left()
    const { status } = await api.call(path, call)
    return { status, points: before - (await left()) - 5 }
  }
  const page = (path: string) => priceOf(path, { headers: { cookie } })
  const http = (path: string, body?: object) => priceOf(path, body ? { key, method: 'POST', body } : { key })
  // Pages send a form without a token, scripts never do.
  const post = (path: string, fields: FormFields, proof: FormFields = { form: token }) =>
    priceOf(path, form({ ...proof, ...fields }, { cookie, accept: proof.form ? 'application/json' : 'text/html' }))
  const tool = (name: string, args: object) =>
    http('/api/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } })
  const frame = frameIds.slice(0, 100)
  const free = { status: 400, points: 0 }

  const ofAll = { status: 200, points: 5 }
  const exported = `/boards/${boardId}/export`
  expect([await page(exported), await http(`/api${exported}`)]).toEqual([ofAll, ofAll])
  expect([await page('/saves/export'), await http('/api/favourites/export')]).toEqual([ofAll, ofAll])
  const timeline = `/boards/${boardId}/timeline.csv`
  expect(await page(timeline)).toEqual(await http(`/api${timeline}`))
  expect(await http('/api/favourites')).toEqual(ofAll)
  expect(await page('/boards?after=zzz!')).toEqual(free)
  expect(await post('/web/saves', { frame: Array.from({ length: 501 }, (_, n) => `f${n}`) })).toEqual(free)
  expect(await post('/web/saves', { frame }, { form: 'forged' })).toEqual({ status: 403, points: 0 })
  // A form without a token is asked about first: that page is a read. The write is paid once, when it is sent again.
  expect(await post('/web/saves', { frame }, {})).toEqual({ status: 200, points: 1 })
  expect(await post('/web/saves', { frame })).toEqual({ status: 200, points: 100 })
  expect(await post('/web/pins', { frame })).toEqual({ status: 200, points: 1 })
  expect(await post('/web/pins', { frame, board: boardId })).toEqual({ status: 200, points: 100 })
  expect(await http(`/api/boards/${boardId}/frames`, { frameIds: frame })).toEqual({ status: 200, points: 100 })
  expect(await http(`/api/boards/${boardId}/frames`, { frameIds: frame.slice(0, 2) })).toEqual({
    status: 200,
    points: 5,
  })
  expect(await tool('unpin_frame', { board_id: boardId, frame_ids: frame })).toEqual({ status: 200, points: 100 })
  expect(await post('/web/saved', { frame: frameIds.slice(0, 241) })).toEqual({ status: 200, points: 4 })
  expect(await post(`/web/boards/${boardId}/move`, { move: `${frameIds[0]}:x` })).toEqual(free)
})
