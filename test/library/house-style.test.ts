import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { findAnnotator } from '../../src/library/annotator/active-annotator.ts'
import { openMediaStore } from '../../src/media/open-store.ts'
import { toModelImage } from '../../src/vision/model/images.ts'
import { openWorker } from '../../src/workers/main.ts'
import { useClosing } from '../support/closing.ts'
import type { FakeVisionOptions } from '../support/fake-vision-endpoint.ts'
import type { Service } from '../support/service.ts'
import { addVideo, extractFromNumber, frameRows, frames } from './support.ts'
import { measuring, openVisionService } from './vision-service.ts'

let service: Service
const close = useClosing()

/** The house's habit: what a model calls a user interface is a terminal here. */
const HABIT = 'terminal'

/**
 * An endpoint that follows the habit for three frames of four, and only when it is shown to it. Four videos of eight
 * frames, all corrected.
 */
async function open() {
  const follows = (body: unknown) =>
    JSON.stringify((body as { messages: unknown[] }).messages.at(-1)).includes(`example {\\"subject\\":\\"${HABIT}\\"}`)
  const images: string[] = []
  const fake: FakeVisionOptions = {
    // By the call's own body: calls of two processes may come side by side.
    describe: (_, image, body) => ({ subject: follows(body) && images.indexOf(image) % 4 !== 0 ? HABIT : 'ui' }),
  }
  const opened = await openVisionService(close, { fake, env: { VISION_CONCURRENCY: '1' } })
  const { endpoint, env } = opened
  service = opened.service
  const ids: string[] = []
  const store = openMediaStore(service.config)
  for (let n = 0; n < 4; n++) {
    const video = await addVideo(service, 8)
    await service.drain()
    for (const row of await frameRows(service, video)) {
      ids.push(row.id)
      if (n === 0) images.push(await toModelImage((await store.get(row.image_key as string))!))
    }
  }
  expect(ids).toHaveLength(32)
  for (const id of ids) {
    const { status } = await service.call('PATCH', `/api/frames/${id}/annotation`, { subject: HABIT })
    expect(status).toBe(200)
  }
  const run = (args: string[]) => frames(service, service.stores.redisUrl, [...args, '--json'], env)
  return { endpoint, ids, run, env }
}

test('a habit is learned from corrections, and the gain measured on those held out is the planted one', async () => {
  const { run, endpoint } = await open()
  endpoint.calls.length = 0
  const { json, stderr } = await run(['evaluate', '--style'])
  expect(stderr).toBe('')
  const [without, styled] = json.models
  expect([without.model, styled.model]).toEqual(['fake-vl', 'fake-vl with house style'])
  // Two of four videos are held out. Without examples nothing is right; with them three frames of four are.
  expect(without.agreement.people.subject).toMatchObject({ compared: 16, agreed: 0 })
  expect(styled.agreement.people.subject).toMatchObject({ compared: 16, agreed: 12, agreement: 0.75 })
  expect(json.gain).toEqual({ subject: 0.75 })
  // Examples come from the other videos, at most six, and stand before the frames.
  const asked = endpoint.calls.filter(({ body }) => JSON.stringify(body).includes('example {'))
  expect(asked.length).toBeGreaterThan(0)
  for (const { body } of asked) {
    const [introduction, example] = body.messages.at(-1).content
    expect(introduction.text).toContain('never instructions')
    expect(example.text).toBe(`example {"subject":"${HABIT}"}`)
    expect(body.messages[0]).toEqual(endpoint.calls[0]!.body.messages[0])
  }
})

test('a style that was taken is used from the next start, as part of the version; dropped, it is gone', async () => {
  const { run, endpoint } = await open()
  const before = (await findAnnotator(service.stores.db))!.version
  const { json } = await run(['style', 'take'])
  expect(json).toMatchObject({ frames: 32, version: expect.stringMatching(/^style-[0-9a-f]{12}$/) })
  const { config, logger, stores } = service
  const { databaseUrl, redisUrl, prefix } = stores
  const shared = { config, databaseUrl, redisUrl, prefix, logger, measuring, extract: extractFromNumber }
  await service.worker.stop(5_000)
  service.worker.stop = async () => undefined
  const styled = await openWorker({ ...shared, pollMs: 20 })
  expect((await findAnnotator(stores.db))!.version).toBe(`${before}+${json.version}`)
  endpoint.calls.length = 0
  // The same pictures: answers without the style are no answers with it.
  await addVideo(service, 8)
  await styled.drain()
  expect(endpoint.calls.length).toBeGreaterThan(0)
  expect(JSON.stringify(endpoint.calls[0]!.body)).toContain('example {')
  await styled.stop(5_000)
  expect((await run(['style', 'drop'])).json).toEqual({ dropped: true })
  const plain = await openWorker({ ...shared, pollMs: 20 })
  expect((await findAnnotator(stores.db))!.version).toBe(before)
  endpoint.calls.length = 0
  await addVideo(service, 8)
  await plain.drain()
  // These answers were kept.
  expect(endpoint.calls).toHaveLength(0)
  await plain.stop(5_000)
})

test('corrections of one video cannot be held out', async () => {
  const { run } = await open()
  await service.stores.db.execute(sql`
    update frames set subject_provenance = jsonb_set(subject_provenance, '{source}', '"model"')
     where video_id <> (select min(video_id) from frames)`)
  const { code, stderr } = await run(['evaluate', '--style'])
  expect(code).toBe(1)
  expect(stderr).toMatch(/two videos/)
})
