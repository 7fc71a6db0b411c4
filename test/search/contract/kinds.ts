import { beforeAll, describe, expect, test } from 'vitest'
import { ask } from '../../support/frame-query.ts'
import type { SeedFrame } from '../../support/seed.ts'
import { changesOf, clip } from './documents.ts'
import { type Engine, opened, put } from './engine.ts'

const BLUE = ['#1a4fd0', '#0b1f60', '#3060e0', '#2040c0', '#102a80']
const RED = ['#d02020', '#b01010', '#e03030', '#a01818', '#c02828']
const GREY = ['#808080', '#8a8a8a', '#909090', '#777777', '#858585']
const BLACK = ['#000000', '#0a0a0a', '#111111', '#050505', '#080808']

/** What a match is: a lower kind never ranks above a higher one, and is no full match. */
export function describeKinds(name: string, open: () => Promise<Engine>): void {
  describe(`${name}: kinds of match`, () => {
    const engine = opened(open)
    const clips = [
      clip('mixed', { title: 'Mixed', author: 'Somebody' }, [
        {
          caption: 'A shell prints a list',
          onScreenText: 'carry price twice tines',
          subject: 'terminal',
          palette: BLACK,
        },
        { caption: 'A sky', palette: BLUE, tone: 'bright' },
        { caption: 'A rose', palette: RED, tone: 'bright' },
        { caption: 'A hall at noon', tone: 'dark', palette: BLACK },
        { caption: 'A hand holds a laptop', technique: 'in-hand-device', tone: 'bright', palette: GREY },
        { caption: 'A hand is holding a phone', technique: 'in-hand-device', tone: 'bright', palette: GREY },
        { caption: 'A phone on a table', tone: 'bright', palette: GREY },
        { caption: 'A smartphone lies there', tone: 'bright', palette: GREY },
        { caption: 'An atlas lies open', tone: 'bright', palette: GREY },
      ]),
      clip('film', { title: 'Launch day', author: 'Atlas' }, [
        { caption: 'A chair', tone: 'bright', palette: GREY },
        { caption: 'A door', tone: 'bright', palette: GREY },
      ]),
    ]
    beforeAll(() => put(engine(), changesOf(clips)))
    const list = async (q: string) =>
      (await engine().search.search({ q, limit: 10 })).frames.map(({ document, met = [], missing }) => ({
        at: document.t_sec + (document.video_id === 'film' ? 100 : 0),
        kinds: met.map(({ kind }) => kind),
        fields: met.map(({ field }) => field),
        missing,
      }))

    test('red car: a red frame says that it lacks the car, one whose text holds carry is none', async () => {
      const found = await list('red car')
      expect(found).toEqual([{ at: 2, kinds: ['attribute'], fields: ['palette'], missing: ['car'] }])
    })

    test('blue tones are blue frames; ice hockey is in no price; drak is dark', async () => {
      expect(await list('blue tones')).toEqual([
        { at: 1, kinds: ['attribute'], fields: ['palette'], missing: undefined },
      ])
      expect(await list('ice hockey')).toEqual([])
      const dark = await list('drak')
      expect(dark.length).toBeGreaterThan(0)
      for (const hit of dark) expect(hit).toMatchObject({ kinds: ['attribute'], fields: ['tone'], missing: undefined })
    })

    test('a brand or a word of a title is met as an attribute is, behind the word itself', async () => {
      expect(await list('atlas')).toEqual([
        { at: 8, kinds: ['word'], fields: ['caption'], missing: undefined },
        { at: 100, kinds: ['attribute'], fields: ['author'], missing: undefined },
        { at: 101, kinds: ['attribute'], fields: ['author'], missing: undefined },
      ])
      const { readAs, frames } = await engine().search.frames(ask({ q: 'launch' }))
      expect(frames.map(({ matched }) => matched)).toEqual(Array(2).fill({ title: '<em>Launch</em> day' }))
      expect(readAs!.words).toEqual([{ word: 'launch', as: ['title or brand', 'text'] }])
    })

    test('a phrase is one concept: its words, then what it names; some of its words are none', async () => {
      const found = await list('hand holding a phone')
      expect(found).toEqual([
        { at: 5, kinds: ['word'], fields: ['caption'], missing: undefined },
        { at: 4, kinds: ['attribute'], fields: ['technique'], missing: undefined },
      ])
      const phone = await list('phone')
      expect(phone.map(({ kinds }) => kinds[0])).toEqual(['word', 'word', 'synonym'])
    })

    test('how many frames have every word is told exactly', async () => {
      const few = { pageSize: 2, loosen: true }
      expect((await engine().search.frames(ask({ q: 'atlas', ...few }))).full).toBe(3)
      expect((await engine().search.frames(ask({ q: 'red car', ...few }))).full).toBe(0)
      expect((await engine().search.frames(ask({ q: 'a phone', ...few }))).full).toBe(3)
    })
  })

  describe(`${name}: colours`, () => {
    const engine = opened(open)
    const half = [0.5, 0.4, 0.1]
    beforeAll(() =>
      put(
        engine(),
        changesOf([
          clip('colours', { title: 'Colours' }, [
            // Stronger by its texts, but with little blue.
            {
              caption: 'A lamp',
              steal: 'Light',
              palette: ['#ffffff', '#1a4fd0', '#808080'],
              paletteShares: [0.8, 0.15, 0.05],
            },
            { caption: 'A lake', palette: ['#1a4fd0', '#ffffff', '#d02020'], paletteShares: half },
            {
              caption: 'A newspaper',
              palette: ['#ffffff', '#808080', '#000000'],
              paletteShares: half,
              coloredShare: 0,
            },
            { caption: 'A fire', palette: ['#a06030', '#5a3a22', '#000000'], paletteShares: half },
          ]),
        ]),
      ),
    )
    const found = async (q: string) =>
      (await engine().search.search({ q, limit: 10 })).frames.map(({ document }) => document.caption)

    test('frames of which a colour fills much stand before those that have some of it', async () => {
      expect(await found('blue')).toEqual(['A lake', 'A lamp'])
      expect(await found('blau')).toEqual(['A lake', 'A lamp'])
    })

    test('a picture is found by what its colours are called together, in words and as a filter', async () => {
      for (const q of ['warm colours', 'warm tones', 'tons chauds', '暖色']) expect(await found(q)).toEqual(['A fire'])
      for (const q of ['monochrome', 'black and white', 'noir et blanc', 'schwarz weiß'])
        expect(await found(q)).toEqual(['A newspaper'])
      const { frames } = await engine().search.frames(ask({ filters: { color: ['cool'] } }))
      expect(frames.map(({ document }) => document.caption)).toEqual(['A lake'])
    })
  })
}

