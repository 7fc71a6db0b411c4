import { z } from 'zod'
import { DELIVERY_ERRORS, DELIVERY_STATES, ENDPOINT_STATES } from '../db/schema/webhooks.ts'
import { EVENT_TYPES } from '../events/catalogue.ts'
import { endpoint, idempotentPost } from '../http/endpoint.ts'
import { limitUpTo } from '../views/parameters.ts'
import { OK, Ok } from '../views/resources.ts'
import { listDeliveries, loadDelivery, resendEvent, sendTest } from '../webhooks/deliveries.ts'
import { describeEndpoint, describeEndpoints } from '../webhooks/describe.ts'
import {
  createEndpoint,
  deleteEndpoint,
  listEndpoints,
  loadEndpoint,
  MAX_OVERLAP_HOURS,
  OVERLAP_HOURS,
  rotateSecret,
  updateEndpoint,
} from '../webhooks/endpoints.ts'
import { pauseEndpoint, resumeEndpoint } from '../webhooks/position.ts'
import type { App } from './app.ts'
import { cursorParameter, nextCursor } from './reads.ts'

const time = z.iso.datetime().nullable()

const Webhook = z
  .strictObject({
    id: z.string(),
    url: z.string(),
    description: z.string(),
    types: z.array(z.string()).nullable().describe('Null: every type.'),
    state: z.enum(ENDPOINT_STATES),
    paused_because: z.enum(['operator', 'failures']).nullable(),
    old_secret_until: time.describe('Until then the secret before the last rotation signs too.'),
    waiting: z.int().describe('Events that are not sent yet or will be tried again, up to 100,000.'),
    cursor: z
      .string()
      .describe('The position in the event log from which it reads on. Some later events may have been sent already.'),
    failures: z.int().describe('Failed attempts since the last success.'),
    failing_since: time,
    last_success_at: time,
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'Webhook', description: 'A receiver of events. Its secret is never shown again.' })

const Delivery = z
  .strictObject({
    event_id: z.string().describe('The receiver sees it as `webhook-id`.'),
    type: z.string(),
    state: z.enum(DELIVERY_STATES),
    next_attempt_at: time,
    created_at: z.iso.datetime(),
    finished_at: time,
    attempts: z.array(
      z.strictObject({
        at: z.iso.datetime(),
        status: z.int().nullable(),
        latency_ms: z.int(),
        error: z.enum(DELIVERY_ERRORS).nullable(),
        answer: z.string().nullable().describe('The first kilobyte.'),
      }),
    ),
  })
  .meta({ id: 'Delivery', description: 'One event for one webhook, with its attempts.' })

const fields = {
  url: z.string().min(1).max(2_000).describe('The address that events are sent to.'),
  types: z
    .array(z.enum(EVENT_TYPES))
    .min(1)
    .max(EVENT_TYPES.length)
    .nullable()
    .describe('Types of events that are sent; null (`all` in commands) is every type, those of later versions too.'),
  description: z.string().max(200).describe('What it is for.'),
}
const NewWebhookBody = z.strictObject(fields).partial({ types: true, description: true })
const WebhookPatchBody = z
  .strictObject(fields)
  .partial()
  .refine((body) => Object.keys(body).length > 0, 'name at least one of url, types, description')
  .meta({ minProperties: 1 })
const RotateBody = z.strictObject({
  overlap_hours: z
    .int()
    .min(0)
    .max(MAX_OVERLAP_HOURS)
    .default(OVERLAP_HOURS)
    .describe('Hours in which the old secret signs too.'),
})
const ResumeBody = z.strictObject({
  from: z
    .string()
    .min(1)
    .max(60)
    .default('stopped')
    .describe('`stopped`, `now`, a cursor of the event log, or a date.'),
})
const ResendBody = z.strictObject({ event_id: z.uuid('must be the id of an event').describe('The event.') })

const one = z.strictObject({ webhook: Webhook })
const withSecret = z.strictObject({ webhook: Webhook, secret: z.string().describe('Shown once.') })
const shared = { tag: 'Webhooks', scope: 'webhooks:write' } as const
const ofOne = { ...shared, errors: [404] } as const

