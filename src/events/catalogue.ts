import { z } from 'zod'
import { ASKERS } from '../vocabulary.ts'

/*
 * Every event there is. Each holds enough to be counted without a second look-up. `subject` is the id of the thing it
 * is about. A field may be added, as optional; none is changed or dropped. Stored events are never edited. Descriptions
 * and examples are those of the JSON schemas.
 */
const field = <T extends z.ZodType>(schema: T, description: string, ...examples: z.output<T>[]) =>
  schema.meta({ description, examples })

const frameId = 'k3v9x0aq7m2d-1a4c'
const frameFacts = {
  frame_id: field(z.string(), 'The frame.', frameId),
  video_id: field(z.string(), 'Its video.', 'k3v9x0aq7m2d'),
  author: field(z.string().nullable(), 'The author of the video, when it happened.', 'Northwind Labs'),
  technique: field(z.string().nullable(), 'The technique of the frame, when it happened.', 'cursor-zoom'),
  subject: field(z.string().nullable(), 'The subject of the frame, when it happened.', 'terminal'),
}
const videoFacts = {
  video_id: field(z.string(), 'The video.', 'k3v9x0aq7m2d'),
  title: field(z.string(), 'Its title, when it happened.', 'Northwind 2 in ninety seconds'),
  author: field(z.string().nullable(), 'Its author, when it happened.', 'Northwind Labs'),
  platform: field(z.string(), 'Where it was published.', 'youtube'),
}
const stage = z.strictObject({
  stage: z.enum(['fetching', 'extracting', 'annotating']),
  seconds: z.number().min(0),
})
const stages = field(z.array(stage), 'How long each stage of the run took.', [{ stage: 'extracting', seconds: 12.4 }])
const boardId = field(z.string(), 'The board.', 'b7Qm2Xc9Kd')
const boardFacts = { board_id: boardId, name: field(z.string(), 'Its name, when it happened.', 'Openings') }
const pinFacts = { board_id: boardId, ...frameFacts }

const count = (description: string, example = 42) => field(z.number().int(), description, example)
const revision = count('The revision of the video. Every retry raises it.', 1)

const CAUSES = ['owner', 'frame_deleted', 'video_deleted', 'board_deleted', 'account_deleted'] as const
const cause = field(
  z.enum(CAUSES),
  '`owner`: the account did it. Otherwise what was deleted and took this along.',
  'owner',
)

const event = <T extends z.ZodRawShape>(description: string, shape: T) => z.strictObject(shape).describe(description)