const RED_ON_BLACK = { palette: ['#d02020', '#000000'], paletteShares: [0.6, 0.4] }
const PLAIN = { palette: ['#e0e0e0', '#f5f5f5'], paletteShares: [0.5, 0.5] }

/** Questions, the frames that each must find, and what the answer must say of some words. */
const ASKED: [q: string, found: number[], says?: object][] = [
  ['beach', []],
  ['tablet', []],
  ['red car', [1], { met: 1, let_go: ['car'], words: [{ word: 'red' }, { word: 'car', as: ['beginning of carry'] }] }],
  ['lantren', [2], { met: 0, let_go: ['lantren'], words: [{ word: 'lantren', as: ['typo of lantern'] }] }],
  ['lantren zebra man', [3], { met: 1, let_go: ['lantren', 'zebra'], words: [{ as: ['text'] }, {}, { word: 'man' }] }],
  ['not dark', [0, 2, 3, 5, 6, 8, 11], { without: ['dark'], words: [] }],
  ['terminal not dark', [11], { without: ['dark'] }],
  ['show me a terminal, but not dark', [11], { without: ['dark'] }],
  ['anything but terminal', [0, 2, 3, 4, 5, 6, 7, 8, 9, 10], { without: ['terminal'], words: [] }],
  ['everything except for the terminal', [0, 2, 3, 4, 5, 6, 7, 8, 9, 10], { without: ['terminal'], words: [] }],
  ['not dark or red', [0, 3, 5, 6, 8, 11], { without: ['dark', 'red'] }],
  ...['ohne schwarz', 'sans noir', 'sin negro', 'sem preto', 'senza nero', 'zonder zwart', 'bez czarnej'].map(
    (less): [string, number[]] => [`terminal ${less}`, [11]],
  ),
  ['not only dark terminal', [1], { without: [] }],
  ['sans serif', [10], { without: [], words: [{ word: 'sans' }, { word: 'serif' }] }],
  ['woman', [4], { words: [{ word: 'woman', as: ['text'] }] }],
  ['dashboard', [6], { words: [{ word: 'dashboard', as: ['text'] }] }],
  ['person', [3, 4, 7], { words: [{ as: ['subject=presenter', 'text'] }] }],
  ['black and white', [0], { words: [{ as: ['color=monochrome', 'text'] }] }],
  ['blue', [9], { words: [{ as: ['color=blue', 'text'] }] }],
  ['picture', []],
  ['text', [0, 10], { words: [{ as: ['subject=text-card', 'text'] }] }],
  ['phone', [9]],
  ['dark presenter', [4, 7]],
]

