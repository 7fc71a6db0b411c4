import { expect, test } from 'vitest'
import { z } from 'zod'
import { toAppError } from './problem.ts'

const Body = z.strictObject({ frameId: z.string(), limit: z.int().optional() })

test('a full disk of the service is unavailable, with what to do, and no fault of the request', () => {
  const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
  expect(toAppError(full)).toMatchObject({
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
