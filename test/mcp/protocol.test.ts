import { once } from 'node:events'
import { createConnection } from 'node:net'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { AppError } from '../../src/errors.ts'
import type { RateLimits } from '../../src/http/rate-limit/rate-limits.ts'
import type { Caller, Scope } from '../../src/library/accounts/keys.ts'
import { createDispatcher } from '../../src/mcp/dispatcher.ts'
import { mcpRouter } from '../../src/mcp/route.ts'
import { ADDS, defineTool, READS, type Tool } from '../../src/mcp/tool.ts'
import { type Answer, type Listening, listen, MODERN_META, post, postModern, send, silent } from './support.ts'

/** The protocol's rules by tools that do nothing: what the library's own tools answer is in the other files. */

let written = 0
let aborted: (() => void) | undefined
const tools: Tool[] = [
  defineTool({
    name: 'echo',
    title: 'Echo',
    description: 'Says it again.',
    annotations: READS,
    points: 1,
    scope: null,
    cacheable: false,
    input: z.strictObject({
      word: z.string().max(200_000).default('nothing'),
      tone: z.enum(['dark', 'bright']).optional(),
    }),
    output: z.object({ word: z.string() }),
    async run({ word }) {
      return { text: word, structured: { word } }
    },
  }),
  defineTool({
    name: 'write',
    title: 'Write',
    description: 'Counts.',
    annotations: ADDS,
    points: 5,
    scope: null,
    cacheable: false,
    input: z.strictObject({}),
    output: z.object({ written: z.number() }),
    async run() {
      written++
      return { text: 'written', structured: { written } }
    },
  }),
  defineTool({
    name: 'break',
    title: 'Break',
    description: 'Throws.',
    annotations: READS,
    points: 1,
    scope: null,
    cacheable: false,
    input: z.strictObject({ how: z.enum(['bug', 'refusal', 'hang']) }),
    output: z.object({}),
    async run({ how }, { signal }) {
      if (how === 'bug') throw new TypeError('secret of the inside')
      if (how === 'refusal') throw new AppError('not_found', 'No such frame.')
      return await new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => {
          aborted?.()
          reject(signal.reason)
        })
      })
    },
  }),
  defineTool({
    name: 'mine',
    title: 'Mine',
    description: 'Needs a key.',
    annotations: READS,
    points: 1,
    scope: 'saves:read',
    cacheable: false,
    input: z.strictObject({}),
    output: z.object({ account: z.string() }),
    async run(_, { caller }) {
      return { text: caller!.account.id, structured: { account: caller!.account.id } }
    },
  }),
]

const key = (id: string, plan: 'free' | 'pro', scopes: Scope[]): Caller => ({
  key: { id, scopes, lastUsedAt: null },
  account: { id: `a-${id}`, role: 'member', plan },
})
const KEYS: Record<string, Caller> = {
  pro: key('pro', 'pro', ['saves:read']),
  narrow: key('narrow', 'pro', ['boards:read']),
  free: key('free', 'free', ['saves:read']),
}

/** Limits that add up; only what the tool server uses of them. */
const limits = {
  async consume(_budget: string, _subject: string, points: number) {
    charged += points
    if (charged > budget) throw new AppError('rate_limited', 'Too many requests.', { retryAfterSec: 7 })
    return { limit: 600, remaining: 600 - charged, resetSec: 60 }
  },
} as unknown as RateLimits

let server: Listening
let mcp: string
let charged = 0
let budget = Number.POSITIVE_INFINITY

function route(publicUrl: string) {
  return mcpRouter({
    dispatch: createDispatcher({
      info: { name: 'frame-library', title: 'Frame Library', version: '0.0.0' },
      instructions: 'Read.',
      tools,
      keysUrl: `${publicUrl}/keys`,
      logger: silent,
      deadlineMs: 150,
    }),
    publicUrl,
    authentication: {
      async identify(req) {
        const { authorization } = req.headers
        if (authorization === undefined) return undefined
        const caller = KEYS[authorization.replace('Bearer ', '')]
        if (!caller) throw new AppError('unauthenticated', 'bad key')
        return caller
      },
    },
    limits,
  })
}

beforeAll(async () => {
  server = await listen((url) => [route(url)])
  mcp = `${server.url}/api/mcp`
})
afterAll(() => server[Symbol.asyncDispose]())

