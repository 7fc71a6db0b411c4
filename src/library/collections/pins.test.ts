import fc from 'fast-check'
import { expect, test } from 'vitest'
import { placesAmong } from './pins.ts'

test('pins come to their ranks in any board with room, and to its end where it is shorter', () => {
  const board = fc.uniqueArray(fc.integer({ min: 0, max: 999 }), { maxLength: 20 })
  const ranks = fc.uniqueArray(fc.integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 20 })
  fc.assert(
    fc.property(board, ranks, (given, wanted) => {
      const taken = given.toSorted((a, b) => a - b).map((n) => 400_000_000 + n * 100)
      const ascending = wanted.toSorted((a, b) => a - b)
      const places = placesAmong(taken, ascending)!
      const order = [...taken]
      for (const [n, rank] of ascending.entries()) order.splice(rank, 0, places[n]!)
      expect(order).toEqual(order.toSorted((a, b) => a - b))
      expect(new Set(order).size).toBe(order.length)
    }),
  )
})

test('without a number between two neighbours there is no place', () => {
  expect(placesAmong([5, 6], [1])).toBeUndefined()
  expect(placesAmong([5, 7], [1])).toEqual([6])
  expect(placesAmong([5, 7], [1, 2])).toBeUndefined()
  expect(placesAmong([999_999_999], [1])).toBeUndefined()
  expect(placesAmong([0], [0])).toBeUndefined()
})
