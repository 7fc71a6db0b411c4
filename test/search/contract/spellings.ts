import { beforeAll, describe, expect, test } from 'vitest'
import { ask } from '../../support/frame-query.ts'
import { changesOf, clip } from './documents.ts'
import { type Engine, opened, put } from './engine.ts'

export function describeSpellings(name: string, open: () => Promise<Engine>): void {
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
      clip('six', { title: 'Breakfast', author: 'Mugs' }, [
        { caption: 'coffee is poured' },
        { caption: 'a robotic arm' },
      ]),
    ]
    beforeAll(() => put(engine(), changesOf(clips)))
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

    test('plurals and endings of verbs are found by each other, quotes exactly', async () => {
      expect(await captions('pouring coffees')).toEqual(['coffee is poured'])
      expect(await captions('someone pours coffee')).toEqual(['coffee is poured'])
      expect(await captions('robot arms')).toEqual(['a robotic arm'])
      expect(await captions('"pouring"')).toEqual([])
      const { frames } = await engine().search.frames(ask({ q: 'pouring coffee' }))
      expect(frames[0]!.matched).toEqual({ caption: '<em>coffee</em> is <em>poured</em>' })
    })

    test('a letter or two begin words, but are no part of one', async () => {
      expect(await captions('x')).toEqual(['x marks it'])
      // The words of a title or brand.
      expect(await captions('ex')).toEqual(['e-mail', null])
      expect(await captions('exp')).toEqual([])
      expect(await captions('expo')).toEqual(['x marks it'])
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
}

export function describeNames(name: string, open: () => Promise<Engine>): void {
  describe(`${name}: names by the dozen`, () => {
    const engine = opened(open)
    const numbers = Array.from({ length: 30 }, (_, n) => n + 10)
    // The shortest name comes last in every order but that of exact names.
    const clips = [
      ...numbers.map((n) =>
        clip(`k${n}`, { title: `Kestrel film ${n}`, author: `Kestrel ${n}` }, [
          { caption: 'a bird', technique: `kestrel-dive-${n}` },
        ]),
      ),
      clip('zz', { title: 'Zeppelin', author: 'Kestrel' }, [{ caption: 'a kestrel', technique: 'film' }]),
    ]
    beforeAll(() => put(engine(), changesOf(clips)))

    test('no kind of name crowds out another, and the one called so stands first', async () => {
      for (const q of ['kestrel', 'kestr', 'kestrel film', 'film kestrel', 'kestrel "film"', 'k']) {
        const { videos, brands, techniques } = await engine().search.search({ q, limit: 6 })
        expect([q, videos.length, brands.length, techniques.length]).toEqual([q, 6, 6, 6])
        for (const group of [videos, brands, techniques]) {
          const scores = group.map(({ score }) => score)
          expect(scores).toEqual(scores.toSorted((a, b) => b - a))
        }
      }
      const all = await engine().search.search({ q: 'kestrel', limit: 6 })
      const named = await engine().search.search({ q: 'kestrel', limit: 6, namesOnly: true })
      expect(named.frames).toEqual([])
      expect(named.brands[0]).toEqual(all.brands[0])
      expect([named.videos.length, named.techniques.length]).toEqual([6, 6])
      const { brands } = all
      expect(brands[0]).toMatchObject({ document: { name: 'Kestrel' }, score: 1 })
      for (const limit of [1, 20]) {
        const { videos, brands: some, techniques } = await engine().search.search({ q: 'kestrel', limit })
        expect([videos.length, some.length, techniques.length]).toEqual([limit, limit, limit])
        expect(some[0]!.document.name).toBe('Kestrel')
      }
    })
  })
}
