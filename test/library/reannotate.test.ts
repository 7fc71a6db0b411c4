import { beforeAll, beforeEach, expect, test } from 'vitest'
import { findAnnotatorStatus } from '../../src/library/annotator/active-annotator.ts'
import {
  cancelReannotation,
  diffAnswer,
  parseCondition,
  requestReannotation,
  sizeOfReannotation,
} from '../../src/library/frames/reannotation.ts'
import { sql } from '../../src/sql/orm.ts'
import { openWorker } from '../../src/workers/main.ts'
import { useOpened } from '../support/closing.ts'
import { until } from '../support/until.ts'
import {
  addVideo,
  countOf,
  extractFromNumber,
  type FrameState,
  frameRows,
  openScripted,
  scriptedAnnotator,
  values,
  videoRow,
} from './support.ts'

/** A library that yesterday's annotator has described. Today's is a different one. */
const old = scriptedAnnotator('old@1', (frame) => ({
  values: values({ subject: frame.tSec === 0 ? null : 'ui', caption: 'old words' }),
}))
const today = scriptedAnnotator('today@2', () => ({}))
const service = useOpened(() => openScripted(old))
let videos: string[]
beforeAll(async () => {
  videos = [await addVideo(service, 3), await addVideo(service, 3)]
  await service.drain()
})
beforeEach(async () => {
  await cancelReannotation(service.stores.db, {})
  await service.stores.db.execute(sql`delete from annotations where annotator = 'today@2'`)
  today.asked = []
  today.answer = () => ({ values: values({ subject: 'chart', caption: 'new words' }) })
})

/** Runs a worker with today's annotator beside the old one during the act. */
async function withToday(act: () => Promise<void>): Promise<void> {
  const { config, logger, stores } = service
  const { databaseUrl, redisUrl, prefix } = stores
  const worker = await openWorker({
    ...{ config, databaseUrl, redisUrl, prefix, logger },
    annotator: today,
    extract: extractFromNumber,
    reconcileMs: 100,
    roles: ['annotate', 'events'],
  })
  // The old worker keeps running, as in a rolling deployment. It takes some of today's jobs off the queue and must
  // leave their frames alone.
  try {
    await act()
    await service.drain()
  } finally {
    await worker.stop(5_000)
  }
}

const waiting = async () => (await findAnnotatorStatus(service.stores.db)).waiting
const done = () => until(async () => (await waiting()) === 0)
const wallOf = async (id: string) =>
  (await service.get(`/api/videos/${id}/frames`)).json.frames as { id: string; caption: string; subject: string }[]
const scopeOf = (...conditions: string[]) => ({ conditions: conditions.map(parseCondition) })

test('search keeps the old values until each new answer is in; what people fixed stays', async () => {
  const [fixed] = await frameRows(service, videos[0]!)
  await service.call('PATCH', `/api/frames/${fixed!.id}/annotation`, { caption: 'by hand' })
  await service.drain()
  const seen: string[] = []
  today.answer = async (frame) => {
    seen.push((await service.get(`/api/frames/${frame.id}`)).json.frame.caption)
    return { values: values({ subject: 'chart', caption: 'new words' }) }
  }
  await withToday(async () => {
    expect(await requestReannotation(service.stores.db, today.version, {})).toBe(6)
    await done()
  })
  expect(seen.sort()).toEqual(['by hand', ...Array(5).fill('old words')])
  for (const video of videos) {
    expect((await wallOf(video)).map((frame) => frame.subject)).toEqual(['chart', 'chart', 'chart'])
    expect(await videoRow(service, video)).toMatchObject({ status: 'ready', annotator: 'today@2' })
  }
  expect((await wallOf(videos[0]!)).map((frame) => frame.caption)).toEqual(['by hand', 'new words', 'new words'])
  await service.call('PATCH', `/api/frames/${fixed!.id}/annotation`, { caption: null })
})

test('a scope finer than a video is kept to, also when Redis forgets everything', async () => {
  await service.stores.db.execute(sql`update frames set subject = null where t_ms = 0`)
  expect(await sizeOfReannotation(service.stores.db, today.version, scopeOf('subject=missing'))).toMatchObject({
    frames: 2,
    videos: 2,
  })
  expect(
    await requestReannotation(service.stores.db, today.version, { ...scopeOf('subject=missing'), videoId: videos[1]! }),
  ).toBe(1)
  const report = await service.call('GET', `/api/videos/${videos[1]}/status`)
  expect(report.json.video).toMatchObject({ status: 'ready', reannotating: 1 })
  await service.stores.redis.del(await service.stores.redis.keys(`${service.stores.prefix}:*`))
  await withToday(done)
  const [first] = await frameRows(service, videos[1]!)
  expect(today.asked).toEqual([first!.id])
  expect(await countOf(service, sql`select count(*) as n from annotations where annotator = 'today@2'`)).toBe(1)
})

