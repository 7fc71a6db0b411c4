import { beforeAll, describe, expect, test } from 'vitest'
import { KINDS, PLATFORMS, SHOTS, SUBJECTS, SURFACES, TONES, ZONES } from '../../src/vocabulary.ts'
import { useOpened } from '../support/closing.ts'
import { ENGINES } from '../support/engines.ts'
import { type ApiFrame, AUTHORS, type ContractLibrary, openContractLibrary, readWall, YOUTUBE_URL } from './library.ts'

/**
 * The interface (docs/interface.md), sentence by sentence: the wall, the frames of a video, and what goes beyond. The
 * numbers are its sections. Every JSON answer is also held against the OpenAPI document.
 */

describe.each(ENGINES)('$engine', ({ engine }) => {
  const library = useOpened(() => openContractLibrary(engine))
  let get: ContractLibrary['get']
  let ofVideo: string
  beforeAll(async () => {
    get = library.get
    ofVideo = `/api/videos/${library.videos.words}/frames`
  })

  const wall = (query: string) => readWall(library, query)

  describe('4.2 GET /api/frames', () => {
    test('the response is { page, frames, hasMore } and nothing else', async () => {
      for (const query of ['', '?q=heron', '?subject=ui'])
        expect(Object.keys((await get(`/api/frames${query}`)).json)).toEqual(['page', 'frames', 'hasMore'])
    })

    test('read_as says how q was read, with facets=1 only', async () => {
      const asked = 'q=heron+that+is+bright+unicorn'
      const { json } = await get(`/api/frames?facets=1&${asked}`)
      expect(Object.keys(json)).toEqual(['page', 'frames', 'hasMore', 'facets', 'total', 'read_as'])
      expect(json.read_as).toEqual({
        words: [
          { word: 'heron', as: ['text'] },
          { word: 'bright', as: ['tone=bright', 'text'] },
          { word: 'unicorn', as: ['text'] },
        ],
        without: [],
        ignored: ['that', 'is'],
        let_go: expect.arrayContaining(['unicorn']),
        met: expect.any(Number),
      })
      expect(json.frames.length).toBe(Math.min(120, json.total))
      for (const frame of json.frames) expect(frame.missing).toContain('unicorn')
      expect(Object.keys((await get(`/api/frames?${asked}`)).json)).toEqual(['page', 'frames', 'hasMore'])
      expect((await get('/api/frames?facets=1')).json.read_as).toBeUndefined()
      expect((await get(`/api/frames?facets=1&provenance=1&${asked}`)).json.read_as).toEqual(json.read_as)
    })

    test.each([
      ['subject', SUBJECTS.at(-1)],
      ['surface', SURFACES.at(-1)],
      ['shot', SHOTS.at(-1)],
      ['zone', ZONES.at(-1)],
      ['tone', TONES.at(-1)],
      ['kind', KINDS.at(-1)],
      ['platform', PLATFORMS.at(-1)],
    ] as const)('%s filters: %s', async (attribute, value) => {
      const expected = (await wall('')).filter((frame) => frame[attribute] === value).map(({ id }) => id)
      expect(expected.length).toBeGreaterThan(0)
      expect((await wall(`${attribute}=${value}`)).map(({ id }) => id)).toEqual(expected)
    })

    test('technique filters by slug; an unknown one matches nothing', async () => {
      expect((await wall('technique=marionette-walk')).map((frame) => frame.technique)).toEqual(['marionette-walk'])
      expect(await wall('technique=no-such-move')).toEqual([])
    })

    test.each([AUTHORS[1], AUTHORS[5]])('author is an exact match: %s', async (author) => {
      const frames = await wall(`author=${encodeURIComponent(author)}`)
      expect(frames.map((frame) => frame.author)).toEqual([author])
    })

    test('q searches caption, composition, steal and on-screen text', async () => {
      for (const [word, tSec] of [
        ['heron', 9.5],
        ['gazebo', 1.25],
        ['trombone', 4],
        ['zeppelin', 0],
      ] as const) {
        const frames = await wall(`q=${word}`)
        expect(
          frames.map((frame) => [frame.video_id, frame.t_sec]),
          word,
        ).toEqual([[library.videos.words, tSec]])
      }
    })

    test('q meets a word of a title as an attribute, and read_as says so; quotes search texts alone', async () => {
      const { json } = await get('/api/frames?facets=1&q=lantern')
      expect(json.read_as.words).toEqual([{ word: 'lantern', as: ['title or brand', 'text'] }])
      expect(json.frames.map(({ video_id }: ApiFrame) => video_id)).toEqual(Array(5).fill(library.videos.words))
      expect(await wall('q=%22lantern%22')).toEqual([])
    })

    test('every filter is optional: an empty one does not filter', async () => {
      const all = (await wall('')).map(({ id }) => id)
      expect(
        (await wall('subject=&surface=&shot=&technique=&zone=&tone=&kind=&author=&platform=&q=')).map(({ id }) => id),
      ).toEqual(all)
    })

    test('OR within an attribute, repeated or by commas', async () => {
      const expected = (await wall(''))
        .filter((frame) => frame.subject === 'chart' || frame.subject === 'logo')
        .map(({ id }) => id)
      expect((await wall('subject=chart&subject=logo')).map(({ id }) => id)).toEqual(expected)
      expect((await wall('subject=logo,chart')).map(({ id }) => id)).toEqual(expected)
      const authors = await wall(`author=${encodeURIComponent(AUTHORS[2])}&author=Acme`)
      expect(new Set(authors.map((frame) => frame.author))).toEqual(new Set([AUTHORS[2], 'Acme']))
    })

    test('page is 1-based and page 1 is the first', async () => {
      const { json: first } = await get('/api/frames?page=1')
      expect(first.page).toBe(1)
      expect(first).toEqual((await get('/api/frames')).json)
      const { json: second } = await get('/api/frames?page=2')
      expect(second.page).toBe(2)
      expect(second.frames.map((frame: ApiFrame) => frame.id)).not.toContain(first.frames[0].id)
      expect((await get('/api/frames?page=0')).status).toBe(400)
    })

    test('hasMore is true exactly when 120 frames came back', async () => {
      for (const [video, counts] of [
        ['short', [119]],
        ['full', [120, 0]],
        ['over', [120, 1]],
      ] as const) {
        for (const [at, count] of counts.entries()) {
          const { status, json } = await get(`/api/frames?video=${library.videos[video]}&page=${at + 1}`)
          expect([status, json.frames.length, json.hasMore], `${video} page ${at + 1}`).toEqual([
            200,
            count,
            count === 120,
          ])
        }
      }
    })

    test.each(['newest', 'strength'])('every page of %s, to the last, without loss or repeat', async (sort) => {
      const ids = (await wall(`sort=${sort}`)).map(({ id }) => id)
      expect(new Set(ids).size).toBe(library.frameCount)
      expect(ids.length).toBe(library.frameCount)
    })
  })

  describe('4.3 GET /api/videos/{id}/frames', () => {
    test('every frame of one video, in time order, as { frames }', async () => {
      for (const [name, count] of [
        ['full', 120],
        ['over', 121],
        ['every', library.everyFrameIds.length],
      ] as const) {
        const { json } = await get(`/api/videos/${library.videos[name]}/frames`)
        expect(Object.keys(json)).toEqual(['frames'])
        expect(json.frames.length, name).toBe(count)
        const times = json.frames.map((frame: ApiFrame) => frame.t_sec)
        expect(times).toEqual(times.toSorted((a: number, b: number) => a - b))
        expect(new Set(json.frames.map((frame: ApiFrame) => frame.video_id))).toEqual(new Set([library.videos[name]]))
      }
    })

    test('each frame is joined to its video: title, author, source URL', async () => {
      const { json } = await get(`/api/videos/${library.videos.youtube}/frames`)
      for (const frame of json.frames)
        expect(frame.video).toMatchObject({
          id: library.videos.youtube,
          title: 'One command to start',
          author: 'Tube',
          source_url: YOUTUBE_URL,
        })
      const { json: upload } = await get(`/api/videos/${library.videos.plain}/frames`)
      expect(upload.frames[0].video).toMatchObject({ title: 'Uploaded', author: null, source_url: null })
    })

    test('a frame’s own source URL leads to its second', async () => {
      const { json } = await get(`/api/videos/${library.videos.youtube}/frames`)
      expect(json.frames.map((frame: ApiFrame) => new URL(String(frame.source_url)).searchParams.get('t'))).toEqual([
        '1s',
        '3s',
        '8s',
      ])
    })

    test('an unknown id, and that of a video that never was ready, is a JSON 404', async () => {
      const hostile = ['x'.repeat(500), '%00', '..%2F..%2Fetc', 'é', '*', "'"]
      for (const id of ['nosuchvideo', library.videos.failed, ...hostile]) {
        const { status, json, headers } = await get(`/api/videos/${id}/frames`)
        expect([status, json.code], id).toEqual([404, 'not_found'])
        expect(headers.get('cache-control')).toBe('no-store')
      }
      expect((await get('/api/search?q=hidden')).json.frames).toEqual([])
    })
  })

  describe('beyond the specification, as decided', () => {
    test('facets=1 names the nearest of what there is not', async () => {
      const [{ author, technique, video_id: id }] = (await get('/api/frames')).json.frames
      const asked = `author=${encodeURIComponent(author.toUpperCase())}&technique=${technique}x&video=nosuch`
      expect((await get(`/api/frames?facets=1&${asked}`)).json.unknown).toMatchObject([
        { parameter: 'author', nearest: expect.arrayContaining([author]) },
        { parameter: 'technique', value: `${technique}x`, nearest: expect.arrayContaining([technique]) },
        { parameter: 'video', value: 'nosuch' },
      ])
      const known = `author=${encodeURIComponent(author)}&technique=${technique}&video=${id}`
      expect((await get(`/api/frames?facets=1&${known}`)).json.unknown).toBeUndefined()
      expect((await get(`/api/frames?${asked}`)).json).toEqual({ page: 1, frames: [], hasMore: false })
    })
    test('facets=1 adds counts per value, with an attribute’s own filter off, and the total', async () => {
      const all = await wall('')
      const { json } = await get('/api/frames?facets=1&tone=dark&subject=ui')
      const ui = all.filter((frame) => frame.subject === 'ui')
      const [dark, bright] = TONES.map((tone) => ui.filter((frame) => frame.tone === tone).length)
      expect([json.facets.tone.dark, json.facets.tone.bright, json.total]).toEqual([dark, bright, dark])
      expect((await get('/api/frames?facets=1')).json.total).toBe(library.frameCount)
    })

    test('provenance=1 adds where each value came from', async () => {
      const path = `/api/frames?video=${library.videos.words}`
      expect((await get(path)).json.frames[0]).not.toHaveProperty('provenance')
      const { json } = await get(`${path}&provenance=1&q=heron`)
      expect(json.frames[0].provenance.caption).toMatchObject({ source: 'model', by: 'seed-1' })
      expect(json.frames[0].provenance.subject).toBeNull()
    })

    test('variety=on keeps one of each group of near-duplicates across videos, only when asked', async () => {
      const [first, second] = await wall('author=Acme&author=acme')
      expect(second).toBeDefined()
      expect(await wall('author=Acme&author=acme&variety=on')).toEqual([first])
    })

    test('color= finds frames whose palette is near', async () => {
      const green = await wall('color=00ff00')
      expect(green.map(({ video_id }) => video_id)).toEqual([library.videos.plain])
      expect(await wall('color=%2300FF00')).toEqual(green)
      expect((await wall('color=f2aa4c')).length).toBe(library.frameCount - green.length)
    })

    test('sort: relevance with q, newest without', async () => {
      expect((await wall('sort=newest')).map(({ id }) => id)).toEqual((await wall('')).map(({ id }) => id))
      expect((await wall('q=quokka&sort=relevance')).map(({ id }) => id)).toEqual(
        (await wall('q=quokka')).map(({ id }) => id),
      )
      const byTime = (await wall('q=quokka&sort=newest')).map(({ id }) => id)
      const order = (await wall('')).map(({ id }) => id)
      expect(byTime).toEqual(byTime.toSorted((a, b) => order.indexOf(a) - order.indexOf(b)))
    })

    test('past its depth relevance answers 400 and names newest; newest goes on', async () => {
      const { status, json } = await get('/api/frames?q=quokka&page=1000')
      expect(status).toBe(400)
      expect(json.message).toContain('sort=newest')
      expect((await get('/api/frames?page=999999999999999')).json).toEqual({
        page: 999999999999999,
        frames: [],
        hasMore: false,
      })
    })

    test('one frame comes with its neighbours in the video', async () => {
      const { json: all } = await get(ofVideo)
      for (const [at, frame] of all.frames.entries()) {
        const { json } = await get(`/api/frames/${frame.id}`)
        expect(json.frame).toEqual(frame)
        expect([json.previous?.id ?? null, json.next?.id ?? null]).toEqual([
          all.frames[at - 1]?.id ?? null,
          all.frames[at + 1]?.id ?? null,
        ])
      }
    })

    test('lists by cursor reach every row once', async () => {
      for (const kind of ['videos', 'brands'] as const) {
        const seen: string[] = []
        let after = ''
        for (;;) {
          const { json } = await get(`/api/${kind}?limit=7${after && `&after=${encodeURIComponent(after)}`}`)
          seen.push(...json[kind].map((row: { id?: string; name?: string }) => row.id ?? row.name))
          if (json.next === null) break
          after = json.next
        }
        expect(new Set(seen).size, kind).toBe(seen.length)
        expect(seen.length, kind).toBeGreaterThan(30)
      }
    })

    test('similar frames never hold the frame itself and take the wall’s filters', async () => {
      const { id } = (await get('/api/frames?subject=ui')).json.frames[0]
      const { json } = await get(`/api/frames/${id}/similar?subject=ui&limit=5`)
      expect(json.frames.length).toBeGreaterThan(0)
      for (const frame of json.frames) {
        expect(frame.subject).toBe('ui')
        expect(frame.id).not.toBe(id)
      }
      expect((await get('/api/frames/nosuchframe/similar')).status).toBe(404)
    })
  })
})
