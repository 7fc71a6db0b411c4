import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectError, list, openProtocolServer, type ProtocolServer } from './protocol-server.ts'
import { MODERN_META, post, postModern } from './support.ts'

let server: ProtocolServer
let mcp: string
beforeAll(async () => {
  server = await openProtocolServer()
  mcp = server.mcp
})
afterAll(() => server[Symbol.asyncDispose]())

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
