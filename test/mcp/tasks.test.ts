import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { appendEvent } from '../../src/events/append.ts'
import { createAccount } from '../../src/library/accounts/accounts.ts'
import { createKey } from '../../src/library/accounts/keys.ts'
import { recountAnalytics } from '../../src/projections/analytics.ts'
import { untilReadable } from '../support/stores.ts'
import { type Seen, TASKS } from './tasks.ts'
import { ids, openToolLibrary, type ToolLibrary } from './tool-library.ts'

let library: ToolLibrary
let service: ToolLibrary['service']
let videoIds: ToolLibrary['videoIds']
let call: ToolLibrary['call']
let get: ToolLibrary['get']
beforeAll(async () => {
  library = await openToolLibrary()
  ;({ service, videoIds, call, get } = library)
})
afterAll(() => library[Symbol.asyncDispose]())

describe('one call a task', () => {
  test('how several videos open and end: first and last of each, in the order asked, in one call', async () => {
    const five = videoIds.slice(0, 5)
    const all = await Promise.all(five.map(async (id) => (await get(`/api/videos/${id}/frames`)).frames))
    const opened = await call('get_video_frames', { video_id: five, first: 2, last: 1 })
    const wanted = all.flatMap((frames) => ids([...frames.slice(0, 2), frames.at(-1)]))
    expect(ids(opened.structuredContent.frames)).toEqual(wanted)
    expect(opened.structuredContent).toMatchObject({ total: 15, next_cursor: null })
    expect(ids(opened.structuredContent.videos)).toEqual(five)
    expect(opened.text).toMatch(/^5 videos, 15 of 15 frames\n/)
    for (const [n, id] of five.entries()) expect(opened.text).toContain(`${id} "Introducing ${all[n][0].author} ${n}`)
    const pages = await call('get_video_frames', { video_id: five, first: 2, last: 1, limit: 4 })
    const next = { video_id: five, first: 2, last: 1, limit: 4, cursor: pages.structuredContent.next_cursor }
    const second = await call('get_video_frames', next)
    expect(ids(second.structuredContent.frames)).toEqual(wanted.slice(4, 8))
    expect(second.text).toContain(`\n${five[1]} "`)
    const twice = [five[0], all[0][3].image_url]
    const same = await call('get_video_frames', { video_id: twice, to_sec: 4, first: 1 })
    expect(ids(same.structuredContent.frames)).toEqual([all[0][0].id])
  })
  test('twenty videos of which one is unknown: refused whole, with what is allowed', async () => {
    const twenty = Array.from({ length: 20 }, (_, n) => (n === 12 ? 'nosuchvideo' : videoIds[n % 8]!))
    const refused = await call('get_video_frames', { video_id: twenty, first: 1 })
    expect([refused.isError, refused._meta.code, refused.structuredContent]).toEqual([true, 'not_found', undefined])
    expect(refused.text).toBe(
      'No such video: "nosuchvideo". Pass ids, URLs or whole titles; search_library finds videos by title or URL.',
    )
    const many = await call('get_video_frames', { video_id: [...twenty, videoIds[0]] })
    expect([many.isError, many.text]).toEqual([true, expect.stringContaining('at most 20')])
    for (const args of [{ first: 0 }, { last: 121 }, { video_id: [] }])
      expect((await call('get_video_frames', { video_id: videoIds[0], ...args })).isError).toBe(true)
  })
  test('like frames: at most one of the same film, told as that; none, or more where that film is named', async () => {
    const { frames } = await get(`/api/videos/${videoIds[2]}/frames`)
    const [{ id }] = frames
    const ofFilm = (answer: { structuredContent: { frames: { id: string; shares: string[] }[] } }) =>
      answer.structuredContent.frames.filter((frame) => frame.id.startsWith(videoIds[2]!))
    const usual = await call('find_similar_frames', { frame_id: id, limit: 50 })
    const own = ofFilm(usual)
    expect(own).toHaveLength(1)
    for (const { id, shares } of usual.structuredContent.frames)
      expect(shares.includes('the same film')).toBe(id === own[0]!.id)
    expect(usual.text).toContain('shares the same film; ')
    expect(usual.structuredContent.total).toBe(usual.structuredContent.frames.length)
    expect(ofFilm(await call('find_similar_frames', { frame_id: id, limit: 50, other_videos: true }))).toEqual([])
    const within = await get(`/api/frames/${id}/similar?video=${videoIds[2]}`)
    expect(within.frames).toHaveLength(frames.length - 1)
    const others = await get(`/api/frames/${id}/similar?other_videos=1`)
    expect(ids(others.frames).filter((one) => one.startsWith(videoIds[2]!))).toEqual([])
  })
  test('answers say the total, beyond the page', async () => {
    const http = await get('/api/frames?tone=dark&facets=1')
    for (const [name, args, total] of [
      ['browse_frames', { tone: 'dark', limit: 3 }, http.total],
      ['search_frames', { query: 'dark', limit: 3 }, (await get('/api/frames?q=dark&facets=1')).total],
      ['browse_frames', { tone: 'dark', limit: 3, page: 2 }, http.total],
      ['get_video_frames', { video_id: videoIds[0], limit: 3 }, 8],
      ['list_techniques', { limit: 3 }, (await get('/api/techniques')).techniques.length],
    ] as const) {
      const { structuredContent, text } = await call(name, args)
      expect(structuredContent.total, name).toBe(total)
      expect(text.split('\n')[0]).toContain(`${total}`)
    }
    const techniques = await call('list_techniques')
    expect(techniques.text).toContain(`: Uses kinetic-type.\n${service.url}/media/`)
  })
})