const call = (name: unknown, args?: unknown, id: unknown = 1) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, ...(args === undefined ? {} : { arguments: args }) },
})
const list = (id: unknown = 1) => ({ jsonrpc: '2.0', id, method: 'tools/list' })

function expectError(answer: Answer, status: number, code: number, id: unknown = null): void {
  expect({
    status: answer.status,
    code: answer.json?.error?.code,
    id: answer.json?.id,
    keys: Object.keys(answer.json ?? {}).sort(),
  }).toEqual({
    status,
    code,
    id,
    keys: ['error', 'id', 'jsonrpc'],
  })
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
  expect(answer.headers['cache-control']).toBe('no-store')
}

describe('the plainest client', () => {
  test.each<Record<string, string>>([{}, { accept: '*/*' }, { accept: 'application/json' }, { accept: 'text/html' }])(
    'a bare tools/call with %o is 200 JSON',
    async (headers) => {
      const answer = await post(mcp, call('echo', { word: 'rain' }), headers)
      expect(answer.status).toBe(200)
      expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
      expect(answer.headers['mcp-session-id']).toBeUndefined()
      expect(answer.json).toEqual({
        jsonrpc: '2.0',
        id: 1,
        result: { content: [{ type: 'text', text: 'rain' }], structuredContent: { word: 'rain' } },
      })
    },
  )
})

describe('bodies that are no request', () => {
  test.each(['{bad', '', ' ', '{"a":1}}', '\u0000', '[1,'])('%j is not JSON', async (body) =>
    expectError(await post(mcp, body), 400, -32700),
  )
  test.each(['1', '"x"', 'null', 'true', '{}', '[]'])('%s is JSON and no request', async (body) =>
    expectError(await post(mcp, body), 400, -32600),
  )
  test.each([
    [{ id: 5, method: 'ping' }, 5],
    [{ jsonrpc: '1.0', id: 'a', method: 'ping' }, 'a'],
    [{ jsonrpc: '2.0', id: 5 }, 5],
    [{ jsonrpc: '2.0', id: 5, method: 7 }, 5],
    [{ jsonrpc: '2.0', id: 5, method: 'ping', params: [1] }, 5],
    [{ jsonrpc: '2.0', id: 5, method: 'ping', params: 'x' }, 5],
    [{ jsonrpc: '2.0', id: 5, method: 'ping', params: null }, 5],
    [{ jsonrpc: '2.0', method: 'ping', params: 1 }, null],
    [{ jsonrpc: '2.0', id: null, method: 'ping' }, null],
    [{ jsonrpc: '2.0', id: 1.5, method: 'ping' }, null],
    [{ jsonrpc: '2.0', id: {}, method: 'ping' }, null],
    [{ jsonrpc: '2.0', id: true, method: 'ping' }, null],
    [{ jsonrpc: '2.0', id: [1], method: 'ping' }, null],
    [{ jsonrpc: '2.0', id: 3, result: {} }, 3],
  ])('%j', async (body, id) => expectError(await post(mcp, body), 400, -32600, id))

  test.each(['"abc"', '0', '""', '-7', '9007199254740991', '12345678901234567890', '"\\ud800"'])(
    'id %s is echoed exactly',
    async (id) => {
      const answer = await post(mcp, `{"jsonrpc":"2.0","id":${id},"method":"ping"}`)
      expect(answer.status).toBe(200)
      expect(answer.text).toBe(`{"jsonrpc":"2.0","id":${id},"result":{}}`)
    },
  )
})

describe('batches', () => {
  test('each request is answered, each fault told, notifications are silent', async () => {
    const answer = await post(mcp, [
      1,
      call('echo', {}, 'a'),
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 9, method: 'no' },
    ])
    expect(answer.status).toBe(200)
    expect(answer.json.map((item: { id: unknown; error?: { code: number } }) => [item.id, item.error?.code])).toEqual([
      [null, -32600],
      ['a', undefined],
      [9, -32601],
    ])
  })
  test('only notifications: 202', async () => {
    const answer = await post(mcp, [{ jsonrpc: '2.0', method: 'notifications/initialized' }])
    expect([answer.status, answer.text]).toEqual([202, ''])
  })
  test('more than twenty, a modern one inside, or a revision without batches: one error', async () => {
    expectError(
      await post(
        mcp,
        Array.from({ length: 21 }, () => list()),
      ),
      400,
      -32600,
    )
    expectError(await post(mcp, [list(), { ...list(), params: { _meta: MODERN_META } }]), 400, -32600)
    expectError(await post(mcp, [list()], { 'mcp-protocol-version': '2025-06-18' }), 400, -32600)
    expectError(await post(mcp, [list()], { 'mcp-protocol-version': '2026-07-28' }), 400, -32600)
    expect((await post(mcp, [list()], { 'mcp-protocol-version': '2025-03-26' })).status).toBe(200)
  })
  test('initialize stands alone', async () => {
    expect((await post(mcp, [{ jsonrpc: '2.0', id: 1, method: 'initialize', params: {} }])).json[0].error.code).toBe(
      -32600,
    )
  })
})

