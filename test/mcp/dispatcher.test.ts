import { expect, test } from 'vitest'
import { z } from 'zod'
import { AppError } from '../../src/errors.ts'
import { type Caller, MEMBER_SCOPES } from '../../src/library/accounts/key-checks.ts'
import { createDispatcher, type DispatcherOptions } from '../../src/mcp/dispatcher.ts'
import { createTools } from '../../src/mcp/server.ts'
import { defineTool, READS } from '../../src/mcp/tool.ts'
import { call, echoTool } from './protocol-server.ts'
import { MODERN_META, STILL, silent } from './support.ts'

/** The protocol without HTTP: what is kept, how things fail, and what is paid. */

function open(options: Partial<DispatcherOptions>, caller?: Caller) {
  const charged: number[] = []
  const info = { name: 'x', title: 'x', version: '0' }
  const rest = { tools: [], instructions: '', keysUrl: '', logger: silent, readModel: STILL, methods: () => [] }
  const dispatch = createDispatcher({ info, ...rest, ...options })
  async function ask(message: object, given = {}) {
    const { status, headers, body } = await dispatch(JSON.stringify(message), given, {
      caller,
      inTurn: (act) => act(),
      charge: async (points) => void charged.push(points),
    })
    return { status, retry: headers['Retry-After'], ...JSON.parse(body!.join('')) }
  }
  return { ask, charged }
}

/** A tool that counts its runs, over a library whose version can be set. */
function counting() {
  let runs = 0
  let version = '1'
  const tool = defineTool({
    ...{ name: 'count', title: 'Count', description: 'Counts its runs.', annotations: READS },
    ...{ price: 'search', scope: null, cacheable: true },
    input: z.strictObject({ of: z.string().optional() }),
    output: z.object({ run: z.number() }),
    run: async () => ({ text: '–', structured: { run: ++runs } }),
  })
  const readModel = () => version
  return { ...open({ tools: [tool], readModel }), publish: (next: string) => (version = next) }
}

test('a kept answer has the id of each call and its full price, until the library changes', async () => {
  const { ask, charged, publish } = counting()
  const first = await ask(call('count'))
  expect(first.result.structuredContent).toEqual({ run: 1 })
  expect(await ask(call('count', undefined, 'two'))).toEqual({ ...first, id: 'two' })
  expect((await ask(call('count', { of: 'x' }))).result.structuredContent).toEqual({ run: 2 })
  publish('2')
  expect((await ask(call('count'))).result.structuredContent).toEqual({ run: 3 })
  expect(charged).toEqual([2, 2, 2, 2])
})

test('a kept answer costs a raised price too, also where the version is looked up anew', async () => {
  const tool = { ...echoTool, price: 'search' as const, cacheable: true, raises: () => true }
  const { ask, charged } = open({ tools: [tool], readModel: async () => '1' })
  await ask(call('echo'))
  await ask(call('echo'))
  expect(charged).toEqual([2, 3, 2, 3])
})

test('points that end within a call are a 429 with Retry-After, as those that end before it', async () => {
  const raises = () => {
    throw new AppError('rate_limited', 'Too many requests.', { retryAfterSec: 7 })
  }
  const { ask } = open({ tools: [{ ...echoTool, raises }] })
  expect(await ask(call('echo'))).toMatchObject({ status: 429, retry: '7', error: { code: 429 } })
})

test('a kept answer excuses nothing: arguments, revision and headers are looked at each time', async () => {
  const { ask } = counting()
  const modern = { ...call('count'), params: { _meta: MODERN_META, name: 'count' } }
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'count' }
  const good = await ask(modern, headers)
  expect(await ask(modern, headers)).toEqual(good)
  expect(good.result).toMatchObject({ resultType: 'complete', structuredContent: { run: 1 } })
  expect((await ask(call('count'))).result).toEqual({ content: expect.anything(), structuredContent: { run: 2 } })
  for (const [message, sent, code] of [
    [call('count', 'none'), {}, -32602],
    [call('count'), { 'mcp-protocol-version': '2020-01-01' }, -32022],
    [modern, { ...headers, 'mcp-name': 'other' }, -32020],
    [{ ...call('count'), jsonrpc: '1.0' }, {}, -32600],
  ] as const)
    expect((await ask(message, sent)).error.code).toBe(code)
})

test('a store that is away is told as a result, also where only the version was asked for', async () => {
  const away = () => Promise.reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }))
  const tools = [{ ...echoTool, cacheable: true }]
  const { ask } = open({ tools, readModel: away })
  const { status, result } = await ask(call('echo'))
  expect([status, result]).toMatchObject([200, { isError: true, _meta: { code: 'unavailable' } }])
})

test.each([
  ['edit_board', { name: 'Openings', another: true }, 'Check first, because a repeat acts again.'],
  ['edit_board', { board_id: 'Openings', share: 'new_link' }, 'Check first, because a repeat acts again.'],
  ['save_frame', { frame_ids: ['some-0'] }, 'Repeating the call is safe.'],
])('past its deadline %s says what a repeat does', async (name, args, said) => {
  const never = { run: () => new Promise<never>(() => undefined) }
  const tools = createTools({} as Parameters<typeof createTools>[0]).map((tool) => ({ ...tool, ...never }))
  const key = { id: 'k', scopes: [...MEMBER_SCOPES], lastUsedAt: null }
  const { ask } = open({ tools, deadlineMs: 1 }, { key, account: { id: 'a', role: 'member', plan: 'pro' } })
  const { result } = await ask(call(name, args))
  expect(result).toMatchObject({ isError: true, _meta: { code: 'unavailable' } })
  expect(result.content[0].text).toContain(said)
})

/** How a method that is no tool fails. */
const HOW: Record<string, () => Promise<object>> = {
  lost: async () => {
    throw Object.assign(new Error('connect ECONNREFUSED 10.0.0.7:5432'), { code: 'ECONNREFUSED' })
  },
  spent: async () => {
    throw new AppError('rate_limited', 'Too many requests.', { retryAfterSec: 7 })
  },
  slow: () => new Promise(() => {}),
  bug: async () => {
    throw new TypeError('secret of the inside')
  },
}
const bug = { code: -32603, message: 'Internal error' }

test.each([
  ['lost', 503, '5', { code: 503, data: { code: 'unavailable' } }],
  ['slow', 503, '1', { code: 503, data: { code: 'unavailable' } }],
  ['spent', 429, '7', { code: 429, data: { code: 'rate_limited' } }],
  ['bug', 200, undefined, bug],
])('a method that fails (%s) is %i and shows nothing of the inside', async (method, status, retry, error) => {
  const { ask, charged } = open({
    deadlineMs: 50,
    methods: (calls) =>
      Object.entries(HOW).map(([how, fail]) => [
        how,
        {
          priceOf: () => 'search',
          answer: (_params, context) => calls.guarded(context, fail),
        },
      ]),
  })
  const answer = await ask({ jsonrpc: '2.0', id: 1, method })
  expect(answer).toMatchObject({ status, error })
  expect([answer.retry, charged]).toEqual([retry, [2]])
  expect(answer.error.message).not.toContain('10.0.0.7')
})
