import { once } from 'node:events'
import { createConnection } from 'node:net'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { useOpened } from '../support/closing.ts'
import { call, expectError, list, openProtocolServer } from './protocol-server.ts'
import { MODERN_META, post, postModern } from './support.ts'

const server = useOpened(openProtocolServer)
let mcp: string
beforeAll(async () => {
  mcp = server.mcp
})

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
    const before = server.seen.written
    const answer = await post(mcp, body)
    expect([answer.status, answer.text, server.seen.written]).toEqual([202, '', before])
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
    expect(answer.json.error.message).toBe('Unknown tool: nonsense. tools/list names them all.')
    const near = await post(mcp, call('ecko'))
    expect(near.json.error.message).toBe('Unknown tool: ecko. Nearest: echo.')
    for (const name of ['__proto__', 'constructor', 'toString', ''])
      expectError(await post(mcp, call(name)), 200, -32602, 1)
  })
  test.each([
    { jsonrpc: '2.0', id: 1, method: 'tools/call' },
    call(7),
    call(undefined),
    call('echo', 'x'),
    call('echo', ['x']),
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
    for (const none of [call('echo'), call('echo', null), call('Echo')])
      expect((await post(mcp, none)).json.result.structuredContent).toEqual({ word: 'nothing' })
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
  test('a call past its deadline is told', async () => {
    const { json } = await post(mcp, call('break', { how: 'hang' }))
    expect(json.result).toMatchObject({ isError: true, _meta: { code: 'unavailable' } })
  })
  test('a caller that goes away delays no other', async () => {
    const { port } = new URL(mcp)
    const body = JSON.stringify(call('break', { how: 'hang' }))
    const socket = createConnection(Number(port), '127.0.0.1')
    await once(socket, 'connect')
    socket.write(
      [
        'POST /api/mcp HTTP/1.1',
        'Host: x',
        'Content-Type: application/json',
        `Content-Length: ${body.length}`,
        '',
        body,
      ].join('\r\n'),
    )
    socket.end()
    socket.destroySoon()
    expect((await post(mcp, call('echo', { word: 'next' }))).json.result.structuredContent.word).toBe('next')
  })
})

describe('hostile bodies', () => {
  const echoWith = (args: string) =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":${args}}}`
  test.each([
    ['duplicate keys', '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', 200],
    [
      '__proto__ in arguments',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"__proto__":{"word":"x"}}}}',
      200,
    ],
    ['__proto__ around it', '{"__proto__":{"jsonrpc":"2.0","id":1,"method":"ping"}}', 400],
    ['deep nesting', `{"id":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 400],
    ['deep arguments', echoWith(`${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`), 200],
    ['lone surrogates', echoWith('{"word":"\\ud800\\udc00\\ud800"}'), 200],
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

test('whatever is posted, the answer is JSON, never 5xx, with the id that was sent or null', async () => {
  const word = fc.constantFrom('2.0', 'tools/call', 'tools/list', 'initialize', 'echo', 'name', 'arguments', '_meta')
  const anything = fc.oneof(word, fc.jsonValue({ maxDepth: 3 }))
  const params = fc.record({ name: anything, arguments: anything, _meta: anything }, { requiredKeys: [] })
  const request = fc.record(
    {
      jsonrpc: fc.oneof(fc.constant('2.0'), anything),
      id: anything,
      method: anything,
      params: fc.oneof(params, anything),
    },
    { requiredKeys: [] },
  )
  const posted = fc.oneof(anything, request, fc.array(request, { maxLength: 3 }))
  const property = fc.asyncProperty(posted, fc.boolean(), async (value, modern) => {
    const headers = modern ? { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call' } : undefined
    const { status, text, json } = await post(mcp, JSON.stringify(value), headers)
    expect(status).toBeLessThan(500)
    if (status === 202) expect(text).toBe('')
    const ids = [null, ...[value].flat().map((item) => (item as { id?: unknown } | null)?.id)]
    for (const item of status === 202 ? [] : [json].flat()) {
      expect(item.jsonrpc).toBe('2.0')
      expect(ids.map((id) => JSON.stringify(id))).toContain(JSON.stringify(item.id))
      expect('result' in item).not.toBe('error' in item)
    }
  })
  await fc.assert(property, { numRuns: 500 })
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
