import { expect, test } from 'vitest'
import { listRoutes } from '../../src/http/routes.ts'
import { useService } from '../support/service.ts'

/** Each request takes points, whatever it asks for: an address that only makes mistakes meets a 429 as well. */

// An address may spend 3 points, and 100 on images and assets.
const service = useService({ worker: false, env: { RATE_LIMIT_SCALE: '0.005', TRUST_PROXY: '1' } })
let address = 0

interface Sent {
  method: string
  path: string
  headers?: Record<string, string>
  body?: string
}

/** The status of each of `count` equal requests from one address that no other test uses; none follows `last`. */
async function statuses({ method, path, headers = {}, body }: Sent, count: number, last?: number): Promise<number[]> {
  const from = `198.51.100.${++address}`
  const found: number[] = []
  for (let n = 0; n < count; n++) {
    const answer = await fetch(service.url + path, {
      method,
      redirect: 'manual',
      headers: { 'x-forwarded-for': from, ...headers },
      ...(body === undefined ? {} : { body }),
    })
    await answer.arrayBuffer()
    found.push(answer.status)
    if (answer.status === last) break
  }
  return found
}

/** More than any address may do, of images and assets too. */
const ENOUGH = 102

test('every route takes points of its address, but for the sign of life', async () => {
  const free: string[] = []
  for (const { path, methods } of listRoutes(service.api.app.routers))
    for (const method of methods.length > 0 ? methods : ['POST']) {
      const asked = path.replace(/[:*]\w+/g, 'x')
      if (!(await statuses({ method, path: asked }, ENOUGH, 429)).includes(429)) free.push(`${method} ${path}`)
    }
  expect(free).toEqual(['GET /livez'])
})

test.each<Sent>([
  { method: 'GET', path: '/nothing-here' },
  { method: 'GET', path: '/api/nothing-here' },
  { method: 'POST', path: '/keys' },
  { method: 'DELETE', path: '/livez' },
  { method: 'GET', path: '/api/frames?page=0' },
  { method: 'GET', path: '/api/frames/%' },
  { method: 'OPTIONS', path: '/api/frames' },
  { method: 'OPTIONS', path: '/api/frames', headers: { 'access-control-request-method': 'GET' } },
  { method: 'GET', path: '/api/mcp' },
  { method: 'POST', path: '/api/mcp', headers: { origin: 'https://elsewhere.example' } },
  { method: 'POST', path: '/api/mcp', headers: { 'content-type': 'text/plain' }, body: '{}' },
  { method: 'POST', path: '/api/mcp', headers: { 'content-type': 'application/json' }, body: 'x'.repeat(300_000) },
])('a refusal takes a point: $method $path', async (sent) => {
  expect(await statuses(sent, 5)).toEqual([...Array(3).fill(expect.not.toBeOneOf([429])), 429, 429])
})

test('a fast reader of the wall, who asks for 14,000 pictures a minute, is refused none', async () => {
  expect(await statuses({ method: 'GET', path: '/media/none' }, 14_000 * 0.005)).not.toContain(429)
})

test('a request pays once: a bad one that its route has charged is not charged again', async () => {
  expect(await statuses({ method: 'GET', path: '/api/frames/none' }, 4)).toEqual([404, 404, 404, 429])
  expect(await statuses({ method: 'GET', path: '/api/search?limit=x' }, 4)).toEqual([400, 400, 400, 429])
})

test('an address has one budget over HTTP and the tool server', async () => {
  const headers = { 'x-forwarded-for': '203.0.113.50' }
  const shared = () => fetch(`${service.url}/api/shared/none`, { headers })
  const tools = () =>
    fetch(`${service.url}/api/mcp`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    })
  // A board costs a search, a list of tools a read.
  expect([(await shared()).status, (await tools()).status]).toEqual([404, 200])
  expect([(await tools()).status, (await shared()).status]).toEqual([429, 429])
})

test('a slash at the end and letter case change neither the cost nor who may read from a page', async () => {
  const origin = 'https://elsewhere.example'
  const preflight = { origin, 'access-control-request-method': 'POST' }
  for (const path of ['/api/search', '/api/search/', '/API/Search'])
    expect(await statuses({ method: 'GET', path }, 3), path).toEqual([200, 429, 429])
  for (const path of ['/api/frames', '/api/frames/', '/API/FRAMES', '/openapi.json/']) {
    const answer = await fetch(service.url + path, { headers: { origin, 'x-forwarded-for': '192.0.2.77' } })
    expect([path, answer.headers.get('access-control-allow-origin')]).toEqual([path, '*'])
  }
  for (const path of ['/api/mcp', '/api/mcp/', '/API/MCP', '/Api/Mcp/']) {
    const answer = await fetch(service.url + path, { method: 'OPTIONS', headers: preflight })
    expect([path, answer.headers.get('access-control-allow-origin')]).toEqual([path, null])
  }
})
