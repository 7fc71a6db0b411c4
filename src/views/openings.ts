import { z } from 'zod'
import type { Parameters } from '../parameters.ts'
import type { CursorPage, LibrarySearch, ShownFrame, VideoDocument } from '../search/library-search.ts'
import { PLATFORMS, type Platform } from '../vocabulary.ts'
import { plainName } from './parameter-values.ts'

/** How films open and end: the first or the last shots of many, side by side. */

export const openingParameters = {
  part: {
    schema: z.enum(['opening', 'ending']),
    fallback: 'opening',
    description: '`opening`: the first shots. `ending`: the last.',
  },
  author: { schema: plainName(300), description: 'Films of this brand or channel.' },
  platform: { schema: z.enum(PLATFORMS), description: 'Films of this platform.' },
} as const satisfies Parameters

/** Each film is read whole. Measured by `npm run bench -- cost`. */
export const OPENING_POINTS = 2
/** What the ends of films cost beyond a call's own points, measured likewise. */
export const pointsForEnds = (films: number): number => Math.ceil(films / 6)
const FILMS_AT_ONCE = 4
/** Shots of each film, one frame a shot. */
const SHOTS = 4

export interface Opening {
  video: VideoDocument
  /** In the order of the film. */
  frames: ShownFrame[]
}

/** The newest films first. */
export async function listOpenings(
  search: Pick<LibrarySearch, 'videos' | 'videoFrames'>,
  asked: {
    part?: 'opening' | 'ending' | undefined
    author?: string | undefined
    platform?: Platform | undefined
    after: string | undefined
    limit: number
  },
): Promise<CursorPage<Opening>> {
  const { part = 'opening', ...query } = asked
  const { items, next } = await search.videos(query)
  const ends = await endsOf(search, { ids: items.map(({ id }) => id), part })
  const openings = items.map((video, n) => ({ video, frames: ends[n]! }))
  return { items: openings.filter(({ frames }) => frames.length > 0), next }
}

/** The first or last shots of films, a frame a shot. Few films are in memory at a time. */
export async function endsOf(
  search: Pick<LibrarySearch, 'videoFrames'>,
  { ids, part }: { ids: readonly string[]; part: 'opening' | 'ending' },
): Promise<ShownFrame[][]> {
  const ends: ShownFrame[][] = []
  for (let from = 0; from < ids.length; from += FILMS_AT_ONCE) {
    const some = ids.slice(from, from + FILMS_AT_ONCE)
    ends.push(...(await Promise.all(some.map(async (id) => shotsAt(part, (await search.videoFrames(id)) ?? [])))))
  }
  return ends
}

/** The first frame of each of the first shots, or the last of each of the last. */
function shotsAt(part: 'opening' | 'ending', frames: readonly ShownFrame[]): ShownFrame[] {
  const inOrder = part === 'opening' ? frames : frames.toReversed()
  const shots = new Map<number, ShownFrame>()
  for (const frame of inOrder) {
    const begin = frame.shot_sec?.[0] ?? frame.t_sec
    if (!shots.has(begin)) shots.set(begin, frame)
    if (shots.size === SHOTS) break
  }
  return [...shots.values()].sort((a, b) => a.t_sec - b.t_sec)
}
