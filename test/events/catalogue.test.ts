import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { appendEvent } from '../../src/events/append.ts'
import { EARLIER, EVENT_TYPES, EVENTS, formatCursor, type StoredEvent } from '../../src/events/catalogue.ts'
import { currentVersion, toCloudEvent, upcast, versionsOf } from '../../src/events/cloud-event.ts'
import { findEnd, readEvents } from '../../src/events/read.ts'
import { createBoard, deleteBoard } from '../../src/library/collections/boards.ts'
import { seedAccount } from '../accounts/seed-frames.ts'
import { openService, type Service } from '../support/service.ts'
import { untilReadable } from '../support/stores.ts'

let service: Service
beforeAll(async () => {
  service = await openService({ worker: false })
})
afterAll(() => service[Symbol.asyncDispose]())

const eventsOf = async (query: string) => {
  await untilReadable(service.stores.db)
  return (await service.call('GET', `/api/events${query}`)).json.events as ReturnType<typeof toCloudEvent>[]
}

/** Data made of the examples of its fields. */
function exampleOf({ properties = {} }: { properties?: Record<string, { examples?: unknown[] }> }) {
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, { examples }]) => (examples ? [[name, examples[0]]] : [])),
  )
}

test('the schema that each event names is served, and the data of every version fits', async () => {
  const ajv = new Ajv2020()
  for (const type of EVENT_TYPES) {
    for (const { version } of versionsOf(type)) {
      const answer = await service.get(`/schemas/events/${type}/${version}`)
      expect(answer.status).toBe(200)
      expect(answer.headers.get('content-type')).toBe('application/schema+json')
      expect(answer.json).toMatchObject({ $id: `http://frames.test/schemas/events/${type}/${version}`, title: type })
      if (version === currentVersion(type)) expect(ajv.validate(answer.json, exampleOf(answer.json))).toBe(true)
      expect(answer.json.description).toMatch(/\.$/)
    }
    expect((await service.get(`/schemas/events/${type}/${currentVersion(type) + 1}`)).status).toBe(404)
  }
  for (const path of ['frame.eaten/1', 'frame.saved/0', 'frame.saved/1.0', 'frame.saved/-1', 'toString/1'])
    expect((await service.get(`/schemas/events/${path}`)).status).toBe(404)
  for (const event of await eventsOf(''))
    expect(new URL(event.dataschema).pathname).toBe(`/schemas/events/${event.type}/${event.version}`)
})

test('an event of a former version is read as the current one, everywhere; it is stored as it was', async () => {
  const { account } = await seedAccount(service.stores.db)
  const { next } = (await service.call('GET', '/api/events?after=end')).json
  const { rows } = await service.stores.db.$client.query(
    `insert into events (type, subject, account_id, data, version)
     values ('board.deleted', 'planted', $1, '{"board_id":"planted","name":"old","item_count":3}', 1),
            ('board.deleted', 'by account', $1,
             '{"board_id":"by account","name":"old","item_count":0,"cause":"account_deleted"}', 1)
     returning id`,
    [account.id],
  )
  const board = await createBoard(service.stores.db, { accountId: account.id, name: 'new' })
  await deleteBoard(service.stores.db, { accountId: account.id, boardId: board.id })
  const found = await eventsOf(`?after=${next}&types=board.deleted`)
  expect(found.map(({ subject, version, data }) => ({ subject, version, cause: data.cause }))).toEqual([
    { subject: 'planted', version: 2, cause: 'owner' },
    { subject: 'by account', version: 2, cause: 'account_deleted' },
    { subject: board.id, version: 2, cause: 'owner' },
  ])
  for (const { data, dataschema } of found) {
    const { json } = await service.get(new URL(dataschema).pathname)
    expect(new Ajv2020().validate(json, data)).toBe(true)
  }
  const headers = { accept: 'text/event-stream', authorization: `Bearer ${service.operatorKey}` }
  const stop = new AbortController()
  const stream = await fetch(`${service.url}/api/events?after=${next}&types=board.deleted`, {
    headers,
    signal: stop.signal,
  })
  let text = ''
  for await (const chunk of stream.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk
    if (text.split('data: ').length > 3) break
  }
  stop.abort()
  expect(text.match(/"version":2/g)).toHaveLength(3)
  const stored = await service.stores.db.$client.query('select version, data from events where id = $1', [rows[0].id])
  expect(stored.rows[0]).toEqual({ version: 1, data: { board_id: 'planted', name: 'old', item_count: 3 } })
})

