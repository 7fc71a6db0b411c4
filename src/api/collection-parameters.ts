import { z } from 'zod'
import { EVENT_TYPES } from '../events/catalogue.ts'
import type { Parameter, Parameters } from '../parameters.ts'

/** The parameters of the account and operator lists: one table for reading them and for OpenAPI. */

export const MAX_LIST_LIMIT = 500
export const EVENTS_LIMIT = { default: 100, max: 1_000 } as const

const capped = (max: number) =>
  z
    .string()
    .regex(/^[1-9][0-9]{0,8}$/, 'must be a whole number from 1')
    .transform((value) => Math.min(Number(value), max))

export const pageParameters = {
  limit: {
    schema: capped(MAX_LIST_LIMIT),
    description: `Rows per page, at most ${MAX_LIST_LIMIT} (more is capped). Without it everything is answered.`,
    example: '50',
  },
  after: { schema: z.string().max(100), description: 'The cursor of the `Link: rel="next"` of the page before.' },
} as const satisfies Parameters

export const exportParameters = {
  format: { schema: z.enum(['json', 'csv']), description: 'json (default) or csv.' } satisfies Parameter,
} as const satisfies Parameters

export const eventParameters = {
  after: {
    schema: z.string().max(60),
    description: 'The `next` of the page before: strictly later events. Without it the log is read from its beginning.',
  },
  types: {
    schema: z.enum(EVENT_TYPES),
    many: true,
    commas: true,
    description: 'Only events of these types.',
    example: 'frame.saved,frame.unsaved',
  },
  limit: {
    schema: capped(EVENTS_LIMIT.max),
    description: `Events per page; default ${EVENTS_LIMIT.default}, at most ${EVENTS_LIMIT.max} (more is capped).`,
  },
} as const satisfies Parameters