export function describeAsked(name: string, open: () => Promise<Engine>): void {
  describe(`${name}: what a question finds and says`, () => {
    const engine = opened(open)
    const measured = { isMeasured: true }
    const frames: SeedFrame[] = [
      { caption: 'Each word says one thing', subject: 'text-card', tone: 'bright', ...PLAIN, coloredShare: 0.003 },
      { caption: 'A list', onScreenText: 'carry on', subject: 'terminal', tone: 'dark', ...RED_ON_BLACK },
      { caption: 'A rose beside a lantern', tone: 'bright', ...RED_ON_BLACK },
      { caption: 'A man speaks up', subject: 'presenter', tone: 'bright', ...PLAIN },
      { caption: 'A lady waves at a table', subject: 'presenter', tone: 'dark', ...PLAIN },
      { caption: 'Messages come in', subject: 'ui', tone: 'bright', ...PLAIN },
      { caption: 'A dashboard of sales', subject: 'ui', tone: 'bright', ...PLAIN },
      { caption: 'Dark picture of a presenter, wide shot', subject: 'presenter', tone: 'dark', ...PLAIN, ...measured },
      { caption: 'Bright user interface; text: Hi', subject: 'ui', tone: 'bright', ...PLAIN, ...measured },
      { caption: 'A phone at the left, on dark blue', tone: 'dark', ...measured, palette: ['#1a3fb0', '#1a3fb0'] },
      { caption: 'Three words in sans serif', subject: 'text-card', tone: 'dark', ...PLAIN },
      { caption: 'A list', subject: 'terminal', tone: 'bright', ...PLAIN },
    ]
    beforeAll(() => put(engine(), changesOf([clip('asked', { title: 'Film', author: 'Somebody' }, frames)])))

    test.each(ASKED)('%s', async (q, expected, says = {}) => {
      const { search } = engine()
      const { frames: found, readAs, total, full } = await search.frames(ask({ q, facets: true, loosen: true }))
      expect(found.map(({ document }) => document.t_sec).toSorted((a, b) => a - b)).toEqual(expected)
      expect(readAs).toMatchObject(says)
      // Counts and reading agree with what each frame lacks.
      const lacks = found.map(({ missing = [] }) => missing)
      const { words, met, let_go } = readAs!
      expect([total, full]).toEqual([found.length, lacks.filter((one) => one.length === 0).length])
      expect(met).toBe(found.length === 0 ? 0 : Math.min(...lacks.map((one) => words.length - one.length)))
      expect(new Set(let_go)).toEqual(new Set(lacks.flat()))
      // Rows that have no word in full are shown only where no frame has one.
      const rows = (await search.search({ q, limit: 20 })).frames
      for (const { missing = [] } of met > 0 ? rows : []) expect(missing.length).toBeLessThan(words.length)
    })
  })
}
