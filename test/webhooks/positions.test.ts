import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { formatCursor, START } from '../../src/events/catalogue.ts'
import { CloudEvent, toCloudEvent } from '../../src/events/cloud-event.ts'
import { findEnd, readEvents } from '../../src/events/read.ts'
import { loadDelivery, resendEvent, sendTest } from '../../src/webhooks/deliveries.ts'
import { countWebhooks } from '../../src/webhooks/describe.ts'
import { updateEndpoint } from '../../src/webhooks/endpoints.ts'
import { pauseEndpoint } from '../../src/webhooks/position.ts'
import { untilReadable } from '../support/stores.ts'
import { until } from '../support/until.ts'
import { openWebhookReceiver, status, type WebhookReceiver } from '../support/webhook-receiver.ts'
import { type Stage, useStage } from './support.ts'

let stage: Stage
let receiver: WebhookReceiver
useStage({}, (given) => {
  ;({ stage, receiver } = given)
})

const subjects = () => receiver.received.map(({ body }) => JSON.parse(body).subject as string)

/** Takes what has arrived so far. */
function taken(): string[] {
  const list = subjects()
  receiver.received.length = 0
  return list
}

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
    { event_id: event.id, state: 'delivered', attempts: [{ status: 204, error: null }] },
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

test('an answer that is cut within a letter is recorded all the same', async () => {
  const endpoint = await stage.register(receiver.url)
  // Composed, a sign is three code points, so the text is longer than what came.
  receiver.answer(status(200, {}, `a${'\u{1D160}'.repeat(255)}`))
  await stage.write(1)
  await stage.settle()
  const [delivery] = await stage.deliveries(endpoint.id)
  expect(delivery).toMatchObject({ state: 'delivered', attempts: [{ answer: expect.stringMatching(/^a.*\ufffd$/u) }] })
})

test('600 events for a paused endpoint all arrive after its resume, each once, and none from before', async () => {
  await stage.write(20)
  const { id } = await stage.register(receiver.url)
  const before = await stage.write(3)
  await stage.settle()
  await pauseEndpoint(stage.stores.db, id)
  const missed: string[] = []
  for (let n = 0; n < 3; n++) missed.push(...(await stage.write(200)))
  await stage.settle()
  // Four requests are in flight: what is sent together arrives in any order.
  expect(taken().toSorted()).toEqual(before.toSorted())
  await stage.resume(id)
  const after = await stage.write(3)
  await stage.settle()
  const arrived = taken()
  expect(arrived).toHaveLength(603)
  expect(new Set(arrived)).toEqual(new Set([...missed, ...after]))
  expect(receiver.mostAtOnce()).toBeLessThanOrEqual(4)
})

test('pausing and resuming while events are written loses none', async () => {
  const { id } = await stage.register(receiver.url)
  const written: string[] = []
  let writing = true
  const writer = (async () => {
    for (let n = 0; n < 20; n++) written.push(...(await stage.write(25)))
    writing = false
  })()
  // Each pause lasts until more was written, and so does each time of sending.
  const untilMore = (before = written.length) => until(() => written.length > before || !writing)
  while (writing) {
    await pauseEndpoint(stage.stores.db, id)
    await untilMore()
    await stage.resume(id)
    await untilMore()
  }
  await writer
  await stage.settle()
  await until(() => new Set(subjects()).size >= written.length)
  expect(new Set(subjects())).toEqual(new Set(written))
})

test('a move that fails on the way leaves a pause, and a resume then sends what waited', async () => {
  const { id } = await stage.register(receiver.url)
  receiver.answer(status(500))
  const failed = await stage.write(2)
  await stage.settle()
  const moves = (change: string) => stage.stores.db.$client.query(`alter table webhook_deliveries ${change}`)
  await moves(`add constraint unmoved check (state <> 'skipped')`)
  await expect(stage.resume(id, 'now'))
    .rejects.toThrow()
    .finally(() => moves('drop constraint unmoved'))
  expect(await stage.endpoint(id)).toMatchObject({ state: 'paused', failures: 2 })
  receiver.answer(status(204))
  const later = await stage.write(1)
  await stage.settle()
  taken()
  expect(await stage.resume(id)).toMatchObject({ state: 'active', pausedBecause: null })
  await stage.settle()
  expect(taken().toSorted()).toEqual([...failed, ...later].toSorted())
})

