import { z } from 'zod'

/** The answer of a write that returns no data. */
export const Ok = z.strictObject({ ok: z.literal(true) }).meta({ id: 'Ok' })
export const OK = { ok: true } as const
