import type { z } from 'zod'

/** What zod says where a schema says nothing itself. */
const ITS_OWN = /^(?:Too (?:small|big)|Invalid (?:input|option|string|number)|Unrecognized)/

/** What is allowed instead of a value that a schema refuses, for people: `must be at least 1`. */
export function describeIssue(issue: z.core.$ZodIssue): string {
  if (!ITS_OWN.test(issue.message)) return issue.message
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.join(', ')}`
  if (issue.code === 'invalid_type') return `must be ${typeName(issue.expected)}`
  if (issue.code === 'too_small' && Number(issue.minimum) > 0 && /^(?:string|array)$/.test(issue.origin))
    return issue.minimum === 1 ? 'must not be empty' : `must have at least ${issue.minimum} ${partsOf(issue.origin)}`
  if (issue.code === 'too_small') return `must be ${issue.inclusive ? 'at least' : 'more than'} ${issue.minimum}`
  if (issue.code === 'too_big')
    return /^(?:string|array)$/.test(issue.origin)
      ? `must have at most ${issue.maximum} ${partsOf(issue.origin)}`
      : `must be ${issue.inclusive ? 'at most' : 'less than'} ${issue.maximum}`
  return issue.message
}

/** An error map for the fields of a body: an unknown one is told with those that are allowed. */
export function namingFields(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code !== 'unrecognized_keys') return undefined
  const { shape } = issue.inst as { shape?: object }
  return unknownFields(issue.keys as string[], Object.keys(shape ?? {}))
}

/** At most 20 of them are named, by 60 characters each. */
export function unknownFields(names: readonly string[], allowed: readonly string[] = []): string {
  const unknown = names.slice(0, 20).map((name) => name.slice(0, 60))
  return `unknown: ${unknown.join(', ')}${allowed.length > 0 ? `; allowed are ${allowed.join(', ')}` : ''}`
}

const partsOf = (origin: string): string => (origin === 'array' ? 'values' : 'characters')

/** What a value has to be, with its article: `a text`. */
export const typeName = (expected: string): string => TYPES[expected] ?? expected

const TYPES: Readonly<Record<string, string>> = {
  int: 'a whole number',
  number: 'a number',
  string: 'a text',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
}
