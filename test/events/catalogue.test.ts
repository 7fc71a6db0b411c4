import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import { appendEvent } from '../../src/events/append.ts'
import { EVENT_TYPES, formatCursor, type StoredEvent } from '../../src/events/catalogue.ts'
import { toCloudEvent } from '../../src/events/cloud-event.ts'
import { findEnd, readEvents } from '../../src/events/read.ts'
import { useService } from '../support/service.ts'
import { untilReadable } from '../support/stores.ts'

const service = useService({ worker: false })

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

test('the schema that each event names is served, and its data fits', async () => {
  const ajv = new Ajv2020()
  for (const type of EVENT_TYPES) {
    const answer = await service.get(`/schemas/events/${type}/1`)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('application/schema+json')
    expect(answer.json).toMatchObject({ $id: `http://frames.test/schemas/events/${type}/1`, title: type })
    expect(ajv.validate(answer.json, exampleOf(answer.json))).toBe(true)
    expect(answer.json.description).toMatch(/\.$/)
    expect((await service.get(`/schemas/events/${type}/2`)).status).toBe(404)
  }
  for (const path of ['frame.eaten/1', 'frame.saved/0', 'frame.saved/1.0', 'frame.saved/-1', 'toString/1'])
    expect((await service.get(`/schemas/events/${path}`)).status).toBe(404)
  for (const event of await eventsOf(''))
    expect(new URL(event.dataschema).pathname).toBe(`/schemas/events/${event.type}/${event.version}`)
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
     values ('key.revoked', $1, null, $2, 1), ('key.revoked', 'newer', $1, $2, 9), ('frame.eaten', $1, $1, $2, 1)`,
    ['Zoë "quoted" \\ \u2028 😀', JSON.stringify(awkward)],
  )
  await untilReadable(db)
  const expected = await readEvents(db, { after, limit: 10 })
  expect(expected.events).toHaveLength(3)
  const answer = await service.call('GET', `/api/events?after=${formatCursor(after)}&limit=10`)
  expect(JSON.stringify(answer.json)).toBe(
    JSON.stringify({
      events: expected.events.map((event) => toCloudEvent(event, 'http://frames.test')),
      next: formatCursor(expected.next),
    }),
  )
  expect(answer.json.events.map((event: { data: object }) => event.data)).toEqual([awkward, awkward, awkward])
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
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
  const pages: string[][] = []
  for (let after = all[at]!.sequence; ; ) {
    const { events, next } = (await service.call('GET', `/api/events?types=key.revoked&limit=1&after=${after}`)).json
    if (events.length === 0) break
    pages.push(events.map(({ subject }: { subject: string }) => subject))
    after = next
  }
  expect(pages).toEqual([['s2'], ['s3']])
  // The cursor of an event that this log does not hold: of another library, or lost with a restored backup.
  const foreign = await service.call('GET', '/api/events?after=987654321.987654321')
  expect(foreign.status).toBe(400)
  const goOn = /Go on from (\S+), or/.exec(foreign.json.message)?.[1]
  expect(await eventsOf(`?after=${goOn}`)).toEqual([])
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
