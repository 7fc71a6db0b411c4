import { createServer } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import express from 'express'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { clientIp } from '../../src/http/edge.ts'
import { openRoutes } from '../../src/http/routes.ts'
import { listen, send } from '../mcp/support.ts'
import { listenOn } from '../support/listening.ts'
import { useService } from '../support/service.ts'

/** What the HTTP edge does for every route: CORS, OPTIONS, requests that cannot be parsed, client addresses. */

const service = useService({ worker: false })

test('a target that is no address is refused in JSON, and the absolute form is its path', async () => {
  const wall = '/api/frames?kind=cut'
  for (const target of [wall, `http://elsewhere.example${wall}`, `HTTPS://u:p@elsewhere.example:8443${wall}`])
    expect(await sent(target), target).toMatch(/^HTTP\/1\.1 200 .*\{"page":1,/s)
  for (const target of [
    'http://[::1/api/frames',
    // Express' parser throws at these two.
    '//a@[b/#x',
    '/\\a@[b/#x',
    'http://a:99999/x',
    'elsewhere.example:80',
    'x',
    '*',
    'http://',
    'mailto:x',
  ])
    expect(await sent(target), target).toMatch(/^HTTP\/1\.1 40[04] .*\{"code":"(not_found|invalid_request)",/s)
  expect(await sent('/livez')).toMatch(/^HTTP\/1\.1 200 /)
})

test('an error that cannot even be described is answered in JSON, and logged once', async () => {
  const lines: string[] = []
  const router = openRoutes()
  router.get('/x', () => {
    throw {
      get type() {
        throw new TypeError('secret of the inside')
      },
    }
  })
  await using broken = await listen(() => [router], pino({}, { write: (line) => void lines.push(line) }))
  const answer = await send(`${broken.url}/x`, { method: 'GET' })
  expect([answer.status, answer.json.code]).toEqual([500, 'internal'])
  expect(answer.text).not.toContain('secret')
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['request could not be answered'])
})

/** The raw answer to a target as it stands. */
async function sent(target: string): Promise<string> {
  const socket = connect(service.api.port, '127.0.0.1')
  socket.write(`${target === '*' ? 'OPTIONS' : 'GET'} ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
  return text(socket)
}

test('CORS: any origin may read, and a preflight says so', async () => {
  const answer = await fetch(`${service.url}/api/frames`, { headers: { origin: 'https://elsewhere.example' } })
  expect(answer.headers.get('access-control-allow-origin')).toBe('*')
  expect(answer.headers.get('access-control-allow-credentials')).toBeNull()
  expect(answer.headers.get('access-control-expose-headers')).toContain('ETag')
  expect(answer.headers.get('access-control-expose-headers')).toContain('Idempotent-Replayed')
  expect(answer.headers.get('vary')).toBe('Accept-Encoding')
  const preflight = await fetch(`${service.url}/api/frames`, {
    method: 'OPTIONS',
    headers: { origin: 'https://elsewhere.example', 'access-control-request-method': 'GET' },
  })
  expect([
    preflight.status,
    preflight.headers.get('access-control-allow-origin'),
    preflight.headers.get('access-control-max-age'),
  ]).toEqual([204, '*', '86400'])
  const refused = await fetch(`${service.url}/api/frames?page=0`, { headers: { origin: 'https://elsewhere.example' } })
  expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([400, '*'])
  // A stream that was cut goes on with it.
  expect(preflight.headers.get('access-control-allow-headers')).toContain('Last-Event-ID')
})

test(
  'OPTIONS without a preflight says what is allowed and, ' + 'as nothing here is anything but JSON, has no body',
  async () => {
    for (const [path, allow] of [
      ['/api/frames', 'GET, HEAD'],
      ['/api/boards', 'GET, HEAD, POST'],
      ['/api/mcp', 'POST'],
    ] as const) {
      const answer = await fetch(`${service.url}${path}`, { method: 'OPTIONS' })
      expect([answer.status, answer.headers.get('allow'), await answer.text()], path).toEqual([204, allow, ''])
    }
    expect((await fetch(`${service.url}/api/nothing`, { method: 'OPTIONS' })).status).toBe(404)
  },
)

test('what is not there says which read lists what is', async () => {
  for (const [path, message] of [
    ['/api/frames/none', 'No such frame. GET /api/frames lists those there are.'],
    ['/api/videos/none', 'No such video. GET /api/videos lists those there are.'],
  ])
    expect((await service.get(path!)).json).toEqual({ code: 'not_found', message })
})

test('images never change and say so; a name that is none is 404', async () => {
  for (const name of [
    'none.webp',
    '..%2f..%2fetc%2fpasswd',
    'abcdefgh-1-00000000.webp',
    '%00.webp',
    'a'.repeat(3_000),
    'abcdefgh-1-00000000.webp%00.png',
  ]) {
    const answer = await service.get(`/media/${name}`)
    expect([answer.status, answer.json.code], name).toEqual([404, 'not_found'])
    expect(answer.headers.get('cache-control')).toBe('no-store')
  }
})

test('what Node would answer by itself is JSON too', async () => {
  for (const [text, status] of [
    ['GARBAGE\r\n\r\n', 400],
    ['GET /api/frames HTTP/1.1\r\nHost: x\r\nBad Header: 1\r\n\r\n', 400],
    ['GET /api/frames HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    [`GET /api/frames HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
    [`GET /api/frames?q=${'a'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
    ['POST /api/mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 400],
  ] as const) {
    const answer = await rawRequest(service.api.port, text)
    expect(answer, text.slice(0, 60)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(answer.toLowerCase()).toContain('content-type: application/json')
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))).toMatchObject({
      code: 'invalid_request',
      message: expect.any(String),
    })
  }
  // Still there.
  expect((await service.get('/livez')).status).toBe(200)
})

function rawRequest(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    let answer = ''
    socket.setEncoding('utf8')
    socket.on('data', (chunk: string) => {
      answer += chunk
    })
    socket.on('close', () => resolve(answer))
    socket.on('error', (error) => (answer === '' ? reject(error) : resolve(answer)))
  })
}

test.each([
  [0, undefined],
  [0, '1.1.1.1'],
  [1, undefined],
  [1, '1.1.1.1'],
  [1, '1.1.1.1, 2.2.2.2'],
  [2, '1.1.1.1, 2.2.2.2,3.3.3.3'],
  [5, '1.1.1.1, 2.2.2.2'],
  [1, ''],
])('behind %i proxies, X-Forwarded-For: %s is read as Express reads it', async (trustProxy, forwarded) => {
  const app = express()
  app.set('trust proxy', trustProxy)
  app.get('/', (req, res) => void res.json([req.ip, clientIp(req, trustProxy)]))
  await using behind = await listenOn(createServer(app))
  const answer = await fetch(behind.url, {
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  })
  const [theirs, ours] = (await answer.json()) as string[]
  expect(ours).toBe(theirs)
})
