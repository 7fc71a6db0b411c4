import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { EventSource } from 'eventsource'
import { beforeAll, expect, test } from 'vitest'
import { appendEvent } from '../../src/events/append.ts'
import { openEventStreams } from '../../src/http/event-stream.ts'
import { createKey, revokeKey } from '../../src/library/accounts/keys.ts'
import { openService, useService } from '../support/service.ts'
import { untilReadable } from '../support/stores.ts'
import { until } from '../support/until.ts'
import { bufferingProxy } from './buffering-proxy.ts'

const service = useService({ worker: false, overrides: { streams: { heartbeatMs: 100, stalledMs: 300 } } })
let accountId: string
beforeAll(async () => {
  accountId = (await service.stores.db.$client.query('select id from accounts')).rows[0].id
  // Its account and its key are events too, and none of them is to come after the end of the log.
  await untilReadable(service.stores.db)
})

/** One event a transaction. The subject says which; `fat` is the number of ids it carries. */
function write(subject: string, { fat = 0, type = 'annotated' as 'annotated' | 'cancelled' } = {}) {
  const facts = { video_id: subject, title: 'a', author: null, platform: 'web' }
  return service.stores.db.transaction((tx) =>
    type === 'cancelled'
      ? appendEvent(tx, { type: 'video.cancelled', subject, accountId: null, data: facts })
      : appendEvent(tx, {
          type: 'frames.annotated',
          subject,
          accountId: null,
          data: { ...facts, frame_ids: Array.from({ length: fat }, (_, n) => `frame-${n}`), annotator: 'test' },
        }),
  )
}

async function newKey(): Promise<{ id: string; key: string }> {
  const { key, record } = await createKey(service.stores.db, { accountId, name: 'a stream' })
  return { id: record.id, key }
}

interface Message {
  id: string
  subject: string
  type: string
}

/** Reads with the EventSource of the package `eventsource`, which sends a key. */
function listen(query: string, { base = service.url, key = service.operatorKey, lastEventId = '' } = {}) {
  const messages: Message[] = []
  const statuses: number[] = []
  const source = new EventSource(`${base}/api/events${query}`, {
    fetch: async (url, init) => {
      const headers = { ...init.headers, authorization: `Bearer ${key}` } as Record<string, string>
      if (lastEventId !== '' && messages.length === 0) headers['Last-Event-ID'] = lastEventId
      const response = await fetch(url, { ...init, headers })
      statuses.push(response.status)
      return response
    },
  })
  source.onmessage = ({ data, lastEventId: id }) => {
    const { subject, type } = JSON.parse(data) as Message
    messages.push({ id, subject, type })
  }
  return { messages, statuses, source, subjects: () => messages.map(({ subject }) => subject) }
}

/** A raw answer, as the wire has it. */
async function open(path: string, { key = service.operatorKey, headers = {} as Record<string, string> } = {}) {
  const stop = new AbortController()
  const response = await fetch(service.url + path, {
    headers: { accept: 'text/event-stream', authorization: `Bearer ${key}`, ...headers },
    signal: stop.signal,
  })
  let text = ''
  let ended = false
  const reading = (async () => {
    try {
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) text += chunk
    } catch {
    } finally {
      ended = true
    }
  })()
  return {
    response,
    text: () => text,
    ended: () => ended,
    async close() {
      stop.abort()
      await reading
    },
  }
}

const endOfLog = async () => (await service.call('GET', '/api/events?after=end')).json.next as string

test('a stream replays from a position and goes on live; ids are cursors of pages; Last-Event-ID wins', async () => {
  const after = await endOfLog()
  for (const subject of ['a', 'b', 'c']) await write(subject)
  await untilReadable(service.stores.db)
  const all = listen(`?after=${after}`)
  await until(() => all.messages.length === 3)
  await write('d')
  await until(() => all.messages.length === 4)
  expect(all.subjects()).toEqual(['a', 'b', 'c', 'd'])

  const page = await service.call('GET', `/api/events?after=${all.messages[1]!.id}`)
  expect(page.json.events.map((event: { subject: string }) => event.subject)).toEqual(['c', 'd'])
  const resumed = listen('?after=0.0', { lastEventId: all.messages[2]!.id })
  await until(() => resumed.messages.length > 0)
  expect(resumed.subjects()).toEqual(['d'])
  const only = listen(`?after=${after}&types=video.cancelled`)
  await write('e')
  await write('f', { type: 'cancelled' })
  await until(() => only.messages.length > 0)
  expect(only.messages).toMatchObject([{ subject: 'f', type: 'video.cancelled' }])
  const whole = listen('')
  await until(() => whole.subjects().includes('f'))
  expect(whole.messages[0]).toMatchObject({ type: 'account.created' })
  for (const { source } of [all, resumed, only, whole]) source.close()
})