test('a page is what its events are one by one, whatever their data and version', async () => {
  const { db } = service.stores
  await untilReadable(db)
  const after = await findEnd(db)
  const awkward = {
    text: 'a, b: "c" \\ \n\t é \u2028 😀 {"d": [1, 2]}',
    10: [1.5, 1e21, -0.25, true, null, {}],
    '': '',
  }
  await db.$client.query(
    `insert into events (type, subject, account_id, data, version)
     values ('key.revoked', $1, null, $2, 1), ('key.revoked', 'newer', $1, $2, 9), ('frame.eaten', $1, $1, $2, 1),
            ('board.deleted', 'former', null, '{"board_id":"former","name":"\\"old\\": 1","item_count":3}', 1)`,
    ['Zoë "quoted" \\ \u2028 😀', JSON.stringify(awkward)],
  )
  await untilReadable(db)
  const expected = await readEvents(db, { after, limit: 10 })
  expect(expected.events).toHaveLength(4)
  const answer = await service.call('GET', `/api/events?after=${formatCursor(after)}&limit=10`)
  expect(JSON.stringify(answer.json)).toBe(
    JSON.stringify({
      events: expected.events.map((event) => toCloudEvent(event, 'http://frames.test')),
      next: formatCursor(expected.next),
    }),
  )
  expect(answer.json.events.map((event: { data: object }) => event.data)).toEqual([
    awkward,
    awkward,
    awkward,
    { board_id: 'former', name: '"old": 1', item_count: 3, cause: 'owner' },
  ])
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
})

test('versions follow each other step by step, and what a newer release wrote is left alone', () => {
  const schema = EVENTS['frame.saved']
  const earlier = {
    'frame.saved': [
      { schema, toNext: (data: Record<string, unknown>) => ({ ...data, steps: ['one'] }) },
      { schema, toNext: (data: Record<string, unknown>) => ({ ...data, steps: [...(data.steps as string[]), 'two'] }) },
    ],
  }
  const from = (version: number, data: Record<string, unknown> = {}) =>
    upcast('frame.saved', { version, data }, earlier)
  expect(from(1)).toEqual({ version: 3, data: { steps: ['one', 'two'] } })
  expect(from(2, { steps: [] })).toEqual({ version: 3, data: { steps: ['two'] } })
  expect(from(3, { steps: [] })).toEqual({ version: 3, data: { steps: [] } })
  expect(from(4, { steps: [] })).toEqual({ version: 4, data: { steps: [] } })
  expect(upcast('frame.eaten' as 'frame.saved', { version: 1, data: {} }, earlier)).toEqual({ version: 1, data: {} })
  expect(currentVersion('frame.saved', earlier)).toBe(3)
  for (const [type, steps] of Object.entries(EARLIER)) expect(EVENT_TYPES, `${steps?.length}`).toContain(type)
})

test('sequence is the position: it sorts as text, and `after` takes it', async () => {
  const event = (xid: string, seq: number) =>
    toCloudEvent({ ...stored, cursor: { xid, seq } }, 'http://frames.test').sequence
  const inOrder = [event('9', 99), event('10', 5), event('10', 12), event('4611686018427387905', 1)]
  expect(inOrder.toSorted()).toEqual(inOrder)
  for (const subject of ['s1', 's2', 's3'])
    await service.stores.db.transaction((tx) =>
      appendEvent(tx, { type: 'key.revoked', subject, accountId: null, data: { key_id: subject } }),
    )
  const all = await eventsOf('?types=key.revoked')
  expect(all.map(({ sequence }) => sequence).toSorted()).toEqual(all.map(({ sequence }) => sequence))
  const at = all.findIndex(({ subject }) => subject === 's1')
  const behind = await eventsOf(`?types=key.revoked&after=${all[at]!.sequence}`)
  expect(behind.map(({ subject }) => subject)).toEqual(['s2', 's3'])
})

const stored: StoredEvent = {
  id: 'x',
  type: 'frame.saved',
  version: 1,
  subject: 'x',
  accountId: null,
  data: {},
  time: new Date(0),
  cursor: { xid: '0', seq: 0 },
}
