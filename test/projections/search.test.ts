import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startConsumer } from '../../src/events/consume.ts'
import { searchProjection } from '../../src/projections/search/project.ts'
import type { FrameQuery } from '../../src/search/library-search.ts'
import { openPostgresSearch } from '../../src/search/postgres/search.ts'
import { seedVideo } from '../support/seed.ts'
import { openStores, type Stores } from '../support/stores.ts'

const logger = pino({ level: 'silent' })
let stores: Stores
beforeAll(async () => {
  stores = await openStores()
})
afterAll(() => stores[Symbol.asyncDispose]())

const ask = (query: Partial<FrameQuery> = {}): FrameQuery => ({
  filters: {},
  q: '',
  sort: query.q ? 'relevance' : 'newest',
  page: 1,
  pageSize: 120,
  facets: false,
  variety: false,
  ...query,
})

async function drain() {
  const running = startConsumer(
    { db: stores.db, url: stores.databaseUrl, logger, pollMs: 20 },
    searchProjection({ db: stores.db, deepLink: () => null }),
  )
  await running.drain()
  await running[Symbol.asyncDispose]()
}

test('a ready video is found by a mistyped word, a beginning, a phrase and a part of a word on screen', async () => {
  const video = await seedVideo(stores.db, {
    title: 'Launch of Relay',
    author: 'Crème & Co',
    frames: [
      { caption: 'A presenter in front of a red kite', technique: 'logo-reveal', subject: 'presenter' },
      { caption: 'A terminal', onScreenText: 'npm install hyperdrive', subject: 'terminal' },
    ],
  })
  await drain()
  const search = openPostgresSearch(stores.db.$client)
  const ids = async (q: string) => (await search.frames(ask({ q }))).frames.map((hit) => hit.document.id)
  expect(await ids('presnter')).toEqual([video.frameIds[0]])
  expect(await ids('present')).toEqual([video.frameIds[0]])
  expect(await ids('"red kite"')).toEqual([video.frameIds[0]])
  expect(await ids('"kite red"')).toEqual([])
  expect(await ids('perdri')).toEqual([video.frameIds[1]])
  expect((await search.frames(ask({ q: 'presnter' }))).frames[0]!.matched).toEqual({
    caption: 'A <em>presenter</em> in front of a red kite',
  })
  const groups = await search.search({ q: 'creme co', limit: 6 })
  expect(groups.brands.map((hit) => [hit.document.name, hit.score])).toEqual([['Crème & Co', 1]])
  expect((await search.search({ q: 'logo reveal', limit: 6 })).techniques[0]).toMatchObject({ score: 1, document: { frame_count: 1 } })
  expect((await search.search({ q: '', limit: 6 })).videos).toHaveLength(1)
  const faceted = await search.frames(ask({ facets: true, filters: { subject: ['terminal'] } }))
  expect(faceted.total).toBe(1)
  expect(faceted.facets!.subject).toEqual({ presenter: 1, terminal: 1 })
  expect(faceted.facets!.author).toEqual({ 'Crème & Co': 1 })
  expect((await search.similar(video.frameIds[0]!, { filters: {}, limit: 5 }))!.map((hit) => hit.document.id)).toEqual([video.frameIds[1]])
  expect((await search.frame(video.frameIds[1]!))!.previous!.id).toBe(video.frameIds[0])
  expect((await search.frames(ask({ variety: true, filters: { color: ['#101820'] } }))).frames).toHaveLength(2)
  expect((await search.videos({ after: undefined, limit: 1 })).next).toBeNull()
})
