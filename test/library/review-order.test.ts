import { sql } from 'drizzle-orm'
import { afterEach, expect, test } from 'vitest'
import { storeCalibration } from '../../src/library/evaluation/calibration.ts'
import { acceptReview, nextToReview, takeBackReview } from '../../src/library/frames/review.ts'
import { addVideo, frameRows, openScripted, scriptedAnnotator, values } from './support.ts'

let service: Awaited<ReturnType<typeof openScripted>>
afterEach(() => service[Symbol.asyncDispose]())

test('the review queue orders by how often a model was right at what it stated, not by its word', async () => {
  service = await openScripted(
    scriptedAnnotator('loud-vl@1', ({ tSec }) => {
      const sure = (confidence: number) => values({ subject: 'ui' }, 'model', confidence)
      const others = values({ surface: 'slide', shot: 'no-face', zone: 'none' }, 'model', 1)
      return { values: { ...others, ...sure([0.95, 0.75, 0.55][tSec]!) } }
    }),
  )
  const { db } = service.stores
  const video = await addVideo(service, 3)
  await service.drain()
  const [sure, fair, unsure] = (await frameRows(service, video)).map(({ id }) => id)
  const order = async () => (await nextToReview(db, { limit: 9 })).map(({ row }) => row.id)
  expect(await order()).toEqual([unsure, fair, sure])
  const band = (from: number, to: number, n: number, agreed: number) => ({ from, to, n, mean_confidence: from, agreed })
  await storeCalibration(db, 'loud-vl', {
    subject: [band(0.9, 1, 96, 0.1), band(0.7, 0.8, 16, 1)],
    all: [band(0.5, 0.6, 46, 0.5)],
  })
  await storeCalibration(db, 'other-vl', { subject: [band(0.5, 0.6, 1_000, 0)] })
  expect(await order()).toEqual([sure, unsure, fair])
  // The shares of the bands, each with the stated confidence as four more frames.
  const told = await nextToReview(db, { limit: 9 })
  expect(told.map(({ place }) => place.confidence)).toEqual(
    [(9.6 + 3.8) / 100, (23 + 2.2) / 50, (16 + 3) / 20].map((one) => expect.closeTo(one, 9)),
  )
  // A correction is beyond doubt, whatever was stated.
  await db.execute(sql`
    update frames set subject_provenance = jsonb_set(subject_provenance, '{source}', '"person"') where id = ${sure!}`)
  expect((await order()).at(-1)).toBe(sure)
})

test('a frame without any value counts as reviewed once it is accepted, until it has a newer answer', async () => {
  service = await openScripted(
    scriptedAnnotator('mute-vl@1', ({ tSec }) => ({
      values: tSec === 0 ? {} : values({ subject: 'ui' }, 'model', 0.5),
    })),
  )
  const { db } = service.stores
  const video = await addVideo(service, 2)
  await service.drain()
  const [empty, partly] = (await frameRows(service, video)).map(({ id }) => id) as [string, string]
  const queue = async () => (await nextToReview(db, { limit: 9 })).map(({ row }) => row.id).sort()
  const both = [empty, partly].sort()
  expect(await queue()).toEqual(both)
  const { rows: accounts } = await db.execute<{ id: string }>(sql`select id from accounts`)
  const accountId = accounts[0]!.id

  const accept = (frameId: string) => acceptReview(db, { frameId, accountId, values: {} })
  expect(await accept(empty)).toEqual([])
  expect(await queue()).toEqual([partly])
  // What was accepted twice at once is accepted.
  await Promise.all([accept(partly), accept(partly), accept(empty)])
  expect(await queue()).toEqual([])
  await takeBackReview(db, { frameId: empty, accountId, attributes: [] })
  expect(await queue()).toEqual([empty])
  await db.execute(sql`update annotations set created_at = now() + interval '1 second' where frame_id = ${partly}`)
  expect(await queue()).toEqual(both)
})
