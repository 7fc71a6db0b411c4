import { expect, test } from 'vitest'
import { readRetryAfter } from './endpoint-error.ts'

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
