import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import type { FrameQuery } from '../../../src/search/library-search.ts'
import { ask } from '../../support/frame-query.ts'
import type { SeedFrame } from '../../support/seed.ts'
import { changesOf, clip } from './documents.ts'
import { type Engine, opened, put } from './engine.ts'

const BLACK: SeedFrame = { palette: ['#000000', '#ffffff', '#111111', '#222222', '#333333'], tone: 'dark' }
const WHITE: SeedFrame = { palette: ['#ffffff', '#101010', '#f2f2f2', '#e6e6e6', '#1a73e8'], tone: 'bright' }
const drawn = { surface: 'motion-graphics', shot: 'no-face', zone: 'none' } as const

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []

/** Whether two words differ by an ending of English at most. */
function isForm(one: string, other: string): boolean {
  const roots = (word: string) =>
    ['', 's', 'es', 'ed', 'd', 'ing', 'er', 'ic', 'e', 'ies', 'y'].flatMap((ending) => {
      const root = word.endsWith(ending) ? word.slice(0, word.length - ending.length) : undefined
      return root === undefined || root.length < 3 ? [] : [root, root.replace(/(.)\1$/, '$1')]
    })
  const those = new Set(roots(other))
  return roots(one).some((root) => those.has(root))
}

/** Questions as people and agents write them. Half of the frames are described by a model, half are measured. */
export function describePhrases(name: string, open: () => Promise<Engine>): void {
  describe(`${name}: phrases`, () => {
    const engine = opened(open)
    const clips = [
      clip('told', { title: 'Told', platform: 'youtube' }, [
        { subject: 'text-card', ...drawn, ...BLACK, caption: 'Three words promise a release', technique: 'title-card' },
        { subject: 'text-card', ...drawn, ...WHITE, caption: 'A question opens the film', kind: 'intro' },
        { subject: 'terminal', surface: 'screen-recording', ...BLACK, caption: 'A deploy log streams by' },
        { subject: 'terminal', surface: 'screen-recording', ...WHITE, caption: 'Tests pass one by one on a phone' },
        {
          ...{ subject: 'presenter', surface: 'camera', shot: 'close-presenter', zone: 'top-left' },
          ...{ tone: 'dark', caption: 'The founder admits a mistake', technique: 'founder-address' },
        },
        { subject: 'chart', ...drawn, ...WHITE, caption: 'Coffee revenue climbs', technique: 'house-style' },
      ]),
      clip('measured', { title: 'Measured', platform: 'x' }, [
        { subject: 'text-card', ...drawn, ...BLACK, caption: 'Dark text card, centred; text: Meet Atlas' },
        { subject: 'text-card', ...drawn, ...WHITE, caption: 'Bright text card, centred; text: Open it' },
        { subject: 'terminal', ...BLACK, caption: 'Dark terminal, at the left; text: git status' },
        {
          ...{ subject: 'presenter', surface: 'camera', shot: 'medium-presenter', zone: 'middle-center' },
          ...{ tone: 'bright', caption: 'Bright picture of a presenter, medium shot, face middle center' },
        },
        { tone: 'bright', caption: 'A newspaper headline about an outage', onScreenText: 'ALL DOWN' },
        { tone: 'bright', caption: 'Histogram of weekly signups' },
        { tone: 'bright', caption: 'A histogrm of weekly signups, misspelt' },
      ]),
    ]
    beforeAll(() => put(engine(), changesOf(clips, { 'house-style': ['our-look'] })))

    const page = (q: string, more: Partial<FrameQuery> = {}) => engine().search.frames(ask({ q, ...more }))
    const found = async (q: string, more: Partial<FrameQuery> = {}) =>
      (await page(q, more)).frames.map(({ document: { video_id, t_sec } }) => `${video_id} ${t_sec}`).toSorted()

    test('a word is met by the attribute that it names as well as by a text', async () => {
      expect(await found('white headline on black')).toEqual(['measured 0', 'told 0'])
      expect(await found('headline on white')).toEqual(['measured 1', 'measured 4', 'told 1'])
      expect(await found('terminal that is dark')).toEqual(['measured 2', 'told 2'])
      expect(await found('presenter close up')).toEqual(['told 4'])
      expect(await found('presnter close up')).toEqual(['told 4'])
      expect(await found('person talking to the camera')).toEqual(['measured 3', 'told 4'])
      expect(await found('show me a bright chart')).toEqual(['told 5'])
      expect(await found('command lines')).toEqual(['measured 2', 'told 2', 'told 3'])
      // The opening of a film, and a frame of the kind intro.
      expect(await found('opening text card on youtube')).toEqual(['told 0', 'told 1'])
      expect(await found('face at the top left')).toEqual(['told 4'])
    })

    test('an adjective before a noun is about the noun: a dark text card is a card that is dark', async () => {
      expect(await found('dark text card')).toEqual(['measured 0', 'told 0'])
    })

    test('a word is met by a text with another that means the same, a wider one by a narrower one', async () => {
      for (const q of ['smartphone', 'mobile phones', 'tests on a cell phone'])
        expect(await found(q)).toEqual(['told 3'])
      expect(await found('beverage')).toEqual(['told 5'])
      expect(await found('tea')).toEqual([])
      expect(await found('"smartphone"')).toEqual([])
      const { frames } = await engine().search.search({ q: 'smartphones', limit: 1 })
      expect(frames[0]!.matched.caption).toBe('Tests pass one by one on a <em>phone</em>')
    })

    test('a technique is named by slug, name or alias', async () => {
      expect(await found('founder address')).toEqual(['told 4'])
      expect(await found('house style chart')).toEqual(['told 5'])
      expect(await found('our look')).toEqual(['told 5'])
    })

    test('function words weigh nothing, unless there is nothing else', async () => {
      expect(await found('the log that is in a')).toEqual(['told 2'])
      expect(await found('which')).toEqual([])
      expect(await found('it')).toEqual(['measured 1'])
      expect((await page('the log of it')).readAs).toEqual({
        words: [{ word: 'log', as: ['text'] }],
        without: [],
        ignored: ['the', 'of', 'it'],
        let_go: [],
        met: 1,
      })
    })

    test('quotes are texts exactly, and what is behind a minus is left out by text and attribute', async () => {
      expect(await found('"headline"')).toEqual(['measured 4'])
      expect(await found('"terminal" dark')).toEqual(['measured 2'])
      expect(await found('"terminal" unicorn')).toEqual(['measured 2'])
      expect(await found('"unicorn" terminal')).toEqual([])
      expect(await found('terminal -dark')).toEqual(['told 3'])
      expect(await found('headline -text-card')).toEqual(['measured 4'])
      expect(await found('terminal -"git status"')).toEqual(['told 2', 'told 3'])
      expect(await found('dark -unicorn terminal')).toEqual(['measured 2', 'told 2'])
      expect((await found('-dark')).length).toBe(8)
      expect(await found('terminals without a dark background')).toEqual(['told 3'])
      expect((await page('terminal without dark')).readAs).toMatchObject({ without: ['dark'], let_go: [], met: 1 })
      expect((await page('terminal -dark')).readAs).toMatchObject({ words: [{ word: 'terminal' }], without: ['dark'] })
    })

    test('where no frame meets every word, the wall holds those that meet most, and says so', async () => {
      const some = await page('dark terminal with a unicorn', { facets: true })
      expect(some.frames.map(({ document }) => document.subject)).toEqual(['terminal', 'terminal'])
      expect(some.total).toBe(2)
      expect(some.facets!.subject).toEqual({ terminal: 2 })
      expect(some.readAs).toEqual({
        words: [
          { word: 'dark', as: ['tone=dark', 'text'] },
          { word: 'terminal', as: ['subject=terminal', 'text'] },
          { word: 'unicorn', as: ['text'] },
        ],
        without: [],
        ignored: ['with', 'a'],
        let_go: ['unicorn'],
        met: 2,
      })
      for (const { score, missing } of some.frames) {
        expect(score).toBeLessThan(0.5)
        expect(missing).toEqual(['unicorn'])
      }
      // Different frames may meet different words.
      const either = await page('revenue deploy mistake')
      expect(either.readAs).toMatchObject({ let_go: ['revenue', 'deploy', 'mistake'], met: 1 })
      expect(either.frames.map(({ missing }) => missing!.length)).toEqual([2, 2, 2])
      expect(await found('dark terminal unicorn', { filters: { platform: ['x'] } })).toEqual(['measured 2'])
      expect(await found('dark terminal unicorn', { sort: 'newest' })).toEqual(['measured 2', 'told 2'])
      expect((await page('dark terminal', { facets: true })).readAs).toMatchObject({ let_go: [], met: 2 })
    })

    test('pages of what meets most hold every frame once; past the end there is none', async () => {
      const whole = (await page('dark unicorn')).frames.map(({ document }) => document.id)
      expect(whole).toHaveLength(5)
      const paged: string[] = []
      for (let n = 1; n <= 4; n++) {
        const { frames, readAs } = await page('dark unicorn', { page: n, pageSize: 2 })
        expect(readAs!.let_go).toEqual(['unicorn'])
        paged.push(...frames.map(({ document }) => document.id))
      }
      expect(paged).toEqual(whole)
      expect((await page('dark terminal', { page: 2 })).frames).toEqual([])
    })

    test('few rows are filled with partial matches, marked, most words first', async () => {
      const { frames } = await engine().search.search({ q: 'dark terminal log', limit: 6 })
      expect(frames[0]!.document.caption).toBe('A deploy log streams by')
      expect(frames[0]!.missing).toBeUndefined()
      expect(frames[1]).toMatchObject({ document: { video_id: 'measured', t_sec: 2 }, missing: ['log'] })
      expect(frames.length).toBe(6)
      const scores = frames.map(({ score }) => score)
      expect(scores).toEqual(scores.toSorted((a, b) => b - a))
      expect(scores.slice(1).every((score) => score < 0.5)).toBe(true)
      const filled = await page('dark terminal log', { fill: 6, pageSize: 6 })
      expect(filled.frames).toHaveLength(1)
      expect(filled.partialMatches!.map(({ document }) => document.id)).toEqual(
        frames.slice(1).map(({ document }) => document.id),
      )
      expect((await page('dark terminal log', { fill: 6, pageSize: 6, page: 2 })).partialMatches).toBeUndefined()
      const none = await engine().search.search({ q: '"deploy log" -deploy chart', limit: 6 })
      expect(none.frames).toEqual([])
    })

    test('nothing found: what would be, with fewer conditions', async () => {
      const asked: [string, Partial<FrameQuery>][] = [
        ['dark terminal', { filters: { tone: ['bright'], subject: ['chart'], platform: ['x'] } }],
        ['deploy zebra', { filters: { platform: ['x'], tone: ['bright'], kind: ['intro'] } }],
        ['"deploy log"', { filters: { tone: ['bright'] } }],
        ['', { filters: { subject: ['chart'], platform: ['x'] }, sort: 'newest' }],
      ]
      for (const [q, more] of asked) {
        const none = await page(q, { ...more, loosen: true })
        expect(none.frames).toEqual([])
        expect(none.loosened!.length, q).toBeGreaterThan(0)
        const filters = more.filters!
        const trials = [
          ...Object.keys(filters).map((name) => ({
            dropped: name,
            asked: { ...more, q, filters: { ...filters, [name]: [] } },
          })),
          { dropped: 'filters', asked: { ...more, q, filters: {} } },
          { dropped: 'words', asked: { ...more, q: '', filters, sort: 'strength' as const } },
        ]
        for (const { dropped, asked } of trials) {
          if (asked.q === '' && (q === '' || Object.keys(filters).length === 0)) continue
          const { frames, readAs } = await engine().search.frames(ask({ ...asked, pageSize: 20 }))
          const told = none.loosened!.find((one) => one.dropped === dropped)
          if (dropped === 'filters' && Object.keys(filters).length === 1) continue
          if (frames.length === 0) expect(told, `${q} without ${dropped}`).toBeUndefined()
          else if (!readAs || readAs.words.length === 1) expect(told?.frames).toBe(frames.length)
          else expect(told, `${q} without ${dropped}`).toMatchObject({ partly: true, frames: expect.any(Number) })
        }
      }
      expect((await page('dark terminal', { loosen: true })).loosened).toBeUndefined()
      expect((await page('zebra', { loosen: true })).loosened).toEqual([])
    })

    test('all that have every word stand before partial matches, a word with a typo among those', async () => {
      const { frames } = await engine().search.search({ q: 'histogram of weekly signups', limit: 6 })
      const captions = frames.map(({ document, missing }) => [document.caption!.includes('weekly'), missing])
      expect(captions.slice(0, 2)).toEqual([
        [true, undefined],
        [true, ['histogram']],
      ])
      expect(frames.slice(1).every(({ missing, score }) => missing !== undefined && score < 0.5)).toBe(true)
    })

    test('a full hit has every word as a word, an attribute or a synonym; others say what they lack', async () => {
      const words = ['dark', 'terminal', 'drak', 'coffee', 'carry', 'phone', 'smartphone', 'git', 'weekly', 'histogrm']
      words.push(
        'house style',
        'on black',
        'close up',
        'told',
        'deplo',
        'unicorn',
        '"log"',
        'presnter',
        'chart',
        'stat',
      )
      await fc.assert(
        fc.asyncProperty(fc.uniqueArray(fc.constantFrom(...words), { minLength: 1, maxLength: 4 }), async (some) => {
          const { frames } = await engine().search.search({ q: some.join(' '), limit: 20 })
          for (const { met = [], missing = [], score } of frames) {
            const full = met.filter(({ kind }) => ['word', 'attribute', 'synonym'].includes(kind))
            const asked = (await page(some.join(' '))).readAs!.words.map(({ word }) => word)
            const told = [...full.map(({ word }) => word), ...missing].toSorted()
            expect(told, `${some}`).toEqual(asked.toSorted())
            expect(score >= 0.5, `${some}`).toBe(missing.length === 0)
          }
        }),
        { numRuns: 60, seed: 5 },
      )
    })

    test('a hit marked full holds every word: in a text, in a name, or by an attribute', async () => {
      const texts = clips.flatMap(({ frames }) => frames.map(({ caption }) => caption ?? ''))
      const whole = [...new Set(texts.flatMap(wordsOf))].filter((word) => word.length > 3)
      // Also beginnings, parts and typing mistakes of words: what they meet is no full match.
      const broken = whole.flatMap((word) => [word.slice(0, 3), word.slice(1), word[1]! + word[0] + word.slice(2)])
      const word = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...whole) }, fc.constantFrom(...broken))
      const words = fc.uniqueArray(word, { minLength: 1, maxLength: 2 })
      let full = 0
      await fc.assert(
        fc.asyncProperty(words, async (some) => {
          const { frames } = await engine().search.search({ q: some.join(' '), limit: 20 })
          for (const { document, met = [], missing = [] } of frames.filter((frame) => !frame.missing?.length)) {
            full++
            for (const { word, field, kind } of met) {
              const { title } = document.video
              const value = field === 'title' ? title : (document as unknown as Record<string, unknown>)[field]
              expect(value, `${some}: ${word} by ${field}`).toBeTruthy()
              // Two words of a question also meet the one word that they make together.
              const asked = [word, ...some.slice(1).map((one, n) => some[n]! + one)]
              const isText = kind === 'word' && typeof value === 'string' && !word.includes(' ')
              const isHeld = isText && wordsOf(value).some((one) => asked.some((two) => isForm(one, two)))
              expect(isHeld, `${some}: ${word} by ${value}`).toBe(isText)
              expect(['word', 'attribute', 'synonym'], `${some}: ${word}`).toContain(kind)
            }
            expect(missing).toEqual([])
          }
        }),
        { numRuns: 150, seed: 27 },
      )
      expect(full).toBeGreaterThan(100)
    })

    test('what was met is shown', async () => {
      expect((await page('dark terminal git')).frames[0]!.matched).toEqual({
        caption: '<em>Dark</em> <em>terminal</em>, at the left; text: <em>git</em> status',
        subject: '<em>terminal</em>',
        tone: '<em>dark</em>',
      })
    })
  })
}
