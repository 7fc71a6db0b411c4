import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  toBrandDocument,
  toFrameDocument,
  toTechniqueDocument,
  toVideoDocument,
  type VideoRow,
} from '../../src/projections/search/document.ts'
import { cellOf, cellsOf } from '../../src/search/color.ts'
import {
  type DocumentSink,
  FACETS,
  type FrameDocument,
  type FrameFilters,
  type FrameQuery,
  type LibrarySearch,
  type TechniqueDocument,
  type VideoDocument,
} from '../../src/search/library-search.ts'
import { hammingDistance } from '../../src/search/likeness.ts'
import { KINDS, PLATFORMS, SHOTS, SUBJECTS, SURFACES, TONES, ZONES } from '../../src/vocabulary.ts'
import { type SeedFrame, toFrameRow } from '../support/seed.ts'

export interface Engine {
  search: LibrarySearch
  sink: DocumentSink
  [Symbol.asyncDispose](): Promise<void>
}

/** What every engine behind `LibrarySearch` and `DocumentSink` must do. One engine per group; `open` gives it empty. */
export function describeContract(name: string, open: () => Promise<Engine>): void {
  describe(`${name}: an empty library`, () => {
    const engine = opened(open)

    test('answers every question, with nothing', async () => {
      const { search } = engine()
      expect(await search.search({ q: '', limit: 6 })).toEqual({ videos: [], frames: [], brands: [], techniques: [] })
      expect(await search.search({ q: 'kite', limit: 6 })).toEqual({
        videos: [],
        frames: [],
        brands: [],
        techniques: [],
      })
      expect(await search.search({ q: 'x', limit: 6, sourceKey: 'youtube:none' })).toEqual({
        videos: [],
        frames: [],
        brands: [],
        techniques: [],
      })
      const page = await search.frames(ask({ facets: true }))
      expect(page).toMatchObject({ frames: [], total: 0 })
      for (const facet of FACETS) expect(page.facets![facet]).toEqual({})
      expect((await search.frames(ask({ q: 'kite' }))).frames).toEqual([])
      expect(await search.videoFrames('none')).toBeUndefined()
      expect(await search.frame('none')).toBeUndefined()
      expect(await search.framesByIds(['none'])).toEqual([])
      expect(await search.similar('none', { filters: {}, limit: 5 })).toBeUndefined()
      expect(await search.video('none')).toBeUndefined()
      expect(await search.videos({ after: undefined, limit: 5 })).toEqual({ items: [], next: null })
      expect(await search.brands({ after: undefined, limit: 5 })).toEqual({ items: [], next: null })
      expect(await search.techniques()).toEqual([])
    })
  })

  describe(`${name}: words`, () => {
    const engine = opened(open)
    const clips = [
      clip('relay', { title: 'Relay launch film', author: 'Crème & Co' }, [
        { caption: 'A presenter holds a red kite', composition: 'centered subject', technique: 'logo-reveal' },
        { caption: 'A kite made of paper', steal: 'let the red follow', technique: 'text-card' },
        { caption: 'Nothing of note', onScreenText: 'npm install hyperdrive <b>now</b>' },
        { caption: 'Größe und Weite über Zürich' },
        { caption: 'A terminal beside a lamp', composition: 'red lamp at the left' },
      ]),
      clip('atlas', { title: 'Atlas: the presenter story', author: 'Creme' }, [
        { caption: 'Maps on a table', technique: 'logo-reveal-2' },
        { caption: 'Wi-fi beside it' },
      ]),
    ]
    beforeAll(() => engine().sink.apply(changesOf(clips)))
    const found = async (q: string, more: Partial<FrameQuery> = {}) =>
      (await engine().search.frames(ask({ q, ...more }))).frames.map(({ document }) => document.t_sec)

    test('one letter wrong, missing or swapped still finds the word', async () => {
      expect(await found('presnter')).toEqual([0])
      expect(await found('presentre')).toEqual([0])
      expect(await found('pressenter')).toEqual([0])
      expect(await found('termnial')).toEqual([4])
      for (const first of ['xerminal', 'erminal', 'xterminal', 'etrminal']) {
        expect(await found(first)).toEqual([4])
        expect(
          (await engine().search.search({ q: first, limit: 6 })).frames.map(({ document }) => document.t_sec),
        ).toEqual([4])
      }
      expect(await found('kyte')).toEqual([])
    })

    test('the beginning of the last word is enough, as typed', async () => {
      expect(await found('present')).toEqual([0])
      expect((await found('red ki')).toSorted()).toEqual([0, 1])
      expect(await found('ki red')).toEqual([])
    })

    test('case and accents do not matter', async () => {
      expect(await found('GRÖSSE zurich')).toEqual([3])
      expect(await found('uber')).toEqual([3])
    })

    test('a phrase in quotes is found in that order only, and not across fields', async () => {
      expect(await found('"red kite"')).toEqual([0])
      expect(await found('"kite red"')).toEqual([])
      expect(await found('"presnter"')).toEqual([])
      expect(await found('"lamp red"')).toEqual([])
      expect(await found('"a kite" paper')).toEqual([1])
    })

    test('part of a word on screen is found, part of a word elsewhere is not', async () => {
      expect(await found('perdriv')).toEqual([2])
      expect(await found('drive')).toEqual([2])
      expect(await found('resent')).toEqual([])
      for (const more of [{}, { facets: true }, { variety: true }])
        expect(await found('perdriv stall now', more)).toEqual([2])
      expect(await found('perdriv now', { page: 2 })).toEqual([])
    })

    test('two words run together are found', async () => {
      expect(await found('redkite')).toEqual([0])
      expect(await found('wifi')).toEqual([1])
      expect((await engine().search.frames(ask({ q: 'redkite' }))).frames[0]!.matched).toEqual({
        caption: 'A presenter holds a <em>red</em> <em>kite</em>',
      })
    })

    test('the wall asks for every word; a word in any of the four fields counts, titles and authors do not', async () => {
      expect((await found('red kite')).toSorted()).toEqual([0, 1])
      expect(await found('red lamp')).toEqual([4])
      expect(await found('red unicorns')).toEqual([])
      expect(await found('launch')).toEqual([])
      expect(await found('centered')).toEqual([0])
    })

    test('better places first, and the same order on every reading', async () => {
      const once = await engine().search.frames(ask({ q: 'red kite' }))
      expect(once.frames[0]!.document.t_sec).toBe(0)
      expect(once.frames.map(({ score }) => score)).toEqual(
        once.frames.map(({ score }) => score).toSorted((a, b) => b - a),
      )
      expect(await engine().search.frames(ask({ q: 'red kite' }))).toEqual(once)
      for (const { score } of once.frames) expect(score > 0 && score <= 1).toBe(true)
    })

    test('newest orders matches by time, relevance does not', async () => {
      expect(await found('red', { sort: 'newest' })).toEqual([0, 1, 4])
    })

    test('matched is escaped, with the words in em', async () => {
      const { frames } = await engine().search.frames(ask({ q: 'hyperdrive now' }))
      expect(frames[0]!.matched).toEqual({
        on_screen_text: 'npm install <em>hyperdrive</em> &lt;b&gt;<em>now</em>&lt;/b&gt;',
      })
      expect((await engine().search.frames(ask({ q: 'presnter' }))).frames[0]!.matched).toEqual({
        caption: 'A <em>presenter</em> holds a red kite',
      })
      expect((await engine().search.frames(ask({ q: 'perdri' }))).frames[0]!.matched.on_screen_text).toContain(
        '<em>hyperdrive</em>',
      )
    })

    test('one search, four groups: all words before some, an exact brand or technique first', async () => {
      const { search } = engine()
      const groups = await search.search({ q: 'red kite', limit: 6 })
      const order = groups.frames.map(({ document }) => document.t_sec)
      expect(order.slice(0, 2).toSorted()).toEqual([0, 1])
      expect(order).toContain(4)
      const brands = await search.search({ q: 'creme', limit: 6 })
      expect(brands.brands.map(({ document, score }) => [document.name, score === 1])).toEqual([
        ['Creme', true],
        ['Crème & Co', false],
      ])
      expect((await search.search({ q: 'CRÈME & CO', limit: 6 })).brands[0]).toMatchObject({
        score: 1,
        document: { name: 'Crème & Co' },
      })
      const techniques = await search.search({ q: 'logo-reveal', limit: 6 })
      expect(techniques.techniques.map(({ document }) => document.slug)).toEqual(['logo-reveal', 'logo-reveal-2'])
      expect(techniques.techniques[0]!.score).toBe(1)
      expect((await search.search({ q: 'presnter', limit: 6 })).videos.map(({ document }) => document.title)).toEqual([
        'Atlas: the presenter story',
      ])
      expect((await search.search({ q: 'presenter', limit: 6 })).videos[0]!.matched).toEqual({
        title: 'Atlas: the <em>presenter</em> story',
      })
      expect((await search.search({ q: 'kite', limit: 1 })).frames).toHaveLength(1)
    })

    test('of several words, what has more of them comes first, wherever in the query they stand; a name is found by any of them', async () => {
      const { search } = engine()
      const groups = await search.search({ q: 'paper lamp terminal creme', limit: 6 })
      const order = groups.frames.map(({ document }) => document.t_sec)
      expect(order[0]).toBe(4)
      expect(groups.frames.every(({ score }) => score < 0.5)).toBe(true)
      expect(groups.brands.map(({ document }) => document.name).toSorted()).toEqual(['Creme', 'Crème & Co'])
      // All words, one of them mistyped, beats some words as they are written, in the score as well.
      const mistyped = (await search.search({ q: 'presentr kite', limit: 6 })).frames
      expect(mistyped.map(({ score }) => score >= 0.5)).toEqual([true, ...mistyped.slice(1).map(() => false)])
      expect(mistyped.length).toBeGreaterThan(1)
      expect(mistyped.map(({ score }) => score)).toEqual(mistyped.map(({ score }) => score).toSorted((a, b) => b - a))
      const titles = (await search.search({ q: 'presenter paper story', limit: 6 })).videos
      expect(titles.map(({ document }) => document.title)).toEqual(['Atlas: the presenter story'])
      const quoted = await search.search({ q: '"launch film" story', limit: 6 })
      expect(quoted.videos.map(({ document }) => document.id).toSorted()).toEqual(['atlas', 'relay'])
    })

    test('provenance comes with the hits of a query that asks for it', async () => {
      const { frames } = await engine().search.frames(ask({ q: 'kite', provenance: true }))
      expect(frames).toHaveLength(2)
      for (const { document } of frames) expect(document.provenance!.tone).toMatchObject({ source: 'measured' })
    })

    test('a video found by its source stands alone with its strongest frames', async () => {
      const groups = await engine().search.search({ q: 'https://youtu.be/relay', limit: 3, sourceKey: 'youtube:relay' })
      expect(groups.videos.map(({ document }) => document.id)).toEqual(['relay'])
      expect(groups.frames).toHaveLength(3)
      expect(groups.frames.every(({ document }) => document.video_id === 'relay')).toBe(true)
      const whole = await engine().search.framesByIds(groups.frames.map(({ document }) => document.id))
      const strengths = whole.map(({ strength }) => strength)
      expect(strengths).toEqual(strengths.toSorted((a, b) => b - a))
      expect(groups).toMatchObject({ brands: [], techniques: [] })
    })

    test('signs without words find nothing, operators are only words', async () => {
      for (const q of ['!!!', '""', '-', '\\', "'", ':*', '&|!()']) expect(await found(q)).toEqual([])
      expect(await found('red -kite')).toEqual(await found('red kite'))
      expect(await found("kite' | 'red")).toEqual(await found('kite red'))
      expect(await found('red:* & kite')).toEqual(await found('red kite'))
    })

    test('any text is a query', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.oneof(fc.string({ unit: 'binary', maxLength: 60 }), fc.string({ maxLength: 60 })),
          async (q) => {
            const text = q.toWellFormed().replaceAll('\0', ' ')
            const page = await engine().search.frames(ask({ q: text, facets: true }))
            expect(page.frames.length).toBe(Math.min(120, page.total!))
            await engine().search.search({ q: text, limit: 3 })
          },
        ),
        { numRuns: 60, seed: 11 },
      )
    })
  })

  describe(`${name}: scripts without spaces`, () => {
    const engine = opened(open)
    const clips = [
      clip('tokyo', { title: '新しい東京の発表会', author: '株式会社ソラコム' }, [
        { caption: '新しい東京の写真', technique: 'zoom' },
        { caption: '東京都は日本の首都です' },
        { caption: '京都の東', onScreenText: 'iPhone15を発売\n新機能' },
        { caption: 'がぎぐ', onScreenText: 'ﾊﾞｰｼﾞｮﾝ２.0' },
        { caption: 'かきく' },
        { caption: '背景が暗いターミナルの画面', composition: '中央の端末' },
        { caption: '國の話', steal: '真東京' },
      ]),
      clip('world', { title: '서울에서 만나요', author: '샤오미 小米' }, [
        { caption: '서울에서 찍은 사진' },
        { caption: '这是一个正常的虚拟机数据', onScreenText: '数据 center' },
        { caption: 'ฉันรักเธอนี้' },
        { caption: 'ភាសាខ្មែរ', composition: 'မြန်မာဘာသာ', steal: 'ພາສາລາວ' },
        { caption: '한글'.normalize('NFD'), onScreenText: '𠮷野家 々' },
        { caption: 'Tokyo zoom', onScreenText: 'plain words' },
      ]),
    ]
    beforeAll(() => {
      const { put } = changesOf(clips)
      return engine().sink.apply({
        put: { ...put, techniques: put.techniques.map((one) => ({ ...one, name: 'ズーム' })) },
        remove: {},
      })
    })
    const found = async (q: string, more: Partial<FrameQuery> = {}) =>
      (await engine().search.frames(ask({ q, ...more }))).frames
        .map(({ document: { video_id, t_sec } }) => `${video_id} ${t_sec}`)
        .toSorted()

    test('characters in a row are found wherever they stand, and nothing else is', async () => {
      expect(await found('東京')).toEqual(['tokyo 0', 'tokyo 1', 'tokyo 6'])
      expect(await found('しい東京の')).toEqual(['tokyo 0'])
      expect(await found('京東')).toEqual([])
      expect(await found('東')).toEqual(['tokyo 0', 'tokyo 1', 'tokyo 2', 'tokyo 6'])
      expect(await found('新')).toEqual(['tokyo 0', 'tokyo 2'])
      expect(await found('国')).toEqual([])
      expect(await found('國')).toEqual(['tokyo 6'])
      expect(await found('虚拟机')).toEqual(['world 1'])
      expect(await found('拟机数')).toEqual(['world 1'])
      expect(await found('𠮷野')).toEqual(['world 4'])
      expect(await found('々')).toEqual(['world 4'])
      expect(await found('รัก')).toEqual(['world 2'])
      expect(await found('ខ្មែរ')).toEqual(['world 3'])
      expect(await found('ဘာသာ')).toEqual(['world 3'])
      expect(await found('ລາວ')).toEqual(['world 3'])
      expect(await found('東京', { sort: 'newest' })).toEqual(['tokyo 0', 'tokyo 1', 'tokyo 6'])
    })

    test('every beginning of what is typed is found', async () => {
      for (const [text, where] of [
        ['新しい東京の写真', 'tokyo 0'],
        ['ฉันรักเธอนี้', 'world 2'],
        ['서울에서', 'world 0'],
        ['iphone15を発売', 'tokyo 2'],
      ] as const) {
        const letters = [...text]
        for (let n = 1; n <= letters.length; n++) expect(await found(letters.slice(0, n).join(''))).toContain(where)
      }
    })

    test('words with particles, in any form of Unicode', async () => {
      expect(await found('서울')).toEqual(['world 0'])
      expect(await found('에서 사진')).toEqual(['world 0'])
      expect(await found('한글')).toEqual(['world 4'])
      expect(await found('글'.normalize('NFD'))).toEqual(['world 4'])
      expect(await found('バージョン2')).toEqual(['tokyo 3'])
      expect(await found('ジョン')).toEqual(['tokyo 3'])
    })

    test('a mark that makes another letter is told from none, and a vowel by itself is one', async () => {
      expect(await found('が')).toEqual(['tokyo 3', 'tokyo 5'])
      expect(await found('かき')).toEqual(['tokyo 4'])
      expect(await found('ี้')).toEqual([])
      expect(await found('นี')).toEqual(['world 2'])
      expect(await found('นา')).toEqual([])
    })

    test('Latin words among them, several words, and phrases in quotes', async () => {
      expect(await found('iphone15')).toEqual(['tokyo 2'])
      expect(await found('iPhone15を')).toEqual(['tokyo 2'])
      expect(await found('写真 東京')).toEqual(['tokyo 0'])
      expect(await found('"東京 写真"')).toEqual([])
      expect(await found('"東京の 写真"')).toEqual(['tokyo 0'])
      expect(await found('"iPhone15 を発売"')).toEqual(['tokyo 2'])
      expect(await found('"数据 center"')).toEqual(['world 1'])
      expect(await found('"数据 cent"')).toEqual([])
      expect(await found('数据 cent')).toEqual(['world 1'])
      expect(await found('"東"')).toEqual(await found('東'))
      // No phrase reaches from one field into the next.
      expect(await found('面中央')).toEqual([])
    })

    test('a sentence is found by its words', async () => {
      expect(await found('暗い背景のターミナル画面')).toEqual(['tokyo 5'])
      const groups = await engine().search.search({ q: '暗い背景のターミナルと東京の写真', limit: 10 })
      expect(groups.frames.map(({ document: { video_id, t_sec } }) => `${video_id} ${t_sec}`).slice(0, 2)).toEqual([
        'tokyo 5',
        'tokyo 0',
      ])
    })

    test('names are found by any part; matched marks what was asked for', async () => {
      const { search } = engine()
      expect((await search.search({ q: '東京', limit: 6 })).videos).toMatchObject([
        { document: { id: 'tokyo' }, matched: { title: '新しい<em>東京</em>の発表会' } },
      ])
      expect((await search.search({ q: '만나', limit: 6 })).videos).toMatchObject([{ document: { id: 'world' } }])
      expect((await search.search({ q: '小米', limit: 6 })).brands).toMatchObject([
        { matched: { name: '샤오미 <em>小米</em>' } },
      ])
      expect((await search.search({ q: '샤오미小米', limit: 6 })).brands).toMatchObject([
        { score: expect.closeTo(1, 1) },
      ])
      expect((await search.search({ q: '株式会社ソラコム', limit: 6 })).brands[0]).toMatchObject({ score: 1 })
      expect((await search.search({ q: 'ソラコム', limit: 6 })).brands).toMatchObject([
        { document: { name: '株式会社ソラコム' } },
      ])
      expect((await search.search({ q: 'ーム', limit: 6 })).techniques).toMatchObject([
        { document: { slug: 'zoom' }, matched: { name: 'ズ<em>ーム</em>' } },
      ])
      const page = await search.frames(ask({ q: '発売', facets: true }))
      expect(page).toMatchObject({
        total: 1,
        frames: [{ matched: { on_screen_text: 'iPhone15を<em>発売</em>\n新機能' } }],
      })
    })

    test('any stretch of letters is found where it stands, and nowhere else', async () => {
      const frames = clips.flatMap((one) => one.frames)
      const lettersOf = ({ caption, composition, steal, on_screen_text }: FrameDocument) =>
        [caption, composition, steal, on_screen_text].map(
          (text) => text?.normalize('NFKC').replace(/[^\p{L}\p{N}\p{M}]/gu, '') ?? '',
        )
      const runs = frames.flatMap((frame) => lettersOf(frame).flatMap((text) => text.match(/[^\p{ASCII}]+/gu) ?? []))
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...runs),
          fc.nat(),
          fc.integer({ min: 1, max: 6 }),
          fc.boolean(),
          async (run, from, length, turned) => {
            const letters = [...run]
            const asked = letters.slice(from % letters.length).slice(0, length)
            if (!/\p{L}/u.test(asked[0]!)) return
            const q = (turned ? [asked.at(-1)!, ...asked.slice(0, -1)] : asked).join('')
            if (!/^\p{L}/u.test(q)) return
            const { frames: hits } = await engine().search.frames(ask({ q }))
            const expected = frames.filter((frame) => lettersOf(frame).some((text) => text.includes(q)))
            expect(hits.map(({ document }) => document.id).toSorted()).toEqual(expected.map(({ id }) => id).toSorted())
          },
        ),
        { numRuns: 150, seed: 7 },
      )
    })
  })

  describe(`${name}: words as people write them`, () => {
    const engine = opened(open)
    const clips = [
      clip('one', { title: 'Quix Labs tells of Terminal', author: 'Quix' }, [
        { caption: 'wifi tower' },
        { caption: "they don't stop" },
        { caption: 'they dont go' },
        { caption: "it's new" },
        { caption: 'its old' },
        { caption: 'x marks it', onScreenText: 'hyperexport' },
        { caption: 'a hand on the screen', technique: 'quix-zoom' },
        { caption: 'the zoom of film 53', technique: 'quix-zoom-in' },
      ]),
      clip('two', { title: 'Exists', author: 'Quix Labs' }, [{ caption: 'e-mail', technique: 'zoom-quix' }]),
      clip('three', { title: 'Another', author: 'Quix Labs International' }, [
        { caption: 'signup form', technique: 'zoom' },
      ]),
      clip('four', { title: 'Film of labs', author: 'Existing Labs' }, [{}]),
      clip('five', { title: 'Film 53', author: 'The the' }, [{}]),
    ]
    beforeAll(() => engine().sink.apply(changesOf(clips)))
    const captions = async (q: string) =>
      (await engine().search.frames(ask({ q }))).frames.map(({ document }) => document.caption).toSorted()

    test('words are found written together or apart, both ways', async () => {
      expect(await captions('wi-fi')).toEqual(['wifi tower'])
      expect(await captions('wi fi tow')).toEqual(['wifi tower'])
      expect(await captions('sign up')).toEqual(['signup form'])
      expect(await captions("don't")).toEqual(["they don't stop", 'they dont go'])
      expect(await captions('dont')).toEqual(["they don't stop", 'they dont go'])
      expect(await captions("it's")).toEqual(["it's new", 'its old'])
      expect(await captions('its')).toEqual(["it's new", 'its old'])
      expect((await engine().search.frames(ask({ q: 'wi-fi' }))).frames[0]!.matched).toEqual({
        caption: '<em>wifi</em> tower',
      })
    })

    test('a letter or two begin words, but are no part of one', async () => {
      expect(await captions('x')).toEqual(['x marks it'])
      expect(await captions('ex')).toEqual([])
      expect(await captions('exp')).toEqual(['x marks it'])
      expect(await captions('export')).toEqual(['x marks it'])
      expect(await captions('"export"')).toEqual([])
    })

    test('only the last word may be a beginning, also where some words are enough', async () => {
      const { search } = engine()
      for (const q of ['e-mail hand', 'te 5 hand', 'ex hand']) {
        const groups = await search.search({ q, limit: 20 })
        for (const hit of [...groups.videos, ...groups.frames, ...groups.brands])
          expect(Object.keys(hit.matched), `${q}: ${JSON.stringify(hit.document)}`).not.toEqual([])
      }
      expect((await search.search({ q: 'exi hand', limit: 20 })).videos).toEqual([])
    })

    test('a brand or technique that is named among other words comes before what only has some of them', async () => {
      const { search } = engine()
      const brands = async (q: string) =>
        (await search.search({ q, limit: 6 })).brands.map(({ document }) => document.name)
      expect((await brands('the QUIX hand'))[0]).toBe('Quix')
      expect((await brands('quix labs film')).slice(0, 2)).toEqual(['Quix Labs', 'Quix'])
      expect((await brands('quix labs inter')).slice(0, 3)).toEqual(['Quix Labs International', 'Quix Labs', 'Quix'])
      const techniques = (await search.search({ q: 'a quix-zoom hand', limit: 6 })).techniques
      expect(techniques.slice(0, 2).map(({ document }) => document.slug)).toEqual(['quix-zoom', 'zoom'])
      for (const hits of [techniques, (await search.search({ q: 'quix labs inter', limit: 6 })).brands])
        expect(hits.map(({ score }) => score)).toEqual(hits.map(({ score }) => score).toSorted((a, b) => b - a))
    })
  })

  describe(`${name}: names by the dozen`, () => {
    const engine = opened(open)
    const numbers = Array.from({ length: 30 }, (_, n) => n + 10)
    // The shortest name comes last in every order but its own.
    const clips = [
      ...numbers.map((n) =>
        clip(`k${n}`, { title: `Kestrel film ${n}`, author: `Kestrel ${n}` }, [
          { caption: 'a bird', technique: `kestrel-dive-${n}` },
        ]),
      ),
      clip('zz', { title: 'Zeppelin', author: 'Kestrel' }, [{ caption: 'a kestrel', technique: 'film' }]),
    ]
    beforeAll(() => engine().sink.apply(changesOf(clips)))

    test('no kind of name crowds out another, and the one called so stands first', async () => {
      for (const q of ['kestrel', 'kestr', 'kestrel film', 'film kestrel', 'kestrel "film"', 'k']) {
        const { videos, brands, techniques } = await engine().search.search({ q, limit: 6 })
        expect([q, videos.length, brands.length, techniques.length]).toEqual([q, 6, 6, 6])
        for (const group of [videos, brands, techniques]) {
          const scores = group.map(({ score }) => score)
          expect(scores).toEqual(scores.toSorted((a, b) => b - a))
        }
      }
      const { brands } = await engine().search.search({ q: 'kestrel', limit: 6 })
      expect(brands[0]).toMatchObject({ document: { name: 'Kestrel' }, score: 1 })
      for (const limit of [1, 20]) {
        const { videos, brands: some, techniques } = await engine().search.search({ q: 'kestrel', limit })
        expect([videos.length, some.length, techniques.length]).toEqual([limit, limit, limit])
        expect(some[0]!.document.name).toBe('Kestrel')
      }
    })
  })

  describe(`${name}: the wall`, () => {
    const engine = opened(open)
    const authors = [
      'Acme',
      'acme',
      'Ac"me',
      "O'Brien, Inc.",
      'back\\slash',
      'back\\" OR tone = "dark',
      'Zoë',
      'Zoe',
      '株式会社',
      null,
      `Long ${'é'.repeat(240)}`,
      `Long ${'é'.repeat(241)}`,
    ]
    const clips = authors.map((author, n) =>
      clip(
        `video${String(n).padStart(2, '0')}`,
        {
          author,
          platform: PLATFORMS[n % PLATFORMS.length]!,
          addedAt: new Date(Date.UTC(2026, 0, 1 + Math.floor(n / 2))),
        },
        Array.from({ length: 14 }, (_, k) => ({
          tSec: k * 1.5,
          subject: k % 7 === 6 ? null : SUBJECTS[(n + k) % SUBJECTS.length]!,
          surface: SURFACES[(n * 3 + k) % SURFACES.length]!,
          shot: k % 5 === 0 ? null : SHOTS[k % SHOTS.length]!,
          zone: ZONES[(n + 2 * k) % ZONES.length]!,
          tone: TONES[(n + k) % 2]!,
          kind: KINDS[k % KINDS.length]!,
          technique: k % 3 === 0 ? null : `move-${(n + k) % 5}`,
          caption: `Scene ${k} of ${n} with ${k % 2 === 0 ? 'a kite' : 'a lamp'}`,
          palette: [
            PALETTE[(n + k) % PALETTE.length]!,
            PALETTE[(n + 2 * k + 1) % PALETTE.length]!,
            '#808080',
            '#101010',
            '#f0f0f0',
          ],
          paletteShares: [0.6, 0.25, 0.05, 0.05, 0.05],
        })),
      ),
    )
    const documents = clips.flatMap(({ frames }) => frames)
    const newest = documents.toSorted(
      (a, b) => b.added_ms - a.added_ms || order(a.video_id, b.video_id) || a.t_ms - b.t_ms,
    )
    beforeAll(() =>
      engine().sink.apply(changesOf(clips, { 'move-1': ['once-move-1'], 'move-2': ['merged', 'move-3'] })),
    )

    test('newest is one total order, and its pages hold every frame once', async () => {
      for (const pageSize of [7, 50, 120]) {
        const ids: string[] = []
        for (let page = 1; ; page++) {
          const { frames } = await engine().search.frames(ask({ page, pageSize }))
          ids.push(...frames.map(({ document }) => document.id))
          if (frames.length < pageSize) break
        }
        expect(ids).toEqual(newest.map(({ id }) => id))
      }
      expect((await engine().search.frames(ask({ page: 1_000_000_000 }))).frames).toEqual([])
    })

    test('strength is one total order too', async () => {
      const { frames } = await engine().search.frames(ask({ sort: 'strength', pageSize: 500 }))
      expect(frames.map(({ document }) => document.id)).toEqual(
        documents.toSorted((a, b) => b.strength - a.strength || order(a.id, b.id)).map(({ id }) => id),
      )
    })

    test('what is equally relevant goes by strength, then by id, on every page', async () => {
      const held = documents
        .filter(({ caption }) => caption!.includes('kite'))
        .toSorted((a, b) => b.strength - a.strength || order(a.id, b.id))
      const strengths = new Set(held.map(({ strength }) => strength)).size
      expect(strengths > 1 && strengths < held.length).toBe(true)
      const ids: string[] = []
      for (let page = 1; ids.length < held.length; page++) {
        const { frames } = await engine().search.frames(ask({ q: 'kite', page, pageSize: 20 }))
        expect(frames.length).toBeGreaterThan(0)
        ids.push(...frames.map(({ document }) => document.id))
      }
      expect(ids).toEqual(held.map(({ id }) => id))
    })

    test('documents come back as they were put', async () => {
      const { frames } = await engine().search.frames(ask({ pageSize: 500 }))
      expect(frames.map(({ document }) => document)).toEqual(newest)
    })

    const subset = <T>(values: readonly T[]) => fc.subarray([...values], { maxLength: Math.min(3, values.length) })
    const filtersArbitrary: fc.Arbitrary<FrameFilters> = fc.record(
      {
        subject: subset(SUBJECTS),
        surface: subset(SURFACES),
        shot: subset(SHOTS),
        zone: subset(ZONES),
        tone: subset(TONES),
        kind: subset(KINDS),
        platform: subset(PLATFORMS),
        technique: subset(['move-0', 'move-1', 'move-2', 'Move-1', 'move-1"', 'móve-1', '']),
        author: fc.oneof(
          subset(authors.filter((author) => author !== null)),
          fc.array(fc.string({ unit: 'binary', maxLength: 12 }), { maxLength: 2 }),
        ),
        video: subset(['video00', 'video01', 'VIDEO01', 'video01\\', 'none']),
        color: subset(PALETTE),
      },
      { requiredKeys: [] },
    )

    test('for any filters the answer is that of a plain predicate, with its total and facets', async () => {
      await fc.assert(
        fc.asyncProperty(filtersArbitrary, async (filters) => {
          const expected = newest.filter((frame) => passes(frame, filters))
          const page = await engine().search.frames(ask({ filters, pageSize: 500, facets: true }))
          expect(page.frames.map(({ document }) => document.id)).toEqual(expected.map(({ id }) => id))
          expect(page.total).toBe(expected.length)
          const byWord = await engine().search.frames(ask({ q: 'scene', filters, pageSize: 500, facets: true }))
          expect(byWord.frames.map(({ document }) => document.id).toSorted()).toEqual(
            expected.map(({ id }) => id).toSorted(),
          )
          expect(byWord.total).toBe(expected.length)
          expect(byWord.facets!.tone).toEqual(page.facets!.tone)
          for (const facet of FACETS) {
            const rest = newest.filter((frame) => passes(frame, { ...filters, [facet]: [] }))
            const counts: Record<string, number> = {}
            for (const frame of rest) if (frame[facet] !== null) counts[frame[facet]] = (counts[frame[facet]] ?? 0) + 1
            expect(page.facets![facet]).toEqual(counts)
          }
        }),
        { numRuns: 80, seed: 5 },
      )
    })

    test('a renamed or merged slug filters as its successor; a slug in use stays itself', async () => {
      const { search } = engine()
      const asked = ['once-move-1', 'merged', 'move-3', 'none']
      const current = ['move-1', 'move-2', 'move-3', 'none']
      for (const more of [{}, { q: 'kite' }, { q: 'kite', variety: true }, { q: 'kite', sort: 'newest' }] as const) {
        const [found, expected] = await Promise.all(
          [asked, current].map((technique) => search.frames(ask({ ...more, filters: { technique }, facets: true }))),
        )
        expect(expected!.frames.length).toBeGreaterThan(0)
        expect(found).toEqual(expected)
      }
      const { id } = documents[20]!
      const like = (technique: string[]) => search.similar(id, { filters: { technique }, limit: 500 })
      expect(await like(asked)).toEqual(await like(current))
      expect((await like(['merged']))!.every(({ document }) => document.technique === 'move-2')).toBe(true)
    })

    test('every author is matched exactly, whatever signs the name holds', async () => {
      for (const author of authors.filter((value) => value !== null)) {
        const { frames } = await engine().search.frames(ask({ filters: { author: [author] } }))
        expect(frames.map(({ document }) => document.author)).toEqual(Array(14).fill(author))
      }
      for (const author of ['ACME', 'Ac', 'Acme"', '" OR tone = "dark', '\\', 'Ac\0me']) {
        expect((await engine().search.frames(ask({ filters: { author: [author] } }))).frames).toEqual([])
      }
    })

    test('filters and words combine; facets count what the words leave', async () => {
      const page = await engine().search.frames(
        ask({ q: 'kite', filters: { tone: ['dark'] }, facets: true, sort: 'newest', pageSize: 500 }),
      )
      const kites = newest.filter((frame) => frame.caption!.includes('kite'))
      expect(page.frames.map(({ document }) => document.id)).toEqual(
        kites.filter(({ tone }) => tone === 'dark').map(({ id }) => id),
      )
      expect(page.facets!.tone).toEqual({
        dark: kites.filter(({ tone }) => tone === 'dark').length,
        bright: kites.filter(({ tone }) => tone === 'bright').length,
      })
    })

    test('relevance pages hold every match once', async () => {
      const ids: string[] = []
      for (let page = 1; page <= 20; page++) {
        const { frames } = await engine().search.frames(ask({ q: 'scene', page, pageSize: 20 }))
        ids.push(...frames.map(({ document }) => document.id))
        if (frames.length < 20) break
      }
      expect(ids.toSorted()).toEqual(documents.map(({ id }) => id).toSorted())
    })

    test('past its depth relevance says so and names newest', async () => {
      const refused = engine().search.frames(ask({ q: 'scene', page: 168 }))
      await expect(refused).rejects.toMatchObject({
        code: 'invalid_request',
        message: expect.stringContaining('sort=newest'),
      })
      expect((await engine().search.frames(ask({ q: 'scene', page: 167 }))).frames).toEqual([])
      expect((await engine().search.frames(ask({ q: 'scene', sort: 'newest', page: 9_999 }))).frames).toEqual([])
    })

    test('blank: the strongest of each kind, no video twice while there are others', async () => {
      const groups = await engine().search.search({ q: '', limit: 6 })
      expect(new Set(groups.frames.map(({ document }) => document.video_id)).size).toBe(6)
      const best = documents.reduce((a, b) =>
        b.strength > a.strength || (b.strength === a.strength && b.id < a.id) ? b : a,
      )
      expect(groups.frames[0]!.document.id).toBe(best.id)
      expect(groups.videos).toHaveLength(6)
      expect(groups.brands).toHaveLength(6)
      expect(groups.techniques).toHaveLength(5)
      const all = await engine().search.search({ q: '  ', limit: 20 })
      expect(all.frames).toHaveLength(20)
      expect(new Set(all.frames.slice(0, 11).map(({ document }) => document.video_id)).size).toBe(11)
    })

    test('the frames of a video come in time order, one frame with its neighbours', async () => {
      const { search } = engine()
      const frames = (await search.videoFrames('video03'))!
      expect(frames.map(({ t_sec }) => t_sec)).toEqual(Array.from({ length: 14 }, (_, k) => k * 1.5))
      const first = await search.frame(frames[0]!.id)
      expect([first!.previous, first!.next!.id]).toEqual([null, frames[1]!.id])
      const last = await search.frame(frames[13]!.id)
      expect([last!.previous!.id, last!.next]).toEqual([frames[12]!.id, null])
      const asked = [frames[5]!.id, 'none', frames[2]!.id]
      expect((await search.framesByIds(asked)).map(({ id }) => id)).toEqual([frames[5]!.id, frames[2]!.id])
    })

    test('no id is too strange to be unknown', async () => {
      const { search } = engine()
      for (const id of [
        '',
        '\0',
        'a\0b',
        '\ud800',
        "'; drop table frames; --",
        'ü'.repeat(3_000),
        '../x',
        'video03\0',
      ]) {
        expect(await search.videoFrames(id)).toBeUndefined()
        expect(await search.frame(id)).toBeUndefined()
        expect(await search.video(id)).toBeUndefined()
        expect(await search.similar(id, { filters: {}, limit: 3 })).toBeUndefined()
        expect(await search.framesByIds([id])).toEqual([])
        expect((await search.search({ q: 'x', limit: 3, sourceKey: id })).videos).toEqual([])
        expect((await search.videos({ after: undefined, limit: 3, author: id })).items).toEqual([])
        expect((await search.frames(ask({ filters: { video: [id], author: [id], technique: [id] } }))).frames).toEqual(
          [],
        )
      }
    })

    test('lists page by cursor through everything once', async () => {
      const { search } = engine()
      const seen: string[] = []
      for (let after: string | undefined; ; ) {
        const page = await search.videos({ after, limit: 4 })
        seen.push(...page.items.map(({ id }) => id))
        if (page.next === null) break
        after = page.next
      }
      expect(seen).toEqual(
        clips
          .map(({ video }) => video)
          .toSorted((a, b) => b.added_ms - a.added_ms || order(a.id, b.id))
          .map(({ id }) => id),
      )
      expect((await search.videos({ after: undefined, limit: 9, author: 'Acme' })).items.map(({ id }) => id)).toEqual([
        'video00',
      ])
      expect(
        (await search.videos({ after: undefined, limit: 9, platform: 'x' })).items.every(
          ({ platform }) => platform === 'x',
        ),
      ).toBe(true)
      const names: string[] = []
      for (let after: string | undefined; ; ) {
        const page = await search.brands({ after, limit: 3 })
        names.push(...page.items.map(({ name }) => name))
        if (page.next === null) break
        after = page.next
      }
      expect(names.toSorted()).toEqual(authors.filter((author) => author !== null).toSorted())
      for (const after of ['x', '', 'bnVsbA', 'WzEsMl0', '[]', 'WyJhIiwiYiJd']) {
        await expect(search.videos({ after, limit: 3 })).rejects.toMatchObject({ code: 'invalid_request' })
      }
    })

    test('a color finds frames with enough of it near, and not those without', async () => {
      const { frames } = await engine().search.frames(ask({ filters: { color: ['#d02020'] }, pageSize: 500 }))
      expect(frames.length).toBeGreaterThan(0)
      for (const { document } of documents.map((document) => ({ document }))) {
        if (document.palette[0] === '#d02020') expect(frames.some((hit) => hit.document.id === document.id)).toBe(true)
        if (!document.palette.slice(0, 2).includes('#d02020'))
          expect(frames.some((hit) => hit.document.id === document.id)).toBe(false)
      }
    })

    test('more like this: not itself, best first, filters on top', async () => {
      const me = documents[20]!
      const hits = (await engine().search.similar(me.id, { filters: {}, limit: 10 }))!
      expect(hits).toHaveLength(10)
      expect(hits.some(({ document }) => document.id === me.id)).toBe(false)
      expect(hits.map(({ score }) => score)).toEqual(hits.map(({ score }) => score).toSorted((a, b) => b - a))
      const dark = (await engine().search.similar(me.id, { filters: { tone: ['dark'], platform: ['x'] }, limit: 10 }))!
      expect(dark.every(({ document }) => document.tone === 'dark' && document.platform === 'x')).toBe(true)
      // Every frame that fits, as long as there is room, however unlike.
      for (const filters of [{ video: ['video07'] }, { author: ['株式会社'], technique: ['move-1'] }, {}]) {
        const fit = documents.filter((frame) => frame.id !== me.id && passes(frame, filters)).map(({ id }) => id)
        const all = (await engine().search.similar(me.id, { filters, limit: 500 }))!.map(({ document }) => document.id)
        expect(all.toSorted()).toEqual(fit.toSorted())
      }
    })
  })

  describe(`${name}: near-duplicates`, () => {
    const engine = opened(open)
    const clips = [
      clip('one', {}, [
        { phash: 'ffff0000ffff0000', luma: 80, caption: 'first kite' },
        { phash: '0123456789abcdef', luma: 80, caption: 'other kite' },
        { phash: '0000000000000000', luma: 10, caption: 'black kite' },
      ]),
      clip('two', {}, [
        { phash: 'ffff0000ffff0001', luma: 82, caption: 'second kite' },
        { phash: '0000000000000000', luma: 240, caption: 'white kite' },
        { phash: 'fedcba9876543210', luma: 80, caption: 'last kite' },
      ]),
    ]
    beforeAll(() => engine().sink.apply(changesOf(clips)))

    test('stay on the wall unless variety is asked for, then one of each cluster is left', async () => {
      for (const q of ['', 'kite']) {
        const all = await engine().search.frames(ask({ q }))
        expect(all.frames).toHaveLength(6)
        const varied = await engine().search.frames(ask({ q, variety: true }))
        expect(varied.frames).toHaveLength(5)
        const shown = await engine().search.framesByIds(varied.frames.map(({ document }) => document.id))
        expect(shown).toHaveLength(5)
        for (const a of shown)
          for (const b of shown)
            if (a.id !== b.id && Math.abs(a.luma - b.luma) < 12)
              expect(hammingDistance(a.phash, b.phash)).toBeGreaterThan(6)
        const pages = [
          await engine().search.frames(ask({ q, variety: true, pageSize: 3 })),
          await engine().search.frames(ask({ q, variety: true, pageSize: 3, page: 2 })),
        ]
        expect(pages.flatMap(({ frames }) => frames.map(({ document }) => document.id))).toEqual(
          varied.frames.map(({ document }) => document.id),
        )
      }
    })
  })

  describe(`${name}: the same picture elsewhere`, () => {
    const engine = opened(open)
    // One bit of difference in each quarter of the hash, and two in three of them; nothing else is shared.
    const elsewhere: Partial<SeedFrame> = {
      caption: 'nothing alike',
      palette: ['#00ff00', '#00ee00', '#00dd00', '#00cc00', '#00bb00'],
      subject: 'crowd',
    }
    const clips = [
      clip('one', {}, [
        {
          phash: '0123456789abcdef',
          caption: 'a kite',
          palette: ['#d02020', '#301010', '#ffffff', '#808080', '#101010'],
          subject: 'ui',
        },
      ]),
      clip('two', {}, [
        { ...elsewhere, phash: '0122456689aacdef' },
        { ...elsewhere, phash: '0120456489a8cdee' },
        { ...elsewhere, phash: 'fedcba9876543210' },
      ]),
    ]
    beforeAll(() => engine().sink.apply(changesOf(clips)))

    test('is found among frames like it by the picture alone', async () => {
      const me = clips[0]!.frames[0]!
      const hits = (await engine().search.similar(me.id, { filters: {}, limit: 10 }))!
      expect(hits.slice(0, 2).map(({ document }) => document.phash)).toEqual(['0122456689aacdef', '0120456489a8cdee'])
    })
  })

  describe(`${name}: changes`, () => {
    const engine = opened(open)

    test('a document put again replaces, one removed is gone, and both raise the version', async () => {
      const { search, sink } = engine()
      const [before] = [
        clip('v', { title: 'Before' }, [
          { caption: 'old words', technique: 'move-1', subject: 'ui' },
          { caption: 'stays' },
        ]),
      ]
      await sink.apply(changesOf([before!]))
      const first = await search.version()
      const after = clip('v', { title: 'After' }, [{ caption: 'new words', subject: 'chart' }, { caption: 'stays' }])
      await sink.apply(changesOf([after]))
      expect(await search.version()).not.toBe(first)
      expect((await search.frames(ask({ q: 'old' }))).frames).toEqual([])
      expect((await search.frames(ask({ q: 'new' }))).frames).toHaveLength(1)
      expect((await search.frames(ask({ filters: { subject: ['ui'] } }))).frames).toEqual([])
      expect((await search.video('v'))!.title).toBe('After')
      await sink.apply({ put: {}, remove: { frames: [after.frames[0]!.id, 'never-there'] } })
      expect((await search.frames(ask())).frames.map(({ document }) => document.caption)).toEqual(['stays'])
      expect((await search.frames(ask({ q: 'new' }))).frames).toEqual([])
      expect(await search.asOf()).toBeInstanceOf(Date)
      const held: string[] = []
      for await (const batch of sink.revisions('frames')) held.push(...batch.map(({ id }) => id))
      expect(held).toEqual([after.frames[1]!.id])
    })

    test('a rebuild is not seen before its swap, and then alone', async () => {
      const { search, sink } = engine()
      const rebuilt = clip('r', { title: 'Rebuilt' }, [{ caption: 'rebuilt kite' }])
      const target = await sink.beginRebuild()
      await target.apply(changesOf([rebuilt]))
      expect((await search.frames(ask({ q: 'rebuilt' }))).frames).toEqual([])
      await target.swap()
      expect((await search.frames(ask())).frames.map(({ document }) => document.caption)).toEqual(['rebuilt kite'])
      expect(await search.video('v')).toBeUndefined()
      const abandoned = await sink.beginRebuild()
      await abandoned.apply(changesOf([clip('x', {}, [{}])]))
      await abandoned.abandon()
      expect((await search.frames(ask())).frames).toHaveLength(1)
      await sink.apply(changesOf([clip('y', {}, [{ caption: 'after the swap' }])]))
      expect((await search.frames(ask({ q: 'swap' }))).frames).toHaveLength(1)
    })
  })
}

