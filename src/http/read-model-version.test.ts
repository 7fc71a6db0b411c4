import { expect, test } from 'vitest'
import { openReadModelVersion } from './read-model-version.ts'

test('a reader never waits for a look that is under way, and gets what it found from then on', async () => {
  const looks: ((version: string) => void)[] = []
  const source = { version: () => new Promise<string>((resolve) => looks.push(resolve)) }
  const readModel = openReadModelVersion(source, { ttlMs: 20 })
  const first = readModel.current()
  looks[0]!('v1')
  expect(await first).toBe('v1')
  // The look hangs: the database is busy with others.
  await expect.poll(() => [readModel.current(), looks.length]).toEqual(['v1', 2])
  looks[1]!('v2')
  await expect.poll(() => readModel.current()).toBe('v2')
})

test('a version that is many lifetimes old is not given out', async () => {
  const source = { version: async () => 'v1' }
  const readModel = openReadModelVersion(source, { ttlMs: 0 })
  await readModel.current()
  expect(readModel.current()).toBeInstanceOf(Promise)
})
