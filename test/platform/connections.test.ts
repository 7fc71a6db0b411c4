import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type Socket } from 'node:net'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { addressReader } from '../../src/http/edge.ts'
import { type ConnectionLimits, guardConnections } from '../../src/http/server.ts'
import { silent } from '../mcp/support.ts'
import { useClosing } from '../support/closing.ts'
import { listenOn } from '../support/listening.ts'

const close = useClosing()

/** A server that waits for the whole body and then says its length. */
async function open(bodyMs: number, ready = async () => {}): Promise<() => Socket> {
  const server = createServer(async (req, res) => {
    await ready()
    let bytes = 0
    try {
      for await (const chunk of req) bytes += (chunk as Buffer).length
    } catch {
      return
    }
    res.end(`${bytes} bytes`)
  })
  guardConnections(server, silent, { bodyMs })
  const { port } = close(await listenOn(server))
  return () => connect(port, '127.0.0.1').setEncoding('latin1')
}

const head = (method: string, path: string, length: number) =>
  `${method} ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n\r\n`

/** What comes back until `ends` is in it or the connection closes; one that is reset has closed, too. */
function answerOf(socket: Socket, ends: string): Promise<string> {
  let text = ''
  socket.on('error', () => {})
  socket.on('data', (chunk) => {
    text += chunk
    if (text.includes(ends)) socket.destroy()
  })
  return new Promise((resolve) => socket.once('close', () => resolve(text)))
}

test('a body that does not end in time loses its connection, also when it drips; nobody else does', async () => {
  const client = await open(200)
  const dripping = client()
  dripping.write(`${head('POST', '/api/mcp', 1000)}abc`)
  const drops = setInterval(() => dripping.write('x'), 20)
  const [whole, mute] = [client(), client()]
  // Listened to from the beginning: each may close before the others do.
  const [dripped, answered, muted] = [dripping, whole, mute].map((socket) => answerOf(socket, 'bytes'))
  whole.write(`${head('POST', '/api/mcp', 3)}abc`)
  mute.write(head('PUT', '/api/favourites', 5))
  expect(await answered).toMatch(/3 bytes$/)
  expect(await dripped).toBe('')
  clearInterval(drops)
  expect(await muted).toBe('')
})

test.each(['POST /api/videos', 'POST /web/videos/file'])(
  'A3: an upload takes its time while it goes on, and loses its connection when it does not: %s',
  async (route) => {
    const [method, path] = route.split(' ') as [string, string]
    const client = await open(100)
    const [steady, slow] = [client(), client()]
    const piece = 'x'.repeat(64 * 1024)
    let sent = 0
    const sending = setInterval(() => {
      steady.write(piece)
      sent += piece.length
    }, 20)
    const total = 32 * 1024 * 1024
    steady.write(head(method, path, total))
    slow.write(`${head(method, path, 1_000)}abc`)
    const [went, cut] = [answerOf(steady, 'bytes'), answerOf(slow, 'bytes')]
    // Three in a row: the time of each has passed when the next begins.
    for (const body of [slow, client(), client()]) {
      if (body !== slow) body.write(head('POST', '/api/boards', 4))
      expect(await (body === slow ? cut : answerOf(body, 'bytes'))).toBe('')
    }
    clearInterval(sending)
    steady.write('x'.repeat(total - sent))
    expect(await went).toMatch(new RegExp(`${total} bytes$`))
  },
)

test('an upload that the service held up goes on, though its bytes are still to be read', async () => {
  const bodyMs = 100
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve))
  const client = await open(bodyMs, async () => {
    await turn()
    // A timer of the same length as the watch's, begun before it: reading begins just before the second look.
    await new Promise<void>((resolve) => {
      let looks = 0
      const timer = setInterval(() => {
        if (++looks < 2) return
        clearInterval(timer)
        resolve()
      }, 2 * bodyMs)
    })
    await turn()
  })
  const total = 1024 * 1024
  const ends = Array.from({ length: 8 }, () => {
    const socket = client()
    socket.write(head('POST', '/api/videos', total) + 'x'.repeat(total))
    return answerOf(socket, 'bytes')
  })
  for (const end of await Promise.all(ends)) expect(end).toMatch(new RegExp(`${total} bytes$`))
})

test('bodies in pieces are whole when they come in time, one after the other on one connection', async () => {
  const client = await open(30_000)
  const socket = client()
  socket.write(head('POST', '/api/mcp', 6))
  for (const piece of ['ab', 'cd', 'ef'])
    await new Promise<void>((resolve) => socket.write(piece, () => setImmediate(resolve)))
  socket.write(`${head('POST', '/api/mcp', 2)}gh`)
  expect(await answerOf(socket, '2 bytes')).toMatch(/6 bytes.*2 bytes$/s)
})

/** A server that answers more than a connection can hold unread. */
async function openLong(limits: ConnectionLimits) {
  const server = createServer((_req, res) => void res.end(Buffer.alloc(64 * 1024 * 1024)))
  guardConnections(server, silent, limits)
  const { port } = close(await listenOn(server))
  return {
    client: (localAddress = '127.0.0.1') => connect({ port, host: '127.0.0.1', localAddress }).on('error', () => {}),
    count: () => new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count))),
  }
}

test('an address holds a bounded number of connections; one that closes makes room; others go on', async () => {
  const { client, count } = await openLong({ perAddress: 3 })
  const held = [client(), client(), client()]
  await expect.poll(count).toBe(3)
  const refused = client()
  await once(refused, 'close')
  const other = client('127.0.0.2')
  await expect.poll(count).toBe(4)
  held[0]!.destroy()
  await expect.poll(count).toBe(3)
  const next = client()
  await expect.poll(count).toBe(4)
  for (const socket of [...held, other, next]) socket.destroy()
})

test('a client that does not read its answer loses its connection', async () => {
  const { client, count } = await openLong({ idleMs: 100 })
  const socket = client()
  socket.pause()
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  await expect.poll(count).toBe(1)
  await expect.poll(count).toBe(0)
  socket.destroy()
})

test('IPv6 connections of one /64 are of one address', () => {
  const addressOf = addressReader(0)
  const of = (remoteAddress: string) => addressOf({ socket: { remoteAddress } as Socket })
  expect(of('2001:db8::1')).toBe(of('2001:db8::ffff:1'))
  expect(of('2001:db8:0:1::1')).not.toBe(of('2001:db8::1'))
})

test('a CONNECT, also with more behind it, is a method that is not allowed, and leaves no connection', async () => {
  const server = createServer()
  guardConnections(server, silent)
  const { port } = await listenOn(server)
  const socket = connect(port, '127.0.0.1').setEncoding('latin1')
  socket.write(`CONNECT a:1 HTTP/1.1\r\nhost: x\r\n\r\n${'x'.repeat(100_000)}`)
  const answer = await answerOf(socket, '"}')
  expect(answer).toMatch(/^HTTP\/1\.1 405 [\s\S]*\r\nAllow: /)
  expect(JSON.parse(answer.split('\r\n\r\n')[1]!)).toMatchObject({ code: 'method_not_allowed' })
  // As a stop does: it waits for every connection.
  await new Promise((resolve) => server.close(resolve))
})

test('connections that cannot be accepted are told once and end nothing', async () => {
  const lines: string[] = []
  const server = createServer()
  guardConnections(server, pino({}, { write: (line) => void lines.push(line) }))
  close(await listenOn(server))
  for (let n = 0; n < 3; n++) server.emit('error', Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' }))
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['connections not accepted'])
})