test('a resume from now sends only what comes; one from a cursor or a date sends everything since', async () => {
  const { id } = await stage.register(receiver.url)
  const first = await stage.write(2)
  await stage.settle()
  const cursor = await findEnd(stage.stores.db)
  await pauseEndpoint(stage.stores.db, id)
  const second = await stage.write(3)
  await stage.resume(id, 'now')
  const third = await stage.write(1)
  await stage.settle()
  expect(taken().toSorted()).toEqual([...first, ...third].toSorted())

  await pauseEndpoint(stage.stores.db, id)
  await stage.resume(id, formatCursor(cursor))
  await stage.settle()
  expect(taken().toSorted()).toEqual([...second, ...third].toSorted())

  const later = ['2100-05-04T23:59:59.999Z', '2100-05-05T00:00:00Z', '2100-05-06T00:00:00Z']
  for (const time of later)
    await stage.stores.db.$client.query(
      `insert into events (type, subject, data, time) values ('key.revoked', $1, '{"key_id":"k"}', $2)`,
      [time, time],
    )
  await untilReadable(stage.stores.db)
  await stage.settle()
  expect(taken()).toHaveLength(3)
  await pauseEndpoint(stage.stores.db, id)
  await stage.resume(id, '2100-05-05')
  await stage.settle()
  expect(taken().toSorted()).toEqual(later.slice(1))
})

test('a retry that waits is skipped by a resume from now, and its late answer does not matter', async () => {
  const { id } = await stage.register(receiver.url)
  receiver.answer(status(500))
  await stage.write(4)
  await stage.settle()
  await pauseEndpoint(stage.stores.db, id)
  taken()
  receiver.answer(status(204))
  await stage.resume(id, 'now')
  stage.pass(86_400_000)
  await stage.settle()
  expect(taken()).toEqual([])
  expect((await stage.deliveries(id)).map(({ state }) => state)).toEqual(Array(4).fill('skipped'))
})

test('a resume after more failures than one statement changes sends each of them again', async () => {
  const { id } = await stage.register(receiver.url)
  await pauseEndpoint(stage.stores.db, id)
  const { $client } = stage.stores.db
  await $client.query(
    `insert into webhook_deliveries (endpoint_id, event_id, type, state, tries, next_at, finished_at)
     select $1, gen_random_uuid(), 'key.revoked', case n % 2 when 0 then 'waiting' else 'failed' end, 9,
            case n % 2 when 0 then $2::timestamptz end, case n % 2 when 1 then $2::timestamptz end
       from generate_series(1, 12000) n`,
    [id, stage.now],
  )
  await $client.query(`update webhook_endpoints set failing_since = $2 where id = $1`, [id, stage.now])
  await stage.resume(id)
  const { rows } = await $client.query(
    `select state, tries, next_at = $2 as is_now, finished_at, count(*)::int as n from webhook_deliveries
      where endpoint_id = $1 group by 1, 2, 3, 4`,
    [id, stage.now],
  )
  expect(rows).toEqual([{ state: 'waiting', tries: 0, is_now: true, finished_at: null, n: 12_000 }])
})

test('one event is sent again, whether it was delivered, failed or never asked for', async () => {
  const { id } = await stage.register(receiver.url, { types: ['key.revoked'] })
  const start = await findEnd(stage.stores.db)
  const [first] = await stage.write(1)
  await stage.write(1, 'account.plan_changed')
  await stage.settle()
  receiver.answer(status(500))
  const bad = await stage.write(1)
  await stage.settle()
  for (let n = 0; n < 10; n++) {
    stage.pass(2 * 86_400_000)
    await stage.settle()
  }
  const { db } = stage.stores
  expect((await stage.deliveries(id)).map(({ state }) => state)).toEqual(['delivered', 'failed'])
  receiver.answer(status(204))
  taken()
  const { events } = await readEvents(db, { after: start, limit: 10 })
  const [one, other, failed] = events
  await resendEvent(db, id, one!.id, stage.now)
  await stage.settle()
  expect(taken()).toEqual([first])
  // Of another type: somebody asked for this very event.
  await resendEvent(db, id, other!.id, stage.now)
  await stage.settle()
  expect(taken()).toEqual([other!.subject])

  await resendEvent(db, id, failed!.id, stage.now)
  await stage.settle()
  expect(taken()).toEqual(bad)
})

