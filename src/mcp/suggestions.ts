import { plural } from '../clean-text.ts'
import type { FrameQuery, Loosened, TechniqueDocument } from '../search/library-search.ts'
import { MOST_LOOSENED } from '../search/query.ts'
import { nearestTechniques } from '../views/nearest.ts'
import type { ToolApp } from './tool.ts'

/**
 * What to try when nothing was found: fewer filters, the words without quotes and minus, and the nearest techniques. A
 * search lets go of words by itself. Each suggestion says how many frames it finds; the search has counted them.
 */
export async function suggest(
  { search, vocabulary }: Pick<ToolApp, 'search' | 'vocabulary'>,
  query: FrameQuery,
  loosened: readonly Loosened[] = [],
): Promise<string[]> {
  const lines = loosened.map((one) => `- ${droppedIn(query, one)}: ${foundBy(one)}`)
  const plain = withoutSigns(query)
  if (plain) {
    const { frames } = await search.frames({ ...plain, page: 1, pageSize: MOST_LOOSENED, facets: false })
    const found = foundBy({ frames: frames.length, partly: false })
    if (frames.length > 0) lines.push(`- without quotes and minus signs: ${found}`)
  }
  const near = nearestTechniques(await vocabulary(), query.filters.technique?.join(' ') ?? query.q, 3)
  if (near.length > 0) {
    const counted = near.map(({ slug, frame_count }) => `${slug} (${plural(frame_count, 'frame')})`)
    lines.push(`- nearest techniques: ${counted.join(', ')}`)
  }
  const isWall = query.q === '' && Object.keys(query.filters).length === 0
  if (isWall) return ['- add_video, for operators: the library has no frames yet']
  if (lines.length === 0) lines.push('- list_techniques for the vocabulary, browse_frames without filters for the wall')
  return lines
}

function droppedIn({ filters }: FrameQuery, { dropped }: Loosened): string {
  if (dropped === 'filters') return 'with the query alone, no filters'
  if (dropped === 'words') return 'with the filters alone (browse_frames)'
  const name = dropped === 'video' ? 'video_id' : dropped
  return `without ${name} ${filters[dropped]?.join(', ')}`.slice(0, 120)
}

function foundBy({ frames, partly }: Omit<Loosened, 'dropped'>): string {
  const found = frames === MOST_LOOSENED ? `${MOST_LOOSENED} frames or more` : plural(frames, 'frame')
  return partly ? `${found} with some of the words` : found
}

/** Quotes and what is behind a minus are never dropped. Undefined for a query without them. */
function withoutSigns(query: FrameQuery): FrameQuery | undefined {
  const words = (text: string) => text.trim().split(/\s+/).join(' ')
  const q = words(query.q.replace(/["“”„]|(?<=^|\s)-/g, ' '))
  return q === words(query.q) ? undefined : { ...query, q, loosen: false, asker: undefined }
}

export function nearestTechniquesLine(vocabulary: readonly TechniqueDocument[], term: string): string {
  const near = nearestTechniques(vocabulary, term, 5)
  if (near.length === 0) return 'Try fewer or other words, or list_techniques and browse_frames.'
  return `Nearest techniques: ${near.map((technique) => technique.slug).join(', ')}.`
}
