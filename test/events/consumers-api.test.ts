import { pino } from 'pino'
import { expect, test } from 'vitest'
import { appendEvent } from '../../src/events/append.ts'
import { START, type StoredEvent } from '../../src/events/catalogue.ts'
import { beginCheckpoint, checkpointOf, startConsumer } from '../../src/events/consume.ts'
import { sql } from '../../src/sql/orm.ts'
import { useService } from '../support/service.ts'
import { untilReadable } from '../support/stores.ts'
import { until } from '../support/until.ts'

const service = useService({ worker: false })

async function write(...subjects: string[]): Promise<void> {
  for (const subject of subjects)
    await service.stores.db.transaction((tx) =>
      appendEvent(tx, { type: 'key.revoked', subject, accountId: null, data: { key_id: subject } }),
    )
  await untilReadable(service.stores.db)
}

/** A consumer that cannot handle subjects that begin with `bad`, until it is mended. */
function open(name: string) {
  const state = { mended: false, handled: [] as string[] }
  const { db, databaseUrl: url } = service.stores
  const running = startConsumer(
    { db, url, logger: pino({ level: 'silent' }), pollMs: 5 },
    {
      name,
      types: ['key.revoked'],
      async handle(events: StoredEvent[]) {
        if (!state.mended && events.some(({ subject }) => subject.startsWith('bad'))) throw new Error('not mended')
        state.handled.push(...events.map(({ subject }) => subject))
        return undefined
      },
    },
  )
  return { state, running, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() }
}

test('consumers are listed, and one handles events again from a place on', async () => {
  await using consumer = open('replayed')
  const { state, running } = consumer
  await write('a', 'b', 'c')
  await running.drain()
  const { events } = (await service.call('GET', '/api/events?types=key.revoked')).json
  const from = events[0].sequence
  state.handled.length = 0
  await beginCheckpoint(service.stores.db, 'another')
  // Another consumer is moving its checkpoint.
  const answer = await service.stores.db.transaction(async (tx) => {
    await tx.execute(sql`select from checkpoints where consumer <> 'replayed' for update`)
    return service.call('POST', '/api/events/consumers/replayed/replay', { from })
  })
  expect(answer.status).toBe(202)
  expect(answer.json).toMatchObject({ consumer: 'replayed', events: 2 })
  await until(() => state.handled.length === 2)
  expect(state.handled).toEqual(['b', 'c'])
  // What the answer names is a cursor of the log.
  expect((await service.call('GET', `/api/events?after=${answer.json.was}`)).status).toBe(200)
  const today = await service.call('POST', '/api/events/consumers/replayed/replay', { from: '2020-01-01' })
  expect(today.json.from).toBe('0.0')
  const { consumers } = (await service.call('GET', '/api/events/consumers')).json
  expect(consumers).toContainEqual(expect.objectContaining({ consumer: 'replayed', dead: 0 }))
})

test('a replay that would skip, or of nobody, is refused with what is allowed', async () => {
  const refused = async (name: string, body: object) => {
    const { status, json } = await service.call('POST', `/api/events/consumers/${name}/replay`, body)
    expect([name, status, json.code]).toEqual([name, 400, 'invalid_request'])
    return json.message as string
  }
  await service.stores.db.$client.query(`insert into checkpoints (consumer) values ('behind') on conflict do nothing`)
  expect(await refused('nobody', { from: '0.0' })).toMatch(/there is no nobody\. Use one of .*replayed/)
  expect(await refused('constructor', { from: '0.0' })).toMatch(/there is no constructor\. Use one of /)
  expect(await refused('replayed', { from: 'yesterday' })).toMatch(/^from: give a cursor of the log, or a date/)
  expect(await refused('replayed', { from: '99999999.9' })).toMatch(/^from: the log does not hold this event/)
  const { next } = (await service.call('GET', '/api/events?after=end')).json
  expect(await refused('behind', { from: next })).toMatch(/behind is only at .* Going forward would skip events/)
  expect(await checkpointOf(service.stores.db, 'behind')).toEqual(START)
  await refused('replayed', {})
  await refused('replayed', { from: '0.0', to: '1.1' })
})

test('dead events are listed by pages, shown, and tried again', async () => {
  await using consumer = open('fragile')
  const { state, running } = consumer
  await write('bad 1', 'good', 'bad 2', 'bad 3')
  await running.drain()
  expect(state.handled).toContain('good')
  const path = '/api/events/dead?consumer=fragile'
  const all = (await service.call('GET', path)).json
  expect(all.next).toBeNull()
  expect(all.dead_events).toHaveLength(3)
  expect(all.dead_events[0]).toMatchObject({
    consumer: 'fragile',
    error: 'not mended',
    attempts: 10,
    waiting: false,
    event: { type: 'key.revoked', data: {} },
  })
  const paged: object[] = []
  for (let after: string | null = ''; after !== null; ) {
    const page: typeof all = (
      await service.call('GET', `${path}&limit=2${after && `&after=${encodeURIComponent(after)}`}`)
    ).json
    paged.push(...page.dead_events)
    after = page.next
  }
  expect(paged).toEqual(all.dead_events)
  expect((await service.call('GET', `${path}&limit=3`)).json.next).toBeNull()
  const [{ event }] = all.dead_events
  const shown = await service.call('GET', `/api/events/dead/${event.id}`)
  expect(shown.json.dead_events).toEqual([all.dead_events[0]])
  expect((await service.call('GET', '/api/events/dead/nothing')).status).toBe(404)

  state.mended = true
  const one = await service.call('POST', '/api/events/dead/retry', { event_ids: [event.id] })
  expect([one.status, one.json]).toEqual([202, { asked: 1 }])
  const left = async () => (await service.call('GET', path)).json.dead_events.length
  await until(async () => (await left()) === 2)
  expect((await service.call('POST', '/api/events/dead/retry', { all: true, consumer: 'fragile' })).json.asked).toBe(2)
  await until(async () => (await left()) === 0)
  expect(state.handled.filter((subject) => subject.startsWith('bad')).toSorted()).toEqual(['bad 1', 'bad 2', 'bad 3'])
  expect((await service.call('POST', '/api/events/dead/retry', { all: true, consumer: 'fragile' })).status).toBe(404)
  for (const body of [
    {},
    { all: false },
    { event_ids: [] },
    { event_ids: ['x'] },
    { all: true, event_ids: [event.id] },
  ])
    expect(await service.call('POST', '/api/events/dead/retry', body)).toMatchObject({
      status: 400,
      json: { message: expect.stringMatching(/send event_ids \(1 to 1,000 ids of events\) or all: true|event_ids/) },
    })
  expect((await service.call('GET', '/api/events/dead?after=nonsense')).status).toBe(400)
})
