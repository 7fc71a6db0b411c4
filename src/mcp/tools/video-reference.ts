import { cleanText } from '../../clean-text.ts'
import { notFound } from '../../errors.ts'
import { frameIdIn } from '../../library/ids.ts'
import { nameKey } from '../../search/text/tokens.ts'
import { quote } from '../present.ts'
import { isIdLike } from '../values.ts'
import type { LibraryToolDeps } from './library-deps.ts'

/** References to a video: its id, an address of it or of one of its frames, a frame's id, its source URL, its title. */
type Deps = Pick<LibraryToolDeps, 'search' | 'sourceKeyOf' | 'publicUrl'>

/** @throws AppError not_found for a video that is not public, naming what was given. */
export async function videoIdOf(deps: Deps, given: string): Promise<string> {
  const id = await findVideo(deps, given)
  if (id === undefined) throw noSuchVideo([given])
  return id
}

export function noSuchVideo(given: readonly string[]): Error {
  const named = given.map((one) => quote(one, 80)).join(', ')
  return notFound(`video: ${named}. Pass ids, URLs or whole titles; search_library finds videos by title or URL`)
}

export async function findVideo(deps: Deps, given: string): Promise<string | undefined> {
  const { search, sourceKeyOf, publicUrl } = deps
  const term = cleanText(given)
  const named = ownReference(term, publicUrl)
  if (named === undefined) {
    const sourceKey = sourceKeyOf(term)
    if (sourceKey === undefined) return findByTitle(search, term)
    return (await search.search({ q: term, limit: 1, sourceKey })).videos[0]?.document.id
  }
  if ((await search.video(named)) !== undefined) return named
  return (await search.frame(named))?.frame.video_id ?? findByTitle(search, term)
}

/** The video that alone has this title. */
async function findByTitle(search: Deps['search'], term: string): Promise<string | undefined> {
  const { videos } = await search.search({ q: term, limit: 5, namesOnly: true })
  const same = videos.filter(({ document }) => nameKey(document.title) === nameKey(term))
  return same.length === 1 ? same[0]!.document.id : undefined
}

/** The id in a text that is an id or an address of this service; undefined for any other text. */
function ownReference(term: string, publicUrl: string): string | undefined {
  const [path = ''] = (term.startsWith(publicUrl) ? term.slice(publicUrl.length) : term).split(/[?#]/)
  const video = /^\/(?:api\/)?videos\/([\w-]+)(?:\/frames)?\/?$/.exec(path)?.[1]
  const id = video ?? frameIdIn(term)
  return isIdLike(id) ? id : undefined
}
