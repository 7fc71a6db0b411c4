import { expect, test } from 'vitest'
import { openLocalLimiter } from './call-gate.ts'
import { readRetryAfter } from './endpoint-error.ts'

const never = new AbortController().signal

test('places are given in order, one given back twice counts once, and who leaves the queue takes none', async () => {
  const limiter = openLocalLimiter(1)
  const first = await limiter.acquire(never)
  const stop = new AbortController()
  const order: string[] = []
  const left = limiter.acquire(stop.signal).catch(() => order.push('left'))
  const second = limiter.acquire(never).then((place) => {
    order.push('second')
    return place
  })
  stop.abort(new Error('enough'))
  await left
  first.release()
  first.release()
  const { release } = await second
  const third = limiter.acquire(never).then(() => order.push('third'))
  await Promise.resolve()
  expect(order).toEqual(['left', 'second'])
  release()
  await third
  expect(order).toEqual(['left', 'second', 'third'])
})

test.each([
  [{ 'retry-after-ms': '250' }, 250],
  [{ 'retry-after': '3' }, 3000],
  [{ 'retry-after': 'Thu, 01 Jan 1970 00:01:10 GMT' }, 10_000],
  [{ 'retry-after': 'soon' }, null],
  [{ 'x-ratelimit-reset-requests': '1s', 'x-ratelimit-reset-tokens': '6m0s' }, 360_000],
  [{ 'x-ratelimit-reset-tokens': '20ms' }, 20],
  [{ 'retry-after': '999999' }, 3_600_000],
  [{}, null],
] as const)('the pause of %o is %s ms', (headers, pause) => {
  expect(readRetryAfter(new Headers(headers), 60_000)).toBe(pause)
})
