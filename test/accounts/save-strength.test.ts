import fc from 'fast-check'
import { expect, test } from 'vitest'
import { HALF_LIFE_MS } from '../../src/library/collections/saves.ts'
import { addSave, strengthOf } from './save-strength-oracle.ts'

const time = fc.date({ min: new Date('2020-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })

test('adding one by one, in any order, is the whole sum', () => {
  fc.assert(
    fc.property(fc.array(time, { minLength: 1, maxLength: 60 }), (times) => {
      const whole = strengthOf(times)!
      for (const order of [times, [...times].reverse()]) {
        const added = order.reduce<number | null>((strength, at) => addSave(strength, at), null)!
        expect(added).toBeCloseTo(whole, 9)
      }
    }),
  )
})

test('the order of two frames is the same whenever somebody looks', () => {
  const decayed = (times: readonly Date[], now: Date) =>
    times.reduce((sum, at) => sum + 2 ** ((at.getTime() - now.getTime()) / HALF_LIFE_MS), 0)
  const recent = fc.date({ min: new Date('2026-01-01'), max: new Date('2026-12-31'), noInvalidDate: true })
  const list = fc.array(recent, { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(list, list, recent, (one, other, now) => {
      const difference = strengthOf(one)! - strengthOf(other)!
      if (Math.abs(difference) < 1e-6) return
      expect(Math.sign(decayed(one, now) - decayed(other, now))).toBe(Math.sign(difference))
    }),
  )
})

test('a save counts half as much as one a half-life later, and a million saves stay exact', () => {
  const now = new Date('2026-06-01')
  const earlier = new Date(now.getTime() - HALF_LIFE_MS)
  expect(strengthOf([now])! - strengthOf([earlier])!).toBeCloseTo(1, 9)
  expect(strengthOf([earlier, earlier])).toBeCloseTo(strengthOf([now])!, 9)
  let strength: number | null = null
  for (let n = 0; n < 1_000_000; n++) strength = addSave(strength, now)
  expect(strength! - strengthOf([now])!).toBeCloseTo(Math.log2(1_000_000), 6)
  expect(strengthOf([])).toBeNull()
})