export const EVENTS = {
  'frame.saved': event('An account saved a frame.', frameFacts),
  'frame.unsaved': event('An account removed a save.', { ...frameFacts, cause }),
  'frame.corrected': event('An operator set or unlocked values of a frame.', {
    ...frameFacts,
    changes: field(z.record(z.string(), z.string().nullable()), 'The values that were set.', { subject: 'ui' }),
    unlocked: field(z.array(z.string()), 'Attributes that are free for the annotator again.', ['shot']),
  }),
  'board.created': event('An account created a board.', boardFacts),
  'board.renamed': event('A board was renamed.', {
    ...boardFacts,
    previous_name: field(z.string(), 'Its name before.', 'Intros'),
  }),
  'board.described': event('The description of a board changed. Events never hold the description itself.', {
    ...boardFacts,
    has_description: field(z.boolean(), 'Whether it has a description now.', true),
  }),
  'board.deleted': event('A board was deleted. An event for each of its pins comes before.', {
    ...boardFacts,
    item_count: count('How many frames were pinned to it.'),
    cause,
  }),
  'board.frame_pinned': event('A frame was pinned to a board.', pinFacts),
  'board.frame_unpinned': event('A frame was unpinned from a board.', { ...pinFacts, cause }),
  'board.frame_moved': event('A pinned frame was moved on its board.', {
    ...pinFacts,
    position: count('Its position, from 0.', 0),
    previous_position: count('Its position before.', 3),
  }),
  'board.frame_noted': event('The note of a pinned frame changed. Events never hold the note itself.', {
    ...pinFacts,
    has_note: field(z.boolean(), 'Whether it has a note now.', true),
  }),
  'board.cover_chosen': event('The cover of a board changed.', {
    ...boardFacts,
    frame_id: field(z.string().nullable(), 'The frame; null when the first frame is the cover again.', frameId),
  }),
  'board.shared': event('A public link to a board was created. An earlier link stops working.', boardFacts),
  'board.unshared': event('The public link to a board was revoked.', {
    ...boardFacts,
    ended_by: field(z.enum(['owner', 'operator', 'account_deleted']), 'Who or what ended it.', 'owner'),
  }),
  'video.submitted': event('A video was queued.', {
    ...videoFacts,
    revision,
    reason: field(z.enum(['added', 'retried']), 'Whether it is new or a retry.', 'added'),
  }),
  'video.ready': event('All frames of a video are described.', {
    ...videoFacts,
    frame_count: count('How many frames it has.'),
    stages,
  }),
  'video.failed': event('Processing of a video failed.', {
    ...videoFacts,
    code: field(z.string(), 'The failure code. docs/ingestion.md lists them.', 'not_a_video'),
    stages,
  }),
  'video.cancelled': event('An operator cancelled a video.', videoFacts),
  'video.changed': event('An operator changed the title, brand, platform or date of a video.', {
    ...videoFacts,
    published_at: field(z.string().nullable(), 'When it was published.', '2026-11-20T00:00:00.000Z'),
    previous: field(z.record(z.string(), z.string().nullable()), 'What changed, as it was before.', {
      author: 'Northwind labs',
    }),
  }),
  'video.deleted': event('A video was deleted with its frames, saves and pins.', {
    ...videoFacts,
    frame_count: count('How many frames it had.'),
    upload_key: field(z.string().nullable(), 'Where its upload was stored.', null),
  }),
  'frames.extracted': event('The frames of a video were chosen and stored.', {
    ...videoFacts,
    revision,
    frame_count: count('How many frames it has.'),
    removed_frame_ids: field(z.array(z.string()), 'Frames of an earlier revision that are gone.', []),
  }),
  'frames.annotated': event('Some frames of a video were described.', {
    ...videoFacts,
    frame_ids: field(z.array(z.string()), 'Ids of these frames.', [frameId]),
    annotator: field(z.string(), 'The annotator and its version.', 'measured@6'),
  }),
  'frames.embedded': event('What some frames mean was made comparable.', {
    space: field(z.string(), 'The text model, and how long its vectors are.', 'use-lite-en@512'),
    frame_ids: field(z.array(z.string()), 'Ids of these frames.', [frameId]),
  }),
  'frames.reannotation_requested': event('New descriptions were requested for frames of a video.', {
    ...videoFacts,
    frame_count: count('How many frames.'),
  }),
  'model.called': event('A paid model was called.', {
    video_id: field(z.string(), 'The video, or `check`, or `texts` for the text model.', 'k3v9x0aq7m2d'),
    model: field(z.string(), 'The model.', 'vision-large'),
    outcome: field(z.string(), 'How it ended.', 'answered'),
    frames: count('How many frames it was asked about.', 4),
    input_tokens: field(z.number().nullable(), 'As the reply counts them.', 5_210),
    output_tokens: field(z.number().nullable(), 'As the reply counts them.', 640),
    cost_usd: field(z.number().nullable(), 'Null where the reply had no token counts or no price is set.', 0.0123),
    duration_ms: count('How long it took.', 2_350),
  }),
  'searches.counted': event('Searches in words, collected by one process. It does not say who searched.', {
    askers: field(
      z.array(
        z.strictObject({
          asker: z.enum(ASKERS),
          searches: z.number().int(),
          unanswered: z.number().int(),
          weak: z.number().int(),
        }),
      ),
      'How many searches people, programs and agents made, how many found nothing, and of how many the best frame ' +
        'lacked a word. The last two only without filters.',
      [{ asker: 'agents', searches: 12, unanswered: 1, weak: 2 }],
    ),
    terms: field(
      z.array(
        z.strictObject({
          kind: z.enum(['unanswered', 'weak']),
          term: z.string().nullable(),
          count: z.number().int(),
        }),
      ),
      'What was searched for where nothing was found or the best frame lacked a word, and how often. Null where the ' +
        'words are not kept.',
      [{ kind: 'weak', term: 'red car', count: 2 }],
    ),
  }),
  'technique.changed': event('The vocabulary of techniques changed.', {
    slug: field(z.string(), 'The technique.', 'cursor-zoom'),
    change: field(z.enum(['added', 'edited', 'renamed', 'merged', 'retired', 'restored']), 'How.', 'renamed'),
    previous_slug: field(
      z.string().nullable(),
      'The old slug, which now redirects to it; after a rename or merge.',
      'zoom-to-cursor',
    ),
  }),
  'key.created': event('An API key was created.', {
    key_id: field(z.string(), 'The id of the key, not the key itself.', 'Zk81dLq0Pa'),
    scopes: field(z.array(z.string()), 'What it may do.', ['saves:read', 'saves:write']),
  }),
  'key.revoked': event('An API key was revoked, or replaced by rotation.', {
    key_id: field(z.string(), 'The id of the key, not the key itself.', 'Zk81dLq0Pa'),
    effective_at: z.string().optional().describe('A rotated key is valid until then. Absent: it ended with the event.'),
    replaced_by: z.string().optional().describe('The id of the key that replaces it.'),
  }),
  'grant.created': event('An account let an app act for it.', {
    grant_id: field(z.string(), 'The grant, not a token.', 'Gm4tQz81vB'),
    client: field(z.string(), 'The app, as it names itself.', 'Claude'),
    host: field(z.string(), 'Where the app receives its codes.', 'claude.ai'),
    scopes: field(z.array(z.string()), 'What it may do.', ['saves:read', 'saves:write']),
  }),
  'grant.revoked': event('The grant of an app ended, and its tokens with it.', {
    grant_id: field(z.string(), 'The grant.', 'Gm4tQz81vB'),
    client: field(z.string(), 'The app, as it names itself.', 'Claude'),
    by: field(
      z.enum(['owner', 'server']),
      '`server`: the app asked for it, a code or refresh token was used twice, no token is left, or its account ended.',
      'owner',
    ),
  }),
  'account.created': event('An account was created.', {
    role: field(z.string(), 'member or operator.', 'member'),
    plan: field(z.string(), 'free or pro.', 'free'),
  }),
  'account.plan_changed': event('The plan of an account changed.', {
    plan: field(z.string(), 'free or pro.', 'pro'),
    previous_plan: field(z.string(), 'The plan before.', 'free'),
  }),
  'account.disabled': event('An account was disabled. Its keys and its sign-in are refused.', {}),
  'account.enabled': event('A disabled account was enabled again.', {}),
  'account.deleted': event('An account was deleted. Nothing ties its random id to a person any more.', {}),
} as const

/** What a receiver is sent to try it. It is in no log, and no list of types names it. */
export const TEST_EVENT = {
  'webhook.test': event('A test of a receiver. It is in no log.', {
    endpoint_id: field(z.string(), 'The receiver.', 'Zk81dLq0PaWc'),
  }),
} as const

/** The version of the data of every event. */
export const DATA_VERSION = 1

export type EventType = keyof typeof EVENTS
/** Of whatever may reach a receiver. */
export type SentType = EventType | keyof typeof TEST_EVENT
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

/** Whether `a` comes after `b` in the log. */
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

export interface StoredEvent<Type extends SentType = EventType> {
  id: string
  type: Type
  version: number
  subject: string
  accountId: string | null
  data: Record<string, unknown>
  time: Date
  cursor: Cursor
}
