import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { formToken } from '../../src/library/accounts/sessions.ts'
import { sweepUploads } from '../../src/library/videos/uploads.ts'
import type { MediaStore } from '../../src/media/media-store.ts'
import { openMediaStore } from '../../src/media/open-store.ts'
import { type OpenApi, openApi } from '../../src/server/main.ts'
import { type Bucket, openBucket } from '../support/bucket.ts'
import { openService, type Service } from '../support/service.ts'
import { sessionOf } from '../support/session.ts'

/** Two API servers on the same stores, with their files in a bucket. */
let bucket: Bucket
let service: Service
let second: OpenApi
let store: MediaStore
let session: { name: string; value: string }
beforeAll(async () => {
  bucket = await openBucket()
  service = await openService({ worker: false, env: bucket.env })
  const { config, logger, stores } = service
  const { databaseUrl, redisUrl, prefix } = stores
  second = await openApi({ config, databaseUrl, redisUrl, prefix, logger, port: 0, host: '127.0.0.1' })
  store = openMediaStore(config)
  session = await sessionOf(stores.db, service.url, 'operator@example.com')
})
afterAll(async () => {
  await second.stop()
  await service[Symbol.asyncDispose]()
  await bucket[Symbol.asyncDispose]()
})

const MB = 1024 * 1024
const PART = 4 * MB
const servers = () => [service.url, `http://127.0.0.1:${second.port}`] as const

async function call(server: string, method: string, path: string, body?: Record<string, string> | Buffer) {
  const form = formToken(session.value)
  const isPart = Buffer.isBuffer(body)
  const answer = await fetch(server + path, {
    method,
    headers: { cookie: `${session.name}=${session.value}`, accept: 'application/json', 'x-form': form },
    ...(method === 'GET' ? {} : { body: isPart ? new Uint8Array(body) : new URLSearchParams({ ...body, form }) }),
  })
  return { status: answer.status, json: await answer.json() }
}
async function begin(file: Buffer, filename = 'clip.mp4'): Promise<string> {
  const sha256 = createHash('sha256').update(file).digest('hex')
  const { json } = await call(servers()[0], 'POST', '/web/uploads', { filename, bytes: String(file.length), sha256 })
  return json.upload.id
}
const partOf = (file: Buffer, n: number) => file.subarray(n * PART, (n + 1) * PART)
const put = (server: string, id: string, file: Buffer, n: number) =>
  call(server, 'PUT', `/web/uploads/${id}/parts/${n}`, partOf(file, n))
async function kept(prefix: string): Promise<string[]> {
  const keys: string[] = []
  for await (const { key } of store.list(prefix)) keys.push(key)
  return keys
}

test('two servers take parts of one upload at once, either finishes it, and its parts are freed', async () => {
  const [one, other] = servers()
  const file = randomBytes(3 * PART + MB)
  const id = await begin(file)
  const taken = await Promise.all([
    put(one, id, file, 2),
    put(other, id, file, 0),
    put(other, id, file, 3),
    // The same part at both: one of the two stays.
    put(one, id, file, 1),
    put(other, id, file, 1),
  ])
  expect(taken.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
  for (const server of servers()) {
    const { json } = await call(server, 'GET', `/web/uploads/${id}`)
    expect(json.upload.received).toEqual([0, 1, 2, 3])
  }
  const done = await Promise.all(servers().map((server) => call(server, 'POST', `/web/uploads/${id}/finish`)))
  expect(done.map(({ status }) => status)).toEqual([200, 200])
  expect(new Set(done.map(({ json }) => json.video.id)).size).toBe(1)
  expect(done.filter(({ json }) => json.created)).toHaveLength(1)
  const { rows } = await service.stores.db.$client.query('select upload_key from videos where id = $1', [
    done[0]!.json.video.id,
  ])
  expect((await store.get(rows[0].upload_key))!.equals(file)).toBe(true)
  expect(await kept('parts/')).toEqual([])
  expect(await kept('uploads/')).toEqual([rows[0].upload_key])
  expect([...bucket.open.values()]).toEqual([])
})

test('a join is answered however long it is silent, and a repeat waits for it', async () => {
  const { config, logger, stores } = service
  const { databaseUrl, redisUrl, prefix } = stores
  const shared = { config, databaseUrl, redisUrl, prefix, logger, port: 0, host: '127.0.0.1' }
  const impatient = await openApi({ ...shared, overrides: { connections: { idleMs: 3_000 } } })
  const file = randomBytes(PART + MB)
  const id = await begin(file)
  for (const n of [0, 1]) await put(servers()[0], id, file, n)
  const [joining, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const read: string[] = []
  bucket.beforeRead = async (key) => {
    if (!key.startsWith(`parts/${id}/`)) return
    read.push(key)
    joining.resolve()
    await released.promise
  }
  try {
    const first = call(`http://127.0.0.1:${impatient.port}`, 'POST', `/web/uploads/${id}/finish`)
    await joining.promise
    const repeat = call(servers()[1], 'POST', `/web/uploads/${id}/finish`)
    // A connection that came later is closed for its silence: the first one has been silent for longer.
    await once(connect(impatient.port, '127.0.0.1').resume(), 'close')
    released.resolve()
    const done = await Promise.all([first, repeat])
    expect(done.map(({ status }) => status)).toEqual([200, 200])
    expect(done.map(({ json }) => json.created)).toEqual([true, false])
    expect(read).toEqual([`parts/${id}/0`, `parts/${id}/1`])
  } finally {
    released.resolve()
    bucket.beforeRead = async () => undefined
    await impatient.stop()
  }
})

test('a cancelled upload frees its parts, and what comes too late is not kept', async () => {
  const [one, other] = servers()
  const file = randomBytes(PART + MB)
  const id = await begin(file)
  await put(one, id, file, 0)
  const [late] = await Promise.all([put(other, id, file, 1), call(one, 'POST', `/web/uploads/${id}/cancel`)])
  expect([200, 404]).toContain(late.status)
  expect((await call(other, 'GET', `/web/uploads/${id}`)).status).toBe(404)
  expect((await put(one, id, file, 1)).status).toBe(404)
  await sweepUploads(service.stores.db, store, { now: Date.now() + 2 * 3_600_000 })
  expect(await kept('parts/')).toEqual([])
})

test('a sweep frees abandoned uploads, and what a killed process left of a part, once they are old', async () => {
  const file = randomBytes(PART + MB)
  const id = await begin(file)
  await put(servers()[0], id, file, 0)
  // Processes that were killed in the middle of a part: the bucket holds what they sent, and no listing shows it.
  for (const key of ['parts/00ff/0', 'parts/00ff/1', 'parts/00ff/2', 'uploads/00ff', 'elsewhere/x'])
    bucket.open.set(key, { key, id: key, begun: new Date() })
  const { db } = service.stores
  await sweepUploads(db, store)
  expect(bucket.open.size).toBe(5)
  expect(await kept('parts/')).toHaveLength(1)
  await sweepUploads(db, store, { now: Date.now() + 25 * 3_600_000 })
  // What is not ours stays.
  expect([...bucket.open.keys()]).toEqual(['elsewhere/x'])
  expect(await kept('parts/')).toEqual([])
  expect((await call(servers()[1], 'GET', `/web/uploads/${id}`)).status).toBe(404)
})
