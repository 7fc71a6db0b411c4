import { beforeAll, expect, test } from 'vitest'
import { refreshSaveCounts } from '../../src/projections/search/project.ts'
import { deepLink } from '../../src/video/source/source.ts'
import { useOpened } from '../support/closing.ts'
import { seedVideo } from '../support/seed.ts'
import { useService } from '../support/service.ts'
import { sessionOf } from '../support/session.ts'
import { openWebhookReceiver, status, type WebhookReceiver } from '../support/webhook-receiver.ts'

const service = useService({ env: { WEBHOOK_ALLOW_PRIVATE: '1' } })
const works = useOpened(openWebhookReceiver)
const fails = useOpened(() => openWebhookReceiver(status(500)))
let cookie: string
beforeAll(async () => {
  const { name, value } = await sessionOf(service.stores.db, service.url, 'operator@example.com')
  cookie = `${name}=${value}`
})

const openPage = async () => (await fetch(`${service.url}/operator/system`, { headers: { cookie } })).text()

/** The cells of a row of the page, by its heading, as text. */
async function rowOf(heading: string): Promise<string[] | undefined> {
  const rows = [...(await openPage()).matchAll(/<tr><th scope="row">(.*?)<\/tr>/gs)].map(([, row]) =>
    row!.split(/<\/?t[hd][^>]*>/).map((cell) =>
      cell
        .replaceAll(/<[^>]*>/g, ' ')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    ),
  )
  return rows.find(([name]) => name?.startsWith(heading))?.filter((cell) => cell !== '')
}
async function metricOf(consumer: string): Promise<number> {
  const text = await service.worker.metrics()
  return Number(new RegExp(`^frames_event_unread\\{consumer="${consumer}"\\} (\\d+)$`, 'm').exec(text)![1])
}

test('the page tells of queues, the model, readers and the disk', async () => {
  const headings = [...(await openPage()).matchAll(/<h2[^>]*>(.*?)</g)].map(([, name]) => name)
  expect(headings).toEqual(
    expect.arrayContaining(['Queues', 'Description of frames', 'Readers of the event log', 'Disk']),
  )
})

test('the page and the metrics count the same events as behind: those that a reader still has to read', async () => {
  const { frameIds } = await seedVideo(service.stores.db, { frames: [{}, { tSec: 1 }] })
  const save = (frameId: string) => service.call('POST', '/api/favourites', { frameId })
  await save(frameIds[0]!)
  // Readable once no older transaction is open on the server.
  await expect.poll(() => refreshSaveCounts({ db: service.stores.db, deepLink })).toBe(1)
  // Events of other types come: the reader of saves leaves its checkpoint where it is, and has nothing to do.
  for (let n = 0; n < 3; n++) await seedVideo(service.stores.db)
  await service.drain()
  expect((await rowOf('search-save-counts'))?.[1]).toBe('0 events')
  expect(await metricOf('search-save-counts')).toBe(0)
  expect((await rowOf('search'))?.[1]).toBe('0 events')
  await save(frameIds[1]!)
  expect((await rowOf('search-save-counts'))?.[1]).toMatch(/^1 event the oldest \d+ s old$/)
  // Metrics are kept for a moment.
  await expect.poll(() => metricOf('search-save-counts')).toBe(1)
})

test('receivers of webhooks are shown with what fails, the failing ones first, and never with a path', async () => {
  expect(await rowOf('127.0.0.1')).toBeUndefined()
  for (const { url } of [works, fails]) {
    const made = await service.call('POST', '/api/webhooks', { url, types: ['video.ready'], description: 'ours' })
    expect(made.status).toBe(201)
  }
  await seedVideo(service.stores.db)
  const host = (receiver: WebhookReceiver) => new URL(receiver.url).host
  await expect.poll(async () => (await rowOf(host(works)))?.at(-1)).toMatch(/ago$/)
  await expect.poll(async () => (await rowOf(host(fails)))?.[3]).toMatch(/^\d+ attempts?, first \d+ s ago$/)
  expect((await rowOf(host(fails)))?.slice(1)).toEqual(['active', '1 event', expect.any(String), 'never'])
  expect((await rowOf('127.0.0.1'))?.[0]).toContain(host(fails))
})
