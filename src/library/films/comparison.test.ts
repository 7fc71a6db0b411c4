import { expect, test } from 'vitest'
import { seededRandom } from '../../../test/support/seeded-random.ts'
import type { FilmShot } from '../../vocabulary.ts'
import { differencesOf, similarFilms, standingOf, unusualOf, type View } from './comparison.ts'
import type { FilmRow } from './films.ts'
import { type Measures, measureFilm, paceCurve } from './measures.ts'

function cuts(seconds: readonly number[]): FilmShot[] {
  let at = 0
  return seconds.map((length, n) => {
    const [fromMs, toMs] = [at, at + Math.round(length * 1000)]
    at = toMs
    const transition = n === 0 ? 'start' : 'cut'
    const bounds = { fromMs, toMs, cleanFromMs: fromMs, cleanToMs: toMs }
    return { ...bounds, transition, through: null, held: null, motion: null }
  })
}

const total = (seconds: readonly number[]) => seconds.reduce((sum, one) => sum + one, 0)
const filmOf = (id: string, seconds: readonly number[], picture: Partial<Measures> = {}): FilmRow => {
  const measures = { ...measureFilm(cuts(seconds), total(seconds), null), ...picture }
  return { id, title: id, author: null, platform: 'web', measures }
}

test('equal films count half; a film of under ten seconds is not ranked by its shots', () => {
  const those = [filmOf('a', [4, 4, 4]), filmOf('b', [4, 4, 4]), filmOf('c', [8, 8, 8]), filmOf('d', [2, 2, 2])]
  expect(standingOf(those[0]!, those).shot_median_sec).toEqual({ n: 2, below: 0, same: 1, percentile: 0.25 })
  expect(standingOf(those[3]!, those).shot_median_sec).toBeUndefined()
  expect(standingOf(those[3]!, those).shots).toMatchObject({ n: 3, same: 3, percentile: 0.5 })
  expect(unusualOf(standingOf(those[0]!, those))).toEqual([])
})

test('twice the speed is twice the pace', () => {
  const seconds = [3, 2, 4, 1, 5, 3, 2, 4, 3, 3]
  const mean = (values: readonly number[]) => total(values) / values.length
  const slow = mean(paceCurve(cuts(seconds), total(seconds)))
  const quick = mean(paceCurve(cuts(seconds.map((one) => one / 2)), total(seconds) / 2))
  expect(quick / slow).toBeCloseTo(2, 0)
  expect(mean(paceCurve(cuts([10]), 10))).toBe(0)
})

/** Films with a hand of their own: how long their shots are, how they move, how they look. */
function library(count: number, seed: number) {
  const random = seededRandom(seed)
  const between = (low: number, high: number) => low + random() * (high - low)
  return Array.from({ length: count }, () => {
    const [center, spread] = [between(-0.3, 2), between(0.15, 0.7)]
    const normal = () => Math.sqrt(-2 * Math.log(random() || 0.5)) * Math.cos(2 * Math.PI * random())
    const seconds = Array.from({ length: 20 + Math.floor(random() * 20) }, () => Math.exp(center + spread * normal()))
    const picture = {
      ...{ held_share: random(), motion: Math.exp(between(1, 6)) },
      ...{ luma: between(20, 230), contrast: between(10, 70), colour: between(1, 30) },
    }
    return { seconds, picture }
  })
}

/** How often a copy is nearer to its own film than another film is. */
function auc(view: View, change: (seconds: readonly number[]) => readonly number[]): number {
  const random = seededRandom(11)
  const films = library(60, 5)
  const those = films.map(({ seconds, picture }, n) => filmOf(`film ${n}`, seconds, picture))
  let [right, all] = [0, 0]
  for (const [n, { seconds, picture }] of films.entries()) {
    // What is left of a film has nearly its light and motion.
    const shifted = Object.entries(picture).map(([name, value]) => [name, value * (0.93 + 0.14 * random())])
    const copy = filmOf('copy', change(seconds), Object.fromEntries(shifted) as Partial<Measures>)
    const near = similarFilms(copy, [...those, copy], { view, limit: 100 })
    const own = near.findIndex(({ film }) => film.id === `film ${n}`)
    right += near.length - 1 - own
    all += near.length - 1
  }
  return right / all
}

test.each([
  ['encoded again', (seconds: readonly number[]) => seconds],
  ['trimmed at both ends', (seconds: readonly number[]) => seconds.slice(3, -3)],
  ['cut anew', (seconds: readonly number[]) => [...seconds.slice(8), ...seconds.slice(0, 4)]],
])('a film that is %s is nearer to itself than to others, by style and by look', (_, change) => {
  expect(auc('look', change)).toBeGreaterThanOrEqual(0.98)
  expect(auc('style', change)).toBeGreaterThanOrEqual(0.98)
})

test('what differs most comes first, and one odd measure does not hide the others', () => {
  const those = library(30, 3).map(({ seconds, picture }, n) => filmOf(String(n), seconds, picture))
  const [one, other] = [filmOf('x', [3, 3, 3, 3], { luma: 10, motion: 5 }), filmOf('y', [3, 3, 3, 3], { luma: 240 })]
  const differences = differencesOf([one, other], those)
  expect(differences[0]).toMatchObject({ name: 'luma' })
  expect(differences[0]!.apart).toBeLessThanOrEqual(6)
  // Only one of them has it.
  expect(differences.map(({ name }) => name)).not.toContain('motion')
})
