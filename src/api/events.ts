import type { Request, Response } from 'express'
import { z } from 'zod'
import type { Db } from '../db/client.ts'
import { invalid, notFound } from '../errors.ts'
import { type Cursor, EVENT_TYPES, type EventType, formatCursor, parseCursor, START } from '../events/catalogue.ts'
import { CloudEvent, toCloudEvent } from '../events/cloud-event.ts'
import { type DeadEvent, describeDead, listDeadEvents, requestRetries } from '../events/dead-events.ts'
import { listConsumerLag } from '../events/lag.ts'
import { readPosition, replay } from '../events/positions.ts'
import { findBreak, findEnd, readEvents } from '../events/read.ts'
import { endpoint } from '../http/endpoint.ts'
import { MOST_ITEMS } from '../http/rate-limit/budgets.ts'
import { limitUpTo } from '../views/parameters.ts'
import type { App } from './app.ts'
import { cursorParameter, nextCursor } from './reads.ts'

const LIMIT = { default: 100, max: 1_000 } as const

const Event = CloudEvent.meta({
  id: 'Event',
  description: 'A CloudEvents 1.0 event. `dataschema` is where the fields of its `data` are described.',
  examples: [
    toCloudEvent(
      {
        id: '01979c3e-5d6f-4c1a-9d0e-3f6f6f0c8a11',
        type: 'frame.saved',
        version: 1,
        subject: 'k3v9x0aq7m2d-1a4c',
        accountId: 'a1b2c3d4',
        data: {
          frame_id: 'k3v9x0aq7m2d-1a4c',
          video_id: 'k3v9x0aq7m2d',
          author: 'Northwind Labs',
          technique: 'cursor-zoom',
          subject: 'terminal',
        },
        time: new Date('2026-11-20T12:00:00Z'),
        cursor: { xid: '73521', seq: 1042 },
      },
      'https://frames.example',
    ),
  ],
})

const AFTER = /^(?:[0-9]{1,20}\.[0-9]{1,16}|end)$/
const STREAM = 'text/event-stream'

const reading = { tag: 'Operators', scope: 'events:read' } as const
const repairing = { tag: 'Operators', scope: 'library:write' } as const

/** The event log in commit-safe order, for operators' machines. `next` is always a cursor to continue from. */
const log = [
  endpoint(
    {
      ...reading,
      id: 'listEvents',
      method: 'get',
      path: '/api/events',
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
      price: 'write',
    },
    async (deps: App, { query, caller, req, res }) => {
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
      return { events: events.map((event) => toCloudEvent(event, publicUrl)), next: formatCursor(next) }
    },
  ),
]

