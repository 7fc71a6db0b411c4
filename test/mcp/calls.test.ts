import { beforeAll, expect, test } from 'vitest'
import { ids, useToolLibrary } from './tool-library.ts'

const library = useToolLibrary()
const { service, videoIds, call, get } = library
/** A key that may call every tool that reads. */
let free: Awaited<ReturnType<typeof service.keyOf>>
beforeAll(async () => {
  free = await service.keyOf('free')
})

/** One call a task. */
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
  expect(usual.structuredContent.total).toBeUndefined()
  expect(ofFilm(await call('find_similar_frames', { frame_id: id, limit: 50, other_videos: true }))).toEqual([])
  const within = await get(`/api/frames/${id}/similar?video=${videoIds[2]}`)
  expect(within.frames.length).toBeGreaterThan(1)
  expect(ids(within.frames).every((one) => one.startsWith(videoIds[2]!))).toBe(true)
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

test('a brand is read as the library spells it, beside others, left out, and in frames like one', async () => {
  const { call, get, videoIds } = library
  // Beside brands that are spelled as the library does, and left out.
  const both = await get('/api/frames?author=Northwind&author=Ledgerly')
  const two = await call('browse_frames', { author: ['northwind', 'Ledgerly'], limit: 100 })
  expect(ids(two.structuredContent.frames)).toEqual(ids(both.frames))
  expect(two.text).toContain('(author read as "Northwind")')
  const without = await get('/api/frames?not_author=Northwind')
  for (const not of [{ author: 'NORTHWIND' }, { brand: 'northwind' }, { author: 'Northwind', tone: null }]) {
    const found = await call('browse_frames', { not, limit: 100 })
    expect(ids(found.structuredContent.frames)).toEqual(ids(without.frames))
  }
  const [first] = (await get(`/api/videos/${videoIds[3]}/frames`)).frames
  const alike = { frame_id: first.id, limit: 100, detail: 'full' }
  const spelled = await call('find_similar_frames', { ...alike, author: 'Northwind' })
  const shouted = await call('find_similar_frames', { ...alike, author: 'NORTHWIND' })
  expect(spelled.structuredContent.frames.length).toBeGreaterThan(0)
  expect(ids(shouted.structuredContent.frames)).toEqual(ids(spelled.structuredContent.frames))
})

test('many unknown brands take few searches and lines; no brand is both asked for and left out', async () => {
  const { call } = library
  const many = await call('browse_frames', { author: Array.from({ length: 50 }, (_, n) => `Nobody ${n}`) })
  expect(many.structuredContent.notes.filter((note: string) => note.includes('no brand is called'))).toHaveLength(5)
  expect(many.text).toContain('45 more names of brands are unknown as they are written')
  const both = await call('browse_frames', { author: 'Northwind', not: { author: 'NORTHWIND' } })
  expect(both.text).toContain('author asks for "Northwind", and not leaves it out')
})

