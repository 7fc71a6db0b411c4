import type { LibrarySearch } from './library-search.ts'

/**
 * The same search, which tells of questions in words that find nothing: a search of everything, and the first page of
 * the wall without filters. Answers that a cache gives are not asked here, so a repeat within five minutes is not told.
 */
export function watchUnanswered(search: LibrarySearch, note: (q: string) => void): LibrarySearch {
  const watched: Pick<LibrarySearch, 'search' | 'frames'> = {
    async search(query) {
      const groups = await search.search(query)
      if (query.q !== '' && Object.values(groups).every((hits) => hits.length === 0)) note(query.q)
      return groups
    },
    async frames(query) {
      const page = await search.frames(query)
      const isPlain = query.page === 1 && Object.values(query.filters).every((values) => !values?.length)
      if (query.q !== '' && isPlain && page.frames.length === 0) note(query.q)
      return page
    },
  }
  return Object.assign(Object.create(search) as LibrarySearch, watched)
}
