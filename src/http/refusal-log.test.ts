import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openRefusalLog } from './problem.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

test('the first refusals of an address are logged, the others counted, and each minute begins anew', () => {
  const lines: [object, string][] = []
  const log = openRefusalLog({ info: (fields: object, message: string) => void lines.push([fields, message]) } as never)
  const refuse = (address: string, count: number) => {
    for (let n = 0; n < count; n++) log(address, { n }, 'request refused')
  }
  refuse('192.0.2.1', 5_000)
  refuse('192.0.2.2', 3)
  expect(lines).toHaveLength(23)
  expect(lines.slice(-3).map(([, message]) => message)).toEqual(Array(3).fill('request refused'))
  vi.advanceTimersByTime(60_000)
  expect(lines.slice(23)).toEqual([[{ count: 4_980, addresses: 1 }, 'refusals not logged']])
  refuse('192.0.2.1', 1)
  expect(lines).toHaveLength(25)
  vi.advanceTimersByTime(120_000)
  expect(lines).toHaveLength(25)
})
