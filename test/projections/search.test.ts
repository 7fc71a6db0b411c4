import { expect, test } from 'vitest'
import { parseConfig } from '../../src/config.ts'
import { rebuildSearch } from '../../src/projections/search/rebuild.ts'
import { replicaState } from '../../src/search/meilisearch/client.ts'
import { WORDS_VERSION } from '../../src/search/text/tokens.ts'
import { sql } from '../../src/sql/orm.ts'
import { openProjection } from '../../src/workers/projection.ts'
import { openPostgresSearch } from '../support/postgres-search.ts'
import { seedVideo } from '../support/seed.ts'
import { openStores } from '../support/stores.ts'
import { testFollowing } from './following.ts'
import { deepLink, logger, useProjectedLibrary } from './library.ts'
import { testRebuilding } from './rebuilding.ts'
import { testReconciling } from './reconciling.ts'

const library = useProjectedLibrary()

testFollowing(library)
testRebuilding(library)
testReconciling(library)

test('a replica that another version filled is not asked before it is filled anew', async () => {
  const { db } = library.stores
  expect(await replicaState(db)).toBeUndefined()
  await db.execute(sql`
    insert into read_models (engine, generation, version, ready, words)
    values ('meilisearch', gen_random_uuid(), 7, true, ${WORDS_VERSION})`)
  for (const [words, ready] of [
    [WORDS_VERSION - 1, false],
    [WORDS_VERSION + 1, false],
    [WORDS_VERSION, true],
  ] as const) {
    await db.execute(sql`update read_models set words = ${words} where engine = 'meilisearch'`)
    expect(await replicaState(db)).toMatchObject({ version: expect.stringMatching(/-7$/), ready })
  }
  await db.execute(sql`delete from read_models where engine = 'meilisearch'`)
})

test(
  'a read model whose words were cut by an older version is written anew when the workers start, ' +
    'once; an empty one is not',
  async () => {
    await using own = await openStores()
    const { db } = own
    const found = openPostgresSearch(db.$client)
    const work = async () => {
      const open = () => openProjection({ config: parseConfig({}), db, logger, faultPoint: () => {} })
      const running = [await open(), await open()]
      for (const one of running) await one.reconcile()
      for (const one of running) await one[Symbol.asyncDispose]()
      return (await found.version()).slice(0, 8)
    }
    const born = (await found.version()).slice(0, 8)
    expect(await work()).toBe(born)
    const video = await seedVideo(db, { title: '新しい東京', frames: [{ caption: '東京の写真' }] })
    await rebuildSearch({ db, deepLink })
    await db.execute(
      sql`update library_search.frames set words = to_tsvector('simple', '東京の写真') where video_id = ${video.id}`,
    )
    await db.execute(
      sql`update library_search.entries set words = to_tsvector('simple', '新しい東京') where id = ${video.id}`,
    )
    await db.execute(sql`update read_models set words = 1`)
    const find = async () => {
      const { videos: titles, frames: hits } = await found.search({ q: '東京', limit: 5 })
      return [titles.length, hits.length]
    }
    expect(await find()).toEqual([0, 0])
    const old = (await found.version()).slice(0, 8)
    const renewed = await work()
    expect(renewed).not.toBe(old)
    expect(await find()).toEqual([1, 1])
    expect(await work()).toBe(renewed)
  },
)
