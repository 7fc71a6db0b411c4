import type { Request, Response } from 'express'
import { z } from 'zod'
import type { Db } from '../db/client.ts'
import { invalid } from '../errors.ts'
import { type Cursor, EVENT_TYPES, type EventType, formatCursor, parseCursor, START } from '../events/catalogue.ts'
import { CloudEvent, exampleOf, toCloudEvent } from '../events/cloud-event.ts'
import { findBreak, findEnd, readEvents } from '../events/read.ts'
import type { LogTail } from '../events/tail.ts'
import { endpoint } from '../http/endpoint.ts'
import type { EventStreams, StreamGuard } from '../http/event-stream.ts'
import { POINTS, pointsForItems } from '../http/rate-limit/budgets.ts'
import { limitUpTo } from '../views/parameter-values.ts'

const LIMIT = { default: 100, max: 1_000 } as const

export const Event = CloudEvent.meta({
  id: 'Event',
  description: 'A CloudEvents 1.0 event. The page /docs/events lists the types.',
  examples: [exampleOf('frame.saved')],
})

export interface EventsDeps {
  db: Db
  publicUrl: string
  tail: LogTail
  streams: EventStreams
  /** Which keys may still read the stream. */
  eventGuard: StreamGuard
}

const AFTER = /^(?:[0-9]{1,20}\.[0-9]{1,16}|end)$/
const STREAM = 'text/event-stream'

/** The event log in commit-safe order, for operators' machines. `next` is always a cursor to continue from. */
export const eventEndpoints = [
  endpoint(
    {
      id: 'listEvents',
      method: 'get',
      path: '/api/events',
      tag: 'Operators',
      summary: 'The event log, oldest first, as CloudEvents',
      description:
        'With `Accept: text/event-stream` the response is a stream (server-sent events): what is there after the ' +
        'position, then each new event. `id` is the cursor and `data` the event.',
      parameters: {
        after: {
          schema: z.string().regex(AFTER, 'not a cursor of this log. Use the `next` of an earlier page, or end'),
          description:
            'The `next` of the previous page: strictly later events. `end`: only what comes from now on. Without it ' +
            'the log starts at its beginning.',
        },
        types: {
          schema: z.enum(EVENT_TYPES),
          many: true,
          commas: true,
          description: 'Only events of these types.',
          example: 'frame.saved,frame.unsaved',
        },
        limit: {
          schema: limitUpTo(LIMIT.max),
          description:
            `Events per page; default ${LIMIT.default}, at most ${LIMIT.max} (more is capped). ` +
            'A stream has no pages and takes none.',
        },
      },
      answer: z.strictObject({ events: z.array(Event), next: z.string() }),
      alternatives: [STREAM],
      scope: 'events:read',
    },
    async (deps: EventsDeps, { query, charge, caller, req, res }) => {
      const { db, publicUrl } = deps
      const { types, limit = LIMIT.default } = query
      if (req.accepts(['application/json', STREAM]) === STREAM) {
        if (query.limit !== undefined) throw invalid('limit', 'limit: a stream has no pages. Leave it out.')
        await sendStream(deps, { req, res }, { after: query.after, types, keyId: caller.key.id })
        return undefined
      }
      const after = await placeOf(db, query.after, 'after')
      // In parallel, because the page is rarely loaded in vain.
      const [{ events, next }] = await Promise.all([
        readEvents(db, { after, types, limit }),
        requireKnown(db, after, 'after'),
      ])
      await charge(pointsForItems(events.length) - POINTS.read)
      return { events: events.map((event) => toCloudEvent(event, publicUrl)), next: formatCursor(next) }
    },
  ),
]

/** Sends the log from a position on, for as long as the key may read it. */
async function sendStream(
  { db, publicUrl, tail, streams, eventGuard }: EventsDeps,
  { req, res }: { req: Request; res: Response },
  given: { after: string | undefined; types: readonly EventType[] | undefined; keyId: string },
): Promise<void> {
  const seen = req.get('Last-Event-ID')
  const after = await (seen ? positionOf(db, seen, 'Last-Event-ID') : positionOf(db, given.after, 'after'))
  await streams.send(
    { req, res },
    {
      holder: given.keyId,
      guard: eventGuard,
      messages: (signal) => tail.messages({ after, types: given.types, source: publicUrl, signal }),
    },
  )
}

/** The position that a caller names, once the log is known to hold it. @throws AppError invalid_request */
async function positionOf(db: Db, given: string | undefined, name: string): Promise<Cursor> {
  const cursor = await placeOf(db, given, name)
  await requireKnown(db, cursor, name)
  return cursor
}

async function placeOf(db: Db, given: string | undefined, name: string): Promise<Cursor> {
  if (given === undefined) return START
  if (given === 'end') return findEnd(db)
  const cursor = parseCursor(given)
  if (!cursor) throw invalid(name, `${name}: not a cursor of this log. Use the \`next\` of a page, or leave it out.`)
  return cursor
}

async function requireKnown(db: Db, cursor: Cursor, name: string): Promise<void> {
  const end = await findBreak(db, cursor)
  if (!end) return
  throw invalid(
    name,
    `${name}: the log does not hold this event. It was restored from an earlier backup, or the cursor is of ` +
      `another library. Go on from ${formatCursor(end)}, or leave it out to read from the beginning.`,
  )
}
