import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { sql } from 'drizzle-orm'
import { Webhook } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { deleteAccount, setPlan } from '../../src/library/accounts/accounts.ts'
import { createKey } from '../../src/library/accounts/keys.ts'
import { createBoard, updateBoard } from '../../src/library/collections/boards.ts'
import { letIn, openSignInService, type Person, type SignInService } from '../oauth/support.ts'
import { seedVideo } from '../support/seed.ts'
import { until } from '../support/until.ts'
import { openWebhookReceiver, type Received, status, type WebhookReceiver } from '../support/webhook-receiver.ts'
import { post, postModern } from './support.ts'

/** The Events extension: what happens in the library, told to who asked. */

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const OTHER = `whsec_${Buffer.alloc(24, 9).toString('base64')}`

let service: SignInService
let receiver: WebhookReceiver
let person: Person
let n = 0
beforeAll(async () => {
  service = await openSignInService({ WEBHOOK_ALLOW_PRIVATE: '1' }, { worker: { roles: ['events'] } })
})
afterAll(() => service[Symbol.asyncDispose]())
beforeEach(async () => {
  receiver = await openWebhookReceiver(echo())
  await service.stores.db.execute(sql`delete from subscriptions`)
  person = await service.person(`person-${++n}@example.com`)
})
afterEach(() => receiver[Symbol.asyncDispose]())

/** Sends challenges back, and answers events so. */
function echo(after: (n: number) => number = () => 204) {
  let events = 0
  return ({ body }: Received, response: Parameters<ReturnType<typeof status>>[1]) => {
    const { type, challenge } = JSON.parse(body)
    if (type === 'verification') response.writeHead(200).end(JSON.stringify({ challenge }))
    else response.writeHead(after(++events)).end()
  }
}

const tokenOf = async (scopes?: readonly string[]) => (await letIn(service, person, scopes ? { scopes } : {})).tokens
const ask = (method: string, params: Record<string, unknown>, token?: string, url = service.mcp) =>
  postModern(url, { method, params }, token === undefined ? {} : { authorization: `Bearer ${token}` })
const openDoor = () => `${service.url}/api/mcp`

async function subscribed(token: string, params: Record<string, unknown>) {
  const delivery = { mode: 'webhook', url: receiver.url, secret: SECRET }
  return ask('events/subscribe', { delivery, ...params }, token)
}

const occurrences = () => receiver.received.map(({ body }) => JSON.parse(body)).filter(({ eventId }) => eventId)
const deliveriesLeft = async () =>
  Number((await service.stores.db.execute(sql`select count(*) as n from subscription_deliveries`)).rows[0]!.n)
/** Sends a form of the person's keys page. */
async function pressOnKeys(action: RegExp) {
  const { text } = await person.open(`${service.url}/keys`)
  const form = /name="form" value="([^"]+)"/.exec(text)![1]!
  await person.open(service.url + action.exec(text)![1], {
    method: 'POST',
    body: new URLSearchParams({ form }).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
}
/** What waits is due now. */
const hurry = () => service.stores.db.execute(sql`update subscription_deliveries set next_at = now()`)
const seedTerminal = (title: string) =>
  seedVideo(service.stores.db, {
    title,
    author: 'Northwind',
    frames: [
      { subject: 'terminal', tone: 'dark', caption: 'A terminal runs a build' },
      { subject: 'ui', tone: 'bright', caption: 'A dashboard' },
    ],
  })

describe('what is declared', () => {
  test('both shapes of the capability, for the newest revision alone', async () => {
    const { json } = await ask('server/discover', {}, undefined, openDoor())
    const { capabilities } = json.result
    expect(capabilities.events).toEqual({})
    expect(capabilities.extensions['io.modelcontextprotocol/events']).toEqual({})
    const initialize = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } }
    const older = await post(openDoor(), { jsonrpc: '2.0', id: 1, method: 'initialize', params: initialize })
    expect(older.json.result.capabilities).not.toHaveProperty('events')
    const listed = await post(openDoor(), { jsonrpc: '2.0', id: 1, method: 'events/list', params: {} })
    expect(listed.json.error).toMatchObject({ code: -32601 })
  })

  test('each caller is listed what it may hear of', async () => {
    const names = async (token?: string, url?: string) =>
      (await ask('events/list', {}, token, url)).json.result.events.map(({ name }: { name: string }) => name)
    expect(await names(undefined, openDoor())).toEqual(['search.matched', 'video.ready'])
    const { access_token } = await tokenOf()
    expect(await names(access_token)).toEqual(['search.matched', 'video.ready', 'board.changed'])
    expect(await names(service.operatorKey, openDoor())).toEqual([
      'search.matched',
      'video.ready',
      'video.failed',
      'board.changed',
    ])
    const { events } = (await ask('events/list', {}, undefined, openDoor())).json.result
    expect(events[0]).toMatchObject({
      delivery: ['poll', 'webhook'],
      inputSchema: { type: 'object', properties: { query: { type: 'string' } }, additionalProperties: false },
      payloadSchema: { type: 'object', required: expect.arrayContaining(['video_id', 'frames', 'frame_ids']) },
    })
  })
})