test('a stream begins at once, keeps its connection alive and lets no proxy hold it back', async () => {
  const stream = await open('/api/events?after=end', { headers: { 'accept-encoding': 'gzip, br' } })
  expect(stream.response.status).toBe(200)
  expect(Object.fromEntries(stream.response.headers)).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
  })
  expect(stream.response.headers.get('content-encoding')).toBeNull()
  await until(() => stream.text().split('\n:\n').length > 3)
  expect(stream.text()).toMatch(/^:ok\n\nretry: 3000\n\n(:\n\n)+$/)
  await stream.close()
})

test('what cannot be followed is refused before the stream, and an EventSource stays away', async () => {
  const refusal = async (query: string, headers = {}) => {
    const {
      status,
      json,
      headers: sent,
    } = await service.call('GET', `/api/events${query}`, undefined, {
      accept: 'text/event-stream',
      ...headers,
    })
    return { status, json, type: sent.get('content-type') }
  }
  const foreign = await refusal('?after=77777777.7')
  expect(foreign).toMatchObject({ status: 400, type: 'application/json; charset=utf-8' })
  expect(foreign.json.message).toMatch(/^after: the log does not hold this event\..* Go on from \d+\.\d+/)
  expect((await refusal('', { 'last-event-id': '77777777.7' })).json.message).toMatch(
    /^Last-Event-ID: the log does not/,
  )
  expect((await refusal('', { 'last-event-id': 'nonsense' })).json.message).toMatch(/^Last-Event-ID: not a cursor/)
  expect((await refusal('?after=nonsense')).status).toBe(400)
  expect((await refusal('?types=frame.eaten')).json.details[0].allowed).toContain('frame.saved')
  expect((await refusal('?limit=5')).json.message).toBe('limit: a stream has no pages. Leave it out.')
  const { key } = await createKey(service.stores.db, { accountId, name: 'poor', scopes: ['saves:read'] })
  expect((await refusal('', { authorization: `Bearer ${key}` })).status).toBe(403)

  const away = listen('?after=77777777.7')
  await until(() => away.source.readyState === EventSource.CLOSED)
  expect(away.statuses).toEqual([400])
})

test('a key has five streams at most; one that ends makes room', async () => {
  const { key } = await newKey()
  const five = await Promise.all(Array.from({ length: 5 }, () => open('/api/events?after=end', { key })))
  expect(five.map(({ response }) => response.status)).toEqual([200, 200, 200, 200, 200])
  const sixth = await open('/api/events?after=end', { key })
  expect(sixth.response.status).toBe(429)
  expect(sixth.response.headers.get('retry-after')).toBe('5')
  await until(sixth.ended)
  expect(JSON.parse(sixth.text())).toMatchObject({
    code: 'rate_limited',
    message: 'A key may have 5 streams open at a time. Close one first. Try again in 5 seconds.',
  })
  const other = await open('/api/events?after=end', { key: (await newKey()).key })
  expect(other.response.status).toBe(200)
  await five[0]!.close()
  await until(async () => {
    const again = await open('/api/events?after=end', { key })
    await again.close()
    return again.response.status === 200
  })
  await Promise.all([...five.slice(1), other].map((stream) => stream.close()))
})

