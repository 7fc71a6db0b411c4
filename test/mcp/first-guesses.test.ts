import { beforeAll, describe, expect, test } from 'vitest'
import { createAccount } from '../../src/library/accounts/accounts.ts'
import { createKey } from '../../src/library/accounts/keys.ts'
import { seedVideo } from '../support/seed.ts'
import { ids, useToolLibrary } from './tool-library.ts'

/** What models write without looking twice is understood; what is wrong is named. */

const library = useToolLibrary()
const { service, videoIds, call, get } = library
let frames: { id: string; video_id: string; t_sec: number; image_url: string; thumb_url: string; author: string }[]
beforeAll(async () => {
  frames = (await get(`/api/videos/${videoIds[3]}/frames`)).frames
})

/** As docs/mcp.md says: the id of a frame begins with that of its video. */
const videoOf = (frame: { id: string }) => frame.id.split('-')[0]

async function works(name: string, args: Record<string, unknown>, headers: Record<string, string> = {}) {
  const answer = await call(name, args, headers)
  expect(answer.isError, `${name} ${JSON.stringify(args)}: ${answer.text}`).toBeUndefined()
  return answer
}

describe('a video', () => {
  test('is named as results name it, by any name of the argument and by any address', async () => {
    const [frame] = frames
    for (const args of [
      { video_id: videoIds[3] },
      { video: videoIds[3] },
      { videoId: videoIds[3] },
      { id: videoIds[3] },
      { frame_id: frame!.id },
      { video_id: frame!.id },
      { video_id: frame!.image_url },
      { video_id: frame!.thumb_url },
      { video_id: `${service.url}/frames/${frame!.id}` },
      { video_id: `${service.url}/api/videos/${videoIds[3]}/frames` },
      { url: 'https://youtu.be/launch00003' },
      { video: 'introducing stripe-like, inc. 3: the fastest way to close your books' },
      { source_url: 'https://www.youtube.com/watch?v=launch00003&t=4s' },
    ])
      expect((await works('get_video_frames', args)).structuredContent.videos[0].id).toBe(videoIds[3])
    for (const [name, args] of [
      ['search_frames', { query: 'dark' }],
      ['browse_frames', {}],
      ['find_similar_frames', { frame_id: frame!.id }],
    ] as const)
      for (const given of [videoIds[3], frame!.image_url, 'https://youtu.be/launch00003']) {
        const found = (await works(name, { ...args, video_id: given })).structuredContent.frames
        expect(new Set(found.map((one: { id: string }) => videoOf(one)))).toEqual(new Set([videoIds[3]]))
      }
  })
  test('is not guessed from a part of its title, nor from a title of two', async () => {
    for (const title of ['Introducing', 'Twice told'])
      expect((await call('get_video_frames', { video: title }))._meta.code).toBe('not_found')
    for (const sourceKey of ['youtube:twice000001', 'youtube:twice000002'])
      await seedVideo(service.stores.db, { sourceKey, title: 'Twice told', frames: [{ caption: 'a quince' }] })
    await service.drain()
    expect((await call('get_video_frames', { video: 'Twice told' }))._meta.code).toBe('not_found')
  })
  test('and how many frames is asked for by any usual name', async () => {
    for (const name of ['limit', 'n', 'count', 'top_k', 'max_results', 'num_results', 'per_page', 'pageSize'])
      expect((await works('search_frames', { query: 'dark', [name]: 2 })).structuredContent.frames).toHaveLength(2)
  })
  test('of a title or address with commas is one; other commas part several', async () => {
    const title = 'Atlas, the launch film'
    const [one] = videoIds
    const sourceUrl = 'https://films.example.com/a,b.mp4'
    const film = { title, sourceUrl, sourceKey: `url:${sourceUrl}`, frames: [{ caption: 'a medlar' }] }
    const { id } = await seedVideo(service.stores.db, film)
    await service.drain()
    for (const [video_id, ...found] of [
      [title, id],
      [sourceUrl, id],
      [`${id},${one}`, id, one],
    ] as const) {
      const { structuredContent } = await works('browse_frames', { video_id, limit: 100 })
      expect(new Set(ids(structuredContent.videos)), video_id).toEqual(new Set(found))
    }
    const { db } = service.stores
    const { id: accountId } = await createAccount(db, { email: 'o@example.org', role: 'operator', plan: 'pro' })
    const { key } = await createKey(db, { accountId, name: 'k', scopes: ['videos:write'] })
    const named = { video_id: [title, frames[0]!.id, frames[0]!.image_url] }
    const told = await works('video_status', named, { authorization: `Bearer ${key}` })
    const toldOf = told.structuredContent.videos.map(({ video_id }: { video_id: string }) => video_id)
    expect([new Set(toldOf), told.structuredContent.unknown]).toEqual([new Set([id, videoIds[3]]), []])
    // What is not known is left out.
    const [shown] = (await works('get_video_frames', { video_id: id })).structuredContent.videos
    expect(Object.values(shown)).not.toContain(null)
    expect((await call('browse_frames', { video_id: `${one}, nosuchvideo` })).text).toContain('"nosuchvideo"')
  })
  test('that is not there is named', async () => {
    const { text, _meta } = await call('browse_frames', { video_id: [videoIds[0], 'nosuchvideo'] })
    expect([_meta.code, text]).toEqual(['not_found', expect.stringContaining('"nosuchvideo"')])
    expect(text).not.toContain(videoIds[0])
    expect((await call('get_video_frames', { video_id: 'https://youtu.be/nothere0000' })).text).toContain(
      'https://youtu.be/nothere0000',
    )
  })
  test('has a part: the first ten seconds, and those in between', async () => {
    const seconds = (from: number, to: number) =>
      frames.filter(({ t_sec }) => t_sec >= from && t_sec <= to).map(({ id }) => id)
    expect(seconds(0, 10).length).toBeGreaterThan(1)
    expect(seconds(0, 10).length).toBeLessThan(frames.length)
    for (const args of [{ to_sec: 10 }, { from_sec: 0, to_sec: '10' }, { start: 0, end: '0:10' }, { until: '10s' }])
      expect(
        ids((await works('get_video_frames', { video_id: videoIds[3], ...args })).structuredContent.frames),
      ).toEqual(seconds(0, 10))
    const part = await works('get_video_frames', { video_id: videoIds[3], from_sec: 5, to_sec: 15, limit: 2 })
    expect(part.text).toContain(`of ${seconds(5, 15).length} in this part, ${frames.length} in the video`)
    const next = await works('get_video_frames', {
      video_id: videoIds[3],
      from_sec: 5,
      to_sec: 15,
      limit: 2,
      cursor: part.structuredContent.next_cursor,
    })
    expect([...ids(part.structuredContent.frames), ...ids(next.structuredContent.frames)]).toEqual(
      seconds(5, 15).slice(0, 4),
    )
    const none = await works('get_video_frames', { video_id: videoIds[3], from_sec: 900 })
    expect([none.structuredContent.frames, none.text]).toEqual([[], expect.stringContaining('no frames in this part')])
    const turned = await call('get_video_frames', { video_id: videoIds[3], from_sec: 9, to_sec: 3 })
    expect([turned.isError, turned.text]).toEqual([true, expect.stringContaining('to_sec (3)')])
  })
})

