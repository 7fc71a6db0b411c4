import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { SUBJECTS, SURFACES, TONES } from '../../src/vocabulary.ts'

/** What a hostile client knows of the service that it attacks. */
export interface Target {
  port: number
  /** Where the client comes from: each has an address, and so budgets, of its own. */
  address: string
  seconds: number
  /** Which of its spells this is, from 0: what it asked before is kept, so it asks something else. */
  spell: number
  /** The key of a Pro account, its full board, and its session. It has 1,000 boards. */
  key: string
  boardId: string
  cookie: string
  shareToken: string
  frameIds: string[]
  operatorKey: string
}

/** How requests of a client ended: how many of each status; `0` for a broken connection. */
export type Outcome = Record<string, number>

export interface Asked {
  method?: string
  path: string
  headers?: Record<string, string>
  body?: string | Buffer
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

/** The status of the answer, 0 without one. */
async function send({ port, address }: Target, { method = 'GET', path, headers = {}, body }: Asked, agent: Agent) {
  const sent = request({ host: '127.0.0.1', localAddress: address, port, agent, method, path, headers })
  try {
    sent.end(body)
    const [res] = (await once(sent, 'response')) as [IncomingMessage]
    await once(res.resume(), 'close')
    return res.statusCode!
  } catch {
    return 0
  }
}

/** Sends requests one after the other on each of `connections`, until the time or the requests are over. */
async function flood(
  target: Target,
  { connections, most = 20_000 }: { connections: number; most?: number },
  ask: (n: number) => Asked,
): Promise<Outcome> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const until = performance.now() + target.seconds * 1000
  const outcome: Outcome = {}
  let n = 0
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (performance.now() < until && n < most) {
        const status = await send(target, ask(n++), agent)
        outcome[status] = (outcome[status] ?? 0) + 1
      }
    }),
  )
  agent.destroy()
  return outcome
}

/** Opens 200 connections that ask for exports and read nothing; one that is closed is opened again. */
async function holdExports({ port, address, seconds, boardId, key }: Target): Promise<Outcome> {
  const asked = `GET /api/boards/${boardId}/export HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`
  const outcome: Outcome = { opened: 0, closed: 0 }
  let over = false
  const open = () => {
    outcome.opened!++
    const socket = connect({ port, host: '127.0.0.1', localAddress: address }).on('error', () => undefined)
    socket.pause()
    socket.write(asked.repeat(4))
    socket.once('close', () => {
      outcome.closed!++
      if (!over) setTimeout(() => sockets.splice(sockets.indexOf(socket), 1, open()), 100)
    })
    return socket
  }
  const sockets = Array.from({ length: 200 }, open)
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  over = true
  for (const socket of sockets) socket.destroy()
  return outcome
}

const at = <T>(list: readonly T[], n: number): T => list[n % list.length]!

/** One client that is careless or hostile, by the part of the service that it strains: the five that weigh most. */
export const ATTACKS: Record<string, (target: Target) => Promise<Outcome>> = {
  'big boards': (target) =>
    flood(target, { connections: 20 }, (n) => {
      const { boardId, shareToken, key } = target
      return at<Asked>(
        [
          { path: `/api/shared/${shareToken}` },
          { path: `/shared/${shareToken}` },
          { path: `/api/boards/${boardId}`, headers: bearer(key) },
          { path: `/api/boards/${boardId}/export`, headers: bearer(key) },
        ],
        n,
      )
    }),
  'readers that do not read': holdExports,
  'lists of boards': (target) =>
    flood(target, { connections: 20 }, (n) => {
      const { frameIds, cookie, key } = target
      return at<Asked>(
        [
          { path: '/api/boards', headers: bearer(key) },
          { path: '/boards', headers: { cookie } },
          { path: '/web/boards', headers: { cookie } },
          { path: `/frames/${frameIds[0]}`, headers: { cookie } },
        ],
        n,
      )
    }),
  uploads: (target) =>
    flood(target, { connections: 8, most: 120 }, () => ({
      method: 'POST',
      path: '/api/videos',
      headers: { ...bearer(target.operatorKey), 'content-type': 'video/mp4' },
      body: randomBytes(4 * 1024 * 1024),
    })),
  'broad facets': (target) =>
    flood(target, { connections: 30 }, (asked) => {
      const n = asked + 500 * target.spell
      return {
        path:
          `/api/frames?facets=1&tone=${at(TONES, n)}&subject=${at(SUBJECTS, n)}` +
          `&surface=${at(SURFACES, Math.floor(n / SUBJECTS.length))}&page=${1 + Math.floor(n / 500)}`,
      }
    }),
}
