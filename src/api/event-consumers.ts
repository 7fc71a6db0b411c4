import { z } from 'zod'
import type { Db } from '../db/client.ts'
import { notFound } from '../errors.ts'
import { formatCursor } from '../events/catalogue.ts'
import { type DeadEvent, describeDead, listDeadEvents, requestRetries } from '../events/dead-events.ts'
import { listConsumerLag } from '../events/lag.ts'
import { readPosition, replay } from '../events/positions.ts'
import { endpoint } from '../http/endpoint.ts'
import { OPERATOR_POINTS, POINTS, pointsForItems } from '../http/rate-limit/budgets.ts'
import { limitUpTo } from '../views/parameter-values.ts'
import { Event } from './events.ts'
import { cursorParameter, nextCursor } from './paging.ts'

interface ConsumerDeps {
  db: Db
  publicUrl: string
}

const tag = 'Operators'
const LIMIT = { default: 100, max: 500 } as const

const consumerName = z.string().min(1).max(100)

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
    z.strictObject({ event_ids: z.array(z.uuid()).min(1).max(1_000), consumer: consumerName.optional() }),
    z.strictObject({ all: z.literal(true), consumer: consumerName.optional() }),
  ],
  'send event_ids (1 to 1,000 ids of events) or all: true, each also with a consumer',
)

const DEAD_CURSOR = /^\d{1,13}\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\..{1,100}$/

/** Consumers of the log, for operators: how far they are, what they gave up, and going back. */
export const eventConsumerEndpoints = [
  endpoint(
    {
      id: 'listEventConsumers',
      method: 'get',
      path: '/api/events/consumers',
      tag,
      summary: 'The consumers of the event log, with their lag',
      parameters: {},
      answer: z.strictObject({ consumers: z.array(Consumer) }),
      scope: 'events:read',
      // Up to 100,000 unread events are counted for each.
      cost: { points: OPERATOR_POINTS.consumers },
    },
    async ({ db }: ConsumerDeps) => ({ consumers: await listConsumerLag(db) }),
  ),
  endpoint(
    {
      id: 'replayEvents',
      method: 'post',
      path: '/api/events/consumers/:consumer/replay',
      tag,
      summary: 'Make a consumer handle events again, from a place in the log on',
      description: 'It never goes forward, which would skip events. `webhooks` is refused: resend a range instead.',
      body: ReplayBody,
      example: { from: '2026-11-20T08:00:00Z' },
      answer: z.strictObject({
        consumer: z.string(),
        from: z.string().describe('The cursor from which on events are handled again.'),
        was: z.string().describe('The cursor of its position before.'),
        events: z.int().describe('How many events lie between the two.'),
      }),
      status: 202,
      scope: 'library:write',
    },
    async ({ db }: ConsumerDeps, { params, body }) => {
      const from = await readPosition(db, 'from', body.from)
      const { consumer } = params
      const { was, events } = await replay(db, { consumer, from })
      return { consumer, from: formatCursor(from), was: formatCursor(was), events }
    },
  ),
  endpoint(
    {
      id: 'listDeadEvents',
      method: 'get',
      path: '/api/events/dead',
      tag,
      summary: 'Events that a consumer skipped after repeated failures, the newest first',
      parameters: {
        consumer: { schema: consumerName, description: 'Only of this consumer.', example: 'search' },
        after: cursorParameter(DEAD_CURSOR),
        limit: {
          schema: limitUpTo(LIMIT.max),
          description: `Rows per page; default ${LIMIT.default}, at most ${LIMIT.max} (more is capped).`,
        },
      },
      answer: z.strictObject({ dead_events: z.array(Dead), next: nextCursor }),
      scope: 'events:read',
    },
    async ({ db, publicUrl }: ConsumerDeps, { query, charge }) => {
      const { consumer, limit = LIMIT.default } = query
      const found = await listDeadEvents(db, { consumer, after: readCursor(query.after), limit })
      await charge(pointsForItems(found.length) - POINTS.read)
      const last = found.length === limit ? found.at(-1) : undefined
      return { dead_events: found.map((one) => describeDead(one, publicUrl)), next: last ? toCursor(last) : null }
    },
  ),
  endpoint(
    {
      id: 'getDeadEvent',
      method: 'get',
      path: '/api/events/dead/:eventId',
      tag,
      summary: 'One event, for each consumer that skipped it',
      parameters: {},
      answer: z.strictObject({ dead_events: z.array(Dead) }),
      scope: 'events:read',
      errors: [404],
    },
    async ({ db, publicUrl }: ConsumerDeps, { params }) => {
      const found = await listDeadEvents(db, { eventId: params.eventId })
      if (found.length === 0) throw notFound('dead event')
      return { dead_events: found.map((one) => describeDead(one, publicUrl)) }
    },
  ),
  endpoint(
    {
      id: 'retryDeadEvents',
      method: 'post',
      path: '/api/events/dead/retry',
      tag,
      summary: 'Make the consumers try dead events once more',
      description:
        'They do so at once, or when a worker runs again. What succeeds leaves the list; what fails stays with its ' +
        'new reason.',
      body: RetryBody,
      example: { all: true, consumer: 'search' },
      answer: z.strictObject({ asked: z.int().describe('The number of events to try.') }),
      status: 202,
      scope: 'library:write',
      errors: [404],
    },
    async ({ db }: ConsumerDeps, { body }) => ({
      asked: await requestRetries(db, {
        consumer: body.consumer ?? null,
        eventIds: 'event_ids' in body ? body.event_ids : null,
      }),
    }),
  ),
]

function toCursor({ at, event, consumer }: DeadEvent): string {
  return `${at.getTime()}.${event.id}.${consumer}`
}

function readCursor(text: string | undefined) {
  if (text === undefined) return undefined
  const [ms, eventId, ...consumer] = text.split('.') as [string, string, ...string[]]
  return { at: new Date(Number(ms)), eventId, consumer: consumer.join('.') }
}
