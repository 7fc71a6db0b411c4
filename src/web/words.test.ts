import { expect, test } from 'vitest'
import { thousands } from './words.ts'

test('thousands stand apart as in English', () => {
  for (const count of [0, 7, 12, 999, 1_000, 20_000, 999_999, 1_000_000, 1_234_567_890])
    expect(thousands(count)).toBe(count.toLocaleString('en'))
})
