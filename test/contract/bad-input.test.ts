import { request as httpRequest } from 'node:http'
import { text } from 'node:stream/consumers'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Operation } from '../../src/http/endpoint.ts'
import { describeTool } from '../../src/mcp/tool.ts'
import { OPERATIONS } from '../../src/server/build-app.ts'
import { useOpened } from '../support/closing.ts'
import { ENGINES } from '../support/engines.ts'
import { faultOf, type HostileRequest, hostileRequests } from '../support/hostile.ts'
import { useService } from '../support/service.ts'
import { openContractLibrary } from './library.ts'

interface Problem {
  code: string
  message: string
  details: { path: string }[]
}

function send(
  url: string,
  { method, target, headers, body }: HostileRequest,
): Promise<{ status: number; contentType: string | null; body: string }> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const req = httpRequest(
      {
        hostname,
        port,
        method,
        path: target,
        headers: body === undefined ? headers : { ...headers, 'content-length': Buffer.byteLength(body) },
      },
      async (res) => {
        const contentType = res.headers['content-type'] ?? null
        resolve({ status: res.statusCode!, contentType, body: await text(res) })
      },
    )
    // The answer to an address that is too long comes before the request is read to its end.
    req.on('error', (error) => (target.length < 15_000 ? reject(error) : resolve(TOO_LONG)))
    req.end(body)
  })
}
const TOO_LONG = { status: 431, contentType: 'application/json', body: '{"code":"invalid_request"}' }

/** `npm run test:fuzz` sends twenty times as many. */
const TIMES = Number(process.env.FUZZ_TIMES ?? 1)

describe.each(ENGINES)('hostile requests on $engine', ({ engine }) => {
  const library = useOpened(() => openContractLibrary(engine))

  async function storm(numRuns: number, requests: fc.Arbitrary<HostileRequest>): Promise<void> {
    const { url } = library.service
    await fc.assert(
      fc.asyncProperty(requests, async (request) => {
        const { status, contentType, body } = await send(url, request)
        const fault = faultOf(request, status, contentType, body)
        const headers = JSON.stringify(request.headers).slice(0, 200)
        if (fault) throw new Error(`${request.method} ${request.target.slice(0, 300)} ${headers}: ${fault}`)
      }),
      { seed: Number(process.env.FUZZ_SEED ?? 5), numRuns: numRuns * TIMES, endOnFailure: true },
    )
  }

  test('never a 5xx, always the error shape: anybody', async () => {
    await storm(600, hostileRequests([library.videos.words, library.everyFrameIds[0]!]))
  })

  test('a path that cannot be decoded is 400 for every method', async () => {
    const { url } = library.service
    for (const method of ['GET', 'OPTIONS', 'PATCH', 'DELETE']) {
      const answer = await fetch(`${url}/api/frames/%/annotation`, { method })
      expect([answer.status, ((await answer.json()) as { code: string }).code], method).toEqual([
        400,
        'invalid_request',
      ])
    }
  })

  test('never a 5xx, always the error shape: with a key that may do everything', async () => {
    const authorization = `Bearer ${library.service.operatorKey}`
    const withKey = hostileRequests(
      [library.videos.words, library.everyFrameIds[0]!],
      ({ scope, path }) => scope !== undefined && path !== '/api/videos',
    ).map((request) => ({
      ...request,
      headers: { ...request.headers, authorization },
    }))
    await storm(300, withKey)
    expect((await library.get('/api/frames')).status).toBe(200)
  })
})

