import { afterAll, beforeAll, expect, test } from 'vitest'
import { openQueues } from '../../src/queue/queues.ts'
import { openScripted, scriptedAnnotator, videoRow } from '../library/support.ts'
import { openBucket } from '../support/bucket.ts'
import type { Service } from '../support/service.ts'

let bucket: Awaited<ReturnType<typeof openBucket>>
let service: Service
beforeAll(async () => {
  bucket = await openBucket()
  service = await openScripted(
    scriptedAnnotator('scripted@1', () => ({})),
    { env: bucket.env },
  )
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await bucket[Symbol.asyncDispose]()
})

test('a video waits while the bucket is full, no attempt counts, and is ready when there is room', async () => {
  bucket.isFull = true
  const upload = await fetch(`${service.url}/api/videos`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.operatorKey}`, 'content-type': 'video/mp4' },
    body: '3\nfirst',
  })
  expect([upload.status, (await upload.json()).message]).toEqual([503, expect.stringMatching('The bucket .* is full')])
  bucket.isFull = false
  const { stores, logger, logs } = service
  const queues = openQueues({ url: stores.redisUrl, prefix: stores.prefix, logger })
  const queue = queues.get('ingest')
  await queue.pause()
  const { id } = await service.upload(Buffer.from('3\nsecond'))
  bucket.isFull = true
  await queue.resume()
  const waits = () => logs.filter((line) => line.includes('the bucket is full')).length
  for (let n = 1; n <= 2; n++) {
    await expect.poll(waits).toBeGreaterThanOrEqual(n)
    // Refunded after the attempt began.
    await expect.poll(() => videoRow(service, id)).toMatchObject({ failure_code: null, attempts: 0 })
    // The job goes back to its queue last.
    await expect.poll(async () => (await queue.getWaiting()).map((job) => job.attemptsMade)).toEqual([0])
    if (n === 2) bucket.isFull = false
    // What `frames resume` does.
    await queue.removeRateLimitKey()
  }
  await expect.poll(async () => (await videoRow(service, id))?.status).toBe('ready')
  await queues[Symbol.asyncDispose]()
})
