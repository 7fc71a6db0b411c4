import { sql } from 'drizzle-orm'
import { afterEach, expect, test } from 'vitest'
import { loadCertainty, storeCalibration } from '../../src/library/evaluation/calibration.ts'
import { nextToReview } from '../../src/library/frames/review.ts'
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
  // The same number, in SQL and in the function.
  const certainty = await loadCertainty(db)
  const told = await nextToReview(db, { limit: 9 })
  const [first, second, third] = [0.95, 0.55, 0.75].map((confidence) =>
    certainty({ model: 'loud-vl', attribute: 'subject', confidence }),
  )
  expect(told.map(({ place }) => place.confidence)).toEqual(
    [first, second, third].map((one) => expect.closeTo(one!, 9)),
  )
  // A correction is beyond doubt, whatever was stated.
  await db.execute(sql`
    update frames set subject_provenance = jsonb_set(subject_provenance, '{source}', '"person"') where id = ${sure!}`)
  expect((await order()).at(-1)).toBe(sure)
})
