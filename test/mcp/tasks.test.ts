import { afterAll, beforeAll, describe, expect, test } from 'vitest'
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
