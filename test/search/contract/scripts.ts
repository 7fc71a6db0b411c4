import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import type { FrameDocument, FrameQuery } from '../../../src/search/library-search.ts'
import { readQuestion } from '../../../src/search/text/question.ts'
import { ask } from '../../support/frame-query.ts'
import { changesOf, clip } from './documents.ts'
import { type Engine, opened, put } from './engine.ts'

export function describeScripts(name: string, open: () => Promise<Engine>): void {
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
      const documents = changesOf(clips).put
      return put(engine(), {
        put: { ...documents, techniques: documents.techniques.map((one) => ({ ...one, name: 'ズーム' })) },
        remove: {},
      })
    })
    const found = async (q: string, more: Partial<FrameQuery> = {}) =>
      (await engine().search.frames(ask({ q, ...more }))).frames
        .map(({ document: { video_id, t_sec } }) => `${video_id} ${t_sec}`)
        .toSorted()

    test('characters in a row are found wherever they stand, and nothing else is', async () => {
      const ofTokyo = [0, 1, 2, 3, 4, 5, 6].map((n) => `tokyo ${n}`)
      // The title has them too. In quotes they stand in a text.
      expect(await found('東京')).toEqual(ofTokyo)
      expect(await found('"東京"')).toEqual(['tokyo 0', 'tokyo 1', 'tokyo 6'])
      expect(await found('"しい東京の"')).toEqual(['tokyo 0'])
      expect(await found('京東')).toEqual([])
      expect(await found('"東"')).toEqual(['tokyo 0', 'tokyo 1', 'tokyo 2', 'tokyo 6'])
      expect(await found('"新"')).toEqual(['tokyo 0', 'tokyo 2'])
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
      expect(await found('東京', { sort: 'newest' })).toEqual(ofTokyo)
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
      expect(await found('"서울"')).toEqual(['world 0'])
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
      // No phrase reaches from one field into the next.
      expect(await found('"面中央"')).toEqual([])
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
      const lettersOf = ({ caption, composition, steal, on_screen_text, author, video }: FrameDocument) =>
        [caption, composition, steal, on_screen_text, author, video.title].map(
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
            // A stretch that holds the name of an attribute is read by its words.
            if (readQuestion(q).wanted.some((one) => one.words.join('') !== q || one.named.length > 0)) return
            const { frames: hits } = await engine().search.frames(ask({ q }))
            const expected = frames.filter((frame) => lettersOf(frame).some((text) => text.includes(q)))
            expect(hits.map(({ document }) => document.id).toSorted()).toEqual(expected.map(({ id }) => id).toSorted())
          },
        ),
        { numRuns: 150, seed: 7 },
      )
    })
  })
}
