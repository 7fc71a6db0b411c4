import pg from 'pg'
import { expect, test } from 'vitest'
import { rebuildSearch } from '../../src/projections/search/rebuild.ts'
import { openPostgresSearch } from '../support/postgres-search.ts'
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
    await using stores = await openStores()
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
  },
)

test('a search by words asks little of PostgreSQL, and its statements are planned once', async () => {
  await using stores = await openStores()
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
})

test('of a long question exactly the words are told that not every frame meets', async () => {
  await using stores = await openStores()
  const captions = ['harbour lantern meadow orchard pebble quarry ribbon', 'a saddle', ...Array(4).fill('a harbour')]
  await seedVideo(stores.db, { title: 'Words', frames: captions.map((caption) => ({ caption })) })
  await rebuildSearch({ db: stores.db, deepLink: () => null })
  const search = openPostgresSearch(stores.db.$client)
  const wall = { filters: {}, sort: 'relevance', pageSize: 120, facets: true, variety: false } as const
  const q = 'harbour lantern meadow orchard pebble quarry ribbon saddle'
  for (const page of [1, 2]) {
    const { frames, readAs } = await search.frames({ ...wall, q, page })
    expect(frames.map(({ missing }) => missing)).toEqual(page === 1 ? [['saddle']] : [])
    // The commonest word is dropped before the choice: nobody looked whether all have it.
    expect([page, readAs!.let_go, readAs!.met]).toEqual([page, ['harbour', 'saddle'], 6])
  }
})

test('a word is worth more than one that means the same', async () => {
  await using stores = await openStores()
  await seedVideo(stores.db, { title: 'Calls', frames: [{ caption: 'a phone rings' }] })
  await rebuildSearch({ db: stores.db, deepLink: () => null })
  const search = openPostgresSearch(stores.db.$client)
  const scoreOf = async (q: string) => (await search.search({ q, limit: 1 })).frames[0]!.score
  expect(await scoreOf('phone')).toBeGreaterThan(0.8)
  // Both are met in full; the kinds of match are 0.22 apart.
  expect(await scoreOf('smartphone')).toBeGreaterThan(0.6)
  expect(await scoreOf('smartphone')).toBeLessThan(0.75)
})

test('a first question finds every form of a word, and nothing for words that the library has in no form', async () => {
  await using stores = await openStores()
  const frames = [{ caption: 'a footstool at a party' }, { caption: 'two box', onScreenText: 'preinstalled' }]
  await seedVideo(stores.db, { title: 'Rooms', frames })
  await rebuildSearch({ db: stores.db, deepLink: () => null })
  const found = async (q: string) => (await openPostgresSearch(stores.db.$client).search({ q, limit: 6 })).frames.length
  for (const q of ['foot stool', 'footst', 'parties', 'boxes', 'install', 'fotstool', 'qzv party', '"two box" qzv'])
    expect(await found(q), q).toBeGreaterThan(0)
  for (const q of ['qzvxj', 'qzvxj wqxrt', 'qzvxj -party']) expect(await found(q), q).toBe(0)
})

test('partial matches lack one word before they lack two, whatever a word tells', async () => {
  await using stores = await openStores()
  const captions = [
    ...Array.from({ length: 12 }, (_, n) => `a lamp on a table ${n}`),
    ...Array.from({ length: 12 }, (_, n) => `a table ${n}`),
    'a zebra with a lamp',
    'a zebra',
  ]
  await seedVideo(stores.db, { title: 'Rooms', frames: captions.map((caption) => ({ caption })) })
  await rebuildSearch({ db: stores.db, deepLink: () => null })
  for (const manyFrames of [10_000, 20]) {
    const { frames } = await openPostgresSearch(stores.db.$client, { manyFrames }).search({
      q: 'zebra lamp table',
      limit: 20,
    })
    expect(frames.map(({ missing }) => missing!.length).slice(0, 13)).toEqual(Array(13).fill(1))
    expect(frames[0]!.document.caption).toBe('a zebra with a lamp')
    expect(frames.slice(13).every(({ missing }) => missing!.length === 2)).toBe(true)
    expect(frames.map(({ score }) => score)).toEqual(frames.map(({ score }) => score).toSorted((x, y) => y - x))
  }
})

test('what the library learns is found at once: a name, a word, its beginning, and it mistyped', async () => {
  await using stores = await openStores()
  const frames = [{ caption: 'a lamp on a table', technique: 'talking-head' }]
  await seedVideo(stores.db, { title: 'Rooms', frames })
  await rebuildSearch({ db: stores.db, deepLink: () => null })
  const search = openPostgresSearch(stores.db.$client)
  const page = { filters: {}, sort: 'relevance', page: 1, pageSize: 20, facets: false, variety: false } as const
  const found = async (q: string) => (await search.search({ q, limit: 6 })).frames.length
  const lacking = async (q: string) =>
    (await search.frames({ ...page, q })).frames.map(({ missing }) => missing?.length ?? 0)
  const ask = async () => [
    ...[await found('zebraphone'), await found('lanterm'), await found('giraf')],
    ...[await lacking('giraf'), await lacking('lamp girafe')],
  ]
  expect(await ask()).toEqual([0, 0, 0, [], [1]])
  await stores.db.$client.query(`update techniques set name = 'Zebraphone' where slug = 'talking-head'`)
  await seedVideo(stores.db, {
    title: 'Animals',
    frames: [{ caption: 'giraffes under a lamp' }, { caption: 'a lantern' }],
  })
  await rebuildSearch({ db: stores.db, deepLink: () => null })
  expect(await ask()).toEqual([1, 1, 1, [1], [1, 1]])
})
