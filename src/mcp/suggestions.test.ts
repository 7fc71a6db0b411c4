import { expect, test } from 'vitest'
import type { FrameQuery, LibrarySearch, TechniqueDocument } from '../search/library-search.ts'
import { suggest } from './suggestions.ts'

const query: FrameQuery = {
  filters: {},
  q: '',
  sort: 'relevance',
  page: 1,
  pageSize: 20,
  facets: false,
  variety: false,
}
const technique = (slug: string, frame_count: number) =>
  ({ slug, name: slug, aliases: [] as string[], frame_count }) as TechniqueDocument

function libraryWith(found: Record<string, number>, techniques: TechniqueDocument[] = []) {
  const asked: string[] = []
  const search = {
    frames: async ({ q }: FrameQuery) => {
      asked.push(q)
      return { frames: Array.from({ length: found[q] ?? 0 }, () => ({})) }
    },
    techniques: async () => techniques,
  } as unknown as LibrarySearch
  return { asked, search }
}

test('quotes and minus signs are the only words advised against: the search lets go of others by itself', async () => {
  const { asked, search } = libraryWith({ 'red kite that flies': 2 })
  const lines = await suggest(search, { ...query, q: '"red kite" that -flies' }, AbortSignal.timeout(60_000))
  expect(asked).toEqual(['red kite that flies'])
  expect(lines).toEqual(['- without quotes and minus signs: 2 frames'])
  const plain = libraryWith({})
  await suggest(plain.search, { ...query, q: 'a well-known kite' }, AbortSignal.timeout(60_000))
  expect(plain.asked).toEqual([])
})

test('a technique that no frame shows is not advised', async () => {
  const { search } = libraryWith({}, [technique('logo-reveal', 0), technique('logo-wall', 3)])
  const lines = await suggest(search, { ...query, q: 'logoreveal logowall' }, AbortSignal.timeout(60_000))
  expect(lines).toEqual(['- nearest techniques: logo-wall (3 frames)'])
})
