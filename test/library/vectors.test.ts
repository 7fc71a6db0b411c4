import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Db } from '../../src/db/client.ts'
import { frames } from '../../src/db/schema/frames.ts'
import { frameVectors } from '../../src/db/schema/vision.ts'
import { startConsumer } from '../../src/events/consume.ts'
import { listConsumerLag } from '../../src/events/lag.ts'
import { listOutages } from '../../src/events/waiting.ts'
import { findVectorStatus } from '../../src/library/frames/vectors.ts'
import { eq, sql } from '../../src/sql/orm.ts'
import { embeddingConsumer } from '../../src/workers/embed-frames.ts'
import { openProjection } from '../../src/workers/projection.ts'
import { fakeEmbedder } from '../support/fake-embedder.ts'
import { seedVideo } from '../support/seed.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

/* Frames get vectors of what their texts mean, in the space of the text model of the settings. */

let service: Service
let ids: string[]
const embedder = fakeEmbedder()
beforeAll(async () => {
  service = await openService({ workerOptions: { embedder, reconcileMs: 100 }, overrides: { embedder } })
  const list = ['A kettle boils', 'A puppy runs', 'A spacecraft lifts off', null].map((caption) => ({ caption }))
  ;({ frameIds: ids } = await seedVideo(service.stores.db, { frames: list }))
  await seedVideo(service.stores.db, { ready: false, frames: [{ caption: 'Nobody may see this yet' }] })
  await service.drain()
})
afterAll(() => service[Symbol.asyncDispose]())

const vectors = (space = embedder.space) =>
  service.stores.db.select().from(frameVectors).where(eq(frameVectors.space, space)).orderBy(frameVectors.frameId)

const correct = (id: string, caption: string | null) =>
  service.call('PATCH', `/api/frames/${id}/annotation`, { caption })

/** What has just happened is not waited for: now all events are long ago. */
async function ageEvents(db: Db) {
  await db.execute(sql`alter table events disable trigger all`)
  await db.execute(sql`update events set time = time - interval '1 hour'`)
  await db.execute(sql`alter table events enable trigger all`)
}

test('every public frame with a text has a vector, and no other', async () => {
  expect((await vectors()).map(({ frameId }) => frameId)).toEqual(ids.slice(0, 3).sort())
  expect(embedder.asked.join()).not.toContain('Nobody')
})

test('a text is embedded again where it has changed, and only there', async () => {
  const before = await vectors()
  const asked = embedder.asked.length
  await correct(ids[0]!, 'Tea for two')
  await service.drain()
  expect(embedder.asked.slice(asked)).toEqual(['Tea for two'])
  const changed = (await vectors()).filter(({ sourceHash }, n) => sourceHash !== before[n]!.sourceHash)
  expect(changed.map(({ frameId }) => frameId)).toEqual([ids[0]])
  await correct(ids[3]!, 'At last')
  await service.drain()
  expect(await vectors()).toHaveLength(4)
  await correct(ids[3]!, null)
  await service.drain()
  expect(await vectors()).toHaveLength(3)
})

test('while the text model is away frames wait, and operators are told why', async () => {
  embedder.fail('Nothing answers at http://text:1. Check EMBED_BASE_URL.')
  await correct(ids[0]!, 'A baker pulls loaves')
  await until(waits)
  embedder.fail(undefined)
  await service.drain()
  expect(embedder.asked.at(-1)).toBe('A baker pulls loaves')
})

const waits = async () => (await listOutages(service.stores.db)).some(({ of }) => of === 'the text model')
const status = () => findVectorStatus(service.stores.db, embedder.space, undefined)

test('a text that the model refuses is skipped with the reason, and the others go on', async () => {
  embedder.refuse('spacecraft')
  const frames = [{ caption: 'One spacecraft' }, { caption: 'One lock' }]
  ids.push(...(await seedVideo(service.stores.db, { frames })).frameIds)
  await service.drain()
  expect(await status()).toMatchObject({ done: 4, frames: 5, refused: 1, reason: '422: too odd.' })
  embedder.refuse('')
  await correct(ids[1]!, 'Whatever is asked is refused')
  await until(waits)
  embedder.refuse(undefined)
  await service.drain()
  expect(await status()).toMatchObject({ done: 4, refused: 1 })
})

test('a new model fills a space of its own, which is searched once it is full', async () => {
  const { db } = service.stores
  const space = async () =>
    (await db.execute<{ name: string }>(sql`select name from library_search.space`)).rows[0]?.name
  await ageEvents(db)
  await until(async () => (await space()) === embedder.space)
  const bits = await db.execute<{ n: number }>(
    sql`select length(bits) as n from library_search.frames where bits is not null`,
  )
  expect(bits.rows).toEqual(Array(4).fill({ n: 128 }))
  // Of so few frames none can stand out, so that nothing is said of what they mean.
  expect((await service.get('/api/frames?q=animal&facets=1')).json.read_as.meaning).toBe('not ready')
})

test('another model takes over while consumers run, once no worker fills the space that is searched', async () => {
  const { stores, logger, config } = service
  const { db, databaseUrl: url } = stores
  const searched = async () => (await status()).searched
  const next = fakeEmbedder({ space: 'next@128' })
  const release = next.hold()
  const consumer = startConsumer({ db, url, logger, pollMs: 50 }, embeddingConsumer({ db, embedder: next }))
  await until(() => next.asked.length > 0)
  // Its text changes while the vector of the old one is made.
  await correct(ids[1]!, 'A kettle after all')
  release()
  await consumer.drain()
  await ageEvents(db)
  const deps = { config, db, logger, faultPoint: () => undefined }
  await using projection = await openProjection({ ...deps, space: next.space })
  await projection.reconcile()
  expect(await searched()).toBe(embedder.space)
  await service.stop()
  await projection.reconcile()
  expect(await searched()).toBe(next.space)
  expect(await vectors()).toEqual([])
  const { rows } = await db.execute(sql`
    select from frames f join frame_vectors v on v.frame_id = f.id and v.source_hash = md5(f.caption)`)
  expect(rows).toHaveLength(5)
  const positions = async () => (await listConsumerLag(db)).filter(({ consumer }) => consumer.startsWith('meaning'))
  expect((await positions()).map((one) => one.consumer)).toEqual([consumer.name])
  await consumer[Symbol.asyncDispose]()
  await using off = await openProjection(deps)
  await off.reconcile()
  expect(await positions()).toEqual([])
})

test('vectors go with their frames', async () => {
  await service.stores.db.delete(frames).where(eq(frames.id, ids[0]!))
  expect((await vectors('next@128')).map(({ frameId }) => frameId)).toEqual(
    ids.filter((_, n) => n !== 0 && n !== 3).sort(),
  )
})