describe('a poll', () => {
  test('begins now, and then tells each new video whose frames answer the question, once and with one id', async () => {
    const asked = { name: 'search.matched', arguments: { query: 'dark terminal' } }
    const first = (await ask('events/poll', asked, undefined, openDoor())).json.result
    expect(first).toMatchObject({ resultType: 'complete', events: [], truncated: false, hasMore: false })
    const { id, frameIds } = await seedTerminal('A film with a terminal')
    await seedVideo(service.stores.db, { title: 'Another', frames: [{ subject: 'presenter', caption: 'A face' }] })
    await service.worker.drain()
    const next = async (more = {}) =>
      (await ask('events/poll', { ...asked, cursor: first.cursor, ...more }, undefined, openDoor())).json.result
    const { events, cursor } = await next()
    expect(events).toHaveLength(1)
    expect(events[0]).toMatchObject({
      name: 'search.matched',
      data: {
        video_id: id,
        title: 'A film with a terminal',
        query: 'dark terminal',
        frames: 1,
        frame_ids: [frameIds[0]],
        url: `${service.url}/videos/${id}`,
      },
    })
    expect((await next()).events).toEqual(events)
    const [ofBrand] = (await next({ arguments: { author: 'Northwind' } })).events
    expect(ofBrand.data).toMatchObject({ video_id: id, author: 'Northwind', frames: 2 })
    const later = (await ask('events/poll', { ...asked, cursor }, undefined, openDoor())).json.result
    expect(later.events).toEqual([])
  })

  test('says what was skipped, and refuses what it cannot read', async () => {
    const asked = { name: 'video.ready', arguments: { author: 'Northwind' } }
    await seedTerminal('Skipped')
    const cursor = '1.0'
    const all = (await ask('events/poll', { ...asked, cursor }, undefined, openDoor())).json.result
    expect(all.truncated).toBe(true)
    expect(all.events.length).toBeGreaterThan(0)
    const recent = await ask('events/poll', { ...asked, cursor: '0.0', maxAgeMs: 0 }, undefined, openDoor())
    expect(recent.json.result).toMatchObject({ events: [], truncated: true })
    const some = (await ask('events/poll', { ...asked, cursor: '0.0', maxEvents: 1 }, undefined, openDoor())).json
    expect(some.result.events).toHaveLength(1)
    const codes = async (params: Record<string, unknown>) =>
      (await ask('events/poll', params, undefined, openDoor())).json.error?.code
    expect(await codes({ ...asked, cursor: 'yesterday' })).toBe(-32602)
    expect(await codes({ name: 'video.ready', arguments: { colour: 'red' } })).toBe(-32602)
    expect(await codes({ name: 'search.matched', arguments: {} })).toBe(-32602)
    expect(await codes({ name: 'search.matched', arguments: { technique: 'no-such-move' } })).toBe(-32602)
    expect(await codes({ name: 'frame.saved' })).toBe(-32011)
    expect(await codes({ name: 'board.changed' })).toBe(-32012)
    expect(await codes({ name: 'video.failed' })).toBe(-32012)
  })

  test("a board's changes are its owner's alone", async () => {
    const { access_token } = await tokenOf()
    const board = await createBoard(service.stores.db, { accountId: person.accountId, name: 'Openings' })
    const from = (await ask('events/poll', { name: 'board.changed' }, access_token)).json.result.cursor
    await updateBoard(service.stores.db, { accountId: person.accountId, boardId: board.id, name: 'Endings' })
    const toldTo = async (token: string) =>
      (await ask('events/poll', { name: 'board.changed', cursor: from }, token)).json.result.events
    const renamed = { data: { board_id: board.id, change: 'renamed', actor: { self: true } }, name: 'board.changed' }
    // A transaction of another test, begun before, holds an event back for a moment.
    await expect.poll(() => toldTo(access_token)).toMatchObject([renamed])
    person = await service.person('stranger@example.com')
    const { access_token: other } = await tokenOf()
    expect(await toldTo(other)).toEqual([])
    const named = await ask('events/poll', { name: 'board.changed', arguments: { board_id: board.id } }, other)
    expect(named.json.error).toMatchObject({ code: -32011 })
  })
})

