import { expect, test } from 'vitest'
import { z } from 'zod'
import { toAppError } from './problem.ts'

const Body = z.strictObject({ frameId: z.string(), limit: z.int().optional() })

test.each([
  ['the database’s', new Error('Failed query', { cause: Object.assign(new Error('full'), { code: '53100' }) })],
  ['the service’s', Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })],
])('a full disk of %s own is unavailable, with what to do, and no fault of the request', (_, error) => {
  expect(toAppError(error)).toMatchObject({
    code: 'unavailable',
    retryAfterSec: 60,
    message: expect.stringMatching(/The disk of the service is full/),
  })
})

test('a body error says of each field what it must be', () => {
  const { error } = Body.safeParse({ frame: 'x', limit: 'ten' })
  expect(toAppError(error)).toMatchObject({
    code: 'invalid_request',
    details: [
      { path: 'frameId', message: 'is required and must be a text' },
      { path: 'limit', message: expect.stringMatching(/^must be a (whole )?number$/) },
      { path: 'body', message: 'unknown: frame' },
    ],
  })
})
