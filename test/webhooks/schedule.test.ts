import { pino } from 'pino'
import { expect, test } from 'vitest'
import { status, type WebhookReceiver } from '../support/webhook-receiver.ts'
import { type Stage, useStage } from './support.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** The warnings of the log about receivers. */
const warnings: { msg: string; endpoint: string; failures?: number; because?: string }[] = []
const logger = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(JSON.parse(line)) })
let spread = 0.5
let stage: Stage
let receiver: WebhookReceiver
useStage({ random: () => spread, logger }, (given) => {
  warnings.length = 0
  spread = 0.5
  ;({ stage, receiver } = given)
})

/** Moves the time to the next attempt of anybody. False when nothing waits. */
async function toNext(): Promise<boolean> {
  const { rows } = await stage.stores.db.$client.query(
    `select greatest(min(d.next_at), min(e.held_until)) as at from webhook_deliveries d
       join webhook_endpoints e on e.id = d.endpoint_id where d.state = 'waiting' and e.state = 'active'`,
  )
  if (rows[0].at === null) return false
  if (rows[0].at > stage.now) stage.now = rows[0].at
  await stage.settle()
  return true
}

const WAITS = [5 / 3600, 5 / 60, 0.5, 2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR)

test.each([
  [0, 0.8],
  [0.5, 1],
  [1, 1.2],
])('a receiver that always fails gets ten attempts on the schedule (spread %d)', async (given, factor) => {
  spread = given
  const { id } = await stage.register(receiver.url)
  receiver.answer(status(404))
  await stage.write(1)
  await stage.settle()
  while (await toNext());
  const [delivery] = await stage.deliveries(id)
  expect(delivery).toMatchObject({ state: 'failed', next_attempt_at: null })
  const { attempts } = delivery!
  expect(attempts).toHaveLength(10)
  const times = attempts.map(({ at }) => Date.parse(at))
  const waits = times.slice(1).map((time, n) => time - times[n]!)
  for (const [n, wait] of waits.entries()) {
    // An attempt takes some milliseconds itself.
    expect(wait).toBeGreaterThanOrEqual(WAITS[n]! * factor)
    expect(wait).toBeLessThan(WAITS[n]! * factor + 30_000)
  }
  const total = times.at(-1)! - times[0]!
  expect(total / HOUR).toBeGreaterThan(75.58 * factor)
  expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  const stamps = receiver.received.map(({ headers }) => Number(headers['webhook-timestamp']))
  expect(stamps).toEqual(times.map((time) => Math.floor(time / 1000)))
  await stage.settle()
  expect(receiver.received).toHaveLength(10)
})

test('Retry-After puts off an attempt, in seconds or as a date, and never for more than a day', async () => {
  const { id } = await stage.register(receiver.url)
  const waitAfter = async (retryAfter: string) => {
    receiver.answer(status(500, { 'retry-after': retryAfter }))
    await stage.write(1)
    await stage.settle()
    const { next_attempt_at, attempts } = (await stage.deliveries(id)).at(-1)!
    // From the end of the attempt on. A date has no milliseconds.
    const [{ at, latency_ms }] = attempts as [(typeof attempts)[0]]
    return Math.ceil((Date.parse(next_attempt_at!) - Date.parse(at) - latency_ms) / 1000)
  }
  expect(await waitAfter('100')).toBe(100)
  expect(await waitAfter(new Date(stage.now.getTime() + 200_000).toUTCString())).toBe(200)
  expect(await waitAfter('99999999')).toBe(86_400)
  // Sooner than the schedule, in the past or no time at all: the schedule.
  for (const nothing of ['1', '0', '-5', 'soon', 'Thu, 01 Jan 1970 00:00:00 GMT'])
    expect(await waitAfter(nothing)).toBe(5)
})