test('asking twice names every frame once; what is described already is not asked for again', async () => {
  const { db } = service.stores
  expect(await requestReannotation(db, today.version, { videoId: videos[0]! })).toBe(3)
  expect(await requestReannotation(db, today.version, { videoId: videos[0]! })).toBe(0)
  await withToday(done)
  expect(await requestReannotation(db, today.version, { videoId: videos[0]! })).toBe(0)
  expect(today.asked.length).toBe(3)
})

test('what waits can be taken back', async () => {
  const { db } = service.stores
  await requestReannotation(db, today.version, {})
  expect(await cancelReannotation(db, { videoId: videos[0]! })).toBe(3)
  expect(await waiting()).toBe(3)
  expect(await cancelReannotation(db, {})).toBe(3)
})

test('failed frames may be asked for again, refused ones only by name', async () => {
  const { db } = service.stores
  today.answer = (frame) =>
    [{ status: 'failed', reason: 'x' } as const, { status: 'refused', reason: 'y' } as const][frame.tSec] ?? {}
  await withToday(async () => {
    await requestReannotation(db, today.version, { videoId: videos[0]! })
    await done()
  })
  const sizes = await Promise.all(
    [{}, scopeOf('status=failed'), scopeOf('status=refused')].map((scope) =>
      sizeOfReannotation(db, today.version, { ...scope, videoId: videos[0]! }),
    ),
  )
  expect(sizes.map(({ frames }) => frames)).toEqual([1, 1, 1])
  // The old texts remain.
  for (const frame of await wallOf(videos[0]!)) expect(frame.caption).not.toBeNull()
})

test('a new live video is described before a re-annotation goes on', async () => {
  const gate = Promise.withResolvers<void>()
  const order: string[] = []
  today.answer = async (frame) => {
    order.push(frame.id.split('-')[0]!)
    if (videos.includes(frame.id.split('-')[0]!)) await gate.promise
    return { values: values({ caption: 'new words' }) }
  }
  await withToday(async () => {
    await requestReannotation(service.stores.db, today.version, {})
    await until(() => order.length > 0)
    const live = await addVideo(service, 2)
    await until(async () => (await videoRow(service, live))?.status === 'ready')
    expect(await waiting()).toBeGreaterThan(0)
    gate.resolve()
    await done()
  })
})

test('the difference an answer would make: filled, changed, emptied, and what a person holds', () => {
  const provenance = (source: string) => ({ source, confidence: 1, by: 'x', at: '2026-01-01T00:00:00Z' })
  const row = {
    id: 'v-0',
    subject: 'ui',
    subjectProvenance: provenance('model'),
    caption: 'by hand',
    captionProvenance: provenance('person'),
    surface: null,
    surfaceProvenance: null,
    technique: 'title-card',
    techniqueProvenance: provenance('model'),
    shot: null,
    zone: null,
    composition: null,
    steal: null,
    onScreenText: 'text',
    onScreenTextProvenance: provenance('ocr'),
  } as unknown as FrameState
  const earlier = [
    {
      annotator: 'old@1',
      at: new Date(1),
      values: { ...values({ subject: 'ui', technique: 'title-card' }), ...values({ on_screen_text: 'text' }, 'ocr') },
    },
  ]
  const answer = {
    annotator: 'today@2',
    at: new Date(2),
    values: {
      ...values({ subject: 'chart', surface: 'slide', technique: null, caption: 'new' }),
      ...values({ on_screen_text: 'text' }, 'ocr'),
    },
  }
  expect(diffAnswer(row as never, earlier as never, answer as never)).toEqual([
    { frame_id: 'v-0', attribute: 'subject', before: 'ui', after: 'chart', locked: false },
    { frame_id: 'v-0', attribute: 'surface', before: null, after: 'slide', locked: false },
    { frame_id: 'v-0', attribute: 'technique', before: 'title-card', after: null, locked: false },
    { frame_id: 'v-0', attribute: 'caption', before: 'by hand', after: 'new', locked: true },
  ])
})
