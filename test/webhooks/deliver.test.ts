import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { START } from '../../src/events/catalogue.ts'
import { toCloudEvent } from '../../src/events/cloud-event.ts'
import { readEvents } from '../../src/events/read.ts'
import { countWebhooks } from '../../src/library/webhooks/describe.ts'
import { status, type WebhookReceiver } from '../support/webhook-receiver.ts'
import { type Stage, useStage } from './support.ts'

let stage: Stage
let receiver: WebhookReceiver
useStage({}, (given) => {
  ;({ stage, receiver } = given)
})

test('an event of a chosen type arrives once, as the log shows it, signed as the referee demands', async () => {
  stage.now = new Date()
  const endpoint = await stage.register(receiver.url, { types: ['key.revoked'] })
  const [subject] = await stage.write(1)
  await stage.write(1, 'account.plan_changed')
  await stage.settle()
  await stage.settle()
  expect(receiver.received).toHaveLength(1)
  const [{ headers, body }] = receiver.received as [(typeof receiver.received)[0]]
  const { events } = await readEvents(stage.stores.db, { after: START, types: ['key.revoked'], limit: 1_000 })
  const event = events.find((one) => one.subject === subject)!
  expect(JSON.parse(body)).toEqual(JSON.parse(JSON.stringify(toCloudEvent(event, 'https://frames.example'))))
  expect(headers['webhook-id']).toBe(event.id)
  expect(headers['content-type']).toBe('application/cloudevents+json; charset=utf-8')
  const referee = new Webhook(endpoint.secret)
  expect(referee.verify(body, headers)).toMatchObject({ id: event.id, type: 'key.revoked' })
  expect(() => referee.verify(body.replace('key.revoked', 'key.created'), headers)).toThrow()
  expect(() => new Webhook(`whsec_${Buffer.alloc(32).toString('base64')}`).verify(body, headers)).toThrow()
  expect(await stage.deliveries(endpoint.id)).toMatchObject([
    { eventId: event.id, state: 'delivered', attempts: [{ status: 204, error: null }] },
  ])
})

test('a failure is tried again in time, under the same id and with the time of the attempt', async () => {
  const endpoint = await stage.register(receiver.url)
  receiver.answer(status(500, {}, 'no\u0000t now'))
  await stage.write(1)
  await stage.settle()
  stage.pass(4_000)
  await stage.settle()
  expect(receiver.received).toHaveLength(1)
  receiver.answer(status(200))
  stage.pass(60_000)
  await stage.settle()
  await stage.settle()
  const counts = await countWebhooks(stage.stores.db)
  expect(counts.attempts).toMatchObject({ status: 1, gone: 0, timeout: 0 })
  expect(counts.attempts.delivered).toBeGreaterThanOrEqual(1)
  expect(counts.endpoints).toEqual({ active: 1, paused: 0, gone: 0 })
  const [first, second, ...more] = receiver.received
  expect(more).toEqual([])
  expect(second!.headers['webhook-id']).toBe(first!.headers['webhook-id'])
  expect(second!.body).toBe(first!.body)
  expect(Number(second!.headers['webhook-timestamp']) - Number(first!.headers['webhook-timestamp'])).toBe(64)
  expect(await stage.deliveries(endpoint.id)).toMatchObject([
    {
      state: 'delivered',
      attempts: [
        { status: 500, error: 'status', answer: 'no t now' },
        { status: 200, error: null },
      ],
    },
  ])
})
