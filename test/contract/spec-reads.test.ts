import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listRoutes } from '../../src/http/app.ts'
import { createAccount } from '../../src/library/accounts/accounts.ts'
import { createKey } from '../../src/library/accounts/keys.ts'
import { KINDS, PLATFORMS, SHOTS, SUBJECTS, SURFACES, TONES, ZONES } from '../../src/vocabulary.ts'
import { ENGINES, MEILI_MISSING } from '../support/engines.ts'
import { AUTHORS, type ContractLibrary, openContractLibrary, YOUTUBE_URL } from './library.ts'

/** The interface specification, sentence by sentence: the numbers are its sections. Every JSON answer is also held against the OpenAPI document. */

const READS = ['/api/search', '/api/frames']

interface Frame {
  id: string
  video_id: string
  t_sec: number
  caption: string | null
  [attribute: string]: unknown
}

if (MEILI_MISSING) test.skip(`Meilisearch: ${MEILI_MISSING}`, () => undefined)

describe.each(ENGINES)('$engine', ({ engine }) => {
  let library: ContractLibrary
  let get: ContractLibrary['get']
  let ofVideo: string
  beforeAll(async () => {
    library = await openContractLibrary(engine)
    get = library.get
    ofVideo = `/api/videos/${library.videos.words}/frames`
  })
  afterAll(() => library[Symbol.asyncDispose]())

  /** Every frame of the wall that fits, page after page. */
  async function wall(query: string): Promise<Frame[]> {
    const frames: Frame[] = []
    for (let page = 1; ; page++) {
      const { json, status } = await get(`/api/frames?${query}&page=${page}`)
      expect(status).toBe(200)
      frames.push(...json.frames)
      if (!json.hasMore) return frames
    }
  }

  test('these answers come from this engine', async () => {
    expect((await get('/api/frames?debug=1')).json.debug.engine).toBe(engine)
  })

  describe('1. What the service does', () => {
    test('search across videos, frames, brands and techniques in one call', async () => {
      const { json } = await get('/api/search?q=quokka')
      for (const group of ['videos', 'frames', 'brands', 'techniques'])
        expect(json[group].length, group).toBeGreaterThan(0)
    })

    test('filter and page through the frame wall', async () => {
      const all = await wall('')
      expect(new Set(all.map(({ id }) => id)).size).toBe(all.length)
      expect(all.length).toBe(library.frameCount)
      expect((await wall('subject=chart')).length).toBeLessThan(all.length)
    })

    test('fetch every frame of one video in time order', async () => {
      const { json } = await get(ofVideo)
      expect(json.frames.map((frame: Frame) => frame.t_sec)).toEqual([0, 1.25, 2.125, 4, 9.5])
    })

    test('rule 2: every response body is JSON, including errors', async () => {
      for (const path of [
        ...READS,
        ofVideo,
        '/api/videos/none/frames',
        '/api/frames?page=0',
        '/api/nothing',
        '/nothing',
        '/api/%zz',
        '/api/search?limit=x',
      ]) {
        const answer = await fetch(library.service.url + path)
        expect(answer.headers.get('content-type'), path).toMatch(/^application\/json/)
        expect(typeof (await answer.json()), path).toBe('object')
      }
    })

    test('rule 3: read endpoints are open', async () => {
      for (const path of [...READS, ofVideo]) expect((await get(path)).status, path).toBe(200)
    })

    test('rule 4: read endpoints are cached at the edge for five minutes', async () => {
      for (const path of [...READS, ofVideo]) {
        const { headers } = await get(path)
        expect(headers.get('cache-control'), path).toBe(
          'public, max-age=300, s-maxage=300, stale-while-revalidate=60, stale-if-error=600',
        )
      }
    })

    test('rule 5: only endpoints marked "key required" depend on the caller', async () => {
      const account = await createAccount(library.service.stores.db, {
        email: `pro-${engine}@example.com`,
        plan: 'pro',
      })
      const { key } = await createKey(library.service.stores.db, { accountId: account.id, name: 'spec' })
      for (const path of [...READS, ofVideo])
        expect((await get(path, { authorization: `Bearer ${key}` })).json, path).toEqual((await get(path)).json)
    })
  })

  describe('2. Resources and their fields', () => {
    test('a video has a string id that is the {id} of its frames, a title and an author', async () => {
      const { json } = await get('/api/search?q=paper lantern')
      expect(json.videos[0]).toMatchObject({
        id: library.videos.words,
        title: 'Paper lantern workshop',
        author: 'Words',
      })
      expect((await get(`/api/videos/${json.videos[0].id}/frames`)).status).toBe(200)
    })

    test('a frame belongs to a video and carries every attribute of the list', async () => {
      const { json } = await get('/api/frames')
      for (const frame of json.frames as Frame[]) {
        for (const attribute of 'id t_sec subject surface shot technique zone tone kind author platform caption composition steal on_screen_text'.split(
          ' ',
        ))
          expect(frame, attribute).toHaveProperty(attribute)
        expect(typeof frame.id).toBe('string')
        expect(typeof frame.t_sec).toBe('number')
      }
    })

    test.each([
      ['subject', SUBJECTS],
      ['surface', SURFACES],
      ['shot', SHOTS],
      ['tone', TONES],
      ['kind', KINDS],
      ['platform', PLATFORMS],
      ['zone', ZONES],
    ] as const)('%s has exactly its allowed values', async (attribute, values) => {
      const found = new Set((await wall('')).map((frame) => frame[attribute]).filter((value) => value !== null))
      expect([...found].sort()).toEqual([...values].sort())
    })

    test('a value that nobody measured or named is null, never missing', async () => {
      const { json } = await get(`/api/frames?video=${library.videos.plain}`)
      expect(json.frames[0]).toMatchObject({
        subject: null,
        technique: null,
        zone: null,
        caption: null,
        author: null,
        source_url: null,
      })
    })

    test('brands are searched by name and techniques by slug', async () => {
      expect((await get('/api/search?q=Full Page')).json.brands[0].name).toBe('Full Page, Inc.')
      expect((await get('/api/search?q=marionette-walk')).json.techniques[0].slug).toBe('marionette-walk')
    })
  })

  describe('4.1 GET /api/search', () => {
    test('the response is { videos, frames, brands, techniques }, each an array', async () => {
      const { json } = await get('/api/search?q=quokka')
      expect(Object.keys(json)).toEqual(['videos', 'frames', 'brands', 'techniques'])
      for (const group of Object.values(json)) expect(Array.isArray(group)).toBe(true)
    })

    test('videos are found by title', async () => {
      const { json } = await get('/api/search?q=lantern')
      expect(json.videos.map((video: { id: string }) => video.id)).toEqual([library.videos.words])
    })

    test('frames are found by their description', async () => {
      const { json } = await get('/api/search?q=heron')
      expect(json.frames.map((frame: Frame) => frame.caption)).toEqual(['A heron stands in reeds'])
      expect(json.frames[0].matched.caption).toBe('A <em>heron</em> stands in reeds')
    })

    test('words that look like an address are words where no video has it; an address that is written out is not', async () => {
      expect((await get('/api/search?q=heron.stands/reeds')).json.frames.length).toBeGreaterThan(0)
      const { json } = await get(`/api/search?q=${encodeURIComponent('https://heron.stands/reeds')}`)
      expect([json.videos, json.frames, json.brands, json.techniques]).toEqual([[], [], [], []])
    })
    test('an address may be long: 2,000 characters are read, one more is refused', async () => {
      const long = `https://cdn.example.com/a.mp4?sig=${'x'.repeat(1_966)}`
      expect([long.length, (await get(`/api/search?q=${encodeURIComponent(long)}`)).status]).toEqual([2_000, 200])
      expect((await get(`/api/search?q=${encodeURIComponent(`${long}x`)}`)).status).toBe(400)
    })
    test('a pasted video URL resolves to that one video', async () => {
      for (const url of [YOUTUBE_URL, 'https://youtu.be/dQw4w9WgXcQ?si=abc', 'youtube.com/shorts/dQw4w9WgXcQ']) {
        const { json } = await get(`/api/search?q=${encodeURIComponent(url)}`)
        expect(
          json.videos.map((video: { id: string }) => video.id),
          url,
        ).toEqual([library.videos.youtube])
        expect(json.frames.length, url).toBe(3)
        for (const frame of json.frames) expect(frame.video_id).toBe(library.videos.youtube)
        expect([json.brands, json.techniques]).toEqual([[], []])
      }
    })

    test('a page of brands that ends with the longest name there is has a next one', async () => {
      const next = Buffer.from(JSON.stringify(['日 '.repeat(300).trim(), 'id'])).toString('base64url')
      expect((await get(`/api/brands?after=${next}`)).status).toBe(200)
    })
    test('an unknown video URL finds nothing rather than something like its letters', async () => {
      const { json } = await get(`/api/search?q=${encodeURIComponent('https://youtu.be/quokkaquokk')}`)
      expect(json).toEqual({ videos: [], frames: [], brands: [], techniques: [] })
    })

    test.each(['', '?q=', '?q=%20%20', '?q=+%09+'])(
      'q is not required; blank (%s) gives the strongest rows of each kind',
      async (query) => {
        const { json } = await get(`/api/search${query}`)
        for (const group of ['videos', 'frames', 'brands', 'techniques']) expect(json[group].length, group).toBe(6)
        const scores = json.frames.map((hit: { score: number }) => hit.score)
        expect(scores).toEqual(scores.toSorted((a: number, b: number) => b - a))
      },
    )

    test('with a blank q no video stands twice in a group while others exist', async () => {
      const { json } = await get('/api/search?limit=20')
      expect(new Set(json.frames.map((frame: Frame) => frame.video_id)).size).toBe(20)
    })

    test('limit is not required and 6 by default', async () => {
      for (const query of ['q=quokka', 'q=quokka&limit=', 'q=quokka&limit=6']) {
        const { json } = await get(`/api/search?${query}`)
        for (const group of ['videos', 'frames', 'brands', 'techniques'])
          expect(json[group].length, `${query} ${group}`).toBe(6)
      }
    })

    test.each([1, 2, 19, 20])('limit=%i gives that many rows per group', async (limit) => {
      const { json } = await get(`/api/search?q=quokka&limit=${limit}`)
      for (const group of ['videos', 'frames', 'brands', 'techniques']) expect(json[group].length, group).toBe(limit)
    })

    test.each(['21', '100', '999999999999999', '9'.repeat(40)])(
      'limit=%s is capped at 20, not refused',
      async (limit) => {
        const { status, json } = await get(`/api/search?q=quokka&limit=${limit}`)
        expect(status).toBe(200)
        for (const group of ['videos', 'frames', 'brands', 'techniques']) expect(json[group].length, group).toBe(20)
      },
    )

    test('hits carry a score from 0 to 1, best first', async () => {
      const { json } = await get('/api/search?q=quokka number 7&limit=20')
      for (const group of ['videos', 'frames', 'brands', 'techniques']) {
        const scores = json[group].map((hit: { score: number }) => hit.score)
        expect(scores, group).toEqual(scores.toSorted((a: number, b: number) => b - a))
      }
      expect(json.frames[0].caption).toBe('Quokka number 7')
    })
  })

  describe('4.2 GET /api/frames', () => {
    test('the response is { page, frames, hasMore } and nothing else', async () => {
      for (const query of ['', '?q=heron', '?subject=ui'])
        expect(Object.keys((await get(`/api/frames${query}`)).json)).toEqual(['page', 'frames', 'hasMore'])
    })

    test.each([
      ['subject', SUBJECTS],
      ['surface', SURFACES],
      ['shot', SHOTS],
      ['zone', ZONES],
      ['tone', TONES],
      ['kind', KINDS],
      ['platform', PLATFORMS],
    ] as const)('%s filters, by each of its values', async (attribute, values) => {
      const all = await wall('')
      for (const value of values) {
        const expected = all.filter((frame) => frame[attribute] === value).map(({ id }) => id)
        expect(expected.length, value).toBeGreaterThan(0)
        expect(
          (await wall(`${attribute}=${value}`)).map(({ id }) => id),
          value,
        ).toEqual(expected)
      }
    })

    test('technique filters by slug; an unknown one matches nothing', async () => {
      expect((await wall('technique=marionette-walk')).map((frame) => frame.technique)).toEqual(['marionette-walk'])
      expect(await wall('technique=no-such-move')).toEqual([])
    })

    test.each(AUTHORS)('author is an exact match: %s', async (author) => {
      const frames = await wall(`author=${encodeURIComponent(author)}`)
      expect(frames.map((frame) => frame.author)).toEqual([author])
    })

    test('author matches no part and no other case of a name', async () => {
      for (const author of ['ACME', 'Acm', 'Acme,', 'Full Page', ' Acme', '%', '*', 'Acme" OR "1"="1']) {
        const frames = await wall(`author=${encodeURIComponent(author)}`)
        expect(
          frames.map((frame) => frame.author),
          author,
        ).toEqual([])
      }
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

    test('q does not search titles', async () => {
      expect(await wall('q=lantern')).toEqual([])
    })

    test('every filter is optional: an empty one does not filter', async () => {
      const all = (await wall('')).map(({ id }) => id)
      expect(
        (await wall('subject=&surface=&shot=&technique=&zone=&tone=&kind=&author=&platform=&q=')).map(({ id }) => id),
      ).toEqual(all)
    })

    test('the filters combine', async () => {
      const all = await wall('')
      const expected = all.filter((frame) => frame.subject === 'ui' && frame.tone === 'dark' && frame.kind === 'beat')
      expect(expected.length).toBe(1)
      expect((await wall('subject=ui&tone=dark&kind=beat')).map(({ id }) => id)).toEqual(expected.map(({ id }) => id))
      expect(await wall('subject=ui&tone=dark&kind=beat&q=heron')).toEqual([])
      expect((await wall('q=heron&kind=cut&author=Words')).length).toBe(1)
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
      expect(second.frames.map((frame: Frame) => frame.id)).not.toContain(first.frames[0].id)
      expect((await get('/api/frames?page=0')).status).toBe(400)
    })

    test('a page holds 120 frames', async () => {
      expect((await get('/api/frames')).json.frames.length).toBe(120)
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

    test('newest is the video’s arrival, then its time order', async () => {
      const frames = await wall('')
      const arrivals = new Map<string, number>()
      let cursor: string | null = ''
      while (cursor !== null) {
        const { json }: { json: { videos: { id: string; added_at: string }[]; next: string | null } } = await get(
          `/api/videos?after=${cursor}`,
        )
        for (const video of json.videos) arrivals.set(video.id, Date.parse(video.added_at))
        cursor = json.next
      }
      for (const [at, frame] of frames.entries()) {
        const before = frames[at - 1]
        if (!before) continue
        if (before.video_id === frame.video_id) expect(before.t_sec).toBeLessThan(frame.t_sec)
        else expect(arrivals.get(before.video_id)!).toBeGreaterThanOrEqual(arrivals.get(frame.video_id)!)
      }
      // No video is torn apart.
      const runs = frames.filter((frame, at) => frame.video_id !== frames[at - 1]?.video_id)
      expect(runs.length).toBe(new Set(frames.map((frame) => frame.video_id)).size)
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
        const times = json.frames.map((frame: Frame) => frame.t_sec)
        expect(times).toEqual(times.toSorted((a: number, b: number) => a - b))
        expect(new Set(json.frames.map((frame: Frame) => frame.video_id))).toEqual(new Set([library.videos[name]]))
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
      expect(json.frames.map((frame: Frame) => new URL(String(frame.source_url)).searchParams.get('t'))).toEqual([
        '1s',
        '3s',
        '8s',
      ])
    })

    test('an unknown id, and that of a video that never was ready, is a JSON 404', async () => {
      for (const id of ['nosuchvideo', library.videos.failed, 'x'.repeat(500), '%00', '..%2F..%2Fetc', 'é', '*', "'"]) {
        const { status, json, headers } = await get(`/api/videos/${id}/frames`)
        expect([status, json.code], id).toEqual([404, 'not_found'])
        expect(headers.get('cache-control')).toBe('no-store')
      }
      expect((await get('/api/search?q=hidden')).json.frames).toEqual([])
    })
  })

  describe('5. Authentication', () => {
    const odd = ['Bearer flk_live_nothing', 'Bearer ', 'Basic dTpw', 'x'.repeat(2_000)]

    test('1: open endpoints need no credential and look at none, good or bad', async () => {
      for (const path of [...READS, ofVideo, '/api/techniques', '/api/brands', '/api/videos']) {
        const { json } = await get(path)
        for (const authorization of odd) {
          const answer = await get(path, { authorization, cookie: 'session=fls_nothing; theme=dark' })
          expect([answer.status, answer.json], path).toEqual([200, json])
          expect(answer.headers.get('set-cookie')).toBeNull()
          expect(answer.headers.get('vary')).toBe('Accept-Encoding')
        }
      }
    })

    test('2, 4: a key-required endpoint without a working bearer key is 401 { code: "unauthenticated" }', async () => {
      for (const path of ['/api/favourites', '/api/boards']) {
        for (const authorization of [undefined, ...odd, library.service.operatorKey]) {
          const { status, json, headers } = await get(path, authorization === undefined ? {} : { authorization })
          expect([status, json], String(authorization)).toEqual([401, { code: 'unauthenticated' }])
          expect(headers.get('www-authenticate')).toContain('Bearer')
        }
      }
    })
  })

  describe('7. Errors', () => {
    test('key missing: 401; valid key whose plan does not include the endpoint: 403, JSON', async () => {
      const account = await createAccount(library.service.stores.db, {
        email: `free-${engine}@example.com`,
        plan: 'free',
      })
      const { key } = await createKey(library.service.stores.db, { accountId: account.id, name: 'spec' })
      for (const path of ['/api/favourites', '/api/boards']) {
        expect((await get(path)).json).toEqual({ code: 'unauthenticated' })
        const { status, json } = await get(path, { authorization: `Bearer ${key}` })
        expect([status, json.code], path).toEqual([403, 'plan_required'])
      }
    })

    test('no client ever receives an error page: unknown paths, wrong methods and bad values are JSON', async () => {
      const { service } = library
      for (const accept of ['*/*', 'application/json', 'text/html']) {
        for (const path of ['/api/nothing', '/api', '/api/videos/x/y/z', '/media/none.webp', '/api/frames/']) {
          const answer = await service.get(path, { accept })
          if (path === '/api/frames/') continue
          expect([answer.status, answer.json.code], path).toEqual([404, 'not_found'])
        }
      }
      const routes = listRoutes(service.api.app.routers).filter(({ path }) => path.startsWith('/api/'))
      for (const { path } of routes) {
        // A literal path may also be what a pattern of another route takes.
        const methods = routes
          .filter((route) => new RegExp(`^${route.path.replace(/:\w+/g, '[^/]+')}$`).test(path))
          .flatMap((route) => route.methods)
        for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND']) {
          if (methods.includes(method)) continue
          const answer = await service.call(method, path.replace(/:\w+/g, 'x'))
          expect([answer.status, answer.json.code], `${method} ${path}`).toEqual([405, 'method_not_allowed'])
          const allowed = answer.headers.get('allow')!.split(', ')
          for (const own of methods) expect(allowed, `${method} ${path}`).toContain(own)
          expect(answer.headers.get('cache-control')).toBe('no-store')
        }
      }
    })

    test.each([
      ['/api/frames?subject=robot', 'subject', 'presenter'],
      ['/api/frames?surface=film', 'surface', 'camera'],
      ['/api/frames?shot=wide', 'shot', 'no-face'],
      ['/api/frames?zone=center', 'zone', 'middle-center'],
      ['/api/frames?tone=dim', 'tone', 'dark'],
      ['/api/frames?tone=DARK', 'tone', 'dark'],
      ['/api/frames?tone=dark,dim', 'tone', 'bright'],
      ['/api/frames?kind=loop', 'kind', 'beat'],
      ['/api/frames?platform=tiktok', 'platform', 'vimeo'],
      ['/api/frames?page=0', 'page', 'from 1'],
      ['/api/frames?page=-1', 'page', 'from 1'],
      ['/api/frames?page=1.5', 'page', 'from 1'],
      ['/api/frames?page=1e3', 'page', 'from 1'],
      ['/api/frames?page=one', 'page', 'from 1'],
      ['/api/frames?page=9999999999999999', 'page', '15 digits'],
      ['/api/frames?page=1&page=2', 'page', 'once'],
      ['/api/frames?sort=oldest', 'sort', 'newest'],
      ['/api/frames?sort=relevance', 'sort', 'newest'],
      ['/api/frames?color=red', 'color', 'hex'],
      ['/api/frames?limit=5', 'limit', 'subject'],
      ['/api/search?limit=abc', 'limit', 'from 1'],
      ['/api/search?limit=0', 'limit', 'from 1'],
      ['/api/search?limit=-6', 'limit', 'from 1'],
      ['/api/search?q=a&q=b', 'q', 'once'],
      ['/api/search?query=a', 'query', 'limit'],
      ['/api/search?__proto__=1', '__proto__', 'limit'],
      ['/api/search?constructor=1', 'constructor', 'limit'],
    ])('a bad value is 400 and says what is allowed: %s', async (path, where, hint) => {
      const { status, json, headers } = await get(path)
      expect([status, json.code]).toEqual([400, 'invalid_request'])
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('x-request-id')).toMatch(/^[\w.-]{1,64}$/)
      const detail = json.details.find((one: { path: string }) => one.path === where)
      expect(`${detail.message} ${detail.allowed ?? ''}`).toContain(hint)
    })

    test.each(['%', '%zz', '%ff', 'q=%E0%A4%A', '%'])('broken percent-encoding (%s) is 400', async (query) => {
      for (const path of READS) expect((await get(`${path}?${query}`)).status).toBe(400)
    })
  })

  describe('8. Limits', () => {
    test('limit: at most 20 rows per group, 6 by default', async () => {
      expect((await get('/api/search?q=quokka&limit=500')).json.videos.length).toBe(20)
      expect((await get('/api/search?q=quokka')).json.videos.length).toBe(6)
    })

    test('page size 120, first page 1', async () => {
      const { json } = await get('/api/frames')
      expect([json.page, json.frames.length]).toEqual([1, 120])
    })

    test('edge cache lifetime: five minutes, for every open read', async () => {
      const frameId = library.everyFrameIds[0]
      for (const path of [
        ...READS,
        ofVideo,
        '/api/videos',
        `/api/videos/${library.videos.words}`,
        `/api/frames/${frameId}`,
        `/api/frames/${frameId}/similar`,
        '/api/techniques',
        '/api/brands',
      ]) {
        const { status, headers } = await get(path)
        expect(status, path).toBe(200)
        expect(headers.get('cache-control'), path).toContain('public, max-age=300, s-maxage=300')
      }
    })
  })

  describe('beyond the specification, as decided', () => {
    test('facets=1 adds counts per value, with an attribute’s own filter off, and the total', async () => {
      const all = await wall('')
      const { json } = await get('/api/frames?facets=1&tone=dark&subject=ui')
      const dark = all.filter((frame) => frame.tone === 'dark')
      for (const subject of SUBJECTS)
        expect(json.facets.subject[subject] ?? 0, subject).toBe(
          dark.filter((frame) => frame.subject === subject).length,
        )
      const ui = all.filter((frame) => frame.subject === 'ui')
      for (const tone of TONES)
        expect(json.facets.tone[tone] ?? 0, tone).toBe(ui.filter((frame) => frame.tone === tone).length)
      expect(json.total).toBe(dark.filter((frame) => frame.subject === 'ui').length)
      expect((await get('/api/frames?facets=1')).json.total).toBe(library.frameCount)
    })

    test('provenance=1 adds where each value came from', async () => {
      const path = `/api/frames?video=${library.videos.words}`
      expect((await get(path)).json.frames[0]).not.toHaveProperty('provenance')
      const { json } = await get(`${path}&provenance=1&q=heron`)
      expect(json.frames[0].provenance.caption).toMatchObject({ source: 'model', by: 'seed-1' })
      expect(json.frames[0].provenance.subject).toBeNull()
    })

    test('debug=1 tells engine, time and as-of, and is not kept by anybody', async () => {
      for (const path of [...READS, ofVideo]) {
        const { json, headers } = await get(`${path}?debug=1`)
        expect(json.debug).toMatchObject({ engine, took_ms: expect.any(Number), as_of: expect.any(String) })
        expect(headers.get('cache-control')).toBe('no-store')
        expect(headers.get('etag')).toBeNull()
        expect((await get(path)).json).not.toHaveProperty('debug')
      }
    })

    test('variety=on keeps one of each group of near-duplicates across videos, only when asked', async () => {
      const plain = await wall('author=Short&author=Over')
      const varied = await wall('author=Short&author=Over&variety=on')
      expect(plain.length).toBe(240)
      const ids = new Set(plain.map(({ id }) => id))
      for (const { id } of varied) expect(ids.has(id)).toBe(true)
      expect(varied.length).toBeLessThanOrEqual(plain.length)
    })

    test('color= finds frames whose palette is near', async () => {
      const ids = (await wall('')).map(({ id }) => id)
      const near = await wall('color=f2aa4c')
      expect(near.length).toBe(ids.length)
      expect((await wall('color=%23F2AA4C')).length).toBe(near.length)
      expect(await wall('color=00ff00')).toEqual([])
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
      const id = library.everyFrameIds[0]
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
