import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hashDistance } from '../vocabulary.ts'
import { VarietyFilter } from './likeness.ts'

const hash = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((value) => value.toString(16).padStart(16, '0'))

test('the distance counts differing bits', () => {
  expect(hashDistance('0000000000000000', 'ffffffffffffffff')).toBe(64)
  expect(hashDistance('8000000000000001', '0000000000000000')).toBe(2)
})

test('the filter keeps exactly what a comparison of each with each would', () => {
  const near = hash.chain((base) =>
    fc.array(fc.array(fc.integer({ min: 0, max: 63 }), { maxLength: 8 }), { maxLength: 12 }).map((flips) =>
      flips.map((bits) =>
        bits
          .reduce((value, bit) => value ^ (1n << BigInt(bit)), BigInt(`0x${base}`))
          .toString(16)
          .padStart(16, '0'),
      ),
    ),
  )
  fc.assert(
    fc.property(near, fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 12, maxLength: 12 }), (hashes, lumas) => {
      const frames = hashes.map((phash, n) => ({ phash, luma: lumas[n]! }))
      const filter = new VarietyFilter()
      const kept = frames.filter((frame) => filter.keep(frame))
      const plain: typeof frames = []
      for (const frame of frames) {
        if (
          !plain.some((other) => Math.abs(other.luma - frame.luma) <= 12 && hashDistance(other.phash, frame.phash) <= 6)
        )
          plain.push(frame)
      }
      expect(kept).toEqual(plain)
    }),
    { numRuns: 300, seed: 6 },
  )
})
