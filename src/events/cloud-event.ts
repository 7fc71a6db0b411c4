import { z } from 'zod'
import type { Cursor, SentType, StoredEvent } from './catalogue.ts'

/** CloudEvents 1.0, structured mode: the form that HTTP, exports and the command line show. */
export const CloudEvent = z.strictObject({
  specversion: z.literal('1.0'),
  id: z.string().describe('Unique. Drop a repeated event by it.'),
  source: z.string().describe('The address of the library.'),
  type: z.string().describe('What happened.'),
  subject: z.string().describe('The id of the frame, video, board, key or account that it is about.'),
  time: z.iso.datetime().describe('When it was written, UTC. The order of the log is that of `sequence`.'),
  datacontenttype: z.literal('application/json'),
  dataschema: z.string().describe('The address of the JSON schema of `data`.'),
  sequence: z
    .string()
    .regex(/^[0-9]{20}\.[0-9]{16}$/)
    .describe('The position in the log. It sorts as text, and `after` takes it.'),
  version: z.int().min(1).describe('The version of `data` for this type.'),
  account_id: z.string().nullable().describe('The random id of the account that acted; null for the service.'),
  data: z.record(z.string(), z.unknown()).describe('The facts of the event.'),
})

export type CloudEvent = z.infer<typeof CloudEvent>

export function toCloudEvent(event: StoredEvent<SentType>, source: string): CloudEvent {
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
    data: event.data,
  }
}

export function schemaPath(type: string, version: number): string {
  return `/schemas/events/${type}/${version}`
}

/** A cursor of fixed width, so that its order is that of its text, as the CloudEvents extension `sequence` asks. */
function toSequence({ xid, seq }: Cursor): string {
  return `${xid.padStart(20, '0')}.${String(seq).padStart(16, '0')}`
}
