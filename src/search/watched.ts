import type { LibrarySearch } from './library-search.ts'

/**
 * A search in words. `weak`: its best frame lacks a word. `filtered`: such an answer says nothing of the words.
 */
export interface Asked {
  q: string
  answer: 'full' | 'weak' | 'none'
  filtered: boolean
}

/**
 * The same search, which tells of questions in words: a search of everything, and first pages of the wall. Answers that
 * a cache gives are not asked here, so a repeat within five minutes is not told.
 */
export function watchSearches(search: LibrarySearch, note: (asked: Asked) => void): LibrarySearch {
  const watched: Pick<LibrarySearch, 'search' | 'frames'> = {
    async search(query) {
      const groups = await search.search(query)
      const { frames, ...names } = groups
      if (query.q !== '' && !query.namesOnly) {
        const hasName = Object.values(names).some((hits) => hits.length > 0)
        note({ q: query.q, answer: hasName ? 'full' : answerOf(frames), filtered: false })
      }
      return groups
    },
    async frames(query) {
      const page = await search.frames(query)
      const filtered = Object.values(query.filters).some((values) => values?.length)
      // What a tool tries for its advice is nobody's question.
      if (query.q !== '' && query.page === 1 && query.loosen !== false)
        note({ q: query.q, answer: answerOf(page.frames), filtered })
      return page
    },
  }
  return Object.assign(Object.create(search) as LibrarySearch, watched)
}

function answerOf([best]: readonly { missing?: readonly string[] }[]): Asked['answer'] {
  if (!best) return 'none'
  return best.missing?.length ? 'weak' : 'full'
}
