import type { AddressInfo } from 'node:net'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Address } from '../../src/outbound/checked-connection.ts'
import { until } from '../support/until.ts'
import { openWebhookReceiver, status, type WebhookReceiver } from '../support/webhook-receiver.ts'
import { openStage, type Stage } from './support.ts'

let stage: Stage
let good: WebhookReceiver
let bad: WebhookReceiver
beforeAll(async () => {
  // A body that never ends is read for so long. Honest answers come sooner on a busy machine, too.
  stage = await openStage({ timeoutMs: 3_000 })
})
afterAll(() => stage[Symbol.asyncDispose]())
beforeEach(async () => {
  good = await openWebhookReceiver()
  bad = await openWebhookReceiver()
})
afterEach(async () => {
  await stage.stores.db.$client.query('delete from webhook_endpoints')
  await good[Symbol.asyncDispose]()
  await bad[Symbol.asyncDispose]()
})

const lastAttempt = async (id: string) => (await stage.deliveries(id)).at(-1)!.attempts.at(-1)!

test('a receiver that hangs has four requests open at most, and delays no other', async () => {
  const patient = await openStage({ timeoutMs: 3_600_000 })
  try {
    bad.answer(() => undefined)
    await patient.register(bad.url)
    const other = await patient.register(good.url)
    const subjects = await patient.write(200)
    await until(() => good.received.length >= 200)
    expect(good.received.map(({ body }) => JSON.parse(body).subject).toSorted()).toEqual(subjects.toSorted())
    await until(() => bad.received.length >= 4)
    expect(bad.mostAtOnce()).toBe(4)
    expect(bad.received).toHaveLength(4)
    await until(async () => (await patient.deliveries(other.id)).every(({ state }) => state === 'delivered'))
    expect(good.mostAtOnce()).toBeLessThanOrEqual(4)
  } finally {
    // Nothing that hangs holds up the end: what was not answered is sent again later.
    await bad[Symbol.asyncDispose]()
    await patient[Symbol.asyncDispose]()
  }
})

test('a receiver that answers nothing in time failed, and so did one that drips its head', async () => {
  await using hasty = await openStage({ timeoutMs: 400 })
  const attemptOf = async (endpoint: string) => (await hasty.deliveries(endpoint)).at(-1)!.attempts.at(-1)!
  const { id } = await hasty.register(bad.url)
  bad.answer(() => undefined)
  await hasty.write(1)
  await hasty.settle()
  expect(await attemptOf(id)).toMatchObject({ status: null, error: 'timeout', answer: null })
  expect((await attemptOf(id)).latency_ms).toBeGreaterThanOrEqual(390)
  const dripping = await rawReceiver((socket) => {
    const bytes = [...'HTTP/1.1 200 OK\r\nX-Slow: '.padEnd(5_000, 'x')]
    const timer = setInterval(() => socket.write(bytes.shift() ?? 'x'), 20)
    socket.on('close', () => clearInterval(timer))
  })
  const second = await hasty.register(dripping.url)
  await hasty.write(1)
  await hasty.settle()
  expect(await attemptOf(second.id)).toMatchObject({ status: null, error: 'timeout' })
  await dripping.close()
})

test('the status decides: a body that drips, never ends or breaks off changes nothing', async () => {
  const { id } = await stage.register(bad.url)
  bad.answer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/plain' })
    const timer = setInterval(() => response.write('drip '), 20)
    response.on('close', () => clearInterval(timer))
  })
  await stage.write(1)
  await stage.settle()
  expect(await lastAttempt(id)).toMatchObject({ status: 200, error: null })
  bad.answer((_, response) => {
    response.writeHead(200)
    const more = () => {
      while (!response.destroyed && response.write('x'.repeat(60_000)));
      if (!response.destroyed) response.once('drain', more)
    }
    more()
  })
  await stage.write(1)
  await stage.settle()
  const endless = await lastAttempt(id)
  expect(endless).toMatchObject({ status: 200, error: null })
  expect(endless.answer).toHaveLength(1024)
  bad.answer((_, response) => {
    response.writeHead(200, { 'content-length': '1000' })
    response.write('half', () => response.destroy())
  })
  await stage.write(1)
  await stage.settle()
  expect(await lastAttempt(id)).toMatchObject({ status: 200, error: null, answer: 'half' })
})

