import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { frames } from '../library/support.ts'
import { openStores, type Stores } from '../support/stores.ts'

let stores: Stores
const dataDir = mkdtempSync(join(tmpdir(), 'frames-refused-'))
beforeAll(async () => {
  stores = await openStores()
})
afterAll(async () => {
  rmSync(dataDir, { recursive: true, force: true })
  await stores[Symbol.asyncDispose]()
})

test('a wrong password or name is one line that names the setting and does not repeat it', async () => {
  const changed = (address: string, change: (url: URL) => void) => {
    const url = new URL(address)
    change(url)
    return url.href
  }
  const { databaseUrl, redisUrl } = stores
  const password = 'not-the-password'
  const wrong = (url: URL) => {
    url.password = password
  }
  const run = async (database: string, redis: string, ...args: string[]) => {
    const { code, stdout, stderr } = await frames(
      { stores: { databaseUrl: database }, config: { dataDir } },
      redis,
      args,
    )
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr.trim().split('\n')).toHaveLength(1)
    expect(stderr).not.toContain(password)
    return stderr
  }
  expect(await run(changed(databaseUrl, wrong), redisUrl, 'accounts', 'list')).toMatch(/password of DATABASE_URL/)
  expect(await run(changed(databaseUrl, wrong), redisUrl, 'migrate')).toMatch(/password of DATABASE_URL/)
  const elsewhere = changed(databaseUrl, (url) => {
    url.pathname = '/none'
  })
  expect(await run(elsewhere, redisUrl, 'accounts', 'list')).toMatch(/no database of the name in DATABASE_URL/)
  expect(await run(databaseUrl, changed(redisUrl, wrong), 'queues')).toMatch(/password of REDIS_URL/)
})
