import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Moment, matchIn } from './sequences.ts'

interface Step {
  withinSec: number
}

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
const steps = fc.array(fc.record({ withinSec: fc.integer({ min: 0, max: 5 }) }), { minLength: 2, maxLength: 3 })

interface Run {
  first: number
  last: number
  from: number
  to: number
}

/** Every run, every choice of one run a step, then the rules of docs/films.md as they are written. */
function byHand(moments: readonly Moment[], asked: readonly Step[]): Run[] | undefined {
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
      const before = list[n]!
      const apart = run.from - before.to
      return run.first > before.last && apart >= -0.1 && apart <= asked[n + 1]!.withinSec
    }),
  )
  const nearest = runs[0]!.flatMap((start) => {
    const from = allowed.filter(([first]) => first === start)
    const order = (list: Run[]) => list.map(({ first }) => String(first).padStart(3, '0')).join()
    return from.sort((one, other) => order(one).localeCompare(order(other))).slice(0, 1)
  })
  const gaps = (list: Run[]) => list.slice(1).reduce((sum, run, n) => sum + Math.max(0, run.from - list[n]!.to), 0)
  return nearest.sort((one, other) => gaps(one) - gaps(other))[0]
}

test('the match is the one that going through all choices finds', () => {
  fc.assert(
    fc.property(film, steps, (moments, asked) => {
      expect(matchIn(moments, asked)).toEqual(byHand(moments, asked))
    }),
    { numRuns: 3_000 },
  )
})

test('of a film the tightest is told', () => {
  const at = (from: number, to: number, ...meets: boolean[]): Moment => ({ id: `${from}`, from, to, meets })
  const moments = [at(0, 2, true, false), at(4, 6, false, true), at(6, 8, true, false), at(8, 9, false, true)]
  expect(matchIn(moments, [{ withinSec: 3 }, { withinSec: 3 }])).toMatchObject([{ first: 2 }, { first: 3 }])
})

test('a film of many cuts and an impossible last step is answered', () => {
  // Going through all choices here would take about 10^12 steps.
  const moments = Array.from({ length: 4_000 }, (_, n): Moment => {
    const isFirst = n % 2 === 0
    return { id: String(n), from: n, to: n + 1, meets: [isFirst, !isFirst, isFirst, !isFirst, isFirst] }
  })
  const asked = [600, 600, 600, 600, -1].map((withinSec) => ({ withinSec }))
  expect(matchIn(moments, asked)).toBeUndefined()
})
