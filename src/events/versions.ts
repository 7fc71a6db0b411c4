import type { z } from 'zod'
import { EARLIER, type EarlierVersion, EVENTS, type EventType } from './catalogue.ts'

type Earlier = Partial<Record<EventType, readonly EarlierVersion[]>>

/** The version in which events of a type are written now, from 1. */
export function currentVersion(type: EventType, earlier: Earlier = EARLIER): number {
  return (earlier[type]?.length ?? 0) + 1
}

/** Every version of a type, the first one first. */
export function versionsOf(type: EventType): { version: number; schema: z.ZodType }[] {
  const schemas = [...(EARLIER[type] ?? []).map(({ schema }) => schema), EVENTS[type]]
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
