import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import type { FrameFilters } from '../../../src/search/library-search.ts'
import { isAlike, mostAlike } from '../../../src/search/likeness.ts'
import {
  ATTRIBUTES,
  byName,
  COUNTED,
  DERIVED,
  KINDS,
  PLATFORMS,
  SHOTS,
  SUBJECTS,
  SURFACES,
  TONES,
  ZONES,
} from '../../../src/vocabulary.ts'
import { ask } from '../../support/frame-query.ts'
import { changesOf, clip, order, PALETTE, passes } from './documents.ts'
import { type Engine, opened, put } from './engine.ts'

export function describeWall(name: string, open: () => Promise<Engine>): void {
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
          width: [1280, 720, 720][k % 3]!,
          height: [720, 1280, 720][k % 3]!,
          faces: [null, 0, 1, 2, 5][(n + k) % 5]!,
          emptyShare: [null, 0.1, 0.5, 0.9][k % 4]!,
          ink: [null, '#ffffff', '#101010'][(n + k) % 3]!,
          ground: [null, '#101010', '#f0f0f0'][(n + k) % 3]!,
        })),
      ),
    )
    const documents = clips.flatMap(({ frames }) => frames)
    const newest = documents.toSorted(
      (a, b) => b.added_ms - a.added_ms || order(a.video_id, b.video_id) || a.t_ms - b.t_ms,
    )
    beforeAll(() => put(engine(), changesOf(clips, { 'move-1': ['once-move-1'], 'move-2': ['merged', 'move-3'] })))

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

    test('documents come back as they were put, without provenance what is shown of them', async () => {
      const whole = await engine().search.frames(ask({ pageSize: 500, provenance: true }))
      expect(whole.frames.map(({ document }) => document)).toEqual(newest)
      const { frames } = await engine().search.frames(ask({ pageSize: 500 }))
      expect(frames).toHaveLength(newest.length)
      for (const [n, { document }] of frames.entries()) expect(newest[n]).toMatchObject(document)
    })

    const subset = <T>(values: readonly T[]) => fc.subarray([...values], { maxLength: Math.min(3, values.length) })
    const chosen = {
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
      color: subset([...PALETTE, 'red', 'blue', 'white', 'pink']),
      ...byName(DERIVED, (name) => subset<string>(ATTRIBUTES[name].values)),
    }
    const filtersArbitrary: fc.Arbitrary<FrameFilters> = fc
      .tuple(fc.record(chosen, { requiredKeys: [] }), fc.record(chosen, { requiredKeys: [] }), fc.boolean())
      .map(([some, others, isOpposed]) => ({
        ...some,
        ...(isOpposed && Object.fromEntries(Object.entries(others).map(([name, values]) => [`not_${name}`, values]))),
      }))

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
          for (const facet of COUNTED) {
            const rest = newest.filter((frame) => passes(frame, { ...filters, [facet]: [] }))
            const counts: Record<string, number> = {}
            for (const frame of rest) if (frame[facet] !== null) counts[frame[facet]] = (counts[frame[facet]] ?? 0) + 1
            expect(page.facets![facet]).toEqual(counts)
          }
        }),
        { numRuns: 40, seed: 5 },
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
      // As long as there is room, every frame of other videos that passes the filters and is alike enough.
      const own = [me.video_id]
      const alike = (others: typeof documents) =>
        mostAlike(me, others, others.length).flatMap(({ document, likeness }) =>
          isAlike(me, document, likeness) ? document : [],
        )
      expect(alike(documents).length).toBeLessThan(documents.length)
      for (const [filters, otherVideos, ofOwn] of [
        [{ video: ['video07'] }, false, 0],
        [{ author: ['株式会社'], technique: ['move-1'] }, false, 0],
        [{}, false, 1],
        [{}, true, 0],
        [{ video: own }, false, alike(documents.filter((frame) => frame.video_id === me.video_id)).length - 1],
        [{ video: own }, true, 0],
      ] as const) {
        const fit = alike(documents.filter((frame) => frame.video_id !== me.video_id && passes(frame, filters)))
        const all = (await engine().search.similar(me.id, { filters, limit: 500, otherVideos }))!
        const others = all.filter(({ document }) => document.video_id !== me.video_id)
        expect(others.map(({ document }) => document.id).toSorted()).toEqual(fit.map(({ id }) => id).toSorted())
        expect(all.length - others.length).toBe(ofOwn)
      }
    })
  })
}
