import fc from 'fast-check'
import { expect, test } from 'vitest'
import { editDistance } from './typos.ts'

test('the edit distance counts a swap as one and stops at its limit', () => {
  expect(editDistance('presenter', 'presnter', 2)).toBe(1)
  expect(editDistance('presenter', 'presnetre', 2)).toBe(2)
  expect(editDistance('terminal', 'termnial', 1)).toBe(1)
  expect(editDistance('kite', 'lamp', 2)).toBe(3)
  fc.assert(
    fc.property(fc.string({ maxLength: 8 }), fc.string({ maxLength: 8 }), (a, b) => {
      expect(editDistance(a, b, 20)).toBe(editDistance(b, a, 20))
      expect(editDistance(a, b, 20) === 0).toBe(a === b)
      expect(editDistance(a, b, 1)).toBe(Math.min(2, editDistance(a, b, 20)))
    }),
    { numRuns: 300, seed: 2 },
  )
})