describe('notifications', () => {
  test.each([
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', method: 'nothing/known' },
    { jsonrpc: '2.0', method: 'tools/call', params: { name: 'write', arguments: {} } },
    { jsonrpc: '2.0', method: 'tools/call', params: { name: 'write', arguments: {}, _meta: MODERN_META } },
  ])('%j is accepted and runs nothing', async (body) => {
    const before = written
    const answer = await post(mcp, body)
    expect([answer.status, answer.text, written]).toEqual([202, '', before])
  })
})

describe('calls', () => {
  test('an unknown method is 200 in the older era and 404 in the modern one', async () => {
    expectError(await post(mcp, { jsonrpc: '2.0', id: 1, method: 'resources/list' }), 200, -32601, 1)
    expectError(await postModern(mcp, { method: 'resources/list' }), 404, -32601, 1)
    for (const method of ['initialize', 'ping']) expectError(await postModern(mcp, { method }), 404, -32601, 1)
    expectError(await post(mcp, { jsonrpc: '2.0', id: 1, method: 'server/discover' }), 200, -32601, 1)
  })
  test('an unknown tool', async () => {
    const answer = await post(mcp, call('nonsense'))
    expectError(answer, 200, -32602, 1)
    expect(answer.json.error.message).toBe('Unknown tool: nonsense')
    for (const name of ['__proto__', 'constructor', 'toString', ''])
      expectError(await post(mcp, call(name)), 200, -32602, 1)
  })
  test.each([
    { jsonrpc: '2.0', id: 1, method: 'tools/call' },
    call(7),
    call(undefined),
    call('echo', 'x'),
    call('echo', ['x']),
    call('echo', null),
    { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { cursor: 'page2' } },
  ])('%j has bad params', async (body) => expectError(await post(mcp, body), 200, -32602, 1))

  test('arguments that break the schema are a result a model can act on', async () => {
    const { status, json } = await post(mcp, call('echo', { tone: 'dim', wrod: 1 }))
    expect(status).toBe(200)
    expect(json.result).toMatchObject({ isError: true, _meta: { code: 'invalid_request' } })
    expect(json.result.structuredContent).toBeUndefined()
    const { text } = json.result.content[0]
    expect(text).toContain('tone (got "dim"): must be one of dark, bright')
    expect(text).toContain('unknown argument "wrod"; echo takes word, tone')
    expect((await post(mcp, call('break'))).json.result.content[0].text).toContain(
      'how: must be one of bug, refusal, hang',
    )
  })
  test('absent arguments are none', async () => {
    expect((await post(mcp, call('echo'))).json.result.structuredContent).toEqual({ word: 'nothing' })
  })
  test('a refusal is a result, a bug is an error that tells nothing', async () => {
    const refused = (await post(mcp, call('break', { how: 'refusal' }))).json.result
    expect(refused).toEqual({
      content: [{ type: 'text', text: 'No such frame.' }],
      isError: true,
      _meta: { code: 'not_found' },
    })
    const broken = await post(mcp, call('break', { how: 'bug' }))
    expectError(broken, 200, -32603, 1)
    expect(broken.text).not.toContain('secret')
  })
  test('a call past its deadline is told and its work is stopped', async () => {
    const stopped = new Promise<void>((resolve) => {
      aborted = resolve
    })
    const { json } = await post(mcp, call('break', { how: 'hang' }))
    expect(json.result).toMatchObject({ isError: true, _meta: { code: 'unavailable' } })
    await stopped
  })
  test('a caller that goes away stops the work', async () => {
    const { port } = new URL(mcp)
    const stopped = new Promise<void>((resolve) => {
      aborted = resolve
    })
    const body = JSON.stringify(call('break', { how: 'hang' }))
    const socket = createConnection(Number(port), '127.0.0.1')
    await once(socket, 'connect')
    socket.write(
      `POST /api/mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    socket.end()
    socket.destroySoon()
    await stopped
  })
})

describe('hostile bodies', () => {
  test.each([
    ['duplicate keys', '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', 200],
    [
      '__proto__ in arguments',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"__proto__":{"word":"x"}}}}',
      200,
    ],
    ['__proto__ around it', '{"__proto__":{"jsonrpc":"2.0","id":1,"method":"ping"}}', 400],
    ['deep nesting', `{"id":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 400],
    [
      'deep arguments',
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}}`,
      200,
    ],
    [
      'lone surrogates',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"word":"\\ud800\\udc00\\ud800"}}}',
      200,
    ],
    [
      'NUL',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"word":"\\u0000"}}}',
      200,
    ],
  ])('%s', async (_, body, status) => {
    const answer = await post(mcp, body)
    expect(answer.status).toBe(status)
    expect(answer.json.jsonrpc).toBe('2.0')
    expect(({} as { word?: string }).word).toBeUndefined()
  })
  test('a body of exactly 256 kB is read, one byte more is refused', async () => {
    const sized = (bytes: number) => {
      const frame = JSON.stringify(call('echo', { word: '' }))
      return frame.replace('"word":""', `"word":"${'a'.repeat(bytes - frame.length)}"`)
    }
    expect((await post(mcp, sized(262_144))).status).toBe(200)
    expectError(await post(mcp, sized(262_145)), 413, -32600)
  })
  test('a packed body counts unpacked', async () => {
    const packed = { 'content-encoding': 'gzip' }
    expect((await post(mcp, gzipSync(JSON.stringify(call('echo'))), packed)).json.result.structuredContent.word).toBe(
      'nothing',
    )
    expectError(await post(mcp, gzipSync(' '.repeat(50_000_000)), packed), 413, -32600)
    expectError(await post(mcp, 'not gzip', packed), 400, -32600)
    expectError(await post(mcp, '{}', { 'content-encoding': 'zzz' }), 415, -32600)
  })
})

describe('HTTP', () => {
  test.each(['GET', 'DELETE', 'PUT', 'PATCH'])('%s is 405', async (method) => {
    const answer = await send(mcp, {
      method,
      headers: { accept: 'text/event-stream', 'mcp-session-id': 'x', 'last-event-id': '1' },
    })
    expect([answer.status, answer.headers.allow, answer.json.code]).toEqual([405, 'POST', 'method_not_allowed'])
  })
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
    await using open = await listen(() => [route('https://frames.example')])
    const status = async (origin: string) => (await post(`${open.url}/api/mcp`, list(), { origin })).status
    expect(await status('http://localhost:3000')).toBe(403)
    expect(await status('https://frames.example')).toBe(200)
  })
})

describe('an answer that is kept', () => {
  const counting = () => {
    let runs = 0
    let version = '1'
    const spent: number[] = []
    const dispatch = createDispatcher({
      info: { name: 'x', title: 'x', version: '0' },
      instructions: '',
      tools: [
        defineTool({
          ...{
            name: 'count',
            title: 'Count',
            description: 'Counts its runs.',
            annotations: READS,
            points: 2,
            scope: null,
            cacheable: true,
          },
          input: z.strictObject({ of: z.string().optional() }),
          output: z.object({ run: z.number() }),
          run: async () => ({ text: '–', structured: { run: ++runs } }),
        }),
      ],
      keysUrl: '',
      logger: silent,
      readModel: { current: () => version, epoch: () => 0 },
    })
    const post = async (message: object, headers = {}) => {
      const { status, body } = await dispatch(JSON.stringify(message), headers, {
        caller: undefined,
        signal: () => new AbortController().signal,
        charge: (points) => {
          spent.push(points)
          return undefined
        },
      })
      return { status, ...JSON.parse(Buffer.concat(body!.map((piece) => Buffer.from(piece))).toString()) }
    }
    return { post, spent, publish: (next: string) => (version = next) }
  }
  const of = (id: unknown, args?: unknown) => ({
    ...{ jsonrpc: '2.0', id, method: 'tools/call' },
    params: { name: 'count', ...(args === undefined ? {} : { arguments: args }) },
  })

  test('is given again, with the id of each call and for its full price, until the library changes', async () => {
    const { post, spent, publish } = counting()
    const first = await post(of(1))
    expect(first.result.structuredContent).toEqual({ run: 1 })
    expect(await post(of('two'))).toEqual({ ...first, id: 'two' })
    expect((await post(of(3, { of: 'x' }))).result.structuredContent).toEqual({ run: 2 })
    publish('2')
    expect((await post(of(4))).result.structuredContent).toEqual({ run: 3 })
    expect(spent).toEqual([2, 2, 2, 2])
  })

  test('excuses nothing: arguments that are none, an unknown revision and headers of the modern era are looked at each time', async () => {
    const { post } = counting()
    const modern = { ...of(1), params: { _meta: MODERN_META, name: 'count' } }
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'count' }
    const good = await post(modern, headers)
    expect(await post(modern, headers)).toEqual(good)
    expect(good.result).toMatchObject({ resultType: 'complete', structuredContent: { run: 1 } })
    expect((await post(of(1))).result).toEqual({ content: expect.anything(), structuredContent: { run: 2 } })
    expect((await post(of(1, null))).error.code).toBe(-32602)
    expect(await post(of(1), { 'mcp-protocol-version': '2020-01-01' })).toMatchObject({
      status: 400,
      error: { code: -32022 },
    })
    expect(await post(modern, { ...headers, 'mcp-name': 'other' })).toMatchObject({
      status: 400,
      error: { code: -32020 },
    })
    expect(await post({ ...of(1), jsonrpc: '1.0' })).toMatchObject({ status: 400, error: { code: -32600 } })
  })
})

test('the log level changes no answer', async () => {
  await using verbose = await listen((url) => [route(url)], pino({ level: 'debug' }, { write: () => undefined }))
  const told = async (url: string, body: string, headers: Record<string, string>) => {
    charged = 0
    const answer = await send(url, { headers: { 'content-type': 'application/json', ...headers }, body })
    const { date: _, 'x-request-id': id, ...rest } = answer.headers
    expect(id).toMatch(/^[A-Za-z0-9._-]{1,64}$/)
    return { status: answer.status, headers: rest, text: answer.text.replaceAll(url.replace('/api/mcp', ''), '') }
  }
  const bodies = [
    list(),
    call('echo', { text: 'a' }),
    call('mine'),
    call('nothing'),
    [],
    [list(), call('echo')],
    { jsonrpc: '2.0', method: 'x' },
  ]
  for (const body of [...bodies.map((one) => JSON.stringify(one)), '{bad', '', `{"a":"${'x'.repeat(300_000)}"}`])
    for (const headers of [
      {},
      { 'x-request-id': 'mine' },
      { 'content-type': 'text/plain' },
      { 'mcp-protocol-version': '2020-01-01' },
    ])
      expect(await told(mcp, body, headers as Record<string, string>)).toEqual(
        await told(`${verbose.url}/api/mcp`, body, headers as Record<string, string>),
      )
})

describe('a store that is away', () => {
  test('is told as a result, also where only the version was asked for', async () => {
    const dispatch = createDispatcher({
      info: { name: 'x', title: 'x', version: '0' },
      instructions: '',
      tools: [{ ...tools[0]!, cacheable: true }],
      keysUrl: '',
      logger: silent,
      readModel: {
        current: () => Promise.reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })),
        epoch: () => 0,
      },
    })
    const { status, body } = await dispatch(
      JSON.stringify(call('echo')),
      {},
      { caller: undefined, signal: () => new AbortController().signal, charge: async () => {} },
    )
    expect([status, JSON.parse(body!.join('')).result]).toEqual([
      200,
      expect.objectContaining({ isError: true, _meta: { code: 'unavailable' } }),
    ])
  })
})

describe('keys', () => {
  test('a bad key is 401 with exactly the body of the specification', async () => {
    const answer = await post(mcp, list(), { authorization: 'Bearer nope' })
    expect(answer.status).toBe(401)
    expect(answer.json).toEqual({ code: 'unauthenticated' })
    expect(answer.headers['www-authenticate']).toMatch(/^Bearer realm="[^"]+", error="invalid_token"$/)
  })
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
  test('a Pro key with the scope sees and calls it', async () => {
    const headers = { authorization: 'Bearer pro' }
    expect((await post(mcp, list(), headers)).json.result.tools.map((tool: Tool) => tool.name)).toContain('mine')
    expect((await post(mcp, call('mine'), headers)).json.result.structuredContent).toEqual({ account: 'a-pro' })
  })
})

describe('budget', () => {
  test('every message counts, a tool by its points, and nothing runs past the end', async () => {
    charged = 0
    await post(mcp, call('write'))
    expect(charged).toBe(5)
    await post(mcp, [call('write'), list(), { jsonrpc: '2.0', method: 'notifications/x' }])
    expect(charged).toBe(12)
    await post(mcp, '{bad')
    expect(charged).toBe(13)
    budget = 14
    const before = written
    try {
      for (const body of [call('write', {}, 'w'), [call('write'), call('write')]]) {
        const answer = await post(mcp, body)
        expect([answer.status, answer.headers['retry-after'], answer.json.error.code]).toEqual([429, '7', 429])
        expect(answer.json.error.data).toEqual({ code: 'rate_limited', retryAfterSec: 7 })
      }
      expect(written).toBe(before)
    } finally {
      budget = Number.POSITIVE_INFINITY
    }
  })
})

describe('the initialize era', () => {
  test.each([
    ['2025-11-25', '2025-11-25'],
    ['2025-06-18', '2025-06-18'],
    ['2025-03-26', '2025-03-26'],
    ['2024-11-05', '2025-11-25'],
    [undefined, '2025-11-25'],
  ])('initialize with %s settles on %s, without a session', async (protocolVersion, settled) => {
    const answer = await post(mcp, {
      jsonrpc: '2.0',
      id: 0,
      method: 'initialize',
      params: { protocolVersion, capabilities: {}, clientInfo: { name: 't', version: '1' } },
    })
    expect(answer.json.result).toMatchObject({
      protocolVersion: settled,
      capabilities: { tools: {} },
      serverInfo: { name: 'frame-library' },
    })
    expect(answer.headers['mcp-session-id']).toBeUndefined()
  })
  test('an unknown version header is 400, a known one is not', async () => {
    for (const version of ['1999-01-01', '2024-11-05', 'latest', '2027-01-01', ''])
      expect((await post(mcp, list(), { 'mcp-protocol-version': version })).status, version).toBe(400)
    for (const version of ['2025-03-26', '2025-06-18', '2025-11-25'])
      expect((await post(mcp, list(), { 'mcp-protocol-version': version })).json.result.tools).toHaveLength(3)
  })
})

describe('revision 2026-07-28', () => {
  test('server/discover', async () => {
    const { status, json } = await postModern(mcp, { method: 'server/discover' })
    expect(status).toBe(200)
    expect(json.result).toMatchObject({
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {} },
      instructions: 'Read.',
      cacheScope: 'public',
      ttlMs: 300_000,
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'frame-library' } },
    })
  })
  test('lists and results say that they are complete, how long a list holds and for whom', async () => {
    const open = (await postModern(mcp, { method: 'tools/list' })).json.result
    expect(open).toMatchObject({ resultType: 'complete', ttlMs: 300_000, cacheScope: 'public' })
    const own = (await postModern(mcp, { method: 'tools/list' }, { authorization: 'Bearer pro' })).json.result
    expect(own.cacheScope).toBe('private')
    expect(
      (await postModern(mcp, { method: 'tools/list' }, { authorization: 'Bearer free' })).json.result.cacheScope,
    ).toBe('public')
    const called = (await postModern(mcp, { method: 'tools/call', params: { name: 'echo', arguments: {} } })).json
      .result
    expect(called).toMatchObject({
      resultType: 'complete',
      content: [{ type: 'text', text: 'nothing' }],
      structuredContent: { word: 'nothing' },
    })
  })
  test('a refusal keeps its code beside the server in _meta', async () => {
    const { text, json } = await postModern(mcp, { method: 'tools/call', params: { name: 'mine', arguments: {} } })
    expect(json.result).toMatchObject({ resultType: 'complete', isError: true })
    expect(json.result._meta).toEqual({
      code: 'unauthenticated',
      'io.modelcontextprotocol/serverInfo': expect.any(Object),
    })
    expect(text.match(/"_meta"/g)).toHaveLength(1)
  })
  test('the list is the same bytes every time', async () => {
    expect((await postModern(mcp, { method: 'tools/list' })).text).toBe(
      (await postModern(mcp, { method: 'tools/list' })).text,
    )
  })
  const echo = { method: 'tools/call', params: { name: 'echo' } }
  test.each([
    ['no version header', echo, { 'mcp-protocol-version': undefined }, -32020],
    ['another version header', echo, { 'mcp-protocol-version': '2025-11-25' }, -32020],
    ['no method header', echo, { 'mcp-method': undefined }, -32020],
    ['another method header', echo, { 'mcp-method': 'tools/list' }, -32020],
    ['no name header', echo, { 'mcp-name': undefined }, -32020],
    ['another name header', echo, { 'mcp-name': 'write' }, -32020],
    ['a name in other letters', echo, { 'mcp-name': 'Echo' }, -32020],
    ['a name in bad base64', echo, { 'mcp-name': '=?base64?!!?=' }, -32020],
    [
      'no capabilities',
      { method: 'tools/list', params: { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } } },
      {},
      -32602,
    ],
    ['no _meta', { method: 'tools/list', params: { _meta: undefined } }, {}, -32602],
    ['a _meta that is none', { method: 'tools/list', params: { _meta: 7 } }, {}, -32602],
    [
      'a version that is no text',
      { method: 'tools/list', params: { _meta: { ...MODERN_META, 'io.modelcontextprotocol/protocolVersion': 7 } } },
      {},
      -32602,
    ],
  ])('%s is refused', async (_, request, headers, code) =>
    expectError(await postModern(mcp, request, headers), 400, code, 1),
  )

  test('a future version is named, with those there are', async () => {
    const future = { ...MODERN_META, 'io.modelcontextprotocol/protocolVersion': '2027-01-01' }
    const answer = await postModern(
      mcp,
      { method: 'tools/list', params: { _meta: future } },
      { 'mcp-protocol-version': '2027-01-01' },
    )
    expectError(answer, 400, -32022, 1)
    expect(answer.json.error.data).toEqual({ supported: ['2026-07-28'], requested: '2027-01-01' })
    expectError(
      await postModern(mcp, { method: 'tools/list', params: { _meta: {} } }, { 'mcp-protocol-version': '2027-01-01' }),
      400,
      -32022,
      1,
    )
  })
  test('a name may travel as base64', async () => {
    const encoded = `=?base64?${Buffer.from('echo').toString('base64')}?=`
    expect((await postModern(mcp, echo, { 'mcp-name': encoded })).status).toBe(200)
  })
})

describe('whatever is posted', () => {
  const word = fc.constantFrom(
    'jsonrpc',
    'id',
    'method',
    'params',
    'name',
    'arguments',
    '_meta',
    '2.0',
    'tools/call',
    'tools/list',
    'initialize',
    'echo',
  )
  const leaf = fc.oneof(fc.string(), fc.double(), fc.integer(), fc.boolean(), fc.constant(null), word)
  const { value: anything } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      leaf,
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(fc.oneof(fc.string(), word), tie('value'), { maxKeys: 5 }),
    ),
  }))
  const request = fc.record(
    {
      jsonrpc: fc.oneof(fc.constant('2.0'), anything),
      id: anything,
      method: fc.oneof(word, anything),
      params: fc.oneof(
        fc.record({ name: fc.oneof(word, anything), arguments: anything, _meta: anything }, { requiredKeys: [] }),
        anything,
      ),
    },
    { requiredKeys: [] },
  )

  test('the answer is JSON, never 5xx, with the id that was sent or null', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(anything, request, fc.array(request, { maxLength: 3 })),
        fc.boolean(),
        async (value, modern) => {
          const answer = await post(
            mcp,
            JSON.stringify(value),
            modern ? { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call' } : {},
          )
          expect(answer.status).toBeLessThan(500)
          if (answer.status === 202) {
            expect(answer.text).toBe('')
            return
          }
          const sent = new Set(
            [
              null,
              ...(Array.isArray(value) ? value : [value]).map((item) => (item as { id?: unknown } | null)?.id),
            ].map((id) => JSON.stringify(id)),
          )
          for (const item of Array.isArray(answer.json) ? answer.json : [answer.json]) {
            expect(item.jsonrpc).toBe('2.0')
            expect(sent).toContain(JSON.stringify(item.id))
            expect('result' in item).not.toBe('error' in item)
          }
        },
      ),
      { numRuns: 500 },
    )
  })
})
