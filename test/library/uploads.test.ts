import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAccount } from '../../src/library/accounts/accounts.ts'
import {
  cancelUpload,
  findUpload,
  finishUpload,
  openUpload,
  putPart,
  sweepUploads,
} from '../../src/library/videos/uploads.ts'
import { openDiskStore } from '../../src/media/disk-store.ts'
import type { MediaStore } from '../../src/media/media-store.ts'
import { openStores, type Stores } from '../support/stores.ts'

let stores: Stores
let folder: string
let store: MediaStore
let accountId: string
beforeAll(async () => {
  stores = await openStores()
  folder = await mkdtemp(join(tmpdir(), 'frames-uploads-'))
  store = openDiskStore(folder)
  accountId = (await createAccount(stores.db, { email: 'sender@example.org' })).id
})
afterAll(async () => {
  await stores[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

const MB = 1024 * 1024
const maxBytes = 60 * MB
const partsOf = (file: Buffer) =>
  Array.from({ length: Math.ceil(file.length / (4 * MB)) }, (_, n) => file.subarray(n * 4 * MB, (n + 1) * 4 * MB))
const hashOf = (file: Buffer) => createHash('sha256').update(file).digest('hex')
const open = (file: Buffer, more: { sha256?: string; accountId?: string } = {}) =>
  openUpload(stores.db, { accountId, filename: 'clip.mp4', bytes: file.length, maxBytes, details: {}, ...more })
const put = (id: string, n: number, body: Buffer) =>
  putPart(stores.db, store, { accountId, id, n, body: Readable.from([body]) })
async function kept(prefix: string): Promise<string[]> {
  const keys: string[] = []
  for await (const { key } of store.list(prefix)) keys.push(key)
  return keys
}

test('parts come in any order, in any process and twice, and the joined file is the file', async () => {
  const file = randomBytes(11 * MB)
  const sha256 = hashOf(file)
  const upload = await open(file, { sha256 })
  expect(upload).toMatchObject({ parts: 3, received: [], partBytes: 4 * MB })
  const parts = partsOf(file)
  await put(upload.id, 2, parts[2]!)
  await put(upload.id, 0, parts[0]!)
  await put(upload.id, 2, parts[2]!)
  // Another store object on the same folder stands for another process; the same bytes find the upload again.
  store = openDiskStore(folder)
  const again = await open(file, { sha256 })
  expect(again).toMatchObject({ id: upload.id, received: [0, 2] })
  const finish = () => finishUpload(stores.db, store, { accountId, id: upload.id, maxBytes })
  await expect(finish()).rejects.toThrow('Parts are missing: 1')
  await put(upload.id, 1, parts[1]!)
  const { video, created } = await finish()
  expect([created, video.sourceKey]).toEqual([true, `sha256:${sha256}`])
  expect(hashOf((await store.get(video.uploadKey!))!)).toBe(sha256)
  expect(await kept('parts/')).toEqual([])
  // A lost answer is asked for again.
  expect(await finish()).toMatchObject({ created: false, video: { id: video.id } })
  const copy = await open(file)
  for (const [n, part] of parts.entries()) await put(copy.id, n, part)
  const second = await finishUpload(stores.db, store, { accountId, id: copy.id, maxBytes })
  expect(second).toMatchObject({ created: false, video: { id: video.id } })
  expect(await kept('uploads/')).toEqual([video.uploadKey])
})

test('a part of another length is refused, also where it replaces a whole one', async () => {
  const file = randomBytes(5 * MB)
  const { id } = await open(file)
  const [first, last] = partsOf(file) as [Buffer, Buffer]
  await put(id, 1, last)
  await expect(put(id, 1, last.subarray(1))).rejects.toThrow('Send it again')
  await expect(put(id, 0, Buffer.concat([first, last]))).rejects.toMatchObject({ code: 'payload_too_large' })
  await expect(put(id, 2, last)).rejects.toThrow('parts 0 to 1')
  expect((await findUpload(stores.db, { accountId, id })).received).toEqual([])
  await cancelUpload(stores.db, store, { accountId, id })
  expect(await kept(`parts/${id}/`)).toEqual([])
  await expect(put(id, 0, first)).rejects.toMatchObject({ code: 'not_found' })
})

test('bytes that are not the announced ones become no video, and the sender begins anew', async () => {
  const file = randomBytes(MB)
  const { id } = await open(file, { sha256: hashOf(randomBytes(10)) })
  await put(id, 0, file)
  await expect(finishUpload(stores.db, store, { accountId, id, maxBytes })).rejects.toThrow('not the one')
  expect((await findUpload(stores.db, { accountId, id })).received).toEqual([])
  const { rows } = await stores.db.$client.query('select 1 from videos where source_key = $1', [
    `sha256:${hashOf(file)}`,
  ])
  expect(rows).toEqual([])
})

test('an account has few unfinished uploads, another’s are not there, and what stands still is swept', async () => {
  const { id: other } = await createAccount(stores.db, { email: 'other@example.org' })
  const file = randomBytes(1024)
  const begun: { id: string }[] = []
  for (let n = 0; n < 20; n++) begun.push(await open(file, { accountId: other }))
  await expect(open(file, { accountId: other })).rejects.toMatchObject({ code: 'conflict' })
  const [first, second] = begun as [{ id: string }, { id: string }]
  await expect(findUpload(stores.db, { accountId, id: first.id })).rejects.toMatchObject({ code: 'not_found' })
  await putPart(stores.db, store, { accountId: other, id: first.id, n: 0, body: Readable.from([file]) })
  await stores.db.$client.query(`update uploads set expires_at = now() + interval '3 days' where id = $1`, [second.id])
  await store.put('parts/00ff/0', file, 'application/octet-stream')
  await sweepUploads(stores.db, store, { now: Date.now() + 25 * 3_600_000 })
  expect(await kept('parts/')).toEqual([])
  const { rows } = await stores.db.$client.query('select id from uploads where account_id = $1', [other])
  expect(rows.map(({ id }) => id)).toEqual([second.id])
  await expect(open(Buffer.alloc(0))).rejects.toThrow('empty')
  await expect(open(Buffer.alloc(61 * MB))).rejects.toMatchObject({ code: 'payload_too_large' })
})

test('nothing is kept of a part whose sender leaves meanwhile', async () => {
  const upload = await open(randomBytes(5 * MB))
  const body = new PassThrough()
  const left = putPart(stores.db, store, { accountId, id: upload.id, n: 0, body })
  body.write(randomBytes(64 * 1024))
  body.destroy(new Error('the sender has gone'))
  await expect(left).rejects.toThrow('the sender has gone')
  expect(await kept('parts/')).toEqual([])
})

test('a part whose sender had gone before it was read ends, and leaves nothing', async () => {
  const upload = await open(randomBytes(MB))
  const body = new PassThrough()
  body.destroy(new Error('the sender has gone'))
  await once(body, 'error')
  await expect(putPart(stores.db, store, { accountId, id: upload.id, n: 0, body })).rejects.toThrow('has gone')
  expect(await kept('parts/')).toEqual([])
})

test('a finish that is repeated while the first still joins finds the same video', async () => {
  const file = randomBytes(9 * MB)
  const upload = await open(file)
  for (const [n, part] of partsOf(file).entries()) await put(upload.id, n, part)
  const first = Promise.withResolvers<void>()
  const slow: MediaStore = {
    ...store,
    async open(key) {
      if (key.endsWith('/1')) await first.promise
      return store.open(key)
    },
  }
  const repeat = finishUpload(stores.db, slow, { accountId, id: upload.id, maxBytes })
  const { video } = await finishUpload(stores.db, store, { accountId, id: upload.id, maxBytes })
  first.resolve()
  expect(await repeat).toMatchObject({ created: false, video: { id: video.id } })
  expect(await kept('parts/')).toEqual([])
})
