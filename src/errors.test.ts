import { expect, test } from 'vitest'
import { z } from 'zod'
import { describeIssue } from './errors.ts'

test('what a schema refuses is told as what it allows', () => {
  const said = (schema: z.ZodType, value: unknown) => describeIssue(schema.safeParse(value).error!.issues[0]!)
  expect([
    said(z.coerce.number(), 'abc'),
    said(z.number().int(), 1.5),
    said(z.number().min(1), 0),
    said(z.number().positive(), 0),
    said(z.number().max(50), 100),
    said(z.string(), 1),
    said(z.string().min(1), ''),
    said(z.string().max(3), 'four'),
    said(z.array(z.string()).min(1), []),
    said(z.array(z.string()).max(1), ['a', 'b']),
    said(z.boolean(), 'yes'),
    said(z.enum(['dark', 'bright']), 'dim'),
    said(z.string().regex(/^a/, 'must begin with a'), 'b'),
  ]).toEqual([
    'must be a number',
    'must be a whole number',
    'must be at least 1',
    'must be more than 0',
    'must be at most 50',
    'must be a text',
    'must not be empty',
    'must have at most 3 characters',
    'must not be empty',
    'must have at most 1 values',
    'must be true or false',
    'must be one of dark, bright',
    'must begin with a',
  ])
})
