import { describe, expect, test } from 'vitest'
import { describeTool } from '../../src/mcp/tool.ts'
import { seedVideo } from '../support/seed.ts'
import { post } from './support.ts'
import { callOf, ids, useToolLibrary } from './tool-library.ts'

/** The bytes of the next pictures; then small ones. */
const sizes: number[] = []
const library = useToolLibrary({
  readImage: async (key) => (sizes.length > 0 ? Buffer.alloc(sizes.shift()!) : Buffer.from(`picture ${key}`)),
})
const { service, videoIds, call, get } = library
type Counted = { frame_count: number }
type Item = { id?: string; slug?: string }

describe('what search_frames finds is what /api/frames finds', () => {
  test.each([
    [{ query: 'dark' }, 'q=dark'],
    [
      { query: 'dark', subject: ['text-card', 'terminal'], tone: ['dark'] },
      'q=dark&subject=text-card,terminal&tone=dark',
    ],
    [
      { query: 'headline', author: ['Stripe-like, Inc.'] },
      `q=headline&author=${encodeURIComponent('Stripe-like, Inc.')}`,
    ],
    [
      { query: '"serif headline"', technique: 'kinetic-type' },
      `q=${encodeURIComponent('"serif headline"')}&technique=kinetic-type`,
    ],
    [{ query: 'headlnie', kind: 'intro,cut' }, 'q=headlnie&kind=intro&kind=cut'],
    [{ query: 'table', color: ['#101820'] }, 'q=table&color=101820'],
    [{ query: 'nothing has this' }, 'q=nothing%20has%20this'],
  ])('%j', async (args, query) => {
    const http = await get(`/api/frames?${query}`)
    const found = await call('search_frames', { ...args, limit: 24, detail: 'full' })
    expect(ids(found.structuredContent.frames)).toEqual(ids(http.frames.slice(0, 24)))
    for (const [n, frame] of found.structuredContent.frames.entries()) {
      const { id, video_id, t_sec, subject, caption, image_url } = http.frames[n]
      expect(frame).toMatchObject({ id, video_id, t_sec, subject, caption, image_url })
    }
    const titles = new Map(http.frames.slice(0, 24).map(({ video }: { video: { id: string } }) => [video.id, video]))
    for (const video of found.structuredContent.videos) expect(titles.get(video.id)).toMatchObject(video)
    expect(found.structuredContent.videos).toHaveLength(titles.size)
  })
  test('browse_frames and find_similar_frames are the wall and /similar', async () => {
    const http = await get('/api/frames?surface=camera&sort=strength&facets=1')
    const wall = await call('browse_frames', { surface: ['camera'], sort: 'strength', counts: true })
    expect(ids(wall.structuredContent.frames)).toEqual(ids(http.frames))
    expect(wall.structuredContent.total).toBe(http.total)
    expect(wall.structuredContent.counts.subject).toEqual(http.facets.subject)
    expect(wall.text).toContain(`tone: dark ${http.facets.tone.dark}, bright ${http.facets.tone.bright}`)
    const [first] = wall.structuredContent.frames
    const similar = await get(`/api/frames/${first.id}/similar?limit=9&subject=presenter`)
    expect(
      ids(
        (await call('find_similar_frames', { frame_id: first.id, limit: 9, subject: 'presenter' })).structuredContent
          .frames,
      ),
    ).toEqual(ids(similar.frames))
  })
  test('search_library and list_techniques are /api/search and /api/techniques', async () => {
    for (const [args, query] of [
      [{ query: 'ledgerly' }, 'q=ledgerly&limit=5'],
      [{}, 'limit=5'],
      [
        { query: 'https://youtu.be/launch00003?si=x', limit: 3 },
        'q=https%3A%2F%2Fyoutu.be%2Flaunch00003%3Fsi%3Dx&limit=3',
      ],
    ] as const) {
      const http = await get(`/api/search?${query}`)
      const found = (await call('search_library', args)).structuredContent
      expect(found.videos.length + found.frames.length + found.brands.length + found.techniques.length).toBeGreaterThan(
        0,
      )
      for (const group of ['videos', 'frames']) expect(ids(found[group])).toEqual(ids(http[group]))
      expect(found.brands.map((brand: { name: string }) => brand.name)).toEqual(
        http.brands.map((brand: { name: string }) => brand.name),
      )
    }
    const { techniques } = await get('/api/techniques')
    const byUse = techniques.toSorted((a: Counted, b: Counted) => b.frame_count - a.frame_count)
    const slugsOf = (list: Item[]) => list.map(({ slug }) => slug)
    const used = byUse.filter(({ frame_count }: Counted) => frame_count > 0)
    const { techniques: told, unused, ...rest } = (await call('list_techniques')).structuredContent
    expect([slugsOf(told), rest]).toEqual([slugsOf(used), { total: techniques.length, next_cursor: null }])
    expect([...slugsOf(used), ...unused].toSorted()).toEqual(slugsOf(techniques).toSorted())
  })
})

