import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Library, launchWorker, type WorkerProcess } from '../faults/support.ts'
import { useFolder } from '../support/folder.ts'
import { until } from '../support/until.ts'
import { openWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'
import { openStage, type Stage } from './support.ts'

const dir = useFolder()
let stage: Stage
let receiver: WebhookReceiver
let worker: WorkerProcess | undefined
beforeEach(async () => {
  stage = await openStage()
  // The workers of these tests are processes.
  await stage.worker.stop(5_000)
  receiver = await openWebhookReceiver()
})
afterEach(async () => {
  worker?.child.kill('SIGTERM')
  await worker?.ended
  worker = undefined
  await receiver[Symbol.asyncDispose]()
  await stage[Symbol.asyncDispose]()
})

const libraryOf = (): Library => ({ ...stage.stores, dataDir: dir })
const subjects = () => receiver.received.map(({ body }) => JSON.parse(body).subject as string)
const allDelivered = async (id: string, count: number) => {
  const deliveries = await stage.deliveries(id)
  return deliveries.length === count && deliveries.every(({ state }) => state === 'delivered')
}

test('a worker killed at each step loses no event; only what was not yet recorded comes twice', async () => {
  const { id } = await stage.register(receiver.url, { types: ['key.revoked'] })
  const written: string[] = []
  for (const step of ['webhook-sent:1', 'webhook-sent:7', 'webhook-recorded:1', 'webhook-recorded:5']) {
    written.push(...(await stage.write(12)))
    // Another process would wait for the lease of the dead one to run out.
    await stage.stores.db.$client.query('update webhook_endpoints set lease_until = null')
    worker = launchWorker(libraryOf(), step)
    expect([step, await worker.ended]).toEqual([step, 'SIGKILL'])
  }
  await stage.stores.db.$client.query('update webhook_endpoints set lease_until = null')
  worker = launchWorker(libraryOf())
  await until(() => allDelivered(id, written.length))
  expect(new Set(subjects())).toEqual(new Set(written))
  // At each death at most the 64 of one endpoint that were sent and not yet recorded.
  expect(subjects().length - written.length).toBeLessThanOrEqual(5 * 64)
})

test('a worker killed in the middle of many deliveries is followed by another once its lease is over', async () => {
  receiver.answer((_, response) => setTimeout(() => response.writeHead(204).end(), 5))
  const { id } = await stage.register(receiver.url, { types: ['key.revoked'] })
  const written = await stage.write(300)
  const first = launchWorker(libraryOf())
  await until(() => receiver.received.length >= 40)
  first.child.kill('SIGKILL')
  await first.ended
  // Sooner than the half minute that it was given.
  await stage.stores.db.$client.query(`update webhook_endpoints set lease_until = now() + interval '2 seconds'`)
  worker = launchWorker(libraryOf())
  await until(() => allDelivered(id, 300))
  expect(new Set(subjects())).toEqual(new Set(written))
})
