import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import type { FrameQuery } from '../../../src/search/library-search.ts'
import { ask } from '../../support/frame-query.ts'
import { changesOf, clip } from './documents.ts'
import { type Engine, opened, put } from './engine.ts'

export function describeWords(name: string, open: () => Promise<Engine>): void {
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
    const opals = ['gropals on a hill', 'opalescent on a hill', 'opal on a hill']
    const parts = clip('parts', { title: 'Parts' }, [
      ...opals.map((onScreenText, n) => ({ tSec: 20 + n, caption: 'Nothing of note', onScreenText })),
      { tSec: 30, caption: 'Sci-fi corridor', onScreenText: 'Available' },
      { tSec: 31, caption: 'Sci-fi lab' },
    ])
    beforeAll(() => put(engine(), changesOf([...clips, parts])))
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
      // The title of the other film has a form of it.
      expect(await found('present')).toEqual([0, 0, 1])
      expect((await found('red ki')).toSorted()).toEqual([0, 1])
      expect((await engine().search.frames(ask({ q: 'ki red' }))).readAs).toMatchObject({ let_go: ['ki'], met: 1 })
    })

    test('a beginning or a part of a word counts only where no frame has the whole word', async () => {
      expect(await found('opal')).toEqual([22])
      expect((await found('opa')).toSorted()).toEqual([21, 22])
      expect(await found('ropa')).toEqual([20])
      // Available holds lab.
      expect(await found('lab')).toEqual([31])
      expect(await found('sci-fi lab')).toEqual([31])
      const { frames } = await engine().search.search({ q: 'sci-fi lab', limit: 6 })
      expect(frames.slice(0, 2).map(({ document, missing }) => [document.t_sec, missing])).toEqual([
        [31, undefined],
        [30, ['lab']],
      ])
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

    test(
      'the wall asks for every word that is found; ' +
        'a word in any of the four fields counts, titles and brands as attributes do',
      async () => {
        expect((await found('red kite')).toSorted()).toEqual([0, 1])
        expect(await found('red lamp')).toEqual([4])
        expect((await found('red unicorns')).toSorted()).toEqual([0, 1, 4])
        expect(await found('unicorns')).toEqual([])
        expect((await found('launch')).toSorted()).toEqual([0, 1, 2, 3, 4])
        expect(await found('"launch"')).toEqual([])
        expect(await found('centered')).toEqual([0])
      },
    )

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

    test(
      'of several words, what has more of them comes first, wherever in the query they stand; ' +
        'a name is found by any of them',
      async () => {
        const { search } = engine()
        const groups = await search.search({ q: 'paper lamp terminal creme', limit: 6 })
        const order = groups.frames.map(({ document }) => document.t_sec)
        expect(order[0]).toBe(4)
        expect(groups.frames.every(({ score }) => score < 0.5)).toBe(true)
        expect(groups.brands.map(({ document }) => document.name).toSorted()).toEqual(['Creme', 'Crème & Co'])
        // All words, one of them mistyped, beat some words as typed, also in the score.
        const mistyped = (await search.search({ q: 'presentr kite', limit: 6 })).frames
        expect(mistyped.map(({ score }) => score >= 0.5)).toEqual([true, ...mistyped.slice(1).map(() => false)])
        expect(mistyped.length).toBeGreaterThan(1)
        expect(mistyped.map(({ score }) => score)).toEqual(mistyped.map(({ score }) => score).toSorted((a, b) => b - a))
        const titles = (await search.search({ q: 'presenter paper story', limit: 6 })).videos
        expect(titles.map(({ document }) => document.title)).toEqual(['Atlas: the presenter story'])
        const quoted = await search.search({ q: '"launch film" story', limit: 6 })
        expect(quoted.videos.map(({ document }) => document.id).toSorted()).toEqual(['atlas', 'relay'])
      },
    )

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
      expect(await found('red - kite')).toEqual(await found('red kite'))
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
}
