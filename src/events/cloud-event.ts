import { z } from 'zod'
import { type JsonText, jsonText, withMembers } from '../json-text.ts'
import { type Cursor, EVENTS, type EventType, type StoredEvent } from './catalogue.ts'
import { currentVersion } from './versions.ts'

/** CloudEvents 1.0, structured mode: the form that HTTP, exports and the command line show. */
export const CloudEvent = z.strictObject({
  specversion: z.literal('1.0'),
  id: z.string().describe('Unique. Whoever may receive an event twice drops the second by it.'),
  source: z.string().describe('The address of the library.'),
  type: z.string().describe('What happened.'),
  subject: z.string().describe('The id of the thing that it is about.'),
  time: z.iso.datetime().describe('When it was written, UTC. The order of the log is that of `sequence`.'),
  datacontenttype: z.literal('application/json'),
  dataschema: z.string().describe('The address of the JSON schema of `data`.'),
  sequence: z
    .string()
    .regex(/^[0-9]{20}\.[0-9]{16}$/)
    .describe('The position in the log. It sorts as text, and `after` takes it.'),
  version: z.int().min(1).describe('The version of `data` for this type.'),
  account_id: z.string().nullable().describe('The random id of the account that acted; null for the service.'),
  data: z.record(z.string(), z.unknown()).describe('Enough to count it without a second look-up.'),
})

export type CloudEvent = z.infer<typeof CloudEvent>

export function toCloudEvent(event: StoredEvent, source: string): CloudEvent {
  return { ...attributesOf(event, source), data: event.data }
}

/** The same as JSON text, for an event whose data is JSON text already. */
export function toCloudEventText(event: StoredEvent<JsonText>, source: string): JsonText {
  return withMembers(jsonText(attributesOf(event, source)), { data: event.data })
}

function attributesOf(event: StoredEvent<unknown>, source: string): Omit<CloudEvent, 'data'> {
  return {
    specversion: '1.0',
    id: event.id,
    source,
    type: event.type,
    subject: event.subject,
    time: event.time.toISOString(),
    datacontenttype: 'application/json',
    dataschema: `${source}${schemaPath(event.type, event.version)}`,
    sequence: toSequence(event.cursor),
    version: event.version,
    account_id: event.accountId,
  }
}

/** Where the schema of an event's data is served. */
export function schemaPath(type: string, version: number): string {
  return `/schemas/events/${type}/${version}`
}

/** A cursor of fixed width, so that its order is that of its text, as the CloudEvents extension `sequence` asks. */
function toSequence({ xid, seq }: Cursor): string {
  return `${xid.padStart(20, '0')}.${String(seq).padStart(16, '0')}`
}

/** An event as it might be, made of the examples of its fields. */
export function exampleOf(type: EventType, source = 'https://frames.example'): CloudEvent {
  const { properties = {} } = z.toJSONSchema(EVENTS[type]) as { properties?: Record<string, { examples?: unknown[] }> }
  const data = Object.fromEntries(
    Object.entries(properties).flatMap(([name, { examples }]) => (examples ? [[name, examples[0]]] : [])),
  )
  const event: StoredEvent = {
    id: '01979c3e-5d6f-4c1a-9d0e-3f6f6f0c8a11',
    type,
    version: currentVersion(type),
    subject: String(data.frame_id ?? data.board_id ?? data.video_id ?? data.key_id ?? data.slug ?? 'a1b2c3d4'),
    accountId: /^(video|frames)\./.test(type) ? null : 'a1b2c3d4',
    data,
    time: new Date('2026-11-20T12:00:00Z'),
    cursor: { xid: '73521', seq: 1042 },
  }
  return toCloudEvent(event, source)
}
