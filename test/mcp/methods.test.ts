import { expect, test } from 'vitest'
import { AppError } from '../../src/errors.ts'
import { createDispatcher } from '../../src/mcp/dispatcher.ts'
import { STILL, silent } from './support.ts'

/** How a method that is no tool fails: storage that is away, a deadline, a bug. */

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

function priceOf({ priced }: Record<string, unknown>): number {
  if (priced === 'never') throw new TypeError('a bug of the price')
  return 3
}

const dispatch = createDispatcher({
  info: { name: 'x', title: 'x', version: '0' },
  instructions: '',
  tools: [],
  keysUrl: '',
  logger: silent,
  deadlineMs: 50,
  readModel: STILL,
  methods: (calls) =>
    Object.entries(HOW).map(([how, fail]) => [
      how,
      { points: priceOf, answer: (_params, context) => calls.guarded(context, fail) },
    ]),
})

async function ask(method: string, params?: object) {
  const charged: number[] = []
  const { status, headers, body } = await dispatch(
    JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    {},
    {
      caller: undefined,
      inTurn: (act) => act(),
      chargeMore: async () => {},
      charge: async (points) => void charged.push(points),
    },
  )
  return { status, retry: headers['Retry-After'], charged, error: JSON.parse(body!.join('')).error }
}

test.each([
  ['lost', 503, '5', 'unavailable'],
  ['slow', 503, '1', 'unavailable'],
  ['spent', 429, '7', 'rate_limited'],
])('%s is %i, to be tried again', async (how, status, retry, code) => {
  const answer = await ask(how)
  expect(answer).toMatchObject({ status, retry, charged: [3], error: { code: status, data: { code } } })
  expect(answer.error.message).not.toContain('10.0.0.7')
})

test('a bug shows nothing of the inside', async () => {
  expect(await ask('bug')).toMatchObject({ status: 200, error: { code: -32603, message: 'Internal error' } })
})

test('a bug of the price is not free', async () => {
  expect(await ask('bug', { priced: 'never' })).toMatchObject({ charged: [1], error: { code: -32603 } })
})
