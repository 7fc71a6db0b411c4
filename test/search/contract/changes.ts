import { describe, expect, test } from 'vitest'
import {
  abandonGeneration,
  beginGeneration,
  dropOldGeneration,
  indexGeneration,
  swapGeneration,
} from '../../../src/projections/search/generation.ts'
import { NEXT } from '../../../src/search/postgres/tables.ts'
import { applyToReadModel, lockReadModel } from '../../../src/search/postgres/write.ts'
import { COUNTED } from '../../../src/vocabulary.ts'
import { ask } from '../../support/frame-query.ts'
import { changesOf, clip } from './documents.ts'
import { type Engine, opened, put } from './engine.ts'

export function describeEmpty(name: string, open: () => Promise<Engine>): void {
  describe(`${name}: an empty library`, () => {
    const engine = opened(open)

    test('answers every question, with nothing', async () => {
      const { search } = engine()
      const nothing = { videos: [], frames: [], brands: [], techniques: [] }
      for (const asked of [{ q: '' }, { q: 'kite' }, { q: 'x', sourceKey: 'youtube:none' }]) {
        const { readAs: _, ...groups } = await search.search({ ...asked, limit: 6 })
        expect(groups).toEqual(nothing)
      }
      const page = await search.frames(ask({ facets: true }))
      expect(page).toMatchObject({ frames: [], total: 0 })
      for (const facet of COUNTED) expect(page.facets![facet]).toEqual({})
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
}

export function describeChanges(name: string, open: () => Promise<Engine>): void {
  describe(`${name}: changes`, () => {
    const engine = opened(open)

    test('a document put again replaces, one removed is gone, and both raise the version', async () => {
      const { search } = engine()
      const [before] = [
        clip('v', { title: 'Before' }, [
          { caption: 'old words', technique: 'move-1', subject: 'ui' },
          { caption: 'stays' },
        ]),
      ]
      await put(engine(), changesOf([before!]))
      const first = await search.version()
      const after = clip('v', { title: 'After' }, [{ caption: 'new words', subject: 'chart' }, { caption: 'stays' }])
      await put(engine(), changesOf([after]))
      expect(await search.version()).not.toBe(first)
      expect((await search.frames(ask({ q: 'old' }))).frames).toEqual([])
      expect((await search.frames(ask({ q: 'new' }))).frames).toHaveLength(1)
      expect((await search.frames(ask({ filters: { subject: ['ui'] } }))).frames).toEqual([])
      expect((await search.video('v'))!.title).toBe('After')
      await put(engine(), { put: {}, remove: { frames: [after.frames[0]!.id, 'never-there'] } })
      expect((await search.frames(ask())).frames.map(({ document }) => document.caption)).toEqual(['stays'])
      expect((await search.frames(ask({ q: 'new' }))).frames).toEqual([])
      expect(await engine().frameIds()).toEqual([after.frames[1]!.id])
    })

    test('a rebuild is not seen before its swap, and then alone', async () => {
      const { search } = engine()
      const { db } = engine()
      await db.transaction(beginGeneration)
      const rebuilt = changesOf([clip('r', { title: 'Rebuilt' }, [{ caption: 'rebuilt kite' }])])
      await db.transaction((tx) => applyToReadModel(tx, rebuilt, NEXT))
      expect((await search.frames(ask({ q: 'rebuilt' }))).frames).toEqual([])
      await indexGeneration(db)
      await db.transaction(async (tx) => {
        await lockReadModel(tx)
        await swapGeneration(tx)
      })
      await dropOldGeneration(db)
      await engine().follow()
      expect((await search.frames(ask())).frames.map(({ document }) => document.caption)).toEqual(['rebuilt kite'])
      expect(await search.video('v')).toBeUndefined()
      await db.transaction(beginGeneration)
      await db.transaction((tx) => applyToReadModel(tx, changesOf([clip('x', {}, [{}])]), NEXT))
      await abandonGeneration(db)
      await engine().follow()
      expect((await search.frames(ask())).frames).toHaveLength(1)
      await put(engine(), changesOf([clip('y', {}, [{ caption: 'after the swap' }])]))
      expect((await search.frames(ask({ q: 'swap' }))).frames).toHaveLength(1)
    })
  })
}
