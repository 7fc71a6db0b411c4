import { beforeAll, expect, test } from 'vitest'
import { rebuildSearch } from '../../src/projections/search/rebuild.ts'
import { openPostgresSearch } from '../support/postgres-search.ts'
import { seedVideo } from '../support/seed.ts'
import { useStores } from '../support/stores.ts'

/** Where a word stands in very many frames, the 4,800 strongest of them are ranked first, then the next ones. */

const TIER = 4_800
const FRAMES = 5_100
const PER_VIDEO = 170

const stores = useStores()
beforeAll(async () => {
  for (let video = 0; video < FRAMES / PER_VIDEO; video++)
    await seedVideo(stores.db, {
      title: `Film ${video}`,
      frames: Array.from({ length: PER_VIDEO }, (_, n) => ({
        // Two ranks that do not follow the strength.
        caption:
          (n * 7 + video) % 3 === 0 ? 'a lamp, a lamp beside a lamp' : `a chair near a lamp, number n${video}x${n}`,
      })),
    })
  await stores.db.$client.query(
    `update frames set save_count = s, save_strength = s
       from (select id, (row_number() over (order by md5(id)))::int % 97 as s from frames) n where n.id = frames.id`,
  )
  await rebuildSearch({ db: stores.db, deepLink: () => null })
})

const wall = { filters: {}, sort: 'relevance', facets: false, variety: false, q: 'lamp' } as const

/** All pages of a size one after the other. */
async function pagesOf(search: ReturnType<typeof openPostgresSearch>, pageSize: number, from = 1, to = Infinity) {
  const ids: string[] = []
  for (let page = from; page <= to; page++) {
    const { frames } = await search.frames({ ...wall, page, pageSize })
    if (frames.length === 0) break
    ids.push(...frames.map(({ document }) => document.id))
  }
  return ids
}

test('pages that end at a boundary, cross it or stand behind it join to one order without loss or repeat', async () => {
  const { rows } = await stores.db.$client.query<{ id: string }>(
    'select id from library_search.frames order by strength desc, id',
  )
  const strongest = new Set(rows.slice(0, TIER).map(({ id }) => id))
  // Everything ranked at once, as for a word of few frames.
  const plain = await pagesOf(openPostgresSearch(stores.db.$client), 1_700)
  expect(new Set(plain).size).toBe(FRAMES)
  const tiered = openPostgresSearch(stores.db.$client, { manyFrames: 1_000 })
  const found = await pagesOf(tiered, 1_700)
  expect(found).toEqual([...plain.filter((id) => strongest.has(id)), ...plain.filter((id) => !strongest.has(id))])
  // The best match of the second tier does not come before the last one of the first.
  expect(found).not.toEqual(plain)
  // 4,800 is no multiple of 113: page 43 has the last 54 of one tier and the first 59 of the next.
  expect(await pagesOf(tiered, 113, 42, 44)).toEqual(found.slice(41 * 113, 44 * 113))
  expect(await pagesOf(tiered, 7, 686, 687)).toEqual(found.slice(685 * 7, 687 * 7))
})
