import { afterAll, beforeAll, expect, test } from 'vitest'
import { deleteVideo } from '../../src/library/videos/lifecycle.ts'
import type { LibrarySearch } from '../../src/search/library-search.ts'
import { openTestApi, type TestApi } from './app.ts'
import { seedAccount, seedFrames } from './seed-frames.ts'

/** A page of a board is answered from memory, and yet each change and the end of its link hold at once. */

let api: TestApi
let looked = 0
beforeAll(async () => {
  api = await openTestApi({
    overrides: { search: (search) => counted(search) },
  })
})
afterAll(() => api[Symbol.asyncDispose]())

function counted(search: LibrarySearch): LibrarySearch {
  return Object.assign(Object.create(search), {
    async framesByIds(ids: readonly string[]) {
      looked++
      return search.framesByIds(ids)
    },
  })
}

async function sharedBoard() {
  const { key } = await seedAccount(api.db)
  const { frameIds, videoId } = await seedFrames(api.db, { count: 3 })
  const other = (await seedFrames(api.db, { count: 1 })).frameIds[0]!
  const write = (method: string, path: string, body?: unknown) => api.call(path, { method, key, body })
  const { json } = await write('POST', '/api/boards', { name: '<script>alert(1)</script>' })
  const path = `/api/boards/${json.board.id}`
  await write('POST', `${path}/frames`, { frameIds: [...frameIds, other] })
  const shared = await write('POST', `${path}/share`, {})
  return { key, path, frameIds, videoId, other, write, shared: shared.json.json_url.replace(api.url, '') as string }
}

test.each(['owner', 'link', 'page'])('twenty reads of one page look at its frames once: %s', async (reader) => {
  const { key, path, shared } = await sharedBoard()
  const asked = { owner: path, link: shared, page: shared.replace('/api', '') }[reader]!
  looked = 0
  const answers = []
  for (let n = 0; n < 20; n++) answers.push(await api.call(asked, reader === 'owner' ? { key } : {}))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  expect(answers[0]!.headers.get('cache-control')).toBe('no-store')
  expect(looked).toBe(1)
})

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
  expect([page.headers.get('referrer-policy'), page.headers.get('x-robots-tag')]).toEqual(['no-referrer', 'noindex'])
  await read()

  await write('PATCH', path, { name: 'renamed' })
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

  await write('DELETE', `${path}/frames/${frameIds[2]}`)
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
