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
  const openings = await Promise.all(
    items.map(async (video) => ({ video, frames: await endsOf(search, { id: video.id, part }) })),
  )
  return { items: openings.filter(({ frames }) => frames.length > 0), next }
}

/** The first or last shots of a film, a frame a shot. */
export async function endsOf(
  search: Pick<LibrarySearch, 'videoFrames'>,
  { id, part }: { id: string; part: 'opening' | 'ending' },
): Promise<ShownFrame[]> {
  return shotsAt(part, (await search.videoFrames(id)) ?? [])
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