test('clients that left before their streams began keep no place', async () => {
  const streams = openEventStreams(async (holders) => new Set(holders))
  let sent = 0
  const server = createServer(async (req, res) => {
    await once(res, 'close')
    await streams.send({ req, res }, { holder: 'hasty', messages: (signal) => untilAborted(signal) })
    sent++
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  for (let n = 0; n < 8; n++) {
    const socket = connect(port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'))
    await once(server, 'request')
    socket.destroy()
  }
  await until(() => sent === 8)
  server.close()
})

async function* untilAborted(signal: AbortSignal): AsyncGenerator<string> {
  if (!signal.aborted) await once(signal, 'abort')
  yield ''
}

test('a revoked key ends its streams and no others', async () => {
  const [revoked, kept] = [await newKey(), await newKey()]
  const ending = await open('/api/events?after=end', { key: revoked.key })
  const going = await open('/api/events?after=end', { key: kept.key })
  await revokeKey(service.stores.db, { accountId, keyId: revoked.id })
  await until(ending.ended)
  // Not the invitation of an orderly end.
  expect(ending.text()).not.toContain('retry: 1000')
  await write('after the revocation')
  await until(() => going.text().includes('after the revocation'))
  expect((await open('/api/events', { key: revoked.key })).response.status).toBe(401)
  await going.close()
})

test('a client that stops reading is cut off; its events are there when it comes back', async () => {
  const { key } = await newKey()
  const after = await endOfLog()
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
  await once(socket, 'connect')
  socket.write(
    `GET /api/events?after=${after} HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n` +
      `Authorization: Bearer ${key}\r\n\r\n`,
  )
  await once(socket, 'data')
  socket.on('data', () => {})
  const cut = new Promise((resolve) => socket.on('error', () => {}).on('close', resolve))
  const five = async () => {
    const streams = await Promise.all(Array.from({ length: 5 }, () => open('/api/events?after=end', { key })))
    await Promise.all(streams.map((stream) => stream.close()))
    return streams.filter(({ response }) => response.status === 200).length
  }
  // One of the key's five places is taken, until the service gives up.
  expect(await five()).toBe(4)
  socket.pause()
  // More than the buffers of both ends of a connection hold.
  for (let n = 0; n < 100; n++) await write(`fat ${n}`, { fat: 10_000 })
  await until(async () => (await five()) === 5)
  socket.resume()
  await cut
  const back = listen(`?after=${after}`, { key })
  // The key itself was an event too.
  const fat = () => back.subjects().filter((subject) => subject.startsWith('fat '))
  await until(() => fat().length >= 100)
  expect(fat()).toEqual(Array.from({ length: 100 }, (_, n) => `fat ${n}`))
  back.source.close()
})

test('through a buffering proxy that is cut again and again nothing is lost or repeated under load', async () => {
  await using proxy = await bufferingProxy(service.url)
  const { key } = await newKey()
  await untilReadable(service.stores.db)
  const after = await endOfLog()
  const written = new Set<string>()
  let writing = true
  const writers = Array.from({ length: 4 }, async (_, w) => {
    for (let n = 0; writing; n++) {
      await write(`load ${w}-${n}`, { fat: 20 })
      written.add(`load ${w}-${n}`)
      await sleep(1)
    }
  })
  const sources = Array.from({ length: 3 }, () => listen(`?after=${after}`, { base: proxy.url, key }))
  for (let cut = 1; cut <= 3; cut++) {
    const seen = sources.map(({ messages }) => messages.length)
    await until(() => sources.every(({ messages }, at) => messages.length > seen[at]! + 20))
    proxy.cut()
  }
  await until(() => sources.every(({ statuses }) => statuses.length > 3))
  writing = false
  await Promise.all(writers)
  await until(() => sources.every(({ messages }) => messages.length >= written.size))
  for (const { subjects } of sources) {
    expect(new Set(subjects())).toEqual(written)
    expect(subjects()).toHaveLength(written.size)
    for (let w = 0; w < 4; w++) {
      const own = subjects().filter((subject) => subject.startsWith(`load ${w}-`))
      expect(own).toEqual(own.map((_, n) => `load ${w}-${n}`))
    }
  }
  expect(proxy.lastEventIds.filter((id) => id !== undefined).length).toBeGreaterThanOrEqual(9)
  for (const { source } of sources) source.close()
})

test('a service that stops ends its streams in order and does not wait for them', async () => {
  const stopped = await openService({ worker: false, overrides: { streams: { inProcess: 1 } } })
  const headers = { accept: 'text/event-stream', authorization: `Bearer ${stopped.operatorKey}` }
  const response = await fetch(`${stopped.url}/api/events?after=end`, { headers })
  const second = await fetch(`${stopped.url}/api/events?after=end`, { headers })
  expect(second.status).toBe(503)
  expect((await second.json()) as object).toMatchObject({
    code: 'unavailable',
    message: 'At most 1 streams are open in one process. Try again in 5 seconds.',
  })
  // The deadline would cut the connection without a word.
  await stopped.api.stop({ deadlineMs: 600_000 })
  expect(await response.text()).toMatch(/^:ok\n\nretry: 3000\n\n(:\n\n)*retry: 1000\n\n$/)
  await stopped.stores[Symbol.asyncDispose]()
  await rm(stopped.config.dataDir, { recursive: true })
})
