import { z } from 'zod'
import type { Db } from '../db/client.ts'
import { invalid } from '../errors.ts'
import { EVENT_TYPES, formatCursor, parseCursor, START, toCloudEvent } from '../events/catalogue.ts'
import { findBreak, readEvents } from '../events/read.ts'
import { endpoint } from '../http/endpoint.ts'
import { POINTS, pointsForItems } from '../http/rate-limit/budgets.ts'
import { limitUpTo } from '../views/parameter-values.ts'
import { cursorParameter } from './paging.ts'

const LIMIT = { default: 100, max: 1_000 } as const

const Event = z
  .strictObject({
    specversion: z.literal('1.0'),
    id: z.string(),
    source: z.string(),
    type: z.string(),
    subject: z.string(),
    time: z.iso.datetime(),
    datacontenttype: z.literal('application/json'),
    version: z.int(),
    account_id: z.string().nullable(),
    data: z.record(z.string(), z.unknown()),
  })
  .meta({
    id: 'Event',
    description: 'A CloudEvents 1.0 event.',
    examples: [
      {
        specversion: '1.0',
        id: '01979c3e-5d6f-7c1a-9d0e-3f6f6f0c8a11',
        source: 'https://frames.example',
        type: 'frame.saved',
        subject: 'k3v9x0aq7m2d-1a4c',
        time: '2026-11-20T12:00:00.000Z',
        datacontenttype: 'application/json',
        version: 1,
        account_id: 'a1b2c3d4',
        data: {
          frame_id: 'k3v9x0aq7m2d-1a4c',
          video_id: 'k3v9x0aq7m2d',
          author: 'Northwind Labs',
          technique: 'cursor-zoom',
          subject: 'terminal',
        },
      },
    ],
  })

/** The event log in commit-safe order, for operators' machines. `next` is always a cursor to continue from. */
export const eventEndpoints = [
  endpoint(
    {
      id: 'listEvents',
      method: 'get',
      path: '/api/events',
      tag: 'Operators',
      summary: 'The event log, oldest first, as CloudEvents',
      parameters: {
        after: {
          ...cursorParameter(/^[0-9]{1,20}\.[0-9]{1,16}$/),
          description:
            'The `next` of the previous page: strictly later events. Without it the log starts at its beginning.',
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
          description: `Events per page; default ${LIMIT.default}, at most ${LIMIT.max} (more is capped).`,
        },
      },
      answer: z.strictObject({ events: z.array(Event), next: z.string() }),
      scope: 'events:read',
    },
    async ({ db, publicUrl }: { db: Db; publicUrl: string }, { query, charge }) => {
      const { types, limit = LIMIT.default } = query
      const after = query.after === undefined ? START : parseCursor(query.after)
      if (!after) throw invalid('after', 'after: not a cursor of this log. Use the `next` of a page, or leave it out.')
      const end = await findBreak(db, after)
      if (end)
        throw invalid(
          'after',
          'after: the log does not hold this event. It was restored from an earlier backup, or the cursor is of ' +
            `another library. Go on from ${formatCursor(end)}, or leave it out to read from the beginning.`,
        )
      const { events, next } = await readEvents(db, { after, types, limit })
      await charge(pointsForItems(events.length) - POINTS.read)
      return {
        events: events.map((event) => toCloudEvent(event, publicUrl) as z.infer<typeof Event>),
        next: formatCursor(next),
      }
    },
  ),
]