/* ---------- made-up documents ---------- */

const PALETTE = ['#d02020', '#20a040', '#2040c0', '#e0c020', '#b030b0']

const ask = (query: Partial<FrameQuery> = {}): FrameQuery => ({
  filters: {},
  q: '',
  sort: query.q ? 'relevance' : 'newest',
  page: 1,
  pageSize: 120,
  facets: false,
  variety: false,
  ...query,
})

const order = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

function passes(frame: FrameDocument, filters: FrameFilters): boolean {
  const among = (values: readonly (string | null)[] | undefined, value: string | null) =>
    !values || values.length === 0 || (value !== null && values.includes(value))
  return (
    among(filters.subject, frame.subject) &&
    among(filters.surface, frame.surface) &&
    among(filters.shot, frame.shot) &&
    among(filters.technique, frame.technique) &&
    among(filters.zone, frame.zone) &&
    among(filters.tone, frame.tone) &&
    among(filters.kind, frame.kind) &&
    among(filters.author, frame.author) &&
    among(filters.platform, frame.platform) &&
    among(filters.video, frame.video_id) &&
    (!filters.color?.length ||
      filters.color.some((color) => cellsOf(frame.palette, frame.palette_shares).includes(cellOf(color))))
  )
}

interface Clip {
  video: VideoDocument
  frames: FrameDocument[]
}