test('a test event arrives though the endpoint is paused, is tried once, and changes nothing else', async () => {
  const { id } = await stage.register(receiver.url, { types: ['key.revoked'] })
  await pauseEndpoint(stage.stores.db, id)
  const sent = await sendTest(stage.stores.db, id, stage.now)
  await stage.settle()
  const [{ body, headers }] = receiver.received as [(typeof receiver.received)[0]]
  const event = JSON.parse(body)
  expect(event).toMatchObject({ id: sent.event_id, type: 'webhook.test', subject: id, data: { endpoint_id: id } })
  // What a receiver that was written for the events of the log relies on.
  expect(CloudEvent.parse(event).dataschema).toBe('https://frames.example/schemas/events/webhook.test/1')
  const { events } = await readEvents(stage.stores.db, { after: START, limit: 100_000 })
  expect(event.sequence).toBe(toCloudEvent(events.at(-1)!, '').sequence)
  expect(headers['webhook-id']).toBe(sent.event_id)
  receiver.answer(status(410))
  const second = await sendTest(stage.stores.db, id, stage.now)
  await stage.settle()
  expect(await loadDelivery(stage.stores.db, id, second.event_id)).toMatchObject({
    state: 'failed',
    attempts: [{ status: 410, error: 'gone' }],
  })
  expect(await stage.endpoint(id)).toMatchObject({ state: 'paused', failures: 0 })
})

test('of two workers each sends to endpoints of its own, and no event twice', async () => {
  const second = stage.open()
  const receivers = await Promise.all(Array.from({ length: 6 }, () => openWebhookReceiver()))
  for (const one of receivers) one.answer((_, response) => setTimeout(() => response.writeHead(204).end(), 3))
  for (const { url } of receivers) await stage.register(url)
  const written = await stage.write(150)
  const moreWritten = await stage.write(150)
  await until(() => receivers.every(({ received }) => received.length >= 300))
  await stage.settle()
  await second.drain()
  for (const { received, mostAtOnce } of receivers) {
    const got = received.map(({ body }) => JSON.parse(body).subject)
    expect(got.toSorted()).toEqual([...written, ...moreWritten].toSorted())
    expect(mostAtOnce()).toBeLessThanOrEqual(4)
  }
  await second.stop(5_000)
  await Promise.all(receivers.map((one) => one[Symbol.asyncDispose]()))
})

test('a changed address or a pause holds for what waits already', async () => {
  const other = await openWebhookReceiver()
  const { id } = await stage.register(receiver.url)
  receiver.answer(status(500))
  await stage.write(3)
  await stage.settle()
  await updateEndpoint(stage.stores.db, id, { url: other.url }, { allowPrivate: true })
  stage.pass(60_000)
  await stage.settle()
  expect([receiver.received.length, other.received.length]).toEqual([3, 3])
  await stage.stores.db.$client.query(`update webhook_endpoints set types = '{account.created}'`)
  await stage.write(3)
  await stage.settle()
  expect(other.received).toHaveLength(3)
  await other[Symbol.asyncDispose]()
})

test('an event that would be too long has the address of itself in the log instead of its data', async () => {
  await stage.register(receiver.url, { types: ['frames.annotated'] })
  const data = {
    video_id: 'v',
    title: 'Long',
    author: null,
    platform: 'web',
    frame_ids: Array.from({ length: 2_000 }, (_, n) => `frame-${n}-of-many`),
    annotator: 'test@1',
  }
  await stage.stores.db.$client.query(`insert into events (type, subject, data) values ('frames.annotated', 'v', $1)`, [
    JSON.stringify(data),
  ])
  await untilReadable(stage.stores.db)
  await stage.settle()
  const [{ body }] = receiver.received as [(typeof receiver.received)[0]]
  expect(Buffer.byteLength(body)).toBeLessThan(20_000)
  const event = JSON.parse(body)
  expect(event).toMatchObject({ type: 'frames.annotated', subject: 'v' })
  expect(event.data).toBeUndefined()
  const address = new URL(event.dataref)
  expect(address.origin + address.pathname).toBe('https://frames.example/api/events')
  const [xid, seq] = address.searchParams.get('after')!.split('.')
  const page = await readEvents(stage.stores.db, { after: { xid: xid!, seq: Number(seq) }, limit: 1 })
  expect(page.events[0]).toMatchObject({ id: event.id, data })
})
