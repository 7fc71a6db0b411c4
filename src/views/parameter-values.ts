import { z } from 'zod'
import { cleanText } from '../clean-text.ts'
import { notFound } from '../errors.ts'

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

export const colorSchema = z
  .string()
  .regex(
    /^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/,
    'must be a hex colour such as 1a73e8; the name of a colour belongs in q',
  )
  .transform((value) => {
    const hex = value.replace('#', '').toLowerCase()
    return `#${hex.length === 3 ? [...hex].map((digit) => digit + digit).join('') : hex}`
  })

const PUBLIC_ID = /^[a-z0-9-]{1,64}$/i

/**
 * Rejects an id in a path that cannot be ours, because the search cannot look up every text.
 * @throws AppError not_found
 */
export function requirePublicId(what: 'video' | 'frame', id: string): void {
  if (!PUBLIC_ID.test(id)) throw notFound(what)
}