describe('frames', () => {
  test('are named by id, image or page, alone or as a list, under either name', async () => {
    const { bearer } = await service.keyOf('pro')
    const [one, two] = frames
    const page = `${service.url}/frames/${two!.id}`
    for (const [args, expected] of [
      [{ frame_ids: [one!.id, two!.id] }, [one!.id, two!.id]],
      [{ frame_id: one!.id }, [one!.id]],
      [{ frameId: one!.id }, [one!.id]],
      [{ id: one!.id }, [one!.id]],
      [{ frame_id: [one!.image_url, page] }, [one!.id, two!.id]],
      [{ image_url: one!.thumb_url }, [one!.id]],
      [{ image_urls: [one!.image_url, two!.image_url] }, [one!.id, two!.id]],
      [{ frame_ids: `${one!.id}, ${two!.id}` }, [one!.id, two!.id]],
      [{ frame_ids: JSON.stringify([one!.id, two!.id]) }, [one!.id, two!.id]],
      [{ frame_ids: ` ${one!.id}\n${two!.id} ` }, [one!.id, two!.id]],
      [{ frames: [`${page}?utm_source=x`] }, [two!.id]],
    ] as [Record<string, unknown>, string[]][]) {
      expect((await works('save_frame', args, bearer)).structuredContent.saved, JSON.stringify(args)).toEqual(expected)
      expect((await works('remove', args, bearer)).structuredContent.removed.toSorted()).toEqual(expected.toSorted())
    }
  })
  test('a list of one is taken where one is due, and of several each is asked for by itself', async () => {
    const [one, two] = frames
    const alike = await works('find_similar_frames', { frame_id: one!.id })
    for (const args of [{ frame_id: [one!.id] }, { frame_ids: [one!.id] }, { frameIds: [one!.image_url] }])
      expect((await works('find_similar_frames', args)).text).toBe(alike.text)
    expect((await call('find_similar_frames', { frame_ids: [one!.id, two!.id] })).text).toContain(
      'frame_id (got a list of 2): takes one; call find_similar_frames for each',
    )
    const video = videoOf(one!)
    expect((await works('get_video_frames', { video: [video] })).text).toBe(
      (await works('get_video_frames', { video })).text,
    )
    expect((await works('search_frames', { query: ['dark', 'terminal'] })).text).toBe(
      (await works('search_frames', { query: 'dark terminal' })).text,
    )
  })
  test('the wrong one of several is named, and nothing is written', async () => {
    const { bearer } = await service.keyOf('pro')
    const wrong = await call('save_frame', { frame_ids: [frames[0]!.id, 'nosuch-1'] }, bearer)
    expect([wrong.isError, wrong._meta.code, wrong.text]).toEqual([
      true,
      'not_found',
      'No such frame: nosuch-1. Nothing was changed. Pass ids or image URLs from search_frames or another tool.',
    ])
    const two = await call('save_frame', { frame_ids: ['nosuch-1', frames[0]!.id, 'nosuch-2'] }, bearer)
    expect(two.text).toContain('No such frames: nosuch-1, nosuch-2. Nothing was changed. Pass ids')
    const malformed = await call('save_frame', { frame_ids: [frames[0]!.id, 'no id at all'] }, bearer)
    expect(malformed.text).toContain('frame_ids.1 (got "no id at all")')
    expect((await works('list_saves', {}, bearer)).structuredContent.frames).toEqual([])
    expect((await call('find_similar_frames', { frame_id: 'nosuch-1' })).text).toContain('No such frame: nosuch-1')
  })
})

