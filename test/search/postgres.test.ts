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
    const { frames } = await search.search({ q: 'zebra lamp unicorn on a', limit: 20 })
    const hasZebra = frames.map(({ document }) => document.caption!.includes('zebra'))
    expect(hasZebra).toEqual([true, true, true, true, ...Array.from({ length: 16 }, () => false)])
    expect(frames.map(({ score }) => score)).toEqual(frames.map(({ score }) => score).toSorted((x, y) => y - x))
    await stores[Symbol.asyncDispose]()
  },
)
