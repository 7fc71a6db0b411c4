import { mkdtempDisposable } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { beginVideo, recordFailure, recordProgress } from '../../src/library/videos/lifecycle.ts'
import { submitUpload } from '../../src/library/videos/submit.ts'
import { reportVideo } from '../../src/library/videos/video-status.ts'
import { openMediaStore } from '../../src/media/open-store.ts'
import { memoryFolder } from '../support/memory-folder.ts'
import { openStores } from '../support/stores.ts'

test('a failed stage stops its clock, and the time left counts down and ends in silence', async () => {
  await using stores = await openStores()
  const { db } = stores
  await using folder = await mkdtempDisposable(join(memoryFolder(), 'video-status-'))
  const dataDir = folder.path
  const { video } = await submitUpload(db, openMediaStore({ dataDir, s3: undefined }), body(), {
    filename: 'film.mp4',
    maxBytes: 1_000,
    details: () => ({}),
  })
  const { id, revision } = (await beginVideo(db, video.id, video.revision))!
  await recordProgress(db, { id, revision, stage: 'extracting', done: 0, total: 10 })
  // A step of ten seconds, of ten.
  await db.$client.query(
    `update videos set stages = jsonb_set(stages, '{0,startedAt}', to_jsonb(now() - interval '10 seconds'))
      where id = $1`,
    [id],
  )
  await recordProgress(db, { id, revision, stage: 'extracting', done: 1, total: 10 })
  const moved = Date.now()
  const leftAfter = async (seconds: number) =>
    (await reportVideo(db, id, new Date(moved + seconds * 1_000))).stages[0]!.left_sec
  const left = (await leftAfter(0))!
  expect(left).toBeGreaterThanOrEqual(88)
  // Written again without a step, as the worker does each second.
  await recordProgress(db, { id, revision, stage: 'extracting', done: 1, total: 10 })
  expect(await leftAfter(30)).toBeLessThanOrEqual(left - 29)
  expect(await leftAfter(200)).toBeNull()

  await recordFailure(db, { id, revision, code: 'crashed', message: 'The decoder crashed.' })
  const [stage] = (await reportVideo(db, id, new Date(moved + 3_600_000))).stages
  expect(stage).toMatchObject({ stage: 'extracting', left_sec: null })
  expect(new Date(stage!.finished_at!).getTime()).toBeLessThan(moved + 60_000)
})

function body(): Readable {
  return Readable.from([Buffer.from('a film')])
}
