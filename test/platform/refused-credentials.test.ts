import { mkdtempSync, rmSync } from 'node:fs'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import S3rver from '@20minutes/s3rver'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { frames } from '../library/support.ts'
import { MEILI_MISSING, theMeili } from '../support/meilisearch.ts'
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

test('a host that does not exist is named', async () => {
  const nowhere = { stores: { databaseUrl: 'postgres://frames:secret@nowhere.invalid/frames' }, config: { dataDir } }
  const { code, stderr } = await frames(nowhere, stores.redisUrl, ['accounts', 'list'])
  expect([code, stderr.trim()]).toEqual([
    3,
    'The database, Redis or the media store is unavailable (the host nowhere.invalid is not found). ' +
      'Check its address, and that it runs.',
  ])
})

const SECRET = 'not-the-password-0123456789'

/** The one line of a command that is refused. */
async function refusal(env: Record<string, string>, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await frames({ stores, config: { dataDir } }, stores.redisUrl, args, env)
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr.trim().split('\n'), stderr).toHaveLength(1)
  expect(stderr).not.toContain(SECRET)
  return stderr
}

test('a bucket that refuses the key or is not there is one line that names the setting', async () => {
  const known = { S3_BUCKET: 'media', S3_ACCESS_KEY: 'S3RVER', S3_SECRET_KEY: 'S3RVER' }
  const refused = /bucket refuses S3_ACCESS_KEY and S3_SECRET_KEY. Correct them/
  for (const [allowMismatchedSignatures, wrong, said] of [
    [false, { S3_SECRET_KEY: SECRET }, refused],
    // It computes a wrong signature for a listing with a prefix.
    [true, { S3_ACCESS_KEY: 'nobody' }, refused],
    [true, { S3_BUCKET: 'absent' }, /no bucket of the name in S3_BUCKET/],
  ] as const) {
    const bucket = new S3rver({
      port: 0,
      address: '127.0.0.1',
      silent: true,
      allowMismatchedSignatures,
      directory: dataDir,
      configureBuckets: [{ name: 'media', configs: [] }],
    })
    const { port } = (await bucket.run()) as AddressInfo
    try {
      const env = { ...known, ...wrong, S3_ENDPOINT: `http://127.0.0.1:${port}` }
      expect(await refusal(env, 'storage', 'check')).toMatch(said)
    } finally {
      const { httpServer } = bucket as unknown as { httpServer?: Server }
      httpServer?.closeAllConnections()
      await bucket.close()
    }
  }
})

test.skipIf(MEILI_MISSING)('Meilisearch that refuses the key is one line that names it', async () => {
  expect(await refusal({ MEILI_URL: theMeili().url, MEILI_KEY: SECRET }, 'reindex')).toMatch(
    /Meilisearch refuses MEILI_KEY. Correct it/,
  )
})