function clip(id: string, video: Partial<VideoRow>, list: SeedFrame[]): Clip {
  const addedAt = video.addedAt ?? new Date(Date.UTC(2026, 0, 5))
  const row = {
    id,
    sourceKey: `youtube:${id}`,
    sourceUrl: `https://example.com/${id}`,
    title: `Video ${id}`,
    author: 'Acme',
    platform: 'web',
    durationSec: 60,
    width: 1280,
    height: 720,
    fps: 30,
    publishedAt: null,
    ...video,
    addedAt,
  } as VideoRow
  const frames = list.map((frame, at) =>
    toFrameDocument(toFrameRow(id, frame, at, addedAt) as Parameters<typeof toFrameDocument>[0], row, () => null),
  )
  const best = frames.toSorted((a, b) => b.strength - a.strength)[0]
  return {
    video: toVideoDocument(row, {
      frameCount: frames.length,
      imagePath: best?.image_path ?? null,
      strength: best?.strength ?? 0,
    }),
    frames,
  }
}

/** `oldSlugs`: slug → what the technique was called before. */
function changesOf(clips: readonly Clip[], oldSlugs: Record<string, string[]> = {}) {
  const frames = clips.flatMap((one) => one.frames)
  const authors = [...new Set(clips.flatMap(({ video }) => video.author ?? []))]
  const slugs = [...new Set(frames.flatMap(({ technique }) => technique ?? []))]
  const summary = (of: FrameDocument[]) => ({
    frameCount: of.length,
    imagePath: of[0]?.image_path ?? null,
    strength: Math.max(0, ...of.map(({ strength }) => strength)),
  })
  const brands = authors.map((name) =>
    toBrandDocument(name, { ...summary(frames.filter(({ author }) => author === name)), videoCount: 1 }),
  )
  const techniques = slugs.map(
    (slug): TechniqueDocument =>
      toTechniqueDocument(
        {
          slug,
          name: slug.replaceAll('-', ' '),
          description: '',
          recognise: '',
          aliases: [],
          retiredAt: null,
          createdAt: new Date(0),
          updatedAt: new Date(0),
        },
        oldSlugs[slug] ?? [],
        summary(frames.filter(({ technique }) => technique === slug)),
      ),
  )
  return { put: { frames, videos: clips.map(({ video }) => video), brands, techniques }, remove: {} }
}

function opened(open: () => Promise<Engine>): () => Engine {
  let engine: Engine | undefined
  beforeAll(async () => {
    engine = await open()
  })
  afterAll(() => engine?.[Symbol.asyncDispose]())
  return () => engine!
}
