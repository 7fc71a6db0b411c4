import cssColors from 'color-name'
import { z } from 'zod'
import { cleanText } from '../clean-text.ts'
import { notFound } from '../errors.ts'
import { COLOR_NAMES } from '../search/attribute-words.ts'
import { colorNames, isColorName } from '../search/color.ts'
import { valuesCalled } from '../search/text/named-words.ts'

/** Schemas of single parameter values. */

export const freeText = (max: number) =>
  z
    .string()
    .max(max, `must be at most ${max} characters`)
    .transform((value) => cleanText(value))

export const wholeNumber = (message: string, digits = 15) =>
  z
    .string()
    .regex(new RegExp(`^[0-9]{1,${digits}}$`), message)
    .transform(Number)
    .refine((value) => value >= 1, message)
    .meta({ type: 'integer', minimum: 1 })

/** A number above `max` counts as `max`. */
export const limitUpTo = (max: number) =>
  wholeNumber(`must be a whole number from 1 (values above ${max} are capped)`, 300).transform((value) =>
    Math.min(value, max),
  )

/** On or off. OpenAPI calls it a boolean, and generated clients send `true`; people write `1`. */
export const flag = z
  .enum(['0', '1', 'false', 'true'])
  .transform((value) => value === '1' || value === 'true')
  .meta({ type: 'boolean' })

export const plainName = (max: number) =>
  z
    .string()
    .max(max, `must be at most ${max} characters`)
    .refine((value) => !/\p{Cc}/u.test(value), 'must not hold control characters')

/** Short: it stands in the schema of tools. */
export const COLOR_PATTERN = String.raw`^(#?([\da-fA-F]{3}){1,2}|${COLOR_NAMES.join('|')})$`
const COLOR = new RegExp(COLOR_PATTERN)

/** Hex, or a name: also as questions in words call it, navy is blue, and by the names of CSS: chartreuse is green. */
export const colorSchema = z
  .string()
  .transform((value) => valuesCalled('color', value.slice(0, 40))[0] ?? calledInCss(value.slice(0, 40)) ?? value)
  .refine((value) => COLOR.test(value), `must be a hex colour such as 1a73e8, or one of ${COLOR_NAMES.join(', ')}`)
  .transform((value) => {
    if (isColorName(value)) return value
    const hex = value.replace('#', '').toLowerCase()
    return `#${hex.length === 3 ? [...hex].map((digit) => digit + digit).join('') : hex}`
  })
  .meta({ pattern: COLOR_PATTERN })

function calledInCss(value: string): string | undefined {
  const name = value.toLowerCase().replace(/[^a-z]+/g, '')
  if (!Object.hasOwn(cssColors, name)) return undefined
  const [red, green, blue] = cssColors[name as keyof typeof cssColors]
  const hex = `#${((red << 16) | (green << 8) | blue).toString(16).padStart(6, '0')}`
  return colorNames([hex], [1])[0]
}

const PUBLIC_ID = /^[a-z0-9-]{1,64}$/i

/**
 * Rejects an id in a path that cannot be ours, because the search cannot look up every text.
 * @throws AppError not_found
 */
export function requirePublicId(what: 'video' | 'frame', id: string): void {
  if (!PUBLIC_ID.test(id)) throw notFound(what)
}
