import type { z } from 'zod'
import { AppError, type ErrorDetail, invalid } from './errors.ts'

/** One query parameter: how it may be written and what each value must be. OpenAPI is made from the same table. */
export interface Parameter<T = unknown> {
  schema: z.ZodType<T>
  /** May be repeated (OR). */
  many?: boolean
  /** May also be written as a comma-separated list. */
  commas?: boolean
  description: string
  example?: string
  /** The value of an absent parameter. Sending it explicitly changes nothing, not even the key of the answer. */
  fallback?: T
}

export type Parameters = Record<string, Parameter>
type ValueOf<P> = P extends { schema: z.ZodType<infer T> } ? (P extends { many: true } ? T[] : T) : never
export type Values<P extends Parameters> = { [K in keyof P]?: ValueOf<P[K]> }

/**
 * Reads the query of an address by its table. An empty value counts as absent, and so does the `fallback`.
 * @throws AppError invalid_request: lists unknown and repeated parameters, bad values and broken percent-encoding,
 * each with what is allowed
 */
export function readParameters<P extends Parameters>(url: string, parameters: P): Values<P> {
  const mark = url.indexOf('?')
  if (mark < 0) return {}
  const values: Record<string, unknown> = {}
  const details: ErrorDetail[] = []
  for (const [name, given] of decoded(url.slice(mark + 1))) {
    if (details.length === MAX_FAULTS) break
    const parameter = Object.hasOwn(parameters, name) ? parameters[name] : undefined
    if (!parameter) {
      const allowed = Object.keys(parameters)
      const told = allowed.length > 0 ? `allowed are ${allowed.join(', ')}` : 'none is allowed here'
      details.push({ path: name.slice(0, 100), message: `unknown parameter; ${told}`, allowed })
      continue
    }
    let items = given.filter((item) => item !== '')
    if (items.length === 0) continue
    if (!parameter.many && items.length > 1) {
      details.push({ path: name, message: 'may be given once' })
      continue
    }
    if (parameter.commas) items = items.flatMap((item) => item.split(',')).filter((item) => item !== '')
    if (items.length > MAX_ITEMS) {
      details.push({ path: name, message: `takes at most ${MAX_ITEMS} values` })
      continue
    }
    const parsed = [...new Set(items)].map((item) => ({ item, result: parameter.schema.safeParse(item) }))
    const bad = parsed.find(({ result }) => !result.success)
    if (bad) details.push(toDetail(name, bad.item, bad.result.error!))
    else if (parameter.many && parsed.length > 0) values[name] = parsed.map(({ result }) => result.data)
    else if (parsed.length > 0 && parsed[0]!.result.data !== parameter.fallback) values[name] = parsed[0]!.result.data
  }
  if (details.length > 0)
    throw new AppError('invalid_request', details.map((detail) => `${detail.path}: ${detail.message}`).join('; '), {
      details,
    })
  return values as Values<P>
}

/** Names and their values, in order. A Map, because a parameter may be called `__proto__`. */
function decoded(query: string): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const pair of query.split('&')) {
    if (pair === '') continue
    const at = pair.indexOf('=')
    const name = decode(at < 0 ? pair : pair.slice(0, at))
    const item = decode(at < 0 ? '' : pair.slice(at + 1))
    if (name === undefined || item === undefined)
      throw invalid(
        pair.slice(0, 100),
        'The query is not percent-encoded UTF-8: write % as %25, and other characters as their bytes.',
      )
    const items = found.get(name)
    if (items) items.push(item)
    else found.set(name, [item])
  }
  return found
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}

/** Bounds the answer: a short request can have many faults. */
const MAX_FAULTS = 20
const MAX_ITEMS = 50

function toDetail(path: string, item: string, error: z.ZodError): ErrorDetail {
  const issue = error.issues[0]!
  if (issue.code === 'invalid_value') {
    const allowed = issue.values.map(String)
    return { path, message: `"${item.slice(0, 60)}" is not allowed; must be one of ${allowed.join(', ')}`, allowed }
  }
  return { path, message: issue.message }
}

/** One key for equal queries, whatever the order of their names and values. */
export function canonicalKey(values: Record<string, unknown>): string {
  return JSON.stringify(
    Object.keys(values)
      .filter((name) => values[name] !== undefined)
      .sort()
      .map((name) => {
        const value = values[name]
        return [name, Array.isArray(value) ? [...value].sort() : value]
      }),
  )
}

/** Parameters that mail and social services add to a link that is passed on. They never change what it leads to. */
export const TRACKING = /^(utm_.*|fbclid|gclid|dclid|msclkid|mc_cid|mc_eid|igshid|ref_src|ref_url|_hsenc|_hsmi)$/

/** The address without its tracking parameters: a page that is passed on answers as the original does. */
function withoutTracking(url: string): string {
  const mark = url.indexOf('?')
  if (mark < 0) return url
  const pairs = url.slice(mark + 1).split('&')
  return `${url.slice(0, mark)}?${pairs.filter((pair) => !TRACKING.test(pair.split('=', 1)[0]!)).join('&')}`
}

/** The parameters of a page, without those of tracking. A page without parameters refuses every other one. */
export function readPageParameters<P extends Parameters = Record<never, never>>(
  url: string,
  parameters: P = {} as P,
): Values<P> {
  return readParameters(withoutTracking(url), parameters)
}
