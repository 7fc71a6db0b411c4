import { expect, test } from 'vitest'
import type { FrameQuery, LibrarySearch } from '../search/library-search.ts'
import { suggest } from './suggestions.ts'

test('each word alone is tried, also of a query in a script without spaces', async () => {
  const asked: string[] = []
  const search = {
    frames: async ({ q }: FrameQuery) => {
      asked.push(q)
      return { frames: q === '東京' ? [{}, {}] : [] }
    },
    techniques: async () => [],
  } as unknown as LibrarySearch
  const query: FrameQuery = {
    filters: {},
    q: '',
    sort: 'relevance',
    page: 1,
    pageSize: 20,
    facets: false,
    variety: false,
  }
  const lines = await suggest(search, { ...query, q: '東京の写真 on a kite' }, AbortSignal.timeout(60_000))
  expect(asked).toEqual(['東京', '写真', 'kite'])
  expect(lines).toEqual(['- with the query "東京": 2 frames'])
})
