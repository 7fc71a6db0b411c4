import { z } from 'zod'
import { frameIdIn } from '../library/ids.ts'
import { valuesCalled } from '../search/text/named-words.ts'

/** Values of arguments as models write them: one for a list, a list as text, an address for an id. */

export const MAX_VALUES = 50

/**
 * A list of values; an empty one filters nothing. Also takes what models write instead: a single value, a list as JSON
 * text, or a comma-separated list where values contain no commas. A value of a closed list may be written as words, or
 * in the plural. `attribute`: also as questions in words call it (`light` for bright, `left` for three zones).
 */
export function oneOrMany<T extends z.ZodType>(
  item: T,
  { commas = true, attribute }: { commas?: boolean; attribute?: string } = {},
) {
  const isClosed = item instanceof z.ZodEnum
  // A number or a flag is told what there is to choose from.
  const toText = (value: unknown) => (isClosed && /^(number|boolean)$/.test(typeof value) ? String(value) : value)
  const toList = commas ? splitCommas : wrapSingle
  const spelled = isClosed ? spelling(item.options as string[], attribute) : (value: unknown) => value
  return z
    .preprocess((value) => atMost(MAX_VALUES, toList(toText(value)), spelled), z.array(item))
    .refine((values) => values.length <= MAX_VALUES, `takes at most ${MAX_VALUES} values`)
    .transform((values) => (values.length > 0 ? values : undefined))
}

/** One to `max` values; a single one is a list too. Commas are part of a value: titles hold them. */
export function severalOf<T extends z.ZodType>(item: T, max: number) {
  return z.preprocess((value) => atMost(max, wrapSingle(value)), z.array(item).min(1).max(max))
}

/** Cuts a list to one above the limit, so that it is refused for its length before every item is validated. */
function atMost(max: number, value: unknown, read: (item: unknown) => unknown = (item) => item): unknown {
  return Array.isArray(value) ? value.slice(0, max + 1).flatMap(read) : value
}

/** `Text Card` and `text_card` as `text-card`. */
export function kebabCase(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/[\s_]+/g, '-')
}

function spelling(options: readonly string[], attribute: string | undefined) {
  return (value: unknown) => {
    if (typeof value !== 'string' || value.length > 40) return value
    const plain = kebabCase(value)
    const spelled = [plain, plain.replace(/s$/, '')].find((one) => options.includes(one))
    if (spelled !== undefined || attribute === undefined) return spelled ?? value
    const called = valuesCalled(attribute, value)
    return called.length > 0 ? called : value
  }
}

/** `"a, b"` and `'["a", "b"]'` as `["a", "b"]`; any other value unchanged. */
export function splitCommas(value: unknown): unknown {
  if (typeof value !== 'string') return value
  return (
    jsonList(value) ??
    value
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '')
  )
}

function wrapSingle(value: unknown): unknown {
  if (typeof value !== 'string') return value
  return jsonList(value) ?? [value].filter((text) => text !== '')
}

/** A list written as JSON text. */
export function jsonList(text: unknown): unknown[] | undefined {
  if (typeof text !== 'string' || !/^\s*\[/.test(text)) return undefined
  try {
    return JSON.parse(text) as unknown[]
  } catch {
    return undefined
  }
}

/** A whole number; a model may write it as text. */
const integer = ({ min, max }: { min: number; max: number }) =>
  z.preprocess(toNumber, z.number().int().min(min).max(max))

export const someNumber = (range: { min: number; max: number }) => integer(range).optional()

export function wholeNumber(fallback: number, range: { min: number; max: number }) {
  return integer(range).default(fallback).meta({ default: fallback })
}

export const limitArgument = (fallback: number, max: number) => wholeNumber(fallback, { min: 1, max })

/** Clients show a model the text, the data, or both; the text alone is shown by all of them. */
export const formatArgument = z.enum(['both', 'text']).default('both')

/** `"true"` as true. */
export function flagArgument() {
  const read = (value: unknown) => (value === 'true' || value === 'false' ? value === 'true' : value)
  return z.preprocess(read, z.boolean()).default(false).meta({ default: false })
}

function toNumber(value: unknown): unknown {
  return typeof value === 'string' && /^\d{1,9}(\.\d{1,9})?$/.test(value.trim()) ? Number(value) : value
}

/** A time within a video: seconds, or `1:05` and `65s`. */
export const seconds = z.preprocess(readSeconds, z.number().min(0))
/** The same without its bounds, which would only cost tokens. */
export const anySeconds = z.preprocess(readSeconds, z.number())

function readSeconds(value: unknown): unknown {
  if (typeof value !== 'string') return value
  const clock = /^\s*(?:(\d{1,3}):)?(\d{1,5}):(\d{1,2}(?:\.\d{1,3})?)\s*$/.exec(value)
  if (clock) return Number(clock[1] ?? 0) * 3600 + Number(clock[2]) * 60 + Number(clock[3])
  return toNumber(
    value
      .trim()
      .replace(/s(ec(onds?)?)?$/i, '')
      .trim(),
  )
}

/** Longer than any address of ours. */
const MAX_REFERENCE = 500
const ID = /^[\w-]{1,64}$/

/** The id of a frame. Rejects malformed ids early: Postgres cannot store every string (NUL). */
export const FrameId = z
  .string()
  .max(MAX_REFERENCE)
  .transform(frameIdIn)
  .refine((value) => ID.test(value), 'is not the id of a frame; use an id or image address from another tool')

const NO_FRAME = 'names no frame; pass one id or several, from search_frames or another tool'

/** Several, all or none: a single one and a list as text are lists too. */
export function frameIds(max: number) {
  return z.preprocess((value) => atMost(max, splitIds(value)), z.array(FrameId).min(1, NO_FRAME).max(max))
}

/** Ids and addresses hold neither commas nor spaces. */
function splitIds(value: unknown): unknown {
  const isPlain = typeof value === 'string' && !/^\s*\[/.test(value)
  return splitCommas(isPlain ? value.replace(/\s+/g, ',') : value)
}

export function isIdLike(text: string): boolean {
  return ID.test(text)
}