describe('a subscription', () => {
  test('begins with a challenge, and delivers what standardwebhooks verifies', async () => {
    const { access_token } = await tokenOf()
    const { json } = await subscribed(access_token, {
      name: 'search.matched',
      arguments: { query: 'terminal', tone: 'dark' },
    })
    expect(json.result).toMatchObject({ resultType: 'complete', truncated: false, deliveryStatus: { active: true } })
    expect(Date.parse(json.result.refreshBefore)).toBeGreaterThan(Date.now() + 23 * 3_600_000)
    expect(JSON.parse(receiver.received[0]!.body)).toMatchObject({ type: 'verification' })
    expect(receiver.received[0]!.headers['webhook-id']).toMatch(/^msg_verification_/)
    const { id } = await seedTerminal('Told')
    await until(() => occurrences().length === 1)
    const [, { body, headers }] = receiver.received as [Received, Received]
    const told = new Webhook(SECRET).verify(body, headers) as { eventId: string; data: object }
    expect(told).toMatchObject({ name: 'search.matched', data: { video_id: id, frames: 1, tone: ['dark'] } })
    expect(headers['webhook-id']).toBe(told.eventId)
    expect(headers['x-mcp-subscription-id']).toBe(json.result.id)
    await until(async () => (await deliveriesLeft()) === 0)
    const page = await person.open(`${service.url}/keys`)
    expect(page.text).toContain('What apps are told of')
    expect(page.text).toContain('query: terminal')
  })

  test.each([
    ['a wrong echo', status(200, {}, '{"challenge":"no"}'), 'challenge_failed'],
    ['no JSON', status(200, {}, 'hello'), 'challenge_failed'],
    ['a redirect', status(302, { location: '/elsewhere' }), 'http_4xx'],
    ['an error', status(500), 'http_5xx'],
  ])('is refused for %s', async (_, answer, reason) => {
    receiver.answer(answer)
    const { access_token } = await tokenOf()
    const { json } = await subscribed(access_token, { name: 'video.ready' })
    expect(json.error).toMatchObject({ code: -32015, data: { reason } })
    expect(receiver.received).toHaveLength(1)
  })

  test('needs somebody, a webhook, and a secret', async () => {
    const delivery = { mode: 'webhook', url: receiver.url, secret: SECRET }
    const name = 'video.ready'
    expect((await ask('events/subscribe', { name, delivery }, undefined, openDoor())).json.error.code).toBe(-32012)
    const { access_token } = await tokenOf()
    const code = async (over: object) =>
      (await subscribed(access_token, { name, delivery: { ...delivery, ...over } })).json.error?.code
    expect(await code({ mode: 'push' })).toBe(-32014)
    expect(await code({ secret: 'whsec_c2hvcnQ=' })).toBe(-32602)
    expect(await code({ secret: 'password' })).toBe(-32602)
    expect(await code({ url: 'ftp://example.com' })).toBe(-32015)
    expect((await ask('events/subscribe', { name, delivery })).status).toBe(401)
    expect(receiver.received).toEqual([])
  })

  test('asked again is renewed: one id, no second challenge, and for a while both secrets sign', async () => {
    const { access_token } = await tokenOf()
    const asked = { name: 'video.ready', arguments: { author: ['Northwind'] } }
    const first = await subscribed(access_token, asked)
    const delivery = { mode: 'webhook', url: receiver.url, secret: OTHER }
    const second = await subscribed(access_token, { ...asked, delivery, ttlMs: 600_000 })
    expect(second.json.result.id).toBe(first.json.result.id)
    expect(Date.parse(second.json.result.refreshBefore)).toBeLessThan(Date.now() + 700_000)
    expect(receiver.received).toHaveLength(1)
    await seedTerminal('For both')
    await until(() => occurrences().length === 1)
    const { body, headers } = receiver.received[1]!
    const [{ eventId }] = occurrences()
    const read = (secret: string) => new Webhook(secret).verify(body, headers)
    for (const secret of [SECRET, OTHER]) expect(read(secret)).toMatchObject({ eventId, data: { title: 'For both' } })
    expect(() => read(`whsec_${Buffer.alloc(32, 1).toString('base64')}`)).toThrow(/signature/i)
  })

  test('renewed with its own secret it has one signature, and tells the position of the renewal', async () => {
    const { access_token } = await tokenOf()
    const asked = { name: 'video.ready', arguments: { author: `Renewed ${n}` } }
    const add = () => seedVideo(service.stores.db, { author: `Renewed ${n}` })
    await subscribed(access_token, asked)
    await add()
    await until(() => occurrences().length === 1)
    const { cursor } = (await subscribed(access_token, asked)).json.result
    await add()
    await until(() => occurrences().length === 2)
    expect(receiver.received.at(-1)!.headers['webhook-signature']!.split(' ')).toHaveLength(1)
    const since = await ask('events/poll', { ...asked, cursor }, access_token)
    expect(since.json.result.events).toMatchObject([{ eventId: occurrences()[1].eventId }])
  })

  test('from a cursor tells the past too, and after the end nothing more', async () => {
    const { access_token } = await tokenOf()
    const asked = { name: 'video.ready', arguments: { author: `Only ${n}` } }
    const { cursor } = (await ask('events/poll', asked, access_token)).json.result
    await seedVideo(service.stores.db, { author: `Only ${n}` })
    await service.worker.drain()
    await subscribed(access_token, { ...asked, cursor })
    await seedVideo(service.stores.db, { author: `Only ${n}` })
    await until(() => occurrences().length === 2)
    const end = { ...asked, delivery: { url: receiver.url } }
    expect((await ask('events/unsubscribe', end, access_token)).json.result).toMatchObject({ resultType: 'complete' })
    await seedVideo(service.stores.db, { author: `Only ${n}` })
    await service.worker.drain()
    expect(await deliveriesLeft()).toBe(0)
    expect((await ask('events/unsubscribe', end, access_token)).json.error).toBeUndefined()
  })

  test('what failed comes again with the same id and bytes; 410 and 413 end that event alone', async () => {
    receiver.answer(echo((at) => [500, 204, 410, 413, 204][at - 1] ?? 204))
    const { access_token } = await tokenOf()
    const asked = { name: 'video.ready', arguments: { author: `Flaky ${n}` } }
    await subscribed(access_token, asked)
    const add = () => seedVideo(service.stores.db, { author: `Flaky ${n}` })
    await add()
    await until(() => occurrences().length === 1)
    await until(async () => (await hurry()).rowCount === 1)
    await until(() => occurrences().length === 2)
    const [, first, second] = receiver.received as [Received, Received, Received]
    expect([second.body, second.headers['webhook-id']]).toEqual([first.body, first.headers['webhook-id']])
    for (const count of [3, 4, 5]) {
      await add()
      await until(() => occurrences().length === count)
    }
    await until(async () => (await deliveriesLeft()) === 0)
    expect(new Set(occurrences().map(({ eventId }) => eventId)).size).toBe(4)
  })

  test("the account's own changes wait until its turn is over", async () => {
    const { access_token } = await tokenOf()
    const board = await createBoard(service.stores.db, { accountId: person.accountId, name: 'Mine' })
    await subscribed(access_token, { name: 'board.changed', arguments: { board_id: board.id } })
    await updateBoard(service.stores.db, { accountId: person.accountId, boardId: board.id, name: 'Yours' })
    await service.worker.drain()
    const { rows } = await service.stores.db.execute<{ waits: number }>(
      sql`select extract(epoch from next_at - now())::float8 as waits from subscription_deliveries`,
    )
    expect(rows[0]!.waits).toBeGreaterThan(60)
    expect(occurrences()).toEqual([])
    await hurry()
    await until(() => occurrences().length === 1)
    expect(occurrences()[0]).toMatchObject({ data: { change: 'renamed', actor: { self: true } } })
  })

  test('ends with the grant, with the plan, and with the account', async () => {
    const { access_token } = await tokenOf()
    const { db } = service.stores
    const { accountId } = person
    const held = async () =>
      Number(
        (await db.execute(sql`select count(*) as n from subscriptions where account_id = ${accountId}`)).rows[0]!.n,
      )
    const board = await createBoard(db, { accountId, name: 'Mine' })
    await subscribed(access_token, { name: 'board.changed' })
    await setPlan(db, { accountId, plan: 'free' })
    await updateBoard(db, { accountId, boardId: board.id, name: 'Unheard' })
    await service.worker.drain()
    await hurry()
    await until(async () => (await deliveriesLeft()) === 0)
    expect(occurrences()).toEqual([])
    await pressOnKeys(/action="(\/web\/apps\/[^"]+\/revoke)"/)
    expect(await held()).toBe(0)
    const { key } = await createKey(db, { accountId, name: 'a key' })
    await subscribed(key, { name: 'video.ready' })
    expect(await held()).toBe(1)
    await deleteAccount(db, accountId)
    expect(await held()).toBe(0)
  })

  test('an account has twenty at most, and ends one on its page', async () => {
    const { key } = await createKey(service.stores.db, { accountId: person.accountId, name: 'many' })
    for (let at = 0; at < 20; at++)
      expect(
        (await subscribed(key, { name: 'video.ready', arguments: { author: `A${at}` } })).json.error,
      ).toBeUndefined()
    const one = { name: 'video.ready', arguments: { author: 'One more' } }
    expect((await subscribed(key, one)).json.error).toMatchObject({ code: -32013, data: { limit: 20 } })
    await pressOnKeys(/action="(\/web\/subscriptions\/[^"]+\/end)"/)
    expect((await subscribed(key, one)).json.error).toBeUndefined()
  })

  test('the client of the SDK asks for it', async () => {
    const { access_token } = await tokenOf()
    const transport = new StreamableHTTPClientTransport(new URL(service.mcp), {
      requestInit: { headers: { authorization: `Bearer ${access_token}` } },
    })
    const client = new Client({ name: 'agent', version: '1' }, { versionNegotiation: { mode: 'auto' } })
    await client.connect(transport)
    const answer = z.looseObject({ events: z.array(z.looseObject({ name: z.string() })) })
    const { events } = await client.request({ method: 'events/list', params: {} }, answer)
    expect(events.map(({ name }) => name)).toContain('board.changed')
    await client.close()
  })
})

