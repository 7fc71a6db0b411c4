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

test('words that the library has in no form take one statement, and a first question finds every form', async () => {
  const stores = await openStores()
  const frames = [{ caption: 'a footstool at a party' }, { caption: 'two box', onScreenText: 'preinstalled' }]
  await seedVideo(stores.db, { title: 'Rooms', frames })
  await rebuildSearch({ db: stores.db, deepLink: () => null })
  const pool = new pg.Pool({ connectionString: stores.databaseUrl, max: 1 })
  const send = pool.query.bind(pool) as (...given: unknown[]) => unknown
  let sent = 0
  Object.assign(pool, { query: (...given: unknown[]) => [sent++, send(...given)][1] })
  const found = async (q: string) => {
    const search = openPostgresSearch(pool)
    // Reads what is kept for a second or a minute.
    await search.search({ q: 'warm', limit: 6 })
    sent = 0
    return (await search.search({ q, limit: 6 })).frames.length
  }
  for (const q of [
    'foot stool',
    'footst',
    'parties',
    'boxes',
    'install',
    'fotstool',
    'qzv party',
    'at',
    '"two box" qzv',
  ])
    expect(await found(q), q).toBeGreaterThan(0)
  for (const q of ['qzvxj', 'qzvxj wqxrt', 'qzvxj -party']) expect([await found(q), sent], q).toEqual([0, 1])
  // Of words that it was asked before, the version of the read model alone is asked: also on the wall.
  const search = openPostgresSearch(pool)
  const wall = { filters: {}, sort: 'relevance', page: 1, pageSize: 20, facets: false, variety: false } as const
  await search.search({ q: 'warm qzvxj', limit: 6 })
  for (const q of ['qzvxj', 'wqxrt qzvxj', 'qzvxj wqxrt', 'qzvxj foot']) {
    for (const ask of [() => search.search({ q, limit: 6 }), () => search.frames({ ...wall, q })]) {
      sent = 0
      expect((await ask()).frames.length, q).toBe(q === 'qzvxj foot' ? 1 : 0)
      if (q !== 'qzvxj foot') expect(sent, q).toBe(1)
    }
  }
  await pool.end()
  await stores[Symbol.asyncDispose]()
})

test('a question in known words takes one statement, and with a next best or an advice two', async () => {
  const stores = await openStores()
  const captions = ['a lamp on a table', 'a lamp by a window', 'a chair at a table']
  await seedVideo(stores.db, { title: 'Rooms', frames: captions.map((caption) => ({ caption, subject: 'product' })) })
  await rebuildSearch({ db: stores.db, deepLink: () => null })
  const pool = new pg.Pool({ connectionString: stores.databaseUrl, max: 1 })
  const sent: string[] = []
  const send = pool.query.bind(pool) as (...given: unknown[]) => unknown
  const textOf = (given: unknown) => (typeof given === 'string' ? given : (given as { text: string }).text)
  Object.assign(pool, { query: (...given: unknown[]) => [sent.push(textOf(given[0])), send(...given)][1] })
  const search = openPostgresSearch(pool)
  const page = { filters: {}, sort: 'relevance', page: 1, pageSize: 20, facets: false, variety: false } as const
  const tool = { ...page, fill: 3, loosen: true }
  /** Without what is read once a second or once a minute. */
  const statements = () => sent.filter((text) => !/pg_stats|kind = 'techniques' and doc/.test(text)).length
  await search.search({ q: 'lamp table window unicorn', limit: 6 })
  for (const [asked, ask] of [
    [1, () => search.search({ q: 'window table', limit: 6 })],
    [1, () => search.frames({ ...page, q: 'lamp table' })],
    [2, () => search.frames({ ...tool, q: 'lamp table' })],
    [3, () => search.frames({ ...page, q: 'lamp table unicorn' })],
    [2, () => search.frames({ ...page, q: 'lamp window', filters: { subject: ['logo'], tone: ['dark'] } })],
    [2, () => search.frames({ ...tool, q: 'lamp window', filters: { subject: ['logo'], tone: ['dark'] } })],
  ] as const) {
    sent.length = 0
    await ask()
    expect(statements(), sent.join('\n')).toBe(asked)
  }
  await pool.end()
  await stores[Symbol.asyncDispose]()
})

test('words that the library learns are found at once, also by their beginning', async () => {
  const stores = await openStores()
  await seedVideo(stores.db, { title: 'Rooms', frames: [{ caption: 'a lamp on a table' }] })
  await rebuildSearch({ db: stores.db, deepLink: () => null })
  const search = openPostgresSearch(stores.db.$client)
  const page = { filters: {}, sort: 'relevance', page: 1, pageSize: 20, facets: false, variety: false } as const
  const ask = async () => ({
    begun: (await search.frames({ ...page, q: 'giraf' })).frames.length,
    mistyped: (await search.frames({ ...page, q: 'lamp girafe' })).frames.map(({ missing }) => missing?.length ?? 0),
    everywhere: (await search.search({ q: 'giraf', limit: 6 })).frames.length,
  })
  expect(await ask()).toEqual({ begun: 0, mistyped: [1], everywhere: 0 })
  await seedVideo(stores.db, { title: 'Animals', frames: [{ caption: 'giraffes under a lamp' }] })
  await rebuildSearch({ db: stores.db, deepLink: () => null })
  expect(await ask()).toEqual({ begun: 1, mistyped: [1, 1], everywhere: 1 })
  await stores[Symbol.asyncDispose]()
})

test('the next best lack one word before they lack two, whatever a word tells', async () => {
  const stores = await openStores()
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
  await stores[Symbol.asyncDispose]()
})
