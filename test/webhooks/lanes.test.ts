import { pino } from 'pino'
import { expect, test } from 'vitest'
import { formatCursor, START } from '../../src/events/catalogue.ts'
import { findEnd, readEvents } from '../../src/events/read.ts'
import { sql } from '../../src/sql/orm.ts'
import { resendEvent, sendTest } from '../../src/webhooks/deliveries.ts'
import { describeEndpoints } from '../../src/webhooks/describe.ts'
import { updateEndpoint } from '../../src/webhooks/endpoints.ts'
import { claimEndpoints, type Lease, releaseLease, renewLeases } from '../../src/webhooks/leases.ts'
import { findLeased, findNext } from '../../src/webhooks/next.ts'
import { pauseEndpoint } from '../../src/webhooks/position.ts'
import { openRecorder } from '../../src/webhooks/recorder.ts'
import { untilReadable } from '../support/stores.ts'
import { until } from '../support/until.ts'
import { status, type WebhookReceiver } from '../support/webhook-receiver.ts'
import { openStage, type Stage, useStage } from './support.ts'

// What a lane reads from the log, has in flight, and records, while others write the same rows.

let stage: Stage
let receiver: WebhookReceiver
useStage({}, (given) => {
  ;({ stage, receiver } = given)
})

/** Takes what has arrived so far. */
function taken(): string[] {
  const list = receiver.received.map(({ body }) => JSON.parse(body).subject as string)
  receiver.received.length = 0
  return list
}

test('a position that is set while requests are in flight decides: their results change nothing', async () => {
  await using own = await openStage({ timeoutMs: 3_600_000 })
  const open: (() => void)[] = []
  const untilOpen = (count: number) => until(() => open.length === count)
  const end = () => {
    for (const respond of open.splice(0)) respond()
  }
  receiver.answer((_, response) => open.push(() => response.writeHead(500).end()))
  const { id } = await own.register(receiver.url)
  const start = formatCursor(await findEnd(own.stores.db))
  const written = await own.write(10)
  await untilOpen(4)
  await own.resume(id, 'now')
  end()
  await own.settle()
  expect(taken()).toHaveLength(4)
  expect(await own.deliveries(id)).toEqual([])
  expect(await own.endpoint(id)).toMatchObject({ state: 'active', failures: 0 })

  receiver.answer((_, response) => open.push(() => response.writeHead(204).end()))
  await own.resume(id, start)
  await untilOpen(4)
  await own.resume(id, start)
  receiver.answer(status(204))
  end()
  await own.settle()
  // What was sent since the last change is everything. At most four at once, also of before and after together.
  expect(new Set(taken().slice(4))).toEqual(new Set(written))
  expect(receiver.mostAtOnce()).toBe(4)
  expect((await own.deliveries(id)).map(({ state }) => state)).toEqual(Array(10).fill('delivered'))
})

test('an event that is sent again while it is in flight is sent once more', async () => {
  await using own = await openStage({ timeoutMs: 3_600_000 })
  const open: (() => void)[] = []
  receiver.answer((_, response) => open.push(() => response.writeHead(204).end()))
  const { id } = await own.register(receiver.url)
  await own.write(1)
  await until(() => open.length === 1)
  const { events } = await readEvents(own.stores.db, { after: START, limit: 1 })
  own.pass(1_000)
  await resendEvent(own.stores.db, id, events[0]!.id, own.now)
  receiver.answer(status(204))
  open[0]!()
  await own.settle()
  expect(receiver.received).toHaveLength(2)
  expect(await own.deliveries(id)).toMatchObject([{ state: 'delivered', attempts: [{ status: 204 }, { status: 204 }] }])
})

test('attempts that are due and new events go by time, so that neither waits for all of the other', async () => {
  const { db } = stage.stores
  stage.now = new Date()
  const { id } = await stage.register(receiver.url)
  receiver.answer(status(500))
  const failed = await stage.write(70)
  await stage.settle()
  // From here on one request is in flight, because none succeeds. 70 events are more than are read at once.
  await pauseEndpoint(db, id)
  const { rows } = await db.execute<{ at: string }>(sql`select now() + interval '1 hour' as at`)
  const at = (n: number) => new Date(new Date(rows[0]!.at).getTime() + n * 1_000)
  for (const [n, subject] of failed.entries())
    await db.execute(sql`
      update webhook_deliveries d set next_at = ${at(2 * n).toISOString()}::timestamptz from events e
       where e.id = d.event_id and e.subject = ${subject}`)
  const fresh = Array.from({ length: 70 }, (_, n) => `fresh ${n}`)
  for (const [n, subject] of fresh.entries())
    await db.execute(sql`insert into events (type, subject, data, time)
      values ('key.revoked', ${subject}, '{"key_id":"k"}', ${at(2 * n + 1).toISOString()}::timestamptz)`)
  await untilReadable(db)
  taken()
  stage.now = at(200)
  await db.execute(sql`update webhook_endpoints set state = 'active'`)
  await stage.settle()
  const wanted = failed.flatMap((subject, n) => [subject, fresh[n]!])
  expect(taken()).toEqual(wanted)
})

