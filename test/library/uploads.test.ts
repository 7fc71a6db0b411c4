import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { beforeAll, expect, test } from 'vitest'
import { freeUnfinished } from '../../src/library/videos/storage.ts'
import { submitUpload } from '../../src/library/videos/submit.ts'
import type { MediaStore } from '../../src/media/media-store.ts'
import { openMediaStore } from '../../src/media/open-store.ts'
import { openBucket } from '../support/bucket.ts'
import { useOpened } from '../support/closing.ts'
import { openService } from '../support/service.ts'

const bucket = useOpened(openBucket)
const service = useOpened(() => openService({ worker: false, env: bucket.env }))
let store: MediaStore
beforeAll(async () => {
  store = openMediaStore(service.config)
})

const submit = (body: PassThrough) =>
  submitUpload(service.stores.db, store, body, { filename: 'clip.mp4', maxBytes: 1024 * 1024, details: () => ({}) })
async function kept(): Promise<string[]> {
  const keys: string[] = []
  for await (const { key } of store.list('uploads/')) keys.push(key)
  return keys
}

test('nothing is kept of a file whose sender leaves meanwhile', async () => {
  const body = new PassThrough()
  const left = submit(body)
  body.write(Buffer.alloc(64 * 1024))
  body.destroy(new Error('the sender has gone'))
  await expect(left).rejects.toThrow('the sender has gone')
  expect(await kept()).toEqual([])
})

test('a file whose sender had gone before it was read ends, and leaves nothing', async () => {
  const body = new PassThrough()
  body.destroy(new Error('the sender has gone'))
  await once(body, 'error')
  await expect(submit(body)).rejects.toThrow('has gone')
  expect(await kept()).toEqual([])
})

test('what a killed process left of a file is freed once it is old, and what is not ours stays', async () => {
  // The bucket holds what was sent, and no listing shows it.
  for (const key of ['uploads/00ff', 'elsewhere/x']) bucket.open.set(key, { key, id: key, begun: new Date() })
  await freeUnfinished(store)
  expect(bucket.open.size).toBe(2)
  await freeUnfinished(store, { now: Date.now() + 25 * 3_600_000 })
  expect([...bucket.open.keys()]).toEqual(['elsewhere/x'])
})
