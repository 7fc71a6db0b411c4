import { expect, test } from 'vitest'
import { openReadModelVersion } from './read-model-version.ts'

test('a reader never waits for a look-up that runs, and gets its result from then on', async () => {
  const looks: ((version: string) => void)[] = []
  const source = { version: () => new Promise<string>((resolve) => looks.push(resolve)) }
  let now = 0
  const readModel = openReadModelVersion(source, { ttlMs: 1_000, clock: () => now })
  const first = readModel.current()
  looks[0]!('v1')
  expect(await first).toBe('v1')
  now = 1_000
  // The look-up hangs: the database is busy.
  expect([readModel.current(), readModel.current(), looks.length]).toEqual(['v1', 'v1', 2])
  looks[1]!('v2')
  await expect.poll(() => readModel.current()).toBe('v2')
})

test('a version that is six lifetimes old is not returned', async () => {
  let now = 0
  const readModel = openReadModelVersion({ version: async () => 'v1' }, { ttlMs: 1_000, clock: () => now })
  await readModel.current()
  now = 5_999
  expect(readModel.current()).toBe('v1')
  now = 6_000
  expect(readModel.current()).toBeInstanceOf(Promise)
})