describe('a board', () => {
  test('is named by its id, or by its name where only one has it', async () => {
    const { bearer } = await service.keyOf('pro')
    const { board } = (await works('edit_board', { title: 'Dark openings' }, bearer)).structuredContent
    for (const args of [
      { board_id: board.id, frame_ids: frames[0]!.id },
      { board: 'Dark openings', frame_id: frames[1]!.image_url },
      { boardId: 'dark openings', frames: [frames[2]!.id] },
    ])
      await works('pin_frame', args, bearer)
    const opened = await works('get_board', { name: 'Dark openings' }, bearer)
    expect(ids(opened.structuredContent.frames)).toEqual(ids(frames.slice(0, 3)))
    await works('remove', { board_id: 'Dark openings', id: frames[1]!.id }, bearer)
    const none = await call('get_board', { board_id: 'Bright openings' }, bearer)
    expect([none._meta.code, none.text]).toEqual(['not_found', expect.stringContaining('"Bright openings"')])
  })
})

describe('filters', () => {
  test('take words, other spellings, names of techniques and brands, and null for nothing', async () => {
    const all = await get('/api/frames?subject=text-card&technique=kinetic-type')
    for (const args of [
      { subject: 'Text Card', technique: 'Kinetic Type' },
      { subject: 'text cards', technique: 'Kinetic Type' },
      { subjects: undefined, subject: ['text_card'], techniques: ['kinetic_type'], cursor: null, tone: null },
      { subject: '["text-card"]', technique: 'kinetic-type', limit: '50' },
    ])
      expect(ids((await works('browse_frames', { limit: 50, ...args })).structuredContent.frames)).toEqual(
        ids(all.frames),
      )
    const ofBrand = await get('/api/frames?author=Northwind')
    for (const args of [{ brand: 'Northwind' }, { author: 'northwind' }, { channel: ['NORTHWIND'] }]) {
      const found = await works('browse_frames', args)
      expect(ids(found.structuredContent.frames)).toEqual(ids(ofBrand.frames))
    }
    // As questions in words call them, and wrapped as models wrap them.
    const plain = await works('browse_frames', { subject: 'presenter', tone: 'bright', platform: 'youtube', limit: 50 })
    expect(plain.structuredContent.frames.length).toBeGreaterThan(0)
    for (const args of [
      { subject: 'Speaker', tone: 'light', platform: 'YT', limit: 50 },
      { filters: { subject: ['person'], tone: 'bright', platform: 'youtube' }, limit: 50 },
      { filters: { subject: 'presenter', tone: 'light' }, where: { platform: 'youtube', limit: 50 } },
    ])
      expect(ids((await works('browse_frames', args)).structuredContent.frames)).toEqual(
        ids(plain.structuredContent.frames),
      )
    const shots = await works('search_frames', { query: 'desk', filters: { shot: 'mid shot' }, detail: 'full' })
    expect(shots.structuredContent.frames.length).toBeGreaterThan(0)
    for (const { shot } of shots.structuredContent.frames) expect(shot).toBe('medium-presenter')
    const counted = await works('browse_frames', { counts: 'true', images: '0', limit: '1' })
    expect(counted.structuredContent.total).toBeGreaterThan(0)
    const titled = { title: 'Introducing Stripe-like, Inc. 3: the fastest way to close your books' }
    expect((await works('get_video_frames', titled)).structuredContent.videos[0].id).toBe(videoIds[3])
    const close = await works('browse_frames', { brand: 'Ledgerli' })
    expect([close.structuredContent.frames, close.text]).toEqual([[], expect.stringContaining('Ledgerly')])
  })
})

