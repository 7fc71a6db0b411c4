import { afterAll, beforeAll, expect, test } from 'vitest'
import { AppError } from '../../src/errors.ts'
import { openRateLimits } from '../../src/http/rate-limit/rate-limits.ts'
import { openStores, type Stores } from '../support/stores.ts'
import { silent } from './support.ts'

let stores: Stores
beforeAll(async () => {
  stores = await openStores()
})
afterAll(() => stores[Symbol.asyncDispose]())

// A busy machine is no Redis that is away: that case has tests of its own.
const open = (name: string) =>
  openRateLimits({
    redisUrl: stores.redisUrl,
    scale: 1,
    logger: silent,
    prefix: `${stores.prefix}:${name}`,
    patienceMs: 15_000,
  })

async function spendAll(limits: ReturnType<typeof open>[], points: number): Promise<number> {
  let spent = 0
  const worker = async (n: number) => {
    for (;;) {
      try {
        await limits[n % limits.length]!.consume('anonymous', '192.0.2.1', points)
        spent += points
      } catch (error) {
        if (error instanceof AppError && error.code === 'rate_limited') return
        throw error
      }
    }
  }
  await Promise.all(Array.from({ length: 8 }, (_, n) => worker(n)))
  return spent
}

test('one process gives out its budget to the last point, however many ask at once', async () => {
  await using limits = open('one')
  expect(await spendAll([limits], 1)).toBe(600)
})

test('two processes together give out one budget to the last point', async () => {
  await using first = open('two')
  await using second = open('two')
  expect(await spendAll([first, second], 2)).toBe(600)
})

test('what is left is told to the point', async () => {
  await using limits = open('told')
  for (let n = 1; n <= 20; n++) expect((await limits.consume('anonymous', '192.0.2.2', 2)).remaining).toBe(600 - 2 * n)
  expect((await limits.peek('anonymous', '192.0.2.2')).remaining).toBe(560)
})