const hex = 'hex colour such as 1a73e8, or one of black, grey'
const subjects = 'presenter, ui, product, terminal, text-card, b-roll, chart, logo, crowd'
const ui = { subject: 'ui' }
test.each<[name: string, args: Record<string, unknown>, said: string]>([
  ['search_frames', { query: 'x', subject: ['cat'] }, `subject.0 (got "cat"): must be one of ${subjects}`],
  ['search_frames', { query: 'x', tone: 'drak' }, 'tone (got "drak"): must be one of dark, bright'],
  ['search_frames', { query: 'x', technique: 'kinetic-tipe' }, 'there is no "kinetic-tipe"'],
  ['search_frames', { query: 'x', technique: 'kinetic-tipe' }, 'kinetic-type'],
  ['search_frames', { query: 'x', hue: 'red' }, 'unknown argument "hue"'],
  ['search_frames', { query: 'x', colour: 'taupe' }, 'color (got "taupe")'],
  ['search_frames', {}, 'query: is required and must be a text'],
  ['search_frames', { query: ' ' }, 'query'],
  ['search_frames', { query: 'x', author: Array(51).fill('Brand') }, 'takes at most 50 values'],
  ...[{ toString: 1, valueOf: 1 }, [], [[1]]].map((limit): [string, Record<string, unknown>, string] => [
    ...(['search_frames', { query: 'x', limit }, 'limit'] as const),
  ]),
  ['browse_frames', { counts: 'maybe' }, 'counts (got "maybe"): must be true or false'],
  ['browse_frames', { limit: 0 }, 'limit (got 0): must be at least 1'],
  ['browse_frames', { limit: -5 }, 'limit (got -5): must be at least 1'],
  ['browse_frames', { limit: 1.5 }, 'limit (got 1.5): must be a whole number'],
  ['browse_frames', { sort: 'alphabetical' }, 'sort (got "alphabetical"): must be one of newest, strength'],
  ['browse_frames', { color: 'greige' }, `color (got "greige"): must be a ${hex}`],
  ['browse_frames', { page: 'two' }, 'cursor: unknown'],
  ...[0, 1.5, '10000'].map((page): [string, Record<string, unknown>, string] => [
    ...(['browse_frames', { page }, 'page: must be a whole number from 1 to 9999'] as const),
  ]),
  ['browse_frames', { images: 'two' }, 'images (got "two"): must be a number'],
  // One of two that contradict each other would be dropped without a word.
  ['browse_frames', { tone: 'dark', filters: { tone: 'bright' } }, 'unknown argument "filters"'],
  ['browse_frames', { filters: { mood: 'calm' } }, 'unknown argument "mood"'],
  ['browse_frames', { not: { mood: 'calm' } }, 'not (got an object): no filter mood; subject, surface'],
  ['browse_frames', { not: { faces: 1 } }, 'not.faces (got 1): must be a text or a list of texts'],
  ['browse_frames', { not: { subject: 'moon' } }, 'not.subject (got "moon"): must be one of presenter'],
  ['browse_frames', { tone: 'dark', not: { tone: ['dark'] } }, 'tone: "dark" is both asked for and left out.'],
  ['browse_frames', { described: true }, 'described (got true): must be one of yes, no'],
  ['browse_frames', { tone: 5 }, 'tone (got 5): must be one of dark, bright'],
  ['browse_frames', { query: 'dark' }, '. search_frames takes query'],
  ['search_library', { tone: 'dark' }, '. search_frames takes tone'],
  ['find_films', { like: 'nope', author: 'x', sort: 'luma', cursor: 'y' }, 'Leave out sort, author, cursor, or like.'],
  ['find_similar_frames', { frame_id: 'nope' }, 'No such frame'],
  ['get_video_frames', { video: 'nope' }, 'search_library'],
  ['describe_film', { video_id: 'nope' }, 'search_library'],
  ['describe_film', { video_id: [] }, 'video_id'],
  ['find_films', { min: 'speed:3' }, 'no measure speed; measures are duration_sec, '],
  ['find_films', { min: 'fast' }, 'shot_median_sec:2'],
  ['find_films', { page: 2 }, 'page: this list has no numbered pages'],
  ['find_films', { min: 'mood:1', cursor: 'x' }, 'min: no measure mood'],
  ['find_sequences', { steps: [{ mood: 'dark' }, ui] }, 'no filter mood; subject'],
  ['find_sequences', { steps: [{}, ui] }, 'steps.0 (got an object): needs a filter or a query'],
  ['find_sequences', { steps: [{ subject: 'moon' }, ui] }, 'steps.0.subject (got "moon"): must be one of presenter'],
  ['find_sequences', { steps: [ui, { technique: 'nothing-such' }] }, 'technique: there is no "nothing-such"'],
  ['find_sequences', { steps: 'ui, then a terminal' }, 'steps (got "ui, then a terminal"): must be a list'],
])('%s %j is refused with what is allowed', async (name, args, said) => {
  const { isError, text } = await call(name, args, free.bearer)
  expect([isError, text]).toEqual([true, expect.stringContaining(said)])
})
test('what is refused for its length is not looked at item by item', async () => {
  for (const args of [
    { color: Array(20_000).fill('a') },
    { color: 'a,'.repeat(40_000) },
    { subject: Array(20_000).fill('a') },
    Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`no${n}`, 1])),
  ]) {
    const { isError, text } = await call('browse_frames', args)
    expect([isError, text.length < 2_000]).toEqual([true, true])
    const { error } = service.tools.find(({ name }) => name === 'browse_frames')!.input.safeParse(args)
    expect(error!.issues.length).toBeLessThanOrEqual(60)
  }
})
