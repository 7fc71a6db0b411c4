import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { startInTurn } from './start-in-turn.ts'

const addressOf = (req: IncomingMessage) => String(req.headers['x-from'])

/** A server that starts one request a turn, with two clients. */
async function openPair(onStart: (req: IncomingMessage) => void = () => undefined) {
  const started: string[] = []
  const listener = startInTurn(
    (req, res) => {
      started.push(addressOf(req))
      onStart(req)
      res.end()
    },
    { addressOf, sliceMs: 0 },
  )
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const open = async () => {
    const socket = connect(port, '127.0.0.1').resume()
    await once(socket, 'connect')
    return socket
  }
  const [many, one] = [await open(), await open()]
  return {
    started,
    many,
    one,
    async [Symbol.asyncDispose]() {
      for (const socket of [many, one]) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

const request = (from: string) => `GET / HTTP/1.1\r\nHost: x\r\nX-From: ${from}\r\n\r\n`

function send(socket: Socket, from: string, count = 1): void {
  socket.write(request(from).repeat(count))
}

test('a request waits for one of another client, not for the hundred that came before it', async () => {
  await using pair = await openPair()
  send(pair.many, 'many', 100)
  send(pair.one, 'one')
  await expect.poll(() => pair.started.length).toBe(101)
  expect(pair.started.indexOf('one')).toBeLessThan(4)
})

test('requests of a client that has gone are not started', async () => {
  await using pair = await openPair((req) => {
    if (addressOf(req) === 'many') req.socket.destroy()
  })
  send(pair.many, 'many', 100)
  send(pair.one, 'one')
  await expect.poll(() => pair.started).toContain('one')
  send(pair.one, 'one')
  await expect.poll(() => pair.started.filter((from) => from === 'one').length).toBe(2)
  expect(pair.started.filter((from) => from === 'many')).toEqual(['many'])
})
