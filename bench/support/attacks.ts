import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { generateKey } from '../../src/library/accounts/keys.ts'
import { SUBJECTS, SURFACES, TONES } from '../../src/vocabulary.ts'
import { twoWords } from './cold-questions.ts'

/** What a hostile client knows of the service that it attacks. */
export interface Target {
  port: number
  /** Where the client comes from: each has an address, and so budgets, of its own. */
  address: string
  seconds: number
  /** Which of its spells this is, from 0: what it asked before is kept, so it asks something else. */
  spell: number
  /** The key of a Pro account, its full board, and its session with the token of forms. It has 1,000 boards. */
  key: string
  boardId: string
  cookie: string
  form: string
  shareToken: string
  frameIds: string[]
  /** A key that has been revoked. */
  deadKey: string
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

/** Opens connections that send `text` and read nothing; one that is closed is opened again. */
async function hold({ port, address, seconds }: Target, count: number, text: string): Promise<Outcome> {
  const outcome: Outcome = { opened: 0, closed: 0 }
  let over = false
  const open = () => {
    outcome.opened!++
    const socket = connect({ port, host: '127.0.0.1', localAddress: address }).on('error', () => undefined)
    socket.pause()
    socket.write(text)
    socket.once('close', () => {
      outcome.closed!++
      if (!over) setTimeout(() => sockets.splice(sockets.indexOf(socket), 1, open()), 100)
    })
    return socket
  }
  const sockets = Array.from({ length: count }, open)
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  over = true
  for (const socket of sockets) socket.destroy()
  return outcome
}

const at = <T>(list: readonly T[], n: number): T => list[n % list.length]!

const exportRequest = ({ boardId, key }: Target) =>
  `GET /api/boards/${boardId}/export HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`

const LONG_PATH = `/${'a'.repeat(15_500)}`

/** One client that is careless or hostile, by the part of the service that it strains. */
export const ATTACKS: Record<string, (target: Target) => Promise<Outcome>> = {
  'long paths': (target) => flood(target, { connections: 6 }, () => ({ path: LONG_PATH })),
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
  'readers that do not read': (target) => hold(target, 200, exportRequest(target).repeat(4)),
  'half-open connections': (target) => hold(target, 900, 'GET /api/frames HTTP/1.1\r\nHost: x\r\n'),
  'moves of one board': (target) =>
    flood(target, { connections: 40 }, (n) => ({
      method: 'PUT',
      path: `/api/boards/${target.boardId}/frames/${at(target.frameIds, n * 131)}`,
      headers: { ...bearer(target.key), 'content-type': 'application/json' },
      body: JSON.stringify({ position: (n * 7919) % target.frameIds.length }),
    })),
  'dead and unknown keys': (target) =>
    flood(target, { connections: 20 }, (n) => ({
      path: '/api/boards',
      headers: bearer(n % 3 === 0 ? target.deadKey : generateKey()),
    })),
  'unknown pages and noise': async (target) => {
    const noise = noiseOf(target)
    const outcome = await flood(target, { connections: 20 }, (n) => ({ path: `/nothing/${n}/${'b'.repeat(2_000)}` }))
    return { ...outcome, noise: await noise }
  },
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
  'page exports': (target) =>
    flood(target, { connections: 32 }, (n) => ({
      path: `/boards/${target.boardId}/export?format=${at(['json', 'csv', 'zzz'], n)}`,
      headers: { cookie: target.cookie },
    })),
  uploads: (target) =>
    flood(target, { connections: 8, most: 120 }, () => ({
      method: 'POST',
      path: '/api/videos',
      headers: { ...bearer(target.operatorKey), 'content-type': 'video/mp4' },
      body: randomBytes(4 * 1024 * 1024),
    })),
  '300 different searches': (target) =>
    flood(target, { connections: 30, most: 300 }, (n) => ({
      path: `/api/search?q=${encodeURIComponent(twoWords(n + 300 * target.spell))}`,
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

async function noiseOf({ port, address, seconds }: Target): Promise<number> {
  const until = performance.now() + seconds * 1000
  let sent = 0
  while (performance.now() < until && sent < 5_000) {
    const socket = connect({ port, host: '127.0.0.1', localAddress: address }).on('error', () => undefined)
    socket.resume().end('GARBAGE\r\n\r\n')
    await once(socket, 'close')
    sent++
  }
  return sent
}