const registration = [
  idempotentPost(
    {
      ...shared,
      id: 'createWebhook',
      path: '/api/webhooks',
      summary: 'Register a receiver of events from now on; the secret is shown once',
      body: NewWebhookBody,
      example: { url: 'https://hooks.example.org/frames', types: ['video.ready', 'video.failed'] },
      answer: withSecret,
      status: 201,
      errors: [409],
    },
    async ({ config: { webhookAllowPrivate: allowPrivate, secretsKeys } }: App, { body, tx }) => {
      const given = { ...body, types: body.types ?? null }
      const { endpoint: made, secret } = await createEndpoint(tx, given, { allowPrivate, secretsKeys })
      return { webhook: await describeEndpoint(tx, made), secret }
    },
    { secret: true, locationOf: ({ webhook }) => `/api/webhooks/${webhook.id}` },
  ),
  endpoint(
    {
      ...shared,
      id: 'listWebhooks',
      method: 'get',
      path: '/api/webhooks',
      summary: 'All receivers of events, the newest first',
      price: 'heavy',
      parameters: {},
      answer: z.strictObject({ webhooks: z.array(Webhook) }),
    },
    async ({ db }: App) => ({ webhooks: await describeEndpoints(db, await listEndpoints(db)) }),
  ),
  endpoint(
    {
      ...ofOne,
      id: 'getWebhook',
      method: 'get',
      path: '/api/webhooks/:id',
      summary: 'One receiver of events',
      parameters: {},
      answer: one,
    },
    async ({ db }: App, { params }) => ({
      webhook: await describeEndpoint(db, await loadEndpoint(db, params.id)),
    }),
  ),
  endpoint(
    {
      ...ofOne,
      id: 'updateWebhook',
      method: 'patch',
      path: '/api/webhooks/:id',
      summary: 'Change the address, types or description of a receiver',
      body: WebhookPatchBody,
      example: { types: ['video.ready'] },
      answer: one,
    },
    async ({ db, config: { webhookAllowPrivate: allowPrivate } }: App, { params, body }) => ({
      webhook: await describeEndpoint(db, await updateEndpoint(db, params.id, body, { allowPrivate })),
    }),
  ),
  endpoint(
    {
      ...ofOne,
      id: 'deleteWebhook',
      method: 'delete',
      path: '/api/webhooks/:id',
      summary: 'Delete a receiver with its deliveries',
      answer: Ok,
    },
    async ({ db }: App, { params }) => {
      await deleteEndpoint(db, params.id)
      return OK
    },
    {
      loses: async ({ db }, { params }) =>
        `the receiver ${(await loadEndpoint(db, params!.id)).url} with its deliveries`,
    },
  ),
  idempotentPost(
    {
      ...shared,
      id: 'rotateWebhookSecret',
      path: '/api/webhooks/:id/secret',
      summary: 'Replace the secret; for a time the old one signs beside it',
      body: RotateBody,
      bodyOptional: true,
      example: { overlap_hours: 48 },
      answer: withSecret,
      errors: [404, 409],
    },
    async ({ config: { secretsKeys } }: App, { params, body, tx }) => {
      const options = { overlapHours: body.overlap_hours, secretsKeys }
      const { endpoint: rotated, secret } = await rotateSecret(tx, params.id, options)
      return { webhook: await describeEndpoint(tx, rotated), secret }
    },
    { secret: true },
  ),
]

const running = [
  endpoint(
    {
      ...ofOne,
      id: 'pauseWebhook',
      method: 'post',
      path: '/api/webhooks/:id/pause',
      summary: 'Stop sending; the receiver keeps its position in the log',
      answer: one,
    },
    async ({ db }: App, { params }) => ({
      webhook: await describeEndpoint(db, await pauseEndpoint(db, params.id)),
    }),
  ),
  endpoint(
    {
      ...shared,
      id: 'resumeWebhook',
      method: 'post',
      path: '/api/webhooks/:id/resume',
      summary: 'Send again: from where it stopped, from now, or from a place in the log',
      description:
        '`now` and a place also move a receiver that is active. What waits to be tried again is then skipped, unless ' +
        'it comes after the place.',
      body: ResumeBody,
      bodyOptional: true,
      example: { from: 'stopped' },
      answer: one,
      errors: [404, 409],
    },
    async ({ db }: App, { params, body }) => ({
      webhook: await describeEndpoint(db, await resumeEndpoint(db, params.id, body.from, new Date())),
    }),
  ),
  endpoint(
    {
      ...ofOne,
      id: 'testWebhook',
      method: 'post',
      path: '/api/webhooks/:id/test',
      summary: 'Send a test event, once; the delivery shows the result',
      answer: z.strictObject({ delivery: Delivery }),
      status: 202,
    },
    async ({ db }: App, { params }) => ({
      delivery: await sendTest(db, params.id, new Date()),
    }),
  ),
]

const DELIVERIES = { default: 50, max: 200 } as const

const log = [
  endpoint(
    {
      ...ofOne,
      id: 'listWebhookDeliveries',
      method: 'get',
      path: '/api/webhooks/:id/deliveries',
      summary: 'What was sent to a receiver within 30 days and what it answered, the newest first',
      parameters: {
        state: { schema: z.enum(DELIVERY_STATES), description: 'Only deliveries in this state.', example: 'failed' },
        after: cursorParameter(/^[0-9]{1,15}$/),
        limit: {
          schema: limitUpTo(DELIVERIES.max),
          description: `Rows per page; default ${DELIVERIES.default}, at most ${DELIVERIES.max} (more is capped).`,
        },
      },
      answer: z.strictObject({ deliveries: z.array(Delivery), next: nextCursor }),
    },
    async ({ db }: App, { params, query }) => {
      const { state, after, limit = DELIVERIES.default } = query
      return listDeliveries(db, params.id, { state, after, limit })
    },
  ),
  endpoint(
    {
      ...ofOne,
      id: 'getWebhookDelivery',
      method: 'get',
      path: '/api/webhooks/:id/deliveries/:eventId',
      summary: 'One delivery',
      parameters: {},
      answer: z.strictObject({ delivery: Delivery }),
    },
    async ({ db }: App, { params }) => ({
      delivery: await loadDelivery(db, params.id, params.eventId),
    }),
  ),
  endpoint(
    {
      ...ofOne,
      id: 'resendWebhookEvent',
      method: 'post',
      path: '/api/webhooks/:id/resend',
      summary: 'Send one event of the log once more, or for the first time',
      body: ResendBody,
      example: { event_id: '01979c3e-5d6f-4c1a-9d0e-3f6f6f0c8a11' },
      answer: z.strictObject({ delivery: Delivery }),
      status: 202,
    },
    async ({ db }: App, { params, body }) => ({
      delivery: await resendEvent(db, params.id, body.event_id, new Date()),
    }),
  ),
]

/** Receivers of events, for operators. */
export const webhookEndpoints = [...registration, ...running, ...log]
