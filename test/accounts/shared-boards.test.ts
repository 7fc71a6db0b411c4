import { beforeAll, describe, expect, test } from 'vitest'
import { deleteAccount, markAccountDeleted, nameAccount, setDisabled } from '../../src/library/accounts/accounts.ts'
import { shareBoard } from '../../src/library/collections/board-settings.ts'
import { createBoard } from '../../src/library/collections/boards.ts'
import { pinFrames } from '../../src/library/collections/pins.ts'
import { saveFrames } from '../../src/library/collections/saves.ts'
import { deleteVideo } from '../../src/library/videos/lifecycle.ts'
import { useTestApi } from './app.ts'
import { eventsOf } from './records.ts'
import { seedAccount, seedFrames } from './seed-frames.ts'

/** A board as its owner and whoever has its link read it: as it is now, in pages, and as long as the account lives. */

const api = useTestApi()

async function sharedBoard() {
  const { account, key } = await seedAccount(api.db)
  const { frameIds, videoId } = await seedFrames(api.db, { count: 3 })
  const other = (await seedFrames(api.db, { count: 1 })).frameIds[0]!
  const write = (method: string, path: string, body?: unknown) => api.call(path, { method, key, body })
  const { json } = await write('POST', '/api/boards', { name: '<script>alert(1)</script>' })
  const path = `/api/boards/${json.board.id}`
  await write('POST', `${path}/frames`, { frameIds: [...frameIds, other] })
  const { json_url } = (await write('POST', `${path}/share`, {})).json
  const shared = new URL(json_url).pathname
  const links = [shared, shared.replace('/api', '')]
  const statuses = async () => Promise.all(links.map(async (one) => (await api.call(one)).status))
  return { account, boardId: json.board.id as string, key, path, frameIds, videoId, other, write, shared, statuses }
}

test('each change shows at the next read, and a link that has ended is gone', async () => {
  const { key, path, frameIds, videoId, other, write, shared } = await sharedBoard()
  const read = async () => {
    const [own, linked, page] = await Promise.all([
      api.call(path, { key }),
      api.call(shared),
      api.call(shared.replace('/api', '')),
    ])
    return { own: own.json?.board, linked: linked.json?.board ?? linked.json, page: page.text, status: linked.status }
  }
  type Item = { id: string; note: string | null }
  const idsOf = (board: { items: Item[] }) => board.items.map(({ id }) => id)
  const page = await api.call(shared.replace('/api', ''))
  expect(page.text).not.toContain('<script>alert')
  const told = ['cache-control', 'referrer-policy', 'x-robots-tag'].map((name) => page.headers.get(name))
  expect(told).toEqual(['no-store', 'same-origin', 'noindex'])
  await read()

  const answer = await write('PATCH', path, { name: 'renamed' })
  expect(answer.json.board).toMatchObject({ name: 'renamed', item_count: 4 })
  const renamed = await read()
  expect([renamed.own.name, renamed.linked.name]).toEqual(['renamed', 'renamed'])
  expect(renamed.page).toContain('<h1>renamed</h1>')

  await write('PUT', `${path}/frames/${frameIds[2]}`, { position: 0 })
  const order = [frameIds[2], frameIds[0], frameIds[1], other]
  const moved = await read()
  expect([idsOf(moved.own), idsOf(moved.linked)]).toEqual([order, order])

  await write('PUT', `${path}/frames/${frameIds[0]}`, { note: 'look here' })
  const noted = await read()
  expect([noted.own.items[1].note, noted.linked.items[1].note]).toEqual(['look here', 'look here'])
  expect(noted.page).toContain('look here')

  await write('PUT', `${path}/frames/${frameIds[0]}`, { note: null })
  expect((await read()).linked.items[1].note).toBeNull()

  for (let n = 0; n < 2; n++)
    expect((await write('DELETE', `${path}/frames/${frameIds[2]}`)).json).toEqual({ ok: true })
  expect(idsOf((await read()).linked)).toEqual([frameIds[0], frameIds[1], other])

  await deleteVideo(api.db, videoId)
  const { linked } = await read()
  expect([linked.item_count, idsOf(linked)]).toEqual([1, [other]])

  await write('DELETE', `${path}/share`)
  const ended = await read()
  expect([ended.status, ended.own.shared_at]).toEqual([404, null])
  expect((await api.call(shared)).text).toBe((await api.call('/api/shared/never')).text)
  expect(ended.linked).toMatchObject({ code: 'not_found', message: expect.stringContaining('share link has ended') })
  expect(ended.page).toContain('<h1>This link has ended</h1>')
})

test('A7: the shared boards of a disabled account are 404 at once, and are back once it is enabled', async () => {
  const { account, statuses } = await sharedBoard()
  expect(await statuses()).toEqual([200, 200])
  await setDisabled(api.db, { accountId: account.id, disabled: true })
  expect(await statuses()).toEqual([404, 404])
  await setDisabled(api.db, { accountId: account.id, disabled: false })
  expect(await statuses()).toEqual([200, 200])
})