describe('the tasks of a new agent, by the SDK client', () => {
  const clients: Partial<Record<(typeof TASKS)[number]['who'], Client>> = {}
  let frames: Seen['frames']
  let boardId: string

  async function connect(headers: Record<string, string>): Promise<Client> {
    const client = new Client({ name: 'agent', version: '1' })
    await client.connect(new StreamableHTTPClientTransport(new URL(service.mcp), { requestInit: { headers } }))
    return client
  }

  beforeAll(async () => {
    const { db } = service.stores
    frames = (await get(`/api/videos/${videoIds[0]}/frames`)).frames
    const { bearer } = await service.keyOf('pro')
    const four = frames.slice(0, 4).map(({ id }) => id)
    boardId = (await call('create_board', { name: 'Openings for May' }, bearer)).structuredContent.board.id
    await call('pin_frame', { board_id: boardId, frame_ids: four, note: 'first' }, bearer)
    await call('save_frame', { frame_ids: four }, bearer)
    const askers = [{ asker: 'people' as const, searches: 1, unanswered: 0, weak: 1 }]
    const data = { askers, terms: [{ kind: 'weak' as const, term: 'red walrus', count: 1 }] }
    await db.transaction((tx) =>
      appendEvent(tx, { type: 'searches.counted', subject: 'search', accountId: null, data }),
    )
    await untilReadable(db)
    await recountAnalytics(db)
    const account = await createAccount(db, { email: 'head@example.org', role: 'operator', plan: 'pro' })
    const { key } = await createKey(db, { accountId: account.id, name: 'k', scopes: ['events:read'] })
    clients.anyone = await connect({})
    clients.member = await connect(bearer)
    clients.operator = await connect({ authorization: `Bearer ${key}` })
  })

  /** Of the tasks that could be done before. */
  const sum = { before: 0, now: 0, text: 0 }
  const spent: { asked: string; calls: string; tokens: string; text: number }[] = []
  test.each(TASKS)('$asked', async ({ asked, who, calls, before, isDone }) => {
    expect(calls.length).toBeLessThanOrEqual(2)
    const answers: Seen['answers'][number][] = []
    let [tokens, text] = [0, 0]
    for (const next of calls) {
      const [name, args] = next({ videoIds, frames, answers })
      const result = await clients[who]!.callTool({ name, arguments: args })
      const [said] = result.content as { text: string }[]
      expect(result.isError, said!.text).toBeFalsy()
      tokens += encode(JSON.stringify({ content: result.content, structuredContent: result.structuredContent })).length
      text += encode(said!.text).length
      answers.push({ text: said!.text, data: result.structuredContent })
    }
    expect(isDone({ videoIds, frames, answers }), answers.at(-1)!.text).toBe(true)
    const was = before === null ? ['–', '–'] : [before.calls, before.tokens]
    spent.push({ asked, calls: `${was[0]} → ${calls.length}`, tokens: `${was[1]} → ${tokens}`, text })
    if (!before) return
    sum.before += before.tokens
    sum.now += tokens
    sum.text += text
  })
  test('together they take at most 0.72 of the tokens of before, and with format: text at most 0.3', () => {
    const share = (part: number) => Math.round((100 * part) / sum.before) / 100
    const all = `${sum.before} → ${sum.now} (${share(sum.now)})`
    console.table([...spent, { asked: 'those that could be done before', calls: '', tokens: all, text: sum.text }])
    expect(spent).toHaveLength(TASKS.length)
    expect(share(sum.now)).toBeLessThanOrEqual(0.72)
    expect(share(sum.text)).toBeLessThanOrEqual(0.3)
  })
  afterAll(() => Promise.all(Object.values(clients).map((client) => client.close())))
})