describe('every door names what is wrong', () => {
  const service = useService({ worker: false })

  const ask = async ({ method, path }: Operation, query = '', init: { type?: string; body?: string | Buffer } = {}) => {
    const at = path.replace(':format', 'csv').replace(/:\w+/g, 'none')
    const { type = 'application/json', body } = init
    const answer = await fetch(`${service.url}${at}${query}`, {
      method: method.toUpperCase(),
      headers: {
        authorization: `Bearer ${service.operatorKey}`,
        ...(body === undefined ? {} : { 'content-type': type }),
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : new Uint8Array(body) }),
    })
    return { status: answer.status, ...((await answer.json()) as Partial<Problem>) }
  }
  const isRead = ({ path, otherBody }: Operation) => path.startsWith('/api/') && path !== '/api/mcp' && !otherBody
  const BAD = ['zzz!', '-1', '\0', 'x'.repeat(3_000)]

  test.each(OPERATIONS.filter(isRead))('a parameter of $method $path', async (operation) => {
    const { parameters = {} } = operation
    const named = (path: string) => ({ status: 400, code: 'invalid_request', details: [{ path }] })
    expect(await ask(operation, '?nope=1')).toMatchObject(named('nope'))
    for (const [name, { schema, many }] of Object.entries(parameters)) {
      const bad = BAD.filter((value) => !schema.safeParse(value).success)
      expect(bad, name).not.toEqual([])
      for (const value of bad)
        expect(await ask(operation, `?${name}=${encodeURIComponent(value)}`), `${name}=${value}`).toMatchObject(
          named(name),
        )
      if (!many) expect(await ask(operation, `?${name}=1&${name}=2`), name).toMatchObject(named(name))
    }
  })

  test.each(OPERATIONS.filter((one) => one.body && isRead(one)))('the body of $method $path', async (operation) => {
    const example = operation.example as Record<string, unknown>
    const send = (body: string | Buffer, type?: string) => ask(operation, '', { body, type })
    for (const body of ['{', '[]', 'null', '"x"', '['.repeat(30_000), '{"__proto__":{"a":1}}', '{"more":1}', 'a=b'])
      expect(await send(body), body.slice(0, 30)).toMatchObject({ status: 400, code: 'invalid_request' })
    expect((await send(JSON.stringify({ ...example, more: 1 }))).message).toContain('unknown: more')
    for (const name of Object.keys(example)) {
      const { status, details } = await send(JSON.stringify({ ...example, [name]: { no: [] } }))
      // Of a body that is one of several shapes none of the fields is at fault.
      const place = operation.body instanceof z.ZodObject ? name : 'body'
      expect([name, status, details?.[0]?.path.split('.')[0]]).toEqual([name, 400, place])
    }
    for (const name of Object.keys(example)) {
      const { [name]: _, ...rest } = example
      if (operation.body!.safeParse(rest).success) continue
      expect([name, (await send(JSON.stringify(rest))).status]).toEqual([name, 400])
    }
    expect((await ask(operation)).status === 400, 'no body').toBe(!operation.bodyOptional)
    expect((await send(Buffer.from('{"name":"caf\xe9"}', 'latin1'))).message).toContain('not UTF-8')
    expect((await send('a=b', 'application/x-www-form-urlencoded')).status).toBe(415)
    expect((await send(`{"a":"${' '.repeat(300_000)}"}`)).status).toBe(413)
  })

  test('an argument of every tool', async () => {
    const call = async (name: string, args: object) => {
      const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }
      const { result } = (await service.call('POST', '/api/mcp', body)).json
      return [result.isError, result._meta.code, result.content[0].text]
    }
    for (const tool of service.api.app.tools) {
      const wrong = (said: string) => [true, 'invalid_request', expect.stringContaining(said)]
      expect(await call(tool.name, { nope: 1 }), tool.name).toEqual(wrong('unknown argument "nope"'))
      const { properties, required = [] } = describeTool(tool).inputSchema as {
        properties: object
        required?: string[]
      }
      for (const name of required) expect(await call(tool.name, {}), tool.name).toEqual(wrong(`${name}: is required`))
      for (const name of Object.keys(properties))
        expect(await call(tool.name, { [name]: { no: [] } }), `${tool.name} ${name}`).toEqual(wrong(name))
    }
  })
})
