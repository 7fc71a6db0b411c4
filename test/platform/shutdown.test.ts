import { once } from 'node:events'
import { Agent, createServer, get, type IncomingMessage, type Server } from 'node:http'
import { connect } from 'node:net'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { drainable } from '../../src/http/server.ts'
import { stopInOrder } from '../../src/server/shutdown.ts'
import { listenOn } from '../support/listening.ts'

const silent = pino({ level: 'silent' })

test(
  'a draining server finishes the request in flight, ' + 'sends clients away and lets go of kept connections',
  async () => {
    let answer: (() => void) | undefined
    const server: Server = createServer((req, res) => {
      if (req.url === '/slow') {
        answer = () => res.end('whole')
        server.emit('slow')
      } else res.end('quick')
    })
    const arrived = once(server, 'slow')
    const drain = drainable(server)
    const { url } = await listenOn(server)
    const agent = new Agent({ keepAlive: true })
    expect((await fetched(`${url}/`, agent)).text).toBe('quick')
    const slow = fetched(`${url}/slow`, agent)
    await arrived
    const idle = await fetched(`${url}/`, agent)
    expect(idle.response.headers.connection).toBe('keep-alive')

    const drained = drain.drain({ graceMs: 0, deadlineMs: 10_000 })
    await expect(fetched(`${url}/`, new Agent())).rejects.toThrow()
    answer!()
    const { text, response } = await slow
    expect(text).toBe('whole')
    expect(response.headers.connection).toBe('close')
    await drained
    agent.destroy()
  },
)

test('a client that hangs is cut off at the deadline', async () => {
  const server = createServer(() => undefined)
  const drain = drainable(server)
  const { url } = await listenOn(server)
  const hanging = fetched(`${url}/`, new Agent()).catch((error: Error) => error)
  await once(server, 'request')
  await drain.drain({ graceMs: 0, deadlineMs: 50 })
  expect(await hanging).toBeInstanceOf(Error)
})

test('a connection that was opened ahead, as browsers do, holds up no stop', async () => {
  const server = createServer({ headersTimeout: 0, requestTimeout: 0 }, () => undefined)
  const drain = drainable(server)
  const accepted = once(server, 'connection')
  const unused = connect((await listenOn(server)).port, '127.0.0.1')
  const closed = once(unused, 'close')
  await accepted
  await drain.drain({ graceMs: 0, deadlineMs: 3_600_000 })
  // Without an error.
  expect(await closed).toEqual([false])
})

test(
  'parts stop in order, a failing one does not keep the next from stopping, ' +
    'a hanging one does not outlast the deadline',
  async () => {
    const stopped: string[] = []
    const part = (
      name: string,
      act: () => Promise<unknown> = async () => undefined,
    ): [string, () => Promise<unknown>] => [
      name,
      () => {
        stopped.push(name)
        return act()
      },
    ]
    const broken = part('b', () => Promise.reject(new Error('no')))
    expect(await stopInOrder([part('a'), part('c')], { logger: silent })).toBe(true)
    expect(await stopInOrder([broken, part('d')], { logger: silent })).toBe(false)
    expect(
      await stopInOrder([part('e', () => new Promise(() => undefined)), part('f')], { logger: silent, deadlineMs: 20 }),
    ).toBe(false)
    expect(stopped).toEqual(['a', 'c', 'b', 'd', 'e'])
  },
)

function fetched(url: string, agent: Agent): Promise<{ response: IncomingMessage; text: string }> {
  return new Promise((resolve, reject) => {
    get(url, { agent }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        text += chunk
      })
      response.on('end', () => resolve({ response, text }))
    }).on('error', reject)
  })
}