test('of an event type that is gone the events still arrive, and a receiver may still ask for it', async () => {
  const every = await stage.register(receiver.url)
  const only = await stage.register(`${receiver.url}/only`)
  const { db } = stage.stores
  await db.execute(sql`update webhook_endpoints set types = '{frame.dreamed}' where id = ${only.id}`)
  await db.execute(sql`insert into events (type, subject, data) values ('frame.dreamed', 'gone', '{}')`)
  const [subject] = await stage.write(1)
  await stage.settle()
  expect(taken().toSorted()).toEqual(['gone', 'gone', subject].toSorted())
  expect((await stage.deliveries(only.id)).map(({ type, state }) => [type, state])).toEqual([
    ['frame.dreamed', 'delivered'],
  ])
  expect(await stage.deliveries(every.id)).toHaveLength(2)
})

test('what nobody asked for is passed by idle receivers, and added types hold for what comes', async () => {
  const { db } = stage.stores
  const { id } = await stage.register(receiver.url, { types: ['key.revoked'] })
  const paused = await stage.register(receiver.url, { types: ['key.revoked'] })
  await pauseEndpoint(db, paused.id)
  await stage.write(3, 'account.plan_changed')
  await stage.worker.passOtherTypes()
  const end = await findEnd(db)
  expect(await stage.endpoint(id)).toMatchObject(end)
  expect((await stage.endpoint(paused.id)).seq).toBeLessThan(end.seq)
  await stage.write(3, 'account.plan_changed')
  await updateEndpoint(db, id, { types: ['key.revoked', 'account.plan_changed'] }, { allowPrivate: true })
  const later = await stage.write(1, 'account.plan_changed')
  await stage.settle()
  expect(taken()).toEqual(later)
  // It counts what is not sent yet, of its types.
  await stage.write(2)
  const [described] = await describeEndpoints(db, [paused])
  expect(described).toMatchObject({ waiting: 2, cursor: formatCursor(paused) })
})

test('a worker that slept through its lease records nothing, and another sends again', async () => {
  const sleeper = await openStage({ timeoutMs: 3_600_000 })
  try {
    const open: (() => void)[] = []
    receiver.answer((_, response) => {
      open.push(() => response.writeHead(500).end())
    })
    const { id } = await sleeper.register(receiver.url)
    await sleeper.write(2)
    await until(() => open.length === 2)
    // Its lease is over, as if it had been suspended for longer.
    await sleeper.stores.db.$client.query(`update webhook_endpoints set lease_until = now() - interval '1 second'`)
    receiver.answer(status(204))
    sleeper.open()
    await until(async () => {
      const states = (await sleeper.deliveries(id)).map(({ state }) => state)
      return states.length === 2 && states.every((state) => state === 'delivered')
    })
    for (const answer of open) answer()
    await sleeper.settle()
    const deliveries = await sleeper.deliveries(id)
    expect(deliveries.map(({ attempts }) => attempts.map((one) => one.status))).toEqual([[204], [204]])
    expect(await sleeper.endpoint(id)).toMatchObject({ failures: 0, failingSince: null })
    expect(receiver.received).toHaveLength(4)
  } finally {
    await sleeper[Symbol.asyncDispose]()
  }
})

test('a lease that was given back is not renewed, so the next event need not wait for its end', async () => {
  await using own = await openStage()
  const { db } = own.stores
  await own.worker.stop(5_000)
  const { id } = await own.register(receiver.url)
  await sendTest(db, id, own.now)
  const [{ lease }] = (await claimEndpoints(db, own.now)) as [Lease]
  await db.execute(sql`update webhook_endpoints set lease_until = now() - interval '1 second'`)
  await renewLeases(db, [lease])
  expect(await claimEndpoints(db, own.now)).toEqual([])
  await releaseLease(db, lease)
  // A round of renewals that began before it was given back.
  await renewLeases(db, [lease])
  expect(await claimEndpoints(db, own.now)).toMatchObject([{ endpointId: id }])
})

test('what could not be recorded is not passed by what ends after it', async () => {
  await using own = await openStage()
  const { db } = own.stores
  await own.worker.stop(5_000)
  const { id } = await own.register(receiver.url)
  await own.write(2)
  await untilReadable(db)
  const [{ lease }] = (await claimEndpoints(db, own.now)) as [Lease]
  const before = (await findLeased(db, lease))!
  const recorder = openRecorder({
    db,
    lease,
    logger: pino({ level: 'silent' }),
    random: () => 0.5,
    stop: new AbortController().signal,
  })
  const after = recorder.position(before)
  const items = await findNext(db, before, { now: own.now, after, except: recorder.due, limit: 64 })
  const [failed, delivered] = items.map(recorder.begin)
  const outcome = { status: 500, error: 'status', answer: null, latencyMs: 1, retryAfter: undefined } as const
  await db.execute(sql`alter table webhook_counts rename to away`)
  expect(await recorder.end(failed!, { at: own.now, outcome })).toBeUndefined()
  await db.execute(sql`alter table away rename to webhook_counts`)
  const given = { at: own.now, outcome: { ...outcome, status: 204, error: null } }
  expect(await recorder.end(delivered!, given)).toBeUndefined()
  expect(await own.endpoint(id)).toMatchObject({ xid: before.xid, seq: before.seq })
  expect(await own.deliveries(id)).toEqual([])
})
