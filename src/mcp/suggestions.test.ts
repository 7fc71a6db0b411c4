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
  } as unknown as LibrarySearch
  return { asked, app: { search, vocabulary: async () => techniques } }
}

test('quotes and minus signs are the only words advised against: the search lets go of others by itself', async () => {
  const { asked, app } = libraryWith({ 'red kite that flies': 2 })
  const lines = await suggest(app, { ...query, q: '"red kite" that -flies' })
  expect(asked).toEqual(['red kite that flies'])
  expect(lines).toEqual(['- without quotes and minus signs: 2 frames'])
  const plain = libraryWith({})
  await suggest(plain.app, { ...query, q: 'a well-known kite' })
  expect(plain.asked).toEqual([])
})

test('a technique that no frame shows is not advised', async () => {
  const { app } = libraryWith({}, [technique('logo-reveal', 0), technique('logo-wall', 3)])
  const lines = await suggest(app, { ...query, q: 'logoreveal logowall' })
  expect(lines).toEqual(['- nearest techniques: logo-wall (3 frames)'])
})

test('an empty library is not browsed again', async () => {
  expect(await suggest(libraryWith({}).app, query)).toEqual([
    '- add_video, for operators: the library has no frames yet',
  ])
})

test('what the search has counted is told in words, without asking again', async () => {
  const { asked, app } = libraryWith({})
  const filters = { tone: ['dark'], video: ['a', 'b'] } as const
  const lines = await suggest(app, { ...query, q: 'kite', filters }, [
    { dropped: 'tone', frames: 1, partly: false },
    { dropped: 'video', frames: 20, partly: true },
    { dropped: 'words', frames: 3, partly: false },
  ])
  expect(lines).toEqual([
    '- without tone dark: 1 frame',
    '- without video_id a, b: 20 frames or more with some of the words',
    '- with the filters alone (browse_frames): 3 frames',
  ])
  expect(asked).toEqual([])
})
