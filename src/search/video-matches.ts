import type { FrameFilters, LibrarySearch } from './library-search.ts'

const SHOWN = 5

/** The frames of one video that have every word of a question and pass its filters: their number, and the best. */
export async function matchVideo(
  search: Pick<LibrarySearch, 'frames'>,
  { query = '', ...filters }: FrameFilters & { query?: string },
  videoId: string,
): Promise<{ frames: number; frameIds: string[] }> {
  const found = await search.frames({
    filters: { ...filters, video: [videoId] },
    q: query,
    sort: query === '' ? 'strength' : 'relevance',
    page: 1,
    pageSize: SHOWN,
    facets: false,
    variety: false,
    loosen: true,
  })
  const full = found.frames.filter(({ missing }) => missing === undefined || missing.length === 0)
  const frames = (query === '' ? found.total : found.full) ?? full.length
  return { frames, frameIds: frames === 0 ? [] : full.map(({ document }) => document.id) }
}
