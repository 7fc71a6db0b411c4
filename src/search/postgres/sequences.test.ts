import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { SequenceStep } from '../library-search.ts'
import { type Moment, matchesIn } from './sequences.ts'

const step = (from: number, to: number, next = false): SequenceStep => ({ filters: {}, q: '', gap: { from, to, next } })

/** Frames of a film: their lengths, a rest before some of them, and which steps each meets. */
const film = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 0, max: 2 }), fc.integer({ min: 0, max: 7 })), {
    maxLength: 14,
  })
  .map((rows) => {
    let at = 0
    return rows.map(([length, rest, bits], n): Moment => {
      const from = at + rest
      at = from + length
      return { id: String(n), from, to: at, meets: [0, 1, 2].map((bit) => (bits & (1 << bit)) > 0) }
    })
  })
const gap = fc.tuple(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 0, max: 4 }), fc.boolean())
const steps = fc
  .array(gap, { minLength: 2, maxLength: 3 })
  .map((gaps) => gaps.map(([from, more, next]) => step(from, from + more, next)))

interface Run {
  first: number
  last: number
  from: number
  to: number
}

/** Every run, every choice of one run a step, then the rules of docs/films.md as they are written. */
function byHand(moments: readonly Moment[], asked: readonly SequenceStep[], span: number): Run[][] {
  const runs = asked.map((_, n) => {
    const all: Run[] = []
    for (let first = 0; first < moments.length; first++)
      for (let last = first; last < moments.length; last++) {
        const inside = moments.slice(first, last + 1).every(({ meets }) => meets[n])
        const isWhole = !moments[first - 1]?.meets[n] && !moments[last + 1]?.meets[n]
        if (inside && isWhole) all.push({ first, last, from: moments[first]!.from, to: moments[last]!.to })
      }
    return all
  })
  const choices = runs.reduce<Run[][]>(
    (lists, next) => lists.flatMap((list) => next.map((run) => [...list, run])),
    [[]],
  )
  const allowed = choices.filter((list) =>
    list.slice(1).every((run, n) => {
      const [before, rule] = [list[n]!, asked[n + 1]!.gap]
      const apart = run.from - before.to
      const inOrder = run.first > before.last && apart >= (rule.from > 0 ? rule.from : -0.1) && apart <= rule.to
      return inOrder && (!rule.next || run.first === before.last + 1)
    }),
  )
  const nearest = runs[0]!.flatMap((start) => {
    const from = allowed.filter(([first]) => first === start)
    const order = (list: Run[]) => list.map(({ first }) => String(first).padStart(3, '0')).join()
    return from.sort((one, other) => order(one).localeCompare(order(other))).slice(0, 1)
  })
  const short = nearest.filter((list) => list.at(-1)!.to - list[0]!.from <= span)
  return short.filter(
    (list) =>
      !short.some((other) => other !== list && list[0]!.from <= other[0]!.from && list.at(-1)!.to >= other.at(-1)!.to),
  )
}

test('matches are those that going through all choices finds', () => {
  fc.assert(
    fc.property(film, steps, fc.integer({ min: 3, max: 30 }), (moments, asked, span) => {
      const places = (found: readonly Run[][]) =>
        found.map((list) => list.map(({ first, last }) => [first, last])).sort()
      const found = matchesIn(moments, { steps: asked, span, perFilm: 100 })
      expect(places(found)).toEqual(places(byHand(moments, asked, span)))
    }),
    { numRuns: 3_000 },
  )
})

test('of a film the tightest comes first', () => {
  const at = (from: number, to: number, ...meets: boolean[]): Moment => ({ id: `${from}`, from, to, meets })
  const moments = [at(0, 2, true, false), at(4, 6, false, true), at(6, 8, true, false), at(8, 9, false, true)]
  const asked = [step(0, 3), step(0, 3)]
  expect(matchesIn(moments, { steps: asked, span: 60, perFilm: 1 })).toMatchObject([[{ first: 2 }, { first: 3 }]])
  expect(matchesIn(moments, { steps: asked, span: 60, perFilm: 5 })).toHaveLength(2)
  expect(matchesIn(moments, { steps: asked, span: 2, perFilm: 5 })).toEqual([])
})

test('a film of many cuts and an impossible last step is answered', () => {
  // Going through all choices here would take about 10^12 steps.
  const moments = Array.from({ length: 4_000 }, (_, n): Moment => {
    const isFirst = n % 2 === 0
    return { id: String(n), from: n, to: n + 1, meets: [isFirst, !isFirst, isFirst, !isFirst, isFirst] }
  })
  const any = step(0, Number.POSITIVE_INFINITY)
  const asked = [any, any, any, any, step(4_001, 4_002)]
  expect(matchesIn(moments, { steps: asked, span: 600, perFilm: 5 })).toEqual([])
})
