import type { FilmReads } from '../../library/films/films.ts'
import type { LibrarySearch } from '../../search/library-search.ts'
import type { Advisor } from '../suggestions.ts'

/** What the open tools read from. */
export interface LibraryToolDeps {
  search: LibrarySearch
  films: FilmReads
  advisor: Advisor
  publicUrl: string
  /** An image by its media-store key. */
  readImage(key: string): Promise<Buffer | undefined>
  /** The canonical key of a video's URL; undefined for anything else. */
  sourceKeyOf(term: string): string | undefined
}
