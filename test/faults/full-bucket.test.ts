import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import S3rver from '@20minutes/s3rver'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openQueues } from '../../src/queue/queues.ts'
import { openScripted, scriptedAnnotator, videoRow } from '../library/support.ts'
import type { Service } from '../support/service.ts'

/** A bucket behind a door that can be shut to whatever is put. */
const folder = mkdtempSync(join(tmpdir(), 'frames-bucket-'))
const bucket = new S3rver({
  port: 0,
  address: '127.0.0.1',
  silent: true,
  allowMismatchedSignatures: true,
  directory: folder,
  configureBuckets: [{ name: 'media', configs: [] }],
})
let isFull = false
let door: Server
let service: Service

beforeAll(async () => {
  const { port } = (await bucket.run()) as AddressInfo
  door = createServer((req, res) => {
    if (isFull && req.method === 'PUT') {
      req.resume()
      res.writeHead(507, { 'content-type': 'application/xml' })
      res.end('<?xml version="1.0"?><Error><Code>XMinioStorageFull</Code><Message>full</Message></Error>')
      return
    }
    const { method, url, headers } = req
    req.pipe(
      request({ host: '127.0.0.1', port, method, path: url, headers }, (answer) => {
        res.writeHead(answer.statusCode!, answer.headers)
        answer.pipe(res)
      }),
    )
  })
  await new Promise<void>((listening) => door.listen(0, '127.0.0.1', listening))
  const url = `http://127.0.0.1:${(door.address() as AddressInfo).port}`
  service = await openScripted(
    scriptedAnnotator('scripted@1', () => ({})),
    {
      env: {
        S3_ENDPOINT: url,
        S3_BUCKET: 'media',
        S3_ACCESS_KEY: 'S3RVER',
        S3_SECRET_KEY: 'S3RVER',
      },
    },
  )
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  door.closeAllConnections()
  door.close()
  const { httpServer } = bucket as unknown as { httpServer?: Server }
  httpServer?.closeAllConnections()
  await bucket.close()
  rmSync(folder, { recursive: true, force: true })
})

test('a video waits while the bucket is full, no attempt counts, and is ready when there is room', async () => {
  isFull = true
  const upload = await fetch(`${service.url}/api/videos`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.operatorKey}`, 'content-type': 'video/mp4' },
    body: '3\nfirst',
  })
  expect([upload.status, (await upload.json()).message]).toEqual([503, expect.stringMatching('The bucket .* is full')])
  isFull = false
  const { stores, logger, logs } = service
  const queues = openQueues({ url: stores.redisUrl, prefix: stores.prefix, logger })
  const queue = queues.get('ingest')
  await queue.pause()
  const { id } = await service.upload(Buffer.from('3\nsecond'))
  isFull = true
  await queue.resume()
  const waits = () => logs.filter((line) => line.includes('the bucket is full')).length
  for (let n = 1; n <= 2; n++) {
    await expect.poll(waits).toBeGreaterThanOrEqual(n)
    // Refunded after the attempt began.
    await expect.poll(() => videoRow(service, id)).toMatchObject({ failure_code: null, attempts: 0 })
    // The job goes back to its queue last.
    await expect.poll(async () => (await queue.getWaiting()).map((job) => job.attemptsMade)).toEqual([0])
    if (n === 2) isFull = false
    // What `frames resume` does.
    await queue.removeRateLimitKey()
  }
  await expect.poll(async () => (await videoRow(service, id))?.status).toBe('ready')
  await queues[Symbol.asyncDispose]()
})
