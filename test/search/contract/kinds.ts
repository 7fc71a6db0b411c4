import { beforeAll, describe, expect, test } from 'vitest'
import { ask } from '../../support/frame-query.ts'
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

    test('red car: a red frame, and one whose text holds carry, say that they lack the car', async () => {
      const found = await list('red car')
      expect(found).toEqual([
        { at: 2, kinds: ['attribute'], fields: ['palette'], missing: ['car'] },
        { at: 0, kinds: ['beginning'], fields: ['on_screen_text'], missing: ['red', 'car'] },
      ])
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

    test('a phrase is one concept: its words, then what it names, then some of its words', async () => {
      const found = await list('hand holding a phone')
      expect(found.slice(0, 2)).toEqual([
        { at: 5, kinds: ['word'], fields: ['caption'], missing: undefined },
        { at: 4, kinds: ['attribute'], fields: ['technique'], missing: undefined },
      ])
      expect(found[2]).toMatchObject({ at: 6, kinds: [], missing: ['hand holding a phone'] })
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
            { caption: 'A newspaper', palette: ['#ffffff', '#808080', '#000000'], paletteShares: half },
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
