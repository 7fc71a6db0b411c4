import { z } from 'zod'

/*
 * Every event there is. Each holds enough to be counted without a second look-up. `subject` is the id of the thing it
 * is about. Fields may be added but never changed or dropped. A change of meaning is a new version.
 */
const frameFacts = {
  frame_id: z.string(),
  video_id: z.string(),
  author: z.string().nullable(),
  technique: z.string().nullable(),
  subject: z.string().nullable(),
}
const videoFacts = { video_id: z.string(), title: z.string(), author: z.string().nullable(), platform: z.string() }
/** How long each stage of the run took. Absent in events of early versions. */
const stages = z
  .array(z.strictObject({ stage: z.enum(['fetching', 'extracting', 'annotating']), seconds: z.number().min(0) }))
  .optional()
const boardFacts = { board_id: z.string(), name: z.string() }

/** Why something was undone: by its owner, or because something it belonged to was deleted. */
const cause = z.enum(['owner', 'frame_deleted', 'video_deleted', 'board_deleted', 'account_deleted'])

export const EVENTS = {
  'frame.saved': z.strictObject(frameFacts),
  'frame.unsaved': z.strictObject({ ...frameFacts, cause }),
  'frame.corrected': z.strictObject({
    ...frameFacts,
    changes: z.record(z.string(), z.string().nullable()),
    unlocked: z.array(z.string()),
  }),
  'board.created': z.strictObject(boardFacts),
  'board.renamed': z.strictObject({ ...boardFacts, previous_name: z.string() }),
  'board.deleted': z.strictObject({ ...boardFacts, item_count: z.number().int(), cause: cause.optional() }),
  'board.frame_pinned': z.strictObject({ board_id: z.string(), ...frameFacts }),
  'board.frame_unpinned': z.strictObject({ board_id: z.string(), ...frameFacts, cause }),
  'board.frame_moved': z.strictObject({
    board_id: z.string(),
    ...frameFacts,
    position: z.number().int(),
    previous_position: z.number().int(),
  }),
  /** Without the note itself: events are kept for ever. */
  'board.frame_noted': z.strictObject({ board_id: z.string(), ...frameFacts, has_note: z.boolean() }),
  /** Null: the first frame stands for the board. */
  'board.cover_chosen': z.strictObject({ ...boardFacts, frame_id: z.string().nullable() }),
  'board.shared': z.strictObject(boardFacts),
  'board.unshared': z.strictObject(boardFacts),
  'video.submitted': z.strictObject({
    ...videoFacts,
    revision: z.number().int(),
    reason: z.enum(['added', 'retried']),
  }),
  'video.ready': z.strictObject({ ...videoFacts, frame_count: z.number().int(), stages }),
  'video.failed': z.strictObject({ ...videoFacts, code: z.string(), stages }),
  'video.cancelled': z.strictObject(videoFacts),
  'video.deleted': z.strictObject({ ...videoFacts, frame_count: z.number().int(), upload_key: z.string().nullable() }),
  'frames.extracted': z.strictObject({
    ...videoFacts,
    revision: z.number().int(),
    frame_count: z.number().int(),
    removed_frame_ids: z.array(z.string()),
  }),
  'frames.annotated': z.strictObject({ ...videoFacts, frame_ids: z.array(z.string()), annotator: z.string() }),
  'frames.reannotation_requested': z.strictObject({ ...videoFacts, frame_count: z.number().int() }),
  /** One call to a paid endpoint. `cost_usd` is null where the reply had no token counts or no price is set. */
  'model.called': z.strictObject({
    video_id: z.string(),
    model: z.string(),
    outcome: z.string(),
    frames: z.number().int(),
    input_tokens: z.number().nullable(),
    output_tokens: z.number().nullable(),
    cost_usd: z.number().nullable(),
    duration_ms: z.number().int(),
  }),
  /** Searches of one process that found nothing, in batches and without who asked (docs/decisions). */
  'searches.unanswered': z.strictObject({
    terms: z.array(z.strictObject({ term: z.string(), count: z.number().int() })),
    /** Searches whose words are not kept. */
    withheld: z.number().int(),
  }),
  'technique.changed': z.strictObject({
    slug: z.string(),
    change: z.enum(['added', 'edited', 'renamed', 'merged', 'retired', 'restored']),
    previous_slug: z.string().nullable(),
  }),
  'key.created': z.strictObject({ key_id: z.string(), scopes: z.array(z.string()) }),
  /** A rotated key stays valid until `effective_at`. */
  'key.revoked': z.strictObject({
    key_id: z.string(),
    effective_at: z.string().optional(),
    replaced_by: z.string().optional(),
  }),
  'account.created': z.strictObject({ role: z.string(), plan: z.string() }),
  'account.plan_changed': z.strictObject({ plan: z.string(), previous_plan: z.string() }),
  'account.disabled': z.strictObject({}),
  'account.enabled': z.strictObject({}),
  'account.deleted': z.strictObject({}),
} as const

export type EventType = keyof typeof EVENTS
export type EventData<T extends EventType> = z.infer<(typeof EVENTS)[T]>

export const EVENT_TYPES = Object.keys(EVENTS) as EventType[]

export interface NewEvent<T extends EventType = EventType> {
  type: T
  subject: string
  /** The random id of the acting account; null for acts of the service. */
  accountId: string | null
  data: EventData<T>
}

/** A position in the log, after every event it covers. Text form `<xid>.<seq>`. */
export interface Cursor {
  xid: string
  seq: number
}

export const START: Cursor = { xid: '0', seq: 0 }

export function formatCursor({ xid, seq }: Cursor): string {
  return `${xid}.${seq}`
}

/** Whether `a` stands behind `b` in the log. */
export function isLater(a: Cursor, b: Cursor): boolean {
  return a.xid === b.xid ? a.seq > b.seq : BigInt(a.xid) > BigInt(b.xid)
}

/** Undefined when the text is not a cursor of this service. */
export function parseCursor(text: string): Cursor | undefined {
  const match = /^(\d{1,20})\.(\d{1,16})$/.exec(text)
  if (!match) return undefined
  const xid = BigInt(match[1]!)
  const seq = Number(match[2])
  return xid < 2n ** 64n && Number.isSafeInteger(seq) ? { xid: xid.toString(), seq } : undefined
}

export interface StoredEvent {
  id: string
  type: EventType
  version: number
  subject: string
  accountId: string | null
  data: Record<string, unknown>
  time: Date
  cursor: Cursor
}

/** CloudEvents 1.0, structured mode: the form that HTTP and the command line show. */
export function toCloudEvent(event: StoredEvent, source: string): Record<string, unknown> {
  return {
    specversion: '1.0',
    id: event.id,
    source,
    type: event.type,
    subject: event.subject,
    time: event.time.toISOString(),
    datacontenttype: 'application/json',
    version: event.version,
    account_id: event.accountId,
    data: event.data,
  }
}
