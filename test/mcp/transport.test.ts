import { gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Tool } from '../../src/mcp/tool.ts'
import { useOpened } from '../support/closing.ts'
import { readAnswer } from '../support/openapi.ts'
import { call, expectError, list, openProtocolServer } from './protocol-server.ts'
import { listen, post, send } from './support.ts'

const server = useOpened(openProtocolServer)
let mcp: string
beforeAll(async () => {
  mcp = server.mcp
})

describe('HTTP', () => {
  test('HEAD is 405 without a body', async () => {
    const answer = await send(mcp, { method: 'HEAD' })
    expect([answer.status, answer.headers.allow]).toEqual([405, 'POST'])
  })
  test.each(['text/plain', 'application/x-www-form-urlencoded', 'application/json; charset=latin1', ''])(
    'content type %j is 415',
    async (type) => {
      expectError(
        await send(mcp, { headers: type ? { 'content-type': type } : {}, body: JSON.stringify(list()) }),
        415,
        -32600,
      )
    },
  )
  test.each(['application/json; charset=utf-8', 'application/json;charset="UTF-8"', 'Application/JSON'])(
    'content type %j is read',
    async (type) => {
      expect((await send(mcp, { headers: { 'content-type': type }, body: JSON.stringify(list()) })).status).toBe(200)
    },
  )
  test('a byte order mark is no fault', async () => {
    expect((await post(mcp, `\uFEFF${JSON.stringify(list())}`)).status).toBe(200)
  })
  test.each([
    ['plain', (body: Buffer) => body, {}],
    ['gzipped', gzipSync, { 'content-encoding': 'gzip' }],
  ] as const)(
    'a %s body that is not UTF-8 is refused, and the answer says what is allowed',
    async (_, pack, encoding) => {
      const body = pack(Buffer.from(JSON.stringify(call('write', { text: 'lap\xfftop' })), 'latin1'))
      const answer = await send(mcp, { headers: { 'content-type': 'application/json', ...encoding }, body })
      expectError(answer, 400, -32700)
      expect(answer.json.error.message).toContain('not UTF-8')
    },
  )
  test.each(['https://evil.example', 'null', 'http://localhost.evil.example', 'nonsense'])(
    'origin %s is refused',
    async (origin) => {
      const answer = await post(mcp, call('write'), { origin })
      expectError(answer, 403, -32600)
      expect(answer.headers['access-control-allow-origin']).toBeUndefined()
    },
  )
  test('its own origin may call, and a browser is told so', async () => {
    const { origin } = new URL(mcp)
    const answer = await post(mcp, list(), { origin })
    expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([200, origin])
    const preflight = await send(mcp, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization, mcp-method',
      },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers['access-control-allow-methods']).toBe('POST')
    expect(preflight.headers['access-control-allow-headers']).toMatch(
      /Authorization.*MCP-Protocol-Version.*Mcp-Method.*Mcp-Name/,
    )
    expect(preflight.headers['access-control-allow-origin']).toBe(origin)
  })
  test('a public service lets no page of the visitor’s own machine in', async () => {
    await using open = await listen(() => [server.route('https://frames.example')])
    const status = async (origin: string) => (await post(`${open.url}/api/mcp`, list(), { origin })).status
    expect(await status('http://localhost:3000')).toBe(403)
    expect(await status('https://frames.example')).toBe(200)
  })
})

test.each([
  [
    'at once',
    () => {
      throw new TypeError('secret of the inside')
    },
  ],
  ['later', () => Promise.reject(new TypeError('secret of the inside'))],
])('a dispatcher that fails %s costs its request, not the process', async (_, dispatch) => {
  await using broken = await listen((url) => [server.route(url, dispatch)])
  const answer = await fetch(`${broken.url}/api/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(list()),
  })
  const { status, json, text } = await readAnswer('POST', '/api/mcp', answer)
  expect([status, json.code]).toEqual([500, 'internal'])
  expect(text).not.toContain('secret')
})

describe('keys', () => {
  test.each([
    [undefined, 'unauthenticated', 'needs an API key'],
    ['free', 'plan_required', 'pro plan'],
    ['narrow', 'forbidden', 'saves:read'],
  ])('with the key %s the account tool is not listed, and a call says what is needed', async (key, code, text) => {
    const headers: Record<string, string> = key ? { authorization: `Bearer ${key}` } : {}
    expect((await post(mcp, list(), headers)).json.result.tools.map((tool: Tool) => tool.name)).toEqual([
      'echo',
      'write',
      'break',
    ])
    const { status, json } = await post(mcp, call('mine'), headers)
    expect([status, json.result.isError, json.result._meta.code]).toEqual([200, true, code])
    expect(json.result.content[0].text).toContain(text)
    expect(json.result.content[0].text).toContain(`${server.url}/keys`)
  })
})

describe('budget', () => {
  test('a key that may not be checked now is told so in JSON-RPC, with the id of the call', async () => {
    for (const [body, id] of [
      [call('echo', {}, 'here'), 'here'],
      ['{bad', null],
    ] as const) {
      const answer = await post(mcp, body, { authorization: 'Bearer throttled' })
      expectError(answer, 429, 429, id)
      expect(answer.headers['retry-after']).toBe('9')
    }
    const bad = await post(mcp, call('echo'), { authorization: 'Bearer unknown' })
    expect([bad.status, bad.json]).toEqual([401, { code: 'unauthenticated' }])
  })
  test('every message counts, a tool by its points, and nothing runs past the end', async () => {
    server.seen.charged = 0
    await post(mcp, call('write'))
    expect(server.seen.charged).toBe(5)
    await post(mcp, [call('write'), list(), { jsonrpc: '2.0', method: 'notifications/x' }])
    expect(server.seen.charged).toBe(12)
    await post(mcp, '{bad')
    expect(server.seen.charged).toBe(13)
    server.seen.budget = 14
    const before = server.seen.written
    try {
      for (const body of [call('write', {}, 'w'), [call('write'), call('write')]]) {
        const answer = await post(mcp, body)
        expect([answer.status, answer.headers['retry-after'], answer.json.error.code]).toEqual([429, '7', 429])
        expect(answer.json.error.data).toEqual({ code: 'rate_limited', retryAfterSec: 7 })
      }
      expect(server.seen.written).toBe(before)
    } finally {
      server.seen.budget = Number.POSITIVE_INFINITY
    }
  })
})