describe('more than there is', () => {
  test('of frames is the most, of orders the nearest one, and the answer says so', async () => {
    const all = await works('browse_frames', { limit: 100 })
    for (const args of [{ limit: 101 }, { limit: '500' }, { n: 1_000_000 }]) {
      const { structuredContent, text } = await works('browse_frames', args)
      expect(ids(structuredContent.frames)).toEqual(ids(all.structuredContent.frames))
      expect(text).toContain(`limit ${Object.values(args)[0]} was read as 100, the most of browse_frames.`)
    }
    expect(all.text).not.toContain('was read as')
    const flow = await works('get_video_frames', { video_id: videoIds[3], limit: 1_000 })
    expect(flow.text).toContain('limit 1000 was read as 120')
    const newest = await works('browse_frames', { sort: 'newest' })
    for (const sort of ['relevance', 'Relevant', 'score']) {
      const { structuredContent, text } = await works('browse_frames', { sort })
      expect(ids(structuredContent.frames)).toEqual(ids(newest.structuredContent.frames))
      expect(text).toContain(`sort ${sort} was read as newest`)
    }
    const strongest = await works('browse_frames', { sort: 'strength' })
    for (const [sort, same] of [
      ['latest', newest],
      ['popular', strongest],
    ] as const) {
      const { structuredContent, text } = await works('browse_frames', { sort })
      expect(ids(structuredContent.frames)).toEqual(ids(same.structuredContent.frames))
      expect(text).not.toContain('was read as')
    }
  })
})

describe('a page', () => {
  const pageOf = async (name: string, args: Record<string, unknown>) =>
    ids((await works(name, args)).structuredContent.frames)

  test('has a number as well as a cursor, and up to a hundred frames', async () => {
    const { bearer } = await service.keyOf('pro')
    for (const [name, args] of [
      ['search_frames', { query: 'dark' }],
      ['browse_frames', { tone: 'dark' }],
      ['get_video_frames', { video_id: videoIds[3] }],
    ] as const) {
      const all = await pageOf(name, { ...args, limit: 100 })
      expect(all.length, name).toBeGreaterThan(4)
      for (const first of [{ page: 1 }, { page: '1' }, { page_number: 1 }, {}])
        expect(await pageOf(name, { ...args, limit: 2, ...first }), name).toEqual(all.slice(0, 2))
      for (const second of [{ page: 2 }, { page: '2' }])
        expect(await pageOf(name, { ...args, limit: 2, ...second }), name).toEqual(all.slice(2, 4))
    }
    expect((await works('list_saves', { page: 1 }, bearer)).structuredContent.frames).toEqual([])
    expect((await call('list_saves', { page: 2 }, bearer)).text).toContain(
      'page: this list has no numbered pages. Leave it out, then pass next_cursor',
    )
    expect((await call('save_frame', { frame_ids: [] }, bearer)).text).toContain(
      'frame_ids (got a list of 0): names no frame; pass one id',
    )
  })
  test('behind the last one says that there is no more', async () => {
    const flow = await works('get_video_frames', { video_id: videoIds[3], limit: 2, page: 900 })
    expect([flow.structuredContent.frames, flow.text]).toEqual([[], expect.stringContaining('no more frames')])
    const moves = await works('list_techniques', { limit: 5, page: 900 })
    expect([moves.structuredContent.techniques, moves.text]).toEqual([[], expect.stringContaining('no more')])
  })
  test('of words is sorted as the wall is', async () => {
    for (const sort of ['newest', 'strength']) {
      const { frames: wall } = await get(`/api/frames?q=dark&sort=${sort}`)
      expect(await pageOf('search_frames', { query: 'dark', sort })).toEqual(ids(wall).slice(0, 20))
    }
  })
})

