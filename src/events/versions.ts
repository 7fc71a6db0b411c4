import type { z } from 'zod'
import { EARLIER, type EarlierVersion, EVENTS, type EventType, type SentType, TEST_EVENT } from './catalogue.ts'

type Earlier = Partial<Record<SentType, readonly EarlierVersion[]>>

/** The version in which events of a type are written now, from 1. */
export function currentVersion(type: SentType, earlier: Earlier = EARLIER): number {
  return (earlier[type]?.length ?? 0) + 1
}

/** What the current version of a type holds. */
export function schemaOf(type: SentType): z.ZodType {
  return { ...EVENTS, ...TEST_EVENT }[type]
}

/** Every version of a type, the first one first. */
export function versionsOf(type: SentType): { version: number; schema: z.ZodType }[] {
  const earlier: Earlier = EARLIER
  const schemas = [...(earlier[type] ?? []).map(({ schema }) => schema), schemaOf(type)]
  return schemas.map((schema, at) => ({ version: at + 1, schema }))
}

/**
 * An event's data as the current version has it. What a newer release wrote stays as it is: this one knows neither the
 * type nor the version.
 */
export function upcast(
  type: EventType,
  { version, data }: { version: number; data: Record<string, unknown> },
  earlier: Earlier = EARLIER,
): { version: number; data: Record<string, unknown> } {
  const steps = earlier[type]?.slice(version - 1) ?? []
  if (steps.length === 0) return { version, data }
  return { version: version + steps.length, data: steps.reduce((given, { toNext }) => toNext(given), data) }
}
