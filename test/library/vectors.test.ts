import { afterAll, beforeAll, expect, test } from 'vitest'
import { frames } from '../../src/db/schema/frames.ts'
import { frameVectors } from '../../src/db/schema/vision.ts'
import { listOutages } from '../../src/events/waiting.ts'
import { eq, sql } from '../../src/sql/orm.ts'
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
  await until(async () => (await listOutages(service.stores.db)).some(({ of }) => of === 'the text model'))
  embedder.fail(undefined)
  await service.drain()
  expect(embedder.asked.at(-1)).toBe('A baker pulls loaves')
})

test('a new model fills a space of its own, which is searched once it is full', async () => {
  const { db } = service.stores
  const space = async () =>
    (await db.execute<{ name: string }>(sql`select name from library_search.space`)).rows[0]?.name
  // What has just happened is not waited for: these events are long ago.
  await db.execute(sql`alter table events disable trigger all`)
  await db.execute(sql`update events set time = time - interval '1 hour'`)
  await db.execute(sql`alter table events enable trigger all`)
  await until(async () => (await space()) === embedder.space)
  const bits = await db.execute<{ n: number }>(
    sql`select length(bits) as n from library_search.frames where bits is not null`,
  )
  expect(bits.rows).toEqual([{ n: 128 }, { n: 128 }, { n: 128 }])
  // Of three frames none can stand out, so that nothing is said of what they mean.
  expect((await service.get('/api/frames?q=animal&facets=1')).json.read_as.meaning).toBe('not ready')
})

test('vectors go with their frames', async () => {
  await service.stores.db.delete(frames).where(eq(frames.id, ids[0]!))
  expect((await vectors()).map(({ frameId }) => frameId)).toEqual(ids.slice(1, 3).sort())
})
