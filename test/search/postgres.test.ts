import pg from 'pg'
import { expect, test } from 'vitest'
import { rebuildSearch } from '../../src/projections/search/rebuild.ts'
import { openPostgresSearch } from '../../src/search/postgres/search.ts'
import { seedVideo } from '../support/seed.ts'
import { openStores } from '../support/stores.ts'
import { describeContract } from './contract.ts'

describeContract('PostgreSQL', async () => {
  const stores = await openStores()
  const { db } = stores
  return {
    search: openPostgresSearch(db.$client),
    db,
    follow: async () => {},
    async frameIds() {
      const { rows } = await db.$client.query<{ id: string }>(
        `select id from library_search.documents where kind = 'frames' and doc is not null order by id`,
      )
      return rows.map(({ id }) => id)
    },
    [Symbol.asyncDispose]: () => stores[Symbol.asyncDispose](),
  }
})

test(
  'words that stand nearly everywhere are ranked in part, ' + 'find the same, and count for less than the others',
  async () => {
    const stores = await openStores()
    const captions = Array.from(
      { length: 60 },
      (_, n) => `a lamp on a table, number n${n}${n % 20 === 7 ? ' with a zebra' : ''}`,
    )
    await seedVideo(stores.db, { title: 'Lamps', frames: captions.map((caption) => ({ caption })) })
    await seedVideo(stores.db, { title: 'Zebras', frames: [{ caption: 'zebra crossing' }] })
    await rebuildSearch({ db: stores.db, deepLink: () => null })
    const plain = openPostgresSearch(stores.db.$client)
    const search = openPostgresSearch(stores.db.$client, { manyFrames: 20 })
    const wall = { filters: {}, sort: 'relevance', page: 1, pageSize: 120, facets: true, variety: false } as const
    for (const q of ['lamp', 'a lamp', 'lam', 'lamp zebra', '"on a table"'])
      expect(await search.frames({ ...wall, q })).toEqual(await plain.frames({ ...wall, q }))
    const paged: string[] = []
    for (let page = 1; page <= 8; page++) {
      const { frames } = await search.frames({ ...wall, q: 'lamp', page, pageSize: 9 })
      paged.push(...frames.map(({ document }) => document.id))
    }
    const { frames: all } = await plain.frames({ ...wall, q: 'lamp' })
    expect(paged).toEqual(all.map(({ document }) => document.id))
    const { frames } = await search.search({ q: 'zebra lamp unicorn on a', limit: 20 })
    const hasZebra = frames.map(({ document }) => document.caption!.includes('zebra'))
    expect(hasZebra).toEqual([true, true, true, true, ...Array.from({ length: 16 }, () => false)])
    expect(frames.map(({ score }) => score)).toEqual(frames.map(({ score }) => score).toSorted((x, y) => y - x))
    await stores[Symbol.asyncDispose]()
  },
)

test('a search by words asks little of PostgreSQL, and its statements are planned once', async () => {
  const stores = await openStores()
  await seedVideo(stores.db, { title: 'Lamps', frames: [{ caption: 'a lamp on a table' }] })
  await rebuildSearch({ db: stores.db, deepLink: () => null })
  const pool = new pg.Pool({ connectionString: stores.databaseUrl, max: 1 })
  let sent = 0
  const send = pool.query.bind(pool) as (...given: unknown[]) => unknown
  Object.assign(pool, { query: (...given: unknown[]) => [sent++, send(...given)][1] })
  const search = openPostgresSearch(pool)
  const wall = { filters: {}, sort: 'relevance', page: 1, pageSize: 120, facets: false, variety: false } as const
  for (const word of ['lamp', 'table', 'tabel', 'lmap', 'chair', 'window', 'door', 'carpet', 'lantern', 'stool']) {
    sent = 0
    await search.search({ q: `${word} lamp`, limit: 6 })
    // Once a second and once a minute the techniques and the frequent words are read.
    expect(sent).toBeLessThanOrEqual(5)
    await search.frames({ ...wall, q: `${word} tables` })
    sent = 0
    await search.search({ q: `${word} tables`, limit: 6 })
    expect(sent).toBeLessThanOrEqual(3)
  }
  const { rows } = (await send(
    'select name, custom_plans::int as anew, generic_plans::int as kept from pg_prepared_statements order by name',
  )) as { rows: { name: string; anew: number; kept: number }[] }
  expect(rows.length).toBeGreaterThan(0)
  for (const { name, anew, kept } of rows) {
    expect(anew, name).toBeLessThanOrEqual(5)
    expect(kept, name).toBeGreaterThan(0)
  }
  await pool.end()
  await stores[Symbol.asyncDispose]()
})

test('a word that is new to the library is found mistyped at once', async () => {
  const stores = await openStores()
  const search = openPostgresSearch(stores.db.$client)
  const found = async () => (await search.search({ q: 'lanterm', limit: 6 })).frames.length
  expect(await found()).toBe(0)
  await seedVideo(stores.db, { title: 'Lamps', frames: [{ caption: 'a lantern on a table' }] })
  await rebuildSearch({ db: stores.db, deepLink: () => null })
  expect(await found()).toBe(1)
  await stores[Symbol.asyncDispose]()
})
