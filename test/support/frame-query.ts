import type { FrameQuery } from '../../src/search/library-search.ts'

/** A query of the wall with everything but `query` at its usual value. */
export const ask = (query: Partial<FrameQuery> = {}): FrameQuery => ({
  filters: {},
  q: '',
  sort: query.q ? 'relevance' : 'newest',
  page: 1,
  pageSize: 120,
  facets: false,
  variety: false,
  ...query,
})