/** Sends the log from a position on, for as long as the key may read it. */
async function sendStream(
  { db, publicUrl, tail, streams }: App,
  { req, res }: { req: Request; res: Response },
  given: { after: string | undefined; types: readonly EventType[] | undefined; keyId: string },
): Promise<void> {
  const seen = req.get('Last-Event-ID')
  const after = await (seen ? positionOf(db, seen, 'Last-Event-ID') : positionOf(db, given.after, 'after'))
  await streams.send(
    { req, res },
    {
      holder: given.keyId,
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

const consumerName = z.string().min(1).max(200)

const Consumer = z
  .strictObject({
    consumer: z.string(),
    unread: z.int().describe('Events that it has not read; 100,000 stands for that many or more.'),
    seconds: z.number().describe('The age of the oldest of them; 0 without one.'),
    moved_at: z.iso.datetime().describe('When it last moved.'),
    dead: z.int().describe('Events that it skipped after repeated failures.'),
  })
  .meta({ id: 'EventConsumer', description: 'A part of the service that reads the event log and acts on it.' })

const Dead = z
  .strictObject({
    consumer: z.string().describe('The consumer that skipped it.'),
    error: z.string().describe('Why the last attempt failed.'),
    attempts: z.int(),
    at: z.iso.datetime().describe('When it was given up.'),
    waiting: z.boolean().describe('Another attempt is asked for and not made yet.'),
    event: Event,
  })
  .meta({ id: 'DeadEvent', description: 'An event that a consumer skipped after repeated failures.' })

const ReplayBody = z.strictObject({
  from: z
    .string()
    .min(1)
    .max(60)
    .describe('A cursor (that event stays handled; `0.0`: none does), or a date or time (before its first event).'),
})

const RetryBody = z.union(
  [
    z.strictObject({
      event_ids: z.array(z.uuid('must be the id of an event')).min(1).max(MOST_ITEMS),
      consumer: consumerName.optional(),
    }),
    z.strictObject({ all: z.literal(true), consumer: consumerName.optional() }),
  ],
  `send event_ids (1 to ${MOST_ITEMS} ids of events) or all: true, each also with a consumer`,
)

const DEAD_LIMIT = { default: 100, max: 500 } as const
const DEAD_CURSOR = /^\d{1,13}\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\..{1,100}$/

/** Consumers of the log, for operators: how far they are, what they gave up, and going back. */
const consumers = [
  endpoint(
    {
      ...reading,
      id: 'listEventConsumers',
      method: 'get',
      path: '/api/events/consumers',
      summary: 'The consumers of the event log, with their lag',
      parameters: {},
      answer: z.strictObject({ consumers: z.array(Consumer) }),
      // Up to 100,000 unread events are counted for each.
      price: 'heavy',
    },
    async ({ db }: App) => ({ consumers: await listConsumerLag(db) }),
  ),
  endpoint(
    {
      ...repairing,
      id: 'replayEvents',
      method: 'post',
      path: '/api/events/consumers/:consumer/replay',
      summary: 'Make a consumer handle events again, from a place in the log on',
      description: 'It never goes forward, which would skip events.',
      body: ReplayBody,
      example: { from: '2026-11-20T08:00:00Z' },
      answer: z.strictObject({
        consumer: z.string(),
        from: z.string().describe('The cursor from which on events are handled again.'),
        was: z.string().describe('The cursor of its position before.'),
        events: z.int().describe('How many events lie between the two; 100,000 stands for that many or more.'),
      }),
      status: 202,
    },
    async ({ db }: App, { params, body }) => {
      const from = await readPosition(db, 'from', body.from)
      const { consumer } = params
      const { was, events } = await replay(db, { consumer, from })
      return { consumer, from: formatCursor(from), was: formatCursor(was), events }
    },
  ),
  endpoint(
    {
      ...reading,
      id: 'listDeadEvents',
      method: 'get',
      path: '/api/events/dead',
      summary: 'Events that a consumer skipped after repeated failures, the newest first',
      parameters: {
        consumer: { schema: consumerName, description: 'Only of this consumer.', example: 'search' },
        after: cursorParameter(DEAD_CURSOR),
        limit: {
          schema: limitUpTo(DEAD_LIMIT.max),
          description: `Rows per page; default ${DEAD_LIMIT.default}, at most ${DEAD_LIMIT.max} (more is capped).`,
        },
      },
      answer: z.strictObject({ dead_events: z.array(Dead), next: nextCursor }),
      price: 'write',
    },
    async ({ db, publicUrl }: App, { query }) => {
      const { consumer, limit = DEAD_LIMIT.default } = query
      const found = await listDeadEvents(db, { consumer, after: readDeadCursor(query.after), limit: limit + 1 })
      const page = found.slice(0, limit)
      const next = found.length > limit ? toDeadCursor(page.at(-1)!) : null
      return { dead_events: page.map((one) => describeDead(one, publicUrl)), next }
    },
  ),
  endpoint(
    {
      ...reading,
      id: 'getDeadEvent',
      method: 'get',
      path: '/api/events/dead/:eventId',
      summary: 'One event, for each consumer that skipped it',
      parameters: {},
      answer: z.strictObject({ dead_events: z.array(Dead) }),
      errors: [404],
    },
    async ({ db, publicUrl }: App, { params }) => {
      const found = await listDeadEvents(db, { eventId: params.eventId })
      if (found.length === 0) throw notFound('dead event')
      return { dead_events: found.map((one) => describeDead(one, publicUrl)) }
    },
  ),
  endpoint(
    {
      ...repairing,
      id: 'retryDeadEvents',
      method: 'post',
      path: '/api/events/dead/retry',
      summary: 'Make the consumers try dead events once more',
      description:
        'They do so at once, or when a worker runs again. What succeeds leaves the list; what fails stays with its ' +
        'new reason.',
      body: RetryBody,
      example: { all: true, consumer: 'search' },
      answer: z.strictObject({ asked: z.int().describe('The number of events to try.') }),
      status: 202,
      errors: [404],
    },
    async ({ db }: App, { body }) => ({
      asked: await requestRetries(db, {
        consumer: body.consumer ?? null,
        eventIds: 'event_ids' in body ? body.event_ids : null,
      }),
    }),
  ),
]

export const eventEndpoints = [...log, ...consumers]

function toDeadCursor({ at, event, consumer }: DeadEvent): string {
  return `${at.getTime()}.${event.id}.${consumer}`
}

function readDeadCursor(text: string | undefined) {
  if (text === undefined) return undefined
  const [ms, eventId, ...consumer] = text.split('.') as [string, string, ...string[]]
  return { at: new Date(Number(ms)), eventId, consumer: consumer.join('.') }
}
