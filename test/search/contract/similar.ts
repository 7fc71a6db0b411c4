import { beforeAll, describe, expect, test } from 'vitest'
import { hashDistance } from '../../../src/vocabulary.ts'
import { ask } from '../../support/frame-query.ts'
import type { SeedFrame } from '../../support/seed.ts'
import { changesOf, clip } from './documents.ts'
import { type Engine, opened, put } from './engine.ts'

export function describeDuplicates(name: string, open: () => Promise<Engine>): void {
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
    beforeAll(() => put(engine(), changesOf(clips)))

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
              expect(hashDistance(a.phash, b.phash)).toBeGreaterThan(6)
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
}

export function describeSimilar(name: string, open: () => Promise<Engine>): void {
  describe(`${name}: the same picture elsewhere`, () => {
    const engine = opened(open)
    // The hashes differ by one bit in each quarter, or by two in three of them. Nothing else is shared.
    const elsewhere: Partial<SeedFrame> = {
      caption: 'nothing alike',
      palette: ['#00ff00', '#00ee00', '#00dd00', '#00cc00', '#00bb00'],
      subject: 'crowd',
      luma: 50,
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
    beforeAll(() => put(engine(), changesOf(clips)))

    test('is found among frames like it by the picture alone', async () => {
      const me = clips[0]!.frames[0]!
      const hits = (await engine().search.similar(me.id, { filters: {}, limit: 10 }))!
      expect(hits.slice(0, 2).map(({ document }) => document.phash)).toEqual(['0122456689aacdef', '0120456489a8cdee'])
    })
  })
}
