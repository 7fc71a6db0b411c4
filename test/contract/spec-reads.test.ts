import { beforeAll, describe, expect, test } from 'vitest'
import { useOpened } from '../support/closing.ts'
import { ENGINES } from '../support/engines.ts'
import { MEILI_MISSING } from '../support/meilisearch.ts'
import { type ApiFrame, type ContractLibrary, openContractLibrary, YOUTUBE_URL } from './library.ts'

/**
 * The interface (docs/interface.md), sentence by sentence: its resources, the search, and the rules of every read. The
 * numbers are its sections. Every JSON answer is also held against the OpenAPI document. Who may read is in
 * accounts/authorisation, what may be kept in caching.
 */

const READS = ['/api/search', '/api/frames']

const EVERY_ATTRIBUTE =
  'id t_sec subject surface shot technique zone tone kind author platform caption composition steal on_screen_text'

if (MEILI_MISSING) test.skip(`Meilisearch: ${MEILI_MISSING}`, () => undefined)

describe.each(ENGINES)('$engine', ({ engine }) => {
  const library = useOpened(() => openContractLibrary(engine))
  let get: ContractLibrary['get']
  beforeAll(async () => {
    get = library.get
  })

  test('these answers come from this engine', async () => {
    // With a replica, its version stands behind a dot in each ETag.
    const { headers } = await get('/api/frames')
    expect(headers.get('etag')!.includes('.')).toBe(engine === 'meilisearch')
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
      expect(Object.keys(json.frames[0])).toEqual(expect.arrayContaining(EVERY_ATTRIBUTE.split(' ')))
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
    test('videos are found by title', async () => {
      const { json } = await get('/api/search?q=lantern')
      expect(json.videos.map((video: { id: string }) => video.id)).toEqual([library.videos.words])
    })

    test('frames are found by their description', async () => {
      const { json } = await get('/api/search?q=heron')
      expect(json.frames.map((frame: ApiFrame) => frame.caption)).toEqual(['A heron stands in reeds'])
      expect(json.frames[0].matched.caption).toBe('A <em>heron</em> stands in reeds')
    })

    test(
      'words that look like an address are words where no video has it; ' + 'an address that is written out is not',
      async () => {
        expect((await get('/api/search?q=heron.stands/reeds')).json.frames.length).toBeGreaterThan(0)
        const { json } = await get(`/api/search?q=${encodeURIComponent('https://heron.stands/reeds')}`)
        expect([json.videos, json.frames, json.brands, json.techniques]).toEqual([[], [], [], []])
      },
    )
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

  describe('7. Errors', () => {
    test('no client ever receives an error page: unknown paths and bad values are JSON', async () => {
      const { service } = library
      for (const accept of ['*/*', 'application/json', 'text/html']) {
        for (const path of ['/api/nothing', '/api', '/api/videos/x/y/z', '/media/none.webp', '/api/frames/']) {
          const answer = await service.get(path, { accept })
          if (path === '/api/frames/') continue
          expect([answer.status, answer.json.code], path).toEqual([404, 'not_found'])
        }
      }
    })

    test.each([
      ['/api/frames?subject=robot', 'subject', 'presenter'],
      ['/api/frames?tone=DARK', 'tone', 'dark'],
      ['/api/frames?tone=dark,dim', 'tone', 'bright'],
      ['/api/frames?page=0', 'page', 'from 1'],
      ['/api/frames?page=1.5', 'page', 'from 1'],
      ['/api/frames?page=1e3', 'page', 'from 1'],
      ['/api/frames?page=9999999999999999', 'page', '15 digits'],
      ['/api/frames?sort=relevance', 'sort', 'newest'],
      ['/api/frames?color=reddish', 'color', 'hex'],
      ['/api/frames?color=reddish', 'color', 'teal'],
      ['/api/frames?part=start', 'part', 'opening'],
      ['/api/frames?subject=logo&not_subject=ui,logo', 'not_subject', 'one of them'],
      ['/api/frames?limit=5', 'limit', 'subject'],
      ['/api/techniques?page=1', 'page', 'none is allowed here'],
      ['/api/search?limit=0', 'limit', 'from 1'],
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
})
