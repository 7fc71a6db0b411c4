import type { z } from 'zod'

/** What zod says where a schema says nothing itself. */
const ITS_OWN = /^(?:Too (?:small|big)|Invalid (?:input|option|string|number)|Unrecognized)/

/** What is allowed instead of a value that a schema refuses, for people: `must be at least 1`. */
export function describeIssue(issue: z.core.$ZodIssue): string {
  if (!ITS_OWN.test(issue.message)) return issue.message
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.join(', ')}`
  if (issue.code === 'invalid_type') return `must be ${TYPES[issue.expected] ?? issue.expected}`
  if (issue.code === 'too_small' && Number(issue.minimum) > 0 && /^(?:string|array)$/.test(issue.origin))
    return issue.minimum === 1 ? 'must not be empty' : `must have at least ${issue.minimum} ${partsOf(issue.origin)}`
  if (issue.code === 'too_small') return `must be ${issue.inclusive ? 'at least' : 'more than'} ${issue.minimum}`
  if (issue.code === 'too_big')
    return /^(?:string|array)$/.test(issue.origin)
      ? `must have at most ${issue.maximum} ${partsOf(issue.origin)}`
      : `must be ${issue.inclusive ? 'at most' : 'less than'} ${issue.maximum}`
  return issue.message
}

const partsOf = (origin: string): string => (origin === 'array' ? 'values' : 'characters')

const TYPES: Readonly<Record<string, string>> = {
  int: 'a whole number',
  number: 'a number',
  string: 'a text',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
}
