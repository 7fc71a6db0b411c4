import type { Db } from '../../db/client.ts'
import { formatCursor } from '../../events/catalogue.ts'
import { checkpointOf } from '../../events/consume.ts'
import { findBreak, findEnd, readEvents } from '../../events/read.ts'
import { type Asked, concerns, KINDS, type MatchVideo, type Occurrence, positionOf, toOccurrence } from './kinds.ts'

/** Events of the log that one poll reads at most. A question is asked of each. */
const MOST_READ = 500
const MOST_ASKED = 20

export interface Polled {
  events: Occurrence[]
  cursor: string
  /** Some were skipped: the cursor is not of this log, or they are too old. */
  truncated: boolean
  hasMore: boolean
}

/** What happened after a position of the log, oldest first; without one nothing, and the position to begin at. */
export async function pollEvents(
  db: Db,
  asked: Asked,
  {
    after,
    maxAgeMs,
    limit,
    now,
  }: { after: string | undefined; maxAgeMs: number | undefined; limit: number; now: Date },
  deps: { match: MatchVideo; publicUrl: string; charge(questions: number): Promise<void> },
): Promise<Polled> {
  const searches = asked.name === 'search.matched'
  if (!after) return { events: [], cursor: formatCursor(await findEnd(db)), truncated: false, hasMore: false }
  const position = positionOf(after)
  const common = await findBreak(db, position)
  const most = searches ? MOST_ASKED : MOST_READ
  const { events, next } = await readEvents(db, {
    after: common ?? position,
    types: KINDS[asked.name].types,
    limit: most,
    // The read model does not have later videos yet.
    ...(searches ? { upTo: await checkpointOf(db, 'search') } : {}),
  })
  const concerning = events.filter((event) => concerns(asked, event))
  if (searches) await deps.charge(concerning.length)
  const oldest = maxAgeMs === undefined ? 0 : now.getTime() - maxAgeMs
  const recent = concerning.filter(({ time }) => time.getTime() >= oldest)
  const truncated = common !== undefined || recent.length < concerning.length
  const told: Occurrence[] = []
  for (const event of recent) {
    if (told.length === limit) return { events: told, cursor: told.at(-1)!.cursor, truncated, hasMore: true }
    const occurrence = await toOccurrence(asked, event, deps)
    if (occurrence) told.push(occurrence)
  }
  return { events: told, cursor: formatCursor(next), truncated, hasMore: events.length === most }
}
