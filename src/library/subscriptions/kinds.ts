import { invalid } from '../../errors.ts'
import {
  type Cursor,
  EVENT_TYPES,
  type EventType,
  formatCursor,
  parseCursor,
  type StoredEvent,
} from '../../events/catalogue.ts'
import { canonicalKey } from '../../parameters.ts'
import { refusalOf } from '../accounts/key-checks.ts'
import type { Caller, Scope } from '../accounts/keys.ts'
import { sha256 } from '../ids.ts'

/*
 * What an app may be told of: names that stay, over events of the log that may change.
 */

interface Kind {
  types: readonly EventType[]
  /** The right that it needs. Null: anybody may read it. */
  scope: Scope | null
}

export const KINDS = {
  'search.matched': { types: ['video.ready'], scope: null },
  'video.ready': { types: ['video.ready'], scope: null },
  'video.failed': { types: ['video.failed'], scope: 'videos:write' },
  'board.changed': {
    types: EVENT_TYPES.filter((type) => type.startsWith('board.') && type !== 'board.created'),
    scope: 'boards:read',
  },
} as const satisfies Record<string, Kind>
export type KindName = keyof typeof KINDS
export const KIND_NAMES = Object.keys(KINDS) as KindName[]
const typesOf = (name: KindName): readonly EventType[] => KINDS[name].types

export function mayHear(caller: Caller, name: KindName): boolean {
  const { scope } = KINDS[name]
  return scope === null || refusalOf(caller, scope) === undefined
}

/** The types of the log that any kind reads. */
export const WATCHED: readonly EventType[] = [...new Set(KIND_NAMES.flatMap(typesOf))]

/** What is asked for: a kind with its filters, by an account. Of `search.matched` also words: `query`. */
export interface Asked {
  name: KindName
  arguments: Readonly<Record<string, unknown>>
  accountId: string | null
}

/** Frames of one video that a question finds. */
interface VideoMatches {
  frames: number
  /** The best, at most five. */
  frameIds: string[]
}

/** Asks the question of `search.matched` of one video's frames. */
export type MatchVideo = (asked: Asked['arguments'], videoId: string) => Promise<VideoMatches>

/** What an app is sent: the occurrence of the protocol's Events extension. */
export interface Occurrence {
  eventId: string
  name: KindName
  timestamp: string
  data: Record<string, unknown>
  cursor: string
}

/** A position of the log as its cursors tell it. @throws AppError invalid_request */
export function positionOf(cursor: string): Cursor {
  const position = parseCursor(cursor)
  if (!position) throw invalid('cursor', 'cursor: must be the cursor of an earlier result, or null.')
  return position
}

/** Whether an event may belong to what is asked for; of `search.matched` the search decides. */
export function concerns({ name, arguments: given, accountId }: Asked, event: StoredEvent): boolean {
  if (!typesOf(name).includes(event.type)) return false
  const { data } = event
  if (name === 'board.changed')
    return event.accountId === accountId && (given.board_id === undefined || given.board_id === data.board_id)
  if (name === 'search.matched') return true
  const authors = given.author as string[] | undefined
  return (
    (given.video_id === undefined || given.video_id === data.video_id) &&
    (authors === undefined || authors.includes(String(data.author)))
  )
}

/** Null where the search finds nothing in the video. */
export async function toOccurrence(
  asked: Asked,
  event: StoredEvent,
  { match, publicUrl }: { match: MatchVideo; publicUrl: string },
): Promise<Occurrence | null> {
  const { data } = event
  const occurrence = (told: Record<string, unknown>): Occurrence => ({
    // Hosts drop a second delivery of one id, so two questions that one video answers have two.
    eventId: `${event.id}-${sha256(`${asked.name} ${canonicalKey(asked.arguments)}`).slice(0, 8)}`,
    name: asked.name,
    timestamp: event.time.toISOString(),
    data: told,
    cursor: formatCursor(event.cursor),
  })
  if (asked.name === 'board.changed') {
    const { board_id, frame_id } = data
    return occurrence({
      board_id,
      change: event.type.slice('board.'.length),
      ...(frame_id ? { frame_id } : {}),
      // Nobody else changes a board, but an operator may end its link.
      actor: { self: data.ended_by !== 'operator' },
      url: `${publicUrl}/boards/${board_id}`,
    })
  }
  const { video_id, title, author } = data
  const video = { video_id, title, author, url: `${publicUrl}/videos/${video_id}` }
  if (asked.name === 'video.failed') return occurrence({ ...video, code: data.code })
  if (asked.name === 'video.ready') return occurrence({ ...video, frame_count: data.frame_count })
  const { frames, frameIds } = await match(asked.arguments, String(video_id))
  if (frames === 0) return null
  // The video's author, not the list of those that were asked for.
  return occurrence({ ...asked.arguments, ...video, frames, frame_ids: frameIds })
}