describe('answers', () => {
  test.each([
    ['search_library', { query: 'dark' }],
    ['search_frames', { query: 'dark' }],
    ['browse_frames', { tone: 'dark' }],
    ['get_video_frames', { video_id: '' }],
    ['find_similar_frames', { frame_id: '' }],
  ])('%s: text first with the image URLs, then a link per frame, and the same as data', async (name, args) => {
    const { frames } = await get(`/api/videos/${videoIds[0]}/frames`)
    const given: Record<string, unknown> = { ...args }
    if ('video_id' in args) given.video_id = videoIds[0]
    if ('frame_id' in args) given.frame_id = frames[0].id
    const answer = await call(name, given)
    const found = answer.structuredContent.frames
    expect(found.length).toBeGreaterThan(2)
    expect(answer.content.map((block: { type: string }) => block.type)).toEqual([
      'text',
      ...found.map(() => 'resource_link'),
    ])
    for (const [n, frame] of found.entries()) {
      expect(answer.links[n]).toMatchObject({ uri: frame.image_url, name: expect.stringMatching(/^\d+:\d\d$/) })
      expect(frame.image_url).toMatch(new RegExp(`^${service.url}/media/`))
      expect(answer.text).toContain(frame.image_url)
      expect(answer.text).toContain(frame.id)
    }
  })
  test('list_techniques cites a picture of the most', async () => {
    const { links, text } = await call('list_techniques')
    expect(links.length).toBeGreaterThan(0)
    expect(text).toContain('kinetic-type (8): Uses kinetic-type.')
    expect(
      (await call('list_techniques', { query: 'logo' })).structuredContent.techniques.map(
        (technique: { slug: string }) => technique.slug,
      ),
    ).toEqual(['logo-reveal'])
  })
  test('detail gives everything a frame tells', async () => {
    const { text, structuredContent } = await call('search_frames', {
      query: 'serif headline',
      limit: 1,
      detail: 'full',
    })
    expect(structuredContent.frames[0]).toMatchObject({
      kind: 'intro',
      steal: 'Hold the last word a beat longer than feels right.',
      zone: 'none',
    })
    for (const part of [
      'take from it: "Hold the last word',
      'on screen: "Ship faster',
      'https://www.youtube.com/watch?v=',
      'colours #101820',
    ])
      expect(text).toContain(part)
  })
  test('text and data each tell everything, and format: text sends the text alone', async () => {
    for (const [name, args] of [
      ['search_frames', { query: 'a dark terminal unicorn' }],
      ['search_frames', { query: 'dark', limit: 500 }],
      ['search_library', { query: 'zxqvwy' }],
      ['search_library', { query: 'https://youtu.be/nothere0000' }],
      ['list_techniques', { query: 'zxqvwy' }],
      ['find_similar_frames', { frame_id: (await get('/api/frames')).frames[0].id, tone: 'bright', subject: 'logo' }],
    ] as const) {
      const both = await call(name, args)
      const { notes = [], frames } = both.structuredContent
      for (const note of notes) expect(both.text).toContain(note)
      const told = both.text.split('\n').filter((line: string) => /^(Read as|No |Try|\(limit)/.test(line))
      expect(told.length, name).toBeGreaterThan(0)
      for (const line of told)
        expect(
          notes.some((note: string) => line.includes(note)),
          line,
        ).toBe(true)
      for (const frame of frames ?? []) expect(both.text).toContain(frame.image_url)
      const alone = (await post(service.mcp, callOf(name, { ...args, format: 'text' }))).json.result
      expect(alone).toEqual({ content: [{ type: 'text', text: both.text }] })
    }
  })
  test('a caption is whole where few frames are the answer, and cut in a list', async () => {
    const caption = `quokka ${'looks at the camera from behind a wooden fence '.repeat(4)}`.trim()
    await seedVideo(service.stores.db, { frames: Array.from({ length: 7 }, (_, n) => ({ tSec: n, caption })) })
    await service.drain()
    for (const [limit, whole] of [
      [5, true],
      [6, false],
    ] as const) {
      const { text, structuredContent } = await call('search_frames', { query: 'quokka', limit })
      expect([text.includes(caption), structuredContent.frames[0].caption === caption]).toEqual([whole, whole])
    }
  })
  test('no picture above 60,000 letters is attached, nor more than 100,000 in all, and the text says so', async () => {
    sizes.push(80_000, 20_000, 20_000, 20_000, 20_000, 20_000)
    const { content, text } = await call('browse_frames', { limit: 6, images: 6, sort: 'strength' })
    const pictures = content.filter((block: { type: string }) => block.type === 'image')
    expect(pictures.map(({ data }: { data: string }) => data.length)).toEqual([26_668, 26_668, 26_668])
    expect(text).toContain('(3 pictures left out as too large: open their image URLs.)')
  })
  test('pictures come inline only when asked for', async () => {
    const asked = await call('browse_frames', { limit: 4, images: 2 })
    const pictures = asked.content.filter((block: { type: string }) => block.type === 'image')
    expect(pictures).toHaveLength(2)
    expect(pictures[0].mimeType).toBe('image/webp')
    expect(Buffer.from(pictures[0].data, 'base64').toString()).toMatch(/^picture frames\/.*-480\.webp$/)
  })
  test('pages of every tool that has some follow each other by cursor without loss or repeat', async () => {
    const { bearer } = await service.keyOf('pro')
    const five = ids((await get('/api/frames')).frames).slice(0, 5)
    await call('save_frame', { frame_ids: five }, bearer)
    for (const name of ['a', 'b', 'c']) await call('edit_board', { name }, bearer)
    await call('pin_frame', { board_id: 'a', frame_ids: five }, bearer)
    const paged: [string, object][] = [
      ['search_frames', { query: 'dark', limit: 7 }],
      ['browse_frames', { limit: 13 }],
      ['get_video_frames', { video_id: videoIds[1], limit: 3 }],
      ['list_techniques', { limit: 3 }],
      ['find_films', { limit: 3 }],
      ['find_sequences', { steps: [{ subject: 'text-card' }, { subject: 'ui' }], limit: 3 }],
      ['list_saves', { limit: 2 }],
      ['get_board', { board_id: 'a', limit: 2 }],
      ['get_board', { limit: 2 }],
    ]
    const withPages = service.tools.filter((tool) => 'cursor' in (describeTool(tool).inputSchema.properties as object))
    expect(new Set(paged.map(([name]) => name))).toEqual(new Set(withPages.map(({ name }) => name)))
    for (const [name, args] of paged) {
      const ask = async (more: object) => (await call(name, { ...args, ...more }, bearer)).structuredContent
      const itemsOf = ({ frames, boards, techniques, films, sequences }: Record<string, Item[]>) =>
        (frames ?? boards ?? techniques ?? films ?? sequences)!.map(
          (item) => item.id ?? item.slug ?? JSON.stringify(item),
        )
      const all: string[] = []
      for (let cursor: string | null | undefined; cursor !== null && all.length < 500; ) {
        const page = await ask(cursor === undefined ? {} : { cursor })
        all.push(...itemsOf(page))
        cursor = page.next_cursor
      }
      expect([name, new Set(all).size]).toEqual([name, all.length])
      expect(itemsOf(await ask({ limit: 50 }))).toEqual(all.slice(0, 50))
      const refused = await call(name, { ...args, cursor: 'nonsense' }, bearer)
      expect([name, refused.isError, refused.text]).toEqual([name, true, expect.stringContaining('next_cursor')])
    }
    const { structuredContent } = await call('search_frames', { query: 'dark', limit: 7 })
    for (const args of [
      { query: 'bright', limit: 7, cursor: structuredContent.next_cursor },
      { query: 'dark', limit: 7, cursor: '' },
    ])
      expect((await call('search_frames', args)).text).toContain('next_cursor')
  })
})

describe('answers that help on', () => {
  test('a measured caption is marked, and in full every frame says who described it and how surely', async () => {
    const frames = [{ caption: 'Dark picture of a gazebo', isMeasured: true }, { caption: 'A gazebo by a lake' }]
    await seedVideo(service.stores.db, { frames: frames.map((frame, tSec) => ({ ...frame, tSec })) })
    await service.drain()
    const { text, structuredContent } = await call('browse_frames', { limit: 2, detail: 'full' })
    expect(text).toContain('"Dark picture of a gazebo" (measured)\n')
    expect(text).toContain('"A gazebo by a lake"\n')
    expect(text).toMatch(/ {2}described by seed; caption sure to 0\.\d/)
    const [measured, told] = structuredContent.frames
    expect([measured.measured, told.measured, told.annotation.model]).toEqual([true, undefined, 'seed'])
    expect(told.annotation.caption).toBeGreaterThan(0)
  })
  test('nothing found: each suggestion holds when it is followed', async () => {
    const none = await call('search_frames', { query: 'terminal', subject: 'terminal', tone: 'bright' })
    expect(none.isError).toBeUndefined()
    expect(none.structuredContent).toEqual({
      frames: [],
      videos: [],
      total: 0,
      next_cursor: null,
      // Many clients show a model the data alone.
      notes: none.text.split('\n'),
    })
    const terminals = (await get('/api/frames?q=terminal&subject=terminal')).frames.length
    expect(none.text).toContain(`- without tone bright: ${terminals} frames`)
    expect(none.text).not.toContain('without subject')
    expect(none.text.split('\n').slice(0, 3)).toEqual([
      'No frames found.',
      expect.stringMatching(/^Read as: terminal/),
      'Try:',
    ])
    const dashboards = (await get('/api/frames?q=dashboard')).frames.length
    const words = await call('search_frames', { query: '"dashboard elephant"' })
    expect(words.text).toContain(`- without quotes and minus signs: ${dashboards} frames`)
    expect(words.text).not.toContain('- with the query')
    const near = await call('search_frames', { query: 'logoreveal' })
    expect(near.text).toContain('nearest techniques: logo-reveal')
  })
  test('few found: what nobody has described is counted within the filters, and can be looked at', async () => {
    const json = await get('/api/frames?described=no&tone=dark&facets=1')
    expect(json.total).toBeGreaterThan(0)
    expect(
      json.frames.every(
        ({ described, subject }: { described: boolean; subject: string | null }) => !described && subject === null,
      ),
    ).toBe(true)
    const none = await call('search_frames', { query: 'zeppelin', tone: 'dark' })
    expect(none.text).toContain(`Not described yet: ${json.total} frame`)
    const shown = await call('browse_frames', { tone: 'dark', described: 'no' })
    expect(shown.structuredContent.total).toBe(json.total)
    const left = await call('browse_frames', { tone: 'dark', not: { described: 'no' } })
    const all = await call('browse_frames', { tone: 'dark' })
    expect(left.structuredContent.total).toBe(all.structuredContent.total - json.total)
  })
  test('nothing found is asked for once: what would be found is counted in the same search', async () => {
    const none = await call('search_frames', { query: 'dark command', subject: 'chart', tone: 'bright', limit: 19 })
    expect(none.structuredContent.frames).toEqual([])
    const lines = none.text.split('\n').filter((line: string) => line.startsWith('- with'))
    expect(lines.length).toBeGreaterThan(1)
    expect(none.text).toContain('- with the query alone, no filters: 20 frames or more with some of the words')
    const asked = await call('search_frames', { query: 'dark command', limit: 19 })
    expect(asked.structuredContent.frames.length).toBe(8)
  })
  test('the answer says how it read the question, and marks partial matches', async () => {
    const read = await call('search_frames', { query: 'a dark terminal' })
    expect(read.text).toContain('Read as: dark (tone=dark or text), terminal (subject=terminal or text)')
    for (const query of ['terminal without a unicorn', 'terminal -unicorn'])
      expect((await call('search_frames', { query })).text).toContain('. Left out: frames with unicorn')
    // All in one line, as `read_as` has it.
    const guessed = await call('search_frames', { query: 'a walnot' })
    expect(guessed.structuredContent.notes[0]).toMatch(/^Read as: walnot \(typo of walnut\)\. Not searched: a$/)
    expect(read.text).not.toContain('misses')
    const most = await call('search_frames', { query: 'dark terminal unicorn' })
    expect(most.text).toContain('No frame has every word. The best meet 2 of 3; each says what it lacks.')
    for (const { missing } of most.structuredContent.frames) expect(missing).toEqual(['unicorn'])
    const library = await call('search_library', { query: 'dark terminal unicorn', limit: 3 })
    for (const { missing } of library.structuredContent.frames) expect(missing).toEqual(['unicorn'])
    expect(library.text.match(/^ {2}misses: unicorn$/gm)).toHaveLength(3)
    const few = await call('search_frames', { query: 'dark command', author: 'Northwind' })
    expect(few.text).toMatch(/^1 frame, then 2 partial matches\n/)
    expect(few.structuredContent.frames[0].missing).toBeUndefined()
    for (const { missing } of few.structuredContent.frames.slice(1)) expect(missing.length).toBeGreaterThan(0)
    expect(few.text.match(/^ {2}misses: /gm)).toHaveLength(2)
    // They count into the limit.
    const two = await call('search_frames', { query: 'dark command', author: 'Northwind', limit: 2 })
    expect(two.text).toMatch(/^1 frame, then 1 partial match\n/)
    expect(two.structuredContent.frames).toHaveLength(2)
  })
})

describe('the library moves on', () => {
  test('a kept answer is not given after the read model has changed', async () => {
    const before = (await call('search_frames', { query: 'giraffe' })).structuredContent.frames
    await seedVideo(service.stores.db, { frames: [{ caption: 'a giraffe on the left' }] })
    await service.drain()
    expect([
      before.length,
      (await call('search_frames', { query: 'giraffe' })).structuredContent.frames.length,
    ]).toEqual([0, 1])
  })
})
