import type { Db, Tx } from '../../db/client.ts'
import type { EventType, StoredEvent } from '../../events/catalogue.ts'
import { READS_ONLY } from '../../events/lag.ts'
import { FRAMES, rowsOf } from '../../search/postgres/tables.ts'
import { sql } from '../../sql/orm.ts'
import { loadFrameIdsOfTechnique } from './load.ts'

/** Without saves: their counts enter in batches (`refreshSaveCounts`). */
export const SEARCH_EVENTS = [
  'frame.corrected',
  'frames.extracted',
  'frames.annotated',
  'frames.embedded',
  'video.ready',
  'video.failed',
  'video.cancelled',
  'video.changed',
  'video.deleted',
  'technique.changed',
] as const satisfies readonly EventType[]

export const SAVE_EVENTS = READS_ONLY['search-save-counts']

/** The documents to project again. The order and repeats of the events do not matter. */
export interface Affected {
  /** Whole videos: frames may have come, changed or gone. */
  videos: Set<string>
  frames: Set<string>
  techniques: Set<string>
}

export function nothingAffected(): Affected {
  return { videos: new Set(), frames: new Set(), techniques: new Set() }
}

/** Reads the database only for the frames of renamed and merged techniques. */
export async function affectedBy(db: Db | Tx, events: readonly StoredEvent[]): Promise<Affected> {
  const affected = nothingAffected()
  for (const { type, data } of events) {
    if (type === 'frame.corrected' || type === 'frame.saved' || type === 'frame.unsaved')
      affected.frames.add(String(data.frame_id))
    else if (type === 'frames.annotated' || type === 'frames.embedded')
      for (const id of data.frame_ids as string[]) affected.frames.add(id)
    else if (type === 'technique.changed') await addTechniqueChange(db, affected, data)
    else if (type.startsWith('video.') || type === 'frames.extracted') affected.videos.add(String(data.video_id))
  }
  return affected
}

async function addTechniqueChange(db: Db | Tx, affected: Affected, data: StoredEvent['data']): Promise<void> {
  const slugs = [String(data.slug), ...(data.previous_slug === null ? [] : [String(data.previous_slug)])]
  for (const slug of slugs) affected.techniques.add(slug)
  if (data.change !== 'renamed' && data.change !== 'merged') return
  for (const slug of slugs) {
    for (const id of await loadFrameIdsOfTechnique(db, slug)) affected.frames.add(id)
    const held = await rowsOf<{ id: string }>(db, sql`select id from ${FRAMES} where technique = ${slug}`)
    for (const { id } of held) affected.frames.add(id)
  }
}

const VIDEOS_AT_ONCE = 20
const FRAMES_AT_ONCE = 2_000

/** Pieces of one transaction each, at least one: an open transaction holds up every reader of the event log. */
export function* piecesOf({ videos, frames, techniques }: Affected): Iterable<Affected> {
  const videoIds = [...videos]
  const frameIds = [...frames]
  const none = videoIds.length === 0 && frameIds.length === 0
  for (let from = 0; from < videoIds.length; from += VIDEOS_AT_ONCE)
    yield { ...nothingAffected(), videos: new Set(videoIds.slice(from, from + VIDEOS_AT_ONCE)) }
  for (let from = 0; from < frameIds.length; from += FRAMES_AT_ONCE)
    yield { ...nothingAffected(), frames: new Set(frameIds.slice(from, from + FRAMES_AT_ONCE)) }
  if (techniques.size > 0 || none) yield { ...nothingAffected(), techniques }
}
