import { expect, test } from 'vitest'
import { z } from 'zod'
import { toAppError } from './problem.ts'

const Body = z.strictObject({ frameId: z.string(), limit: z.int().optional() })

test('a body error says of each field what it must be', () => {
  const { error } = Body.safeParse({ frame: 'x', limit: 'ten' })
  expect(toAppError(error)).toMatchObject({
    code: 'invalid_request',
    details: [
      { path: 'frameId', message: 'is required: string' },
      { path: 'limit', message: expect.stringMatching(/^must be (int|number)$/) },
      { path: 'body', message: 'unknown: frame' },
    ],
  })
})