test('a receiver that closes early, speaks no HTTP or does not listen failed, each with its class', async () => {
  const early = await rawReceiver((socket) => socket.destroy())
  const garbled = await rawReceiver((socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n'))
  const { id: first } = await stage.register(early.url)
  const { id: second } = await stage.register(garbled.url)
  const gone = await rawReceiver(() => undefined)
  await gone.close()
  const { id: third } = await stage.register(gone.url)
  const { id: fourth } = await stage.register('http://no-such-name.invalid/')
  const { id: fifth } = await stage.register(good.url.replace('http:', 'https:'))
  await stage.write(1)
  await stage.settle()
  expect(await lastAttempt(first)).toMatchObject({ status: null, error: 'connection_closed' })
  expect(await lastAttempt(second)).toMatchObject({ status: null, error: 'bad_answer' })
  expect(await lastAttempt(third)).toMatchObject({ status: null, error: 'connection_failed' })
  expect(await lastAttempt(fourth)).toMatchObject({ status: null, error: 'name_not_found' })
  expect(await lastAttempt(fifth)).toMatchObject({ status: null, error: 'tls' })
  await early.close()
  await garbled.close()
})

test('a redirect is a failure and is not followed', async () => {
  const { id } = await stage.register(bad.url)
  for (const code of [301, 302, 303, 307, 308, 304]) {
    bad.answer(status(code, { location: good.url }))
    await stage.write(1)
    await stage.settle()
    expect(await lastAttempt(id)).toMatchObject({ status: code, error: 'redirect' })
  }
  expect(good.received).toEqual([])
})

test('nothing of an answer is taken for more than text, and 1 kB of it is kept', async () => {
  const { id } = await stage.register(bad.url)
  const answer = `\u001b[31m<script>alert(1)</script>\u0000\ud800 '; drop table events; -- ${'ä'.repeat(2_000)}`
  bad.answer(status(500, { 'content-type': 'application/json' }, answer))
  await stage.write(1)
  await stage.settle()
  const kept = (await lastAttempt(id)).answer!
  expect(kept).toMatch(/^\[31m<script>alert\(1\)<\/script>.*drop table events; -- ää/)
  expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(1_030)
})

test('a name that turns to a private address is refused before a connection is made', async () => {
  const dialled: string[] = []
  let answer: Address[] = [{ address: '93.184.216.34', family: 4 }]
  const port = Number(new URL(good.url).port)
  const guarded = await openStage({
    config: { publicUrl: 'https://frames.example', webhookAllowPrivate: false, secretsKeys: [] },
    wire: {
      resolve: async () => answer,
      // In place of TLS to the checked address: the receiver of this test.
      dial: async ({ address, port: asked, servername }) => {
        dialled.push(`${servername} ${address}:${asked}`)
        const socket = connect(port, '127.0.0.1')
        await new Promise((resolve) => socket.once('connect', resolve))
        return socket
      },
    },
  })
  try {
    const { id } = await guarded.register('https://hooks.example.com/x')
    await guarded.write(1)
    await guarded.settle()
    expect(good.received).toHaveLength(1)
    expect(dialled).toEqual(['hooks.example.com 93.184.216.34:443'])
    const privately: Address[][] = [
      [{ address: '127.0.0.1', family: 4 }],
      [{ address: '10.0.0.8', family: 4 }],
      [{ address: '169.254.169.254', family: 4 }],
      [{ address: '::1', family: 6 }],
      [{ address: '::ffff:127.0.0.1', family: 6 }],
      [
        { address: '93.184.216.34', family: 4 },
        { address: '192.168.1.1', family: 4 },
      ],
      [],
    ]
    for (answer of privately) {
      await guarded.write(1)
      await guarded.settle()
      const { attempts } = (await guarded.deliveries(id)).at(-1)!
      expect(attempts).toMatchObject([{ status: null, error: 'refused_address' }])
    }
    // Nor is an address that was allowed once, when private addresses no longer are.
    for (const url of [good.url, 'https://127.0.0.1/', 'https://[::1]/', 'https://10.1.1.1/', 'https://localhost/']) {
      const { id: once } = await guarded.register(url)
      await guarded.write(1)
      await guarded.settle()
      expect((await guarded.deliveries(once)).at(-1)!.attempts).toMatchObject([{ error: 'refused_address' }])
    }
    expect(dialled).toHaveLength(1)
    expect(good.received).toHaveLength(1)
  } finally {
    await guarded[Symbol.asyncDispose]()
  }
})

/** A server that does what no HTTP server does. */
async function rawReceiver(act: (socket: Socket) => void): Promise<{ url: string; close(): Promise<void> }> {
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('data', () => act(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
