import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createDispatcher } from '../../src/mcp/dispatcher.ts'
import { defineTool, READS } from '../../src/mcp/tool.ts'
import { call, echoTool } from './protocol-server.ts'
import { MODERN_META, silent } from './support.ts'

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
      methods: () => [],
      readModel: { current: () => version, first: () => undefined, epoch: () => 0 },
    })
    const post = async (message: object, headers = {}) => {
      const { status, body } = await dispatch(JSON.stringify(message), headers, {
        caller: undefined,
        inTurn: (act) => act(),
        chargeMore: async () => {},
        charge: async (points) => void spent.push(points),
      })
      return { status, ...JSON.parse(body!.join('')) }
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

  const everyTime =
    'excuses nothing: arguments that are none, an unknown revision and headers of the modern era ' +
    'are looked at each time'
  test(everyTime, async () => {
    const { post } = counting()
    const modern = { ...of(1), params: { _meta: MODERN_META, name: 'count' } }
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'count' }
    const good = await post(modern, headers)
    expect(await post(modern, headers)).toEqual(good)
    expect(good.result).toMatchObject({ resultType: 'complete', structuredContent: { run: 1 } })
    expect((await post(of(1))).result).toEqual({ content: expect.anything(), structuredContent: { run: 2 } })
    expect((await post(of(1, 'none'))).error.code).toBe(-32602)
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

describe('a store that is away', () => {
  test('is told as a result, also where only the version was asked for', async () => {
    const dispatch = createDispatcher({
      info: { name: 'x', title: 'x', version: '0' },
      instructions: '',
      tools: [{ ...echoTool, cacheable: true }],
      keysUrl: '',
      logger: silent,
      methods: () => [],
      readModel: {
        current: () => Promise.reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })),
        first: () => undefined,
        epoch: () => 0,
      },
    })
    const { status, body } = await dispatch(
      JSON.stringify(call('echo')),
      {},
      {
        caller: undefined,
        inTurn: (act) => act(),
        chargeMore: async () => {},
        charge: async () => {},
      },
    )
    expect([status, JSON.parse(body!.join('')).result]).toEqual([
      200,
      expect.objectContaining({ isError: true, _meta: { code: 'unavailable' } }),
    ])
  })
})