describe('a colour', () => {
  test('has a name, which palettes are asked for, also beside a hex value', async () => {
    const palettes = [['#1a3be8'], ['#d02020'], ['#f9d423']]
    await seedVideo(service.stores.db, {
      title: 'Paint pots',
      frames: palettes.map((palette, n) => ({ tSec: n, caption: `a paintpot ${n}`, palette })),
    })
    await service.drain()
    const captions = async (args: Record<string, unknown>) =>
      (await works('browse_frames', { ...args, detail: 'full', limit: 100 })).structuredContent.frames
        .map(({ caption }: { caption: string }) => caption)
        .filter((caption: string) => caption.startsWith('a paintpot'))
        .toSorted()
    for (const color of ['blue', 'Blue', 'navy', ['blue'], 'dodger blue'])
      expect(await captions({ color })).toEqual(['a paintpot 0'])
    expect(await captions({ color: 'Gold' })).toEqual(['a paintpot 2'])
    expect(await captions({ color: 'crimson' })).toEqual(['a paintpot 1'])
    expect(await captions({ colour: 'red, #f9d423' })).toEqual(['a paintpot 1', 'a paintpot 2'])
    expect(await captions({ color: ['#1a3be8'] })).toEqual(['a paintpot 0'])
    const found = await works('search_frames', { query: 'paintpot', color: 'yellow' })
    expect(found.structuredContent.frames).toHaveLength(1)
  })
})

describe('similar frames', () => {
  test('say how alike they are and what they share; those that share little are left out', async () => {
    const other = await seedVideo(service.stores.db, {
      frames: Array.from({ length: 3 }, (_, n) => ({
        tSec: n,
        caption: 'A crowd at noon',
        subject: 'crowd',
        technique: null,
        tone: 'bright',
        phash: 'f0f0f0f00f0f0f0f',
        palette: ['#00ff00', '#00ee00', '#00dd00', '#00cc00', '#00bb00'],
      })),
    })
    await service.drain()
    const mine = (await get('/api/frames?subject=terminal')).frames[0]
    const within = [other.id, videoIds[0]!, videoIds[1]!]
    const all = (await get(`/api/frames/${mine.id}/similar?limit=50&${within.map((id) => `video=${id}`).join('&')}`))
      .frames
    const asked = { frame_id: mine.id, limit: 50, video_id: within }
    const { structuredContent, text } = await works('find_similar_frames', asked)
    const found: { id: string; score: number; shares: string[] }[] = structuredContent.frames
    expect(found.some((one) => videoOf(one) === other.id)).toBe(false)
    // One end for the tool, HTTP and the page.
    expect(ids(found)).toEqual(ids(all))
    const page = await (await fetch(`${service.url}/frames/${mine.id}`)).text()
    expect(page).not.toContain(`/frames/${other.frameIds[0]}`)
    expect(text).toContain('; all others share little with it')
    const scores = new Map(all.map((one: { id: string; score: number }) => [one.id, one.score]))
    for (const { id, score, shares } of found) {
      expect(score).toBeCloseTo(scores.get(id) as number, 2)
      expect(text).toContain(`  likeness ${score}; shares ${shares.join('; ')}`)
    }
    expect(found[0]!.shares).toEqual(expect.arrayContaining(['subject terminal', 'tone dark', 'colours']))
    const none = await works('find_similar_frames', { ...asked, video_id: other.id })
    expect([none.structuredContent.frames, none.text]).toEqual([[], expect.stringContaining('shares enough')])
  })
})