test('A7: an operator ends a share link of anyone, once, and the log says who did', async () => {
  const { account, boardId, shared, statuses } = await sharedBoard()
  const { key: operator } = await seedAccount(api.db, { role: 'operator' })
  const { key: member } = await seedAccount(api.db)
  const end = (key: string | undefined) => api.call(shared, { method: 'DELETE', key })
  expect([(await end(undefined)).status, (await end(member)).status]).toEqual([401, 403])
  expect((await end(operator)).json).toEqual({ ok: true })
  expect(await statuses()).toEqual([404, 404])
  expect((await end(operator)).status).toBe(404)
  expect((await eventsOf(api.db, account.id)).at(-1)).toEqual({
    type: 'board.unshared',
    subject: boardId,
    data: { board_id: boardId, name: '<script>alert(1)</script>', ended_by: 'operator' },
  })
})

test('A10: a key that was refused while its account was disabled works again at once', async () => {
  const { account, key } = await seedAccount(api.db)
  const status = async () => (await api.call('/api/boards', { key })).status
  await setDisabled(api.db, { accountId: account.id, disabled: true })
  expect(await status()).toBe(401)
  await setDisabled(api.db, { accountId: account.id, disabled: false })
  expect(await status()).toBe(200)
})

test('an account whose deletion has begun is gone for everyone, and its address is free', async () => {
  const { account, key, statuses } = await sharedBoard()
  await markAccountDeleted(api.db, account.id)
  expect(await statuses()).toEqual([404, 404])
  expect((await api.call('/api/boards', { key })).status).toBe(401)
  const { key: operator } = await seedAccount(api.db, { role: 'operator' })
  const setPlan = () =>
    api.call(`/api/accounts/${account.id}`, { method: 'PATCH', key: operator, body: { plan: 'free' } })
  expect((await setPlan()).status).toBe(404)
  for (const act of [markAccountDeleted, deleteAccount])
    await expect(act(api.db, account.id)).rejects.toMatchObject({ code: 'not_found' })
  await expect(setDisabled(api.db, { accountId: account.id, disabled: false })).rejects.toMatchObject({
    code: 'not_found',
  })
  const { rows } = await api.db.$client.query('select email from accounts where id = $1', [account.id])
  expect(rows).toEqual([{ email: null }])
})

/** No answer grows with a board: its items come in pages of 120, and what holds them all is streamed. */
describe('a long board', () => {
  const PINS = 300

  let key: string
  let boardId: string
  let frameIds: string[]
  let token: string
  beforeAll(async () => {
    const seeded = await seedAccount(api.db)
    key = seeded.key
    frameIds = (await seedFrames(api.db, { count: PINS })).frameIds
    const at = { accountId: seeded.account.id }
    boardId = (await createBoard(api.db, { ...at, name: 'long' })).id
    await pinFrames(api.db, { ...at, boardId, frameIds })
    await saveFrames(api.db, { ...at, frameIds })
    token = (await shareBoard(api.db, { ...at, boardId })).token
  })

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
    const framesOf = ({ text }: { text: string }) => [...text.matchAll(/id="f-([^"]+)"/g)].map(([, id]) => id)
    const nextOf = ({ text }: { text: string }) => /rel="next" href="(\?page=\d+)"/.exec(text)![1]!
    expect(first.text).toContain('A board of 300 frames')
    const second = await api.call(`/shared/${token}${nextOf(first)}`)
    const last = await api.call(`/shared/${token}${nextOf(second)}`)
    expect([first, second, last].flatMap(framesOf)).toEqual(frameIds)
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
})

test('it names its owner by the name that they gave, and never by their address', async () => {
  const { account, shared } = await sharedBoard()
  const lead = async () => {
    const { text } = await api.call(shared.replace('/api', ''))
    expect(text).not.toContain(account.email)
    return /<p class="lead">(.*)<\/p>/.exec(text)?.[1]
  }
  const board = '4 frames'
  expect(await lead()).toBe(board)
  for (const [given, told] of [
    ['  Ada \u202e Lovelace\n', ' by Ada Lovelace'],
    ['<img src=x onerror=alert(1)>"&', ' by &lt;img src=x onerror=alert(1)&gt;&quot;&amp;'],
    ['🎞'.repeat(80), ` by ${'🎞'.repeat(80)}`],
    ['\u200b\u2800 ', ''],
  ] as const) {
    await nameAccount(api.db, { accountId: account.id, name: given })
    expect(await lead()).toBe(`${board}${told}`)
  }
  const long = nameAccount(api.db, { accountId: account.id, name: 'x'.repeat(81) })
  await expect(long).rejects.toMatchObject({ code: 'invalid_request' })
})