test('only public https addresses are asked, with the error numbers of the setting', async () => {
  const { names, ...careful } = await openSignInService({ MCP_EVENT_ERRORS: 'draft' })
  try {
    const somebody = await careful.person('careful@example.com')
    const { tokens } = await letIn({ ...careful, names }, somebody)
    names.set('inside.example.com', '10.0.0.7')
    const code = async (url: string) => {
      const delivery = { mode: 'webhook', url, secret: SECRET }
      const { json } = await ask(
        'events/subscribe',
        { name: 'video.ready', delivery },
        tokens.access_token,
        careful.mcp,
      )
      return [json.error.code, json.error.data.reason]
    }
    expect(await code('http://hooks.example.com/in')).toEqual([-32027, 'refused_address'])
    expect(await code('https://127.0.0.1/in')).toEqual([-32027, 'refused_address'])
    expect(await code('https://user:pass@hooks.example.com/in')).toEqual([-32027, 'refused_address'])
    // The name is looked up once, and its address is checked as the connection is made.
    expect(await code('https://inside.example.com/in')).toEqual([-32027, 'connection_refused'])
    const end = { name: 'video.ready', delivery: { url: 'https://hooks.example.com/in' } }
    const none = await ask('events/unsubscribe', end, tokens.access_token, careful.mcp)
    expect(none.json.error).toMatchObject({ code: -32023, data: { kind: 'subscription' } })
  } finally {
    await careful[Symbol.asyncDispose]()
  }
})
