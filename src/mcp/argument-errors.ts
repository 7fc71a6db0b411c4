import type { z } from 'zod'
import { describeIssue, typeName } from '../errors.ts'
import type { Fields } from './messages.ts'
import type { Tool } from './tool.ts'

/** What takes arguments. */
type Taker = Pick<Tool, 'name' | 'input'>

const MAX_ISSUES = 8
const MAX_UNKNOWN = 20

/** What is wrong with a call's arguments, for a model to correct: which one, what it was, what is allowed. */
export function explainArguments(tool: Taker, given: Fields, error: z.ZodError): string {
  const lines = error.issues.slice(0, MAX_ISSUES).map((issue) => explainIssue(tool, given, issue))
  return `The arguments of ${tool.name} are not valid:\n${lines.join('\n')}`
}

function explainIssue(tool: Taker, given: Fields, issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') {
    const names = issue.keys.slice(0, MAX_UNKNOWN).map((name) => `"${name.slice(0, 60)}"`)
    return `unknown argument ${names.join(', ')}; ${tool.name} takes ${argumentNames(tool)}`
  }
  // A single value may stand for a list of one: name the argument as it was written.
  const written = issue.path.filter((_, at) => at === 0 || typeof valueAt(given, issue.path.slice(0, at)) !== 'string')
  const value = valueAt(given, written)
  const path = written.join('.')
  if (value === undefined && issue.code === 'invalid_type')
    return `${path}: is required and must be ${typeName(issue.expected)}`
  if (Array.isArray(value) && issue.code === 'invalid_type')
    return `${path}${shown(value)}: takes one; call ${tool.name} for each`
  return `${path}${shown(value)}: ${describeIssue(issue)}`
}

function shown(value: unknown): string {
  if (value === undefined) return ''
  if (Array.isArray(value)) return ` (got a list of ${value.length})`
  if (typeof value === 'object' && value !== null) return ' (got an object)'
  return ` (got ${JSON.stringify(value).slice(0, 60)})`
}

function valueAt(given: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (at, key) => (typeof at === 'object' && at !== null ? (at as Fields)[key as string] : undefined),
    given,
  )
}

function argumentNames(tool: Taker): string {
  return Object.keys((tool.input as unknown as { shape?: object }).shape ?? {}).join(', ') || 'none'
}
