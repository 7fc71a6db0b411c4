import { expect } from 'vitest'
import { videos } from '../../src/db/schema/videos.ts'
import { eq } from '../../src/sql/orm.ts'
import { KINDS, PLATFORMS, SHOTS, SUBJECTS, SURFACES, TONES, ZONES } from '../../src/vocabulary.ts'
import type { Engine } from '../support/engines.ts'
import { theMeili } from '../support/meilisearch.ts'
import type { Answer } from '../support/openapi.ts'
import { type SeedFrame, seedVideo } from '../support/seed.ts'
import { openService, type Service } from '../support/service.ts'

/** Names that an exact match must tell apart. */
export const AUTHORS = [
  'Acme',
  'acme',
  'Acme, Inc. "Labs"',
  "O'Brien \\ Söhne",
  'A=B & C?',
  "x') OR 1=1 --",
  'author = "Acme" OR platform EXISTS',
  '100%',
  'Åcme 🎬',
] as const

const GREENS = ['#00ff00', '#00ee00', '#00dd00', '#00cc00', '#00bb00']

export const YOUTUBE_URL = 'https://www.youtube.com/watch?v=dQw4w9WgXcQ'

export interface ContractLibrary {
  service: Service
  /** GET without a key. */
  get(path: string, headers?: Record<string, string>): Promise<Answer>
  videos: Record<'full' | 'short' | 'over' | 'every' | 'words' | 'youtube' | 'plain' | 'failed', string>
  /** Frame ids of the video called `every`. */
  everyFrameIds: string[]
  frameCount: number
  [Symbol.asyncDispose](): Promise<void>
}

/** A library in which every sentence of the read parts can be tried. */
export async function openContractLibrary(engine: Engine): Promise<ContractLibrary> {
  const meili = engine === 'meilisearch' ? theMeili() : undefined
  const service = await openService({ env: meili ? { MEILI_URL: meili.url, MEILI_KEY: meili.key } : {} })
  const { db } = service.stores
  let count = 0
  const seed = async (video: Parameters<typeof seedVideo>[1]) => {
    const seeded = await seedVideo(db, video)
    count += seeded.frameIds.length
    return seeded
  }
  const many = (n: number): SeedFrame[] => Array.from({ length: n }, (_, at) => ({ tSec: at * 0.25 }))
  const full = await seed({ title: 'Exactly one page', author: 'Full Page, Inc.', frames: many(120) })
  const short = await seed({ title: 'One frame short of a page', author: 'Short', frames: many(119) })
  const over = await seed({ title: 'One frame more than a page', author: 'Over', frames: many(121) })
  const every = await seed({
    title: 'Every value',
    author: 'Every',
    frames: [
      ...SUBJECTS.map((subject) => ({ subject })),
      ...SURFACES.map((surface) => ({ surface })),
      ...SHOTS.map((shot) => ({ shot })),
      ...ZONES.map((zone) => ({ zone })),
      ...TONES.map((tone) => ({ tone })),
      ...KINDS.map((kind) => ({ kind })),
      { technique: 'slow-push' },
      { technique: 'whip-pan' },
      { subject: 'ui', tone: 'dark', kind: 'beat' },
      { subject: 'ui', tone: 'bright', kind: 'beat' },
    ] as SeedFrame[],
  })
  const words = await seed({
    title: 'Paper lantern workshop',
    author: 'Words',
    frames: [
      { tSec: 9.5, caption: 'A heron stands in reeds' },
      { tSec: 1.25, composition: 'Two diagonals meet at the gazebo' },
      { tSec: 4, steal: 'Let the trombone enter early' },
      { tSec: 0, onScreenText: 'Install zeppelin now' },
      { tSec: 2.125, caption: 'Nothing of the kind', technique: 'marionette-walk' },
    ],
  })
  for (const author of AUTHORS)
    await seed({ title: `By ${author.length}`, author, frames: [{ phash: '00ff00ff00ff00ff' }] })
  for (const platform of PLATFORMS.filter((name) => name !== 'youtube'))
    await seed({ title: `On ${platform}`, author: `On ${platform}`, platform, frames: [{}] })
  const youtube = await seed({
    title: 'One command to start',
    author: 'Tube',
    platform: 'youtube',
    sourceKey: 'youtube:dQw4w9WgXcQ',
    sourceUrl: YOUTUBE_URL,
    frames: [{ tSec: 3 }, { tSec: 8.5 }, { tSec: 1 }],
  })
  const plain = await seed({ title: 'Uploaded', author: null, frames: [{ tSec: 0.5, palette: GREENS }] })
  // Enough of each kind that the cap of a group shows.
  for (let n = 0; n < 24; n++)
    await seed({
      title: `Quokka film ${n}`,
      author: `Quokka house ${n}`,
      frames: [{ caption: `Quokka number ${n}`, technique: `quokka-move-${n}` }],
    })
  const failed = await seed({
    title: 'Came to nothing',
    author: 'Hidden',
    ready: false,
    frames: [{ caption: 'A hidden heron' }],
  })
  count -= 1
  // Not left annotating: the worker would look after it, and in the end it would be ready.
  await db
    .update(videos)
    .set({ status: 'failed', failureCode: 'seeded', failureMessage: 'Seeded.' })
    .where(eq(videos.id, failed.id))
  await service.drain()
  return {
    service,
    get: service.get,
    videos: {
      full: full.id,
      short: short.id,
      over: over.id,
      every: every.id,
      words: words.id,
      youtube: youtube.id,
      plain: plain.id,
      failed: failed.id,
    },
    everyFrameIds: every.frameIds,
    frameCount: count,
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]()
    },
  }
}

/** A frame as the API shows it. */
export interface ApiFrame {
  id: string
  video_id: string
  t_sec: number
  caption: string | null
  [attribute: string]: unknown
}

/** Every frame of the wall that fits a query, page after page. */
export async function readWall({ get }: ContractLibrary, query: string): Promise<ApiFrame[]> {
  const frames: ApiFrame[] = []
  for (let page = 1; ; page++) {
    const { json, status } = await get(`/api/frames?${query}&page=${page}`)
    expect(status).toBe(200)
    frames.push(...json.frames)
    if (!json.hasMore) return frames
  }
}
