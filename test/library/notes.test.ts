import { expect, test } from 'vitest'
import { recordFilm } from '../../src/library/films/films.ts'
import { recordNotes } from '../../src/library/frames/record-annotations.ts'
import { sql } from '../../src/sql/orm.ts'
import { rebuildAll } from '../../src/workers/projection.ts'
import { useOpened } from '../support/closing.ts'
import { cutShots, filmPicture } from '../support/film.ts'
import { addVideo, countOf, frameRows, openScripted, scriptedAnnotator, values } from './support.ts'

const annotator = scriptedAnnotator('scripted@1', () => ({
  values: values({ subject: 'ui', caption: 'a dashboard', zone: 'none' }),
}))
const service = useOpened(() => openScripted(annotator))

const notes = [
  { at: 0.9, subject: 'logo', caption: 'A blue square', technique: 'end-card' },
  { at: 2.5, subject: 'crowd', caption: 'Four people at tables', technique: 'no-such-move' },
  { at: 2.9, subject: 'chart', caption: 'Three bars' },
]
const record = (videoId: string, author = 'team@1') => recordNotes(service.stores.db, { videoId, author, notes })
const told = (videoId: string) =>
  countOf(
    service,
    sql`select count(*) as n from events where type = 'frames.annotated' and subject = ${videoId}
            and data ->> 'annotator' like 'notes:%'`,
  )
async function shown(id: string) {
  await service.drain()
  return (await service.get(`/api/frames/${id}`)).json.frame
}

test('notes describe the frames of their shot, beat the annotator and lose to a correction', async () => {
  const video = await addVideo(service, 5)
  expect(await record(video)).toBe(0)
  await service.drain()
  const film = { shots: cutShots([2, 2, 1]), picture: filmPicture(), probe: { durationSec: 5 } }
  await service.stores.db.transaction((tx) => recordFilm(tx, video, film))
  const [first, second, third, fourth, fifth] = (await frameRows(service, video)).map((row) => row.id)
  expect(await record(video)).toBe(4)

  expect(await shown(first!)).toMatchObject({ subject: 'logo', caption: 'A blue square', zone: 'none' })
  expect(await shown(first!)).toMatchObject({ technique: 'end-card', annotation: { reviewed: false } })
  expect(await shown(second!)).toMatchObject({ subject: 'logo', caption: 'A blue square' })
  expect(await shown(third!)).toMatchObject({ subject: 'crowd', technique: null })
  expect(await shown(fourth!)).toMatchObject({ subject: 'chart', caption: 'Three bars' })
  expect(await shown(fifth!)).toMatchObject({ subject: 'ui', caption: 'a dashboard' })
  const [row] = await frameRows(service, video)
  expect(row).toMatchObject({ caption_provenance: { source: 'notes', by: 'notes:team@1', confidence: 1 } })

  await service.call('PATCH', `/api/frames/${first}/annotation`, { subject: 'text-card' })
  await rebuildAll({ config: service.config, db: service.stores.db })
  expect(await shown(first!)).toMatchObject({ subject: 'text-card', caption: 'A blue square' })
})

test('notes said twice, also at the same moment, are one event, and the video stays with its annotator', async () => {
  const video = await addVideo(service, 3)
  await service.drain()
  const counts = await Promise.all([record(video), record(video), record(video)])
  expect(counts.sort()).toEqual([0, 0, 3])
  expect(await record(video)).toBe(0)
  expect(await told(video)).toBe(1)
  const annotators = sql`select count(*) as n from videos where id = ${video} and annotator = 'scripted@1'`
  expect(await countOf(service, annotators)).toBe(1)
})

test('notes come while the annotator still works, and the video is ready when it has answered', async () => {
  const video = await addVideo(service, 3)
  let early = 0
  annotator.answer = async () => {
    early += await record(video)
    return { values: values({ subject: 'ui', caption: 'a dashboard', zone: 'none' }) }
  }
  await service.drain()
  expect(early).toBe(3)
  const [first] = (await frameRows(service, video)).map((row) => row.id)
  expect(await shown(first!)).toMatchObject({ subject: 'logo', caption: 'A blue square', zone: 'none' })
})