test('an overloaded receiver that asks for a rest gets nothing until it is over, and then everything', async () => {
  const { id } = await stage.register(receiver.url)
  receiver.answer(status(429, { 'retry-after': '600' }))
  await stage.write(64)
  await stage.settle()
  await stage.write(5)
  stage.pass(500_000)
  await stage.settle()
  // Four requests are in flight together.
  expect(receiver.received.length).toBeLessThanOrEqual(4)
  expect((await stage.deliveries(id)).every(({ state }) => state === 'waiting')).toBe(true)
  receiver.answer(status(204))
  stage.pass(200_000)
  await stage.settle()
  expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(69)
})

test('after 20 failures a receiver gets one request at a time', async () => {
  await stage.register(receiver.url)
  let open = 0
  let mostLater = 0
  receiver.answer((_, response, n) => {
    open++
    // Three may have been on their way when the twentieth failed.
    if (n > 24) mostLater = Math.max(mostLater, open)
    setTimeout(() => {
      open--
      response.writeHead(500).end()
    }, 20)
  })
  await stage.write(60)
  await stage.settle()
  expect(receiver.received.length).toBeGreaterThanOrEqual(60)
  expect(mostLater).toBe(1)
})

test('410 ends the sending, and a resume sends what was missed', async () => {
  const { id } = await stage.register(receiver.url)
  receiver.answer(status(410))
  await stage.write(1)
  await stage.settle()
  expect(await stage.endpoint(id)).toMatchObject({ state: 'gone' })
  await stage.write(3)
  stage.pass(10 * DAY)
  await stage.settle()
  expect(receiver.received).toHaveLength(1)
  receiver.answer(status(204))
  await stage.resume(id)
  await stage.settle()
  expect((await stage.deliveries(id)).map(({ state }) => state)).toEqual(Array(4).fill('delivered'))
  expect(await stage.endpoint(id)).toMatchObject({ state: 'active', failures: 0, failingSince: null })
})

test('five days of nothing but failures pause an endpoint, and the log says so', async () => {
  const { id } = await stage.register(receiver.url)
  receiver.answer(status(500))
  const start = stage.now.getTime()
  const events: string[] = []
  for (let hour = 0; (await stage.endpoint(id)).state === 'active'; hour++) {
    expect(hour).toBeLessThan(150)
    if (hour % 12 === 0) events.push(...(await stage.write(1)))
    await stage.settle()
    stage.pass(HOUR)
  }
  const endpoint = await stage.endpoint(id)
  expect(endpoint).toMatchObject({ state: 'paused', pausedBecause: 'failures' })
  expect((stage.now.getTime() - start) / DAY).toBeCloseTo(5, 0)
  expect(endpoint.failures).toBeGreaterThanOrEqual(20)
  expect(warnings).toMatchObject([
    { msg: 'webhook receiver fails', endpoint: id, failures: 20 },
    { msg: 'webhook receiver stopped', endpoint: id, because: 'failures' },
  ])
  // Some were given up by then: the schedule is shorter than five days.
  expect((await stage.deliveries(id)).map(({ state }) => state)).toContain('failed')
  events.push(...(await stage.write(2)))
  stage.pass(40 * DAY)
  await stage.worker.prune()
  await stage.settle()
  const before = receiver.received.length
  receiver.answer(status(204))
  await stage.resume(id)
  await stage.settle()
  const arrived = receiver.received.slice(before).map(({ body }) => JSON.parse(body).subject)
  expect(arrived.toSorted()).toEqual(events.toSorted())
})

test('one success among the failures keeps an endpoint going', async () => {
  const { id } = await stage.register(receiver.url)
  for (let day = 0; day < 8; day++) {
    receiver.answer((_, response, n) => response.writeHead(day === 4 && n % 2 ? 204 : 503).end())
    await stage.write(6)
    await stage.settle()
    stage.pass(DAY)
    await stage.settle()
  }
  expect((await stage.endpoint(id)).failures).toBeGreaterThan(20)
  expect(await stage.endpoint(id)).toMatchObject({ state: 'active' })
})
