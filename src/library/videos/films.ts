import { and, inArray, isNotNull } from 'drizzle-orm'
import type { DbOrTx } from '../../db/client.ts'
import { videos } from '../../db/schema/videos.ts'

/** What a public video's file says of its pictures and shots. */
export interface Film {
  id: string
  title: string
  sourceUrl: string | null
  durationMs: number
  width: number
  height: number
  /** Rounded to three decimals. */
  fps: number
  /** The exact rate, `30000/1001`. Null: it varies, or the film was read before rates were kept. */
  frameRate: string | null
  /** The timecode of the first frame as the file has it; null where it has none. */
  startTimecode: string | null
  /** The clean parts of its shots. What lies between two of them is the transition into the later. */
  shots: readonly { startMs: number; endMs: number; transition: string }[]
}

/** The films of public videos by their ids. A video that was never ready, or whose file was never read, is absent. */
export async function loadFilms(db: DbOrTx, ids: readonly string[]): Promise<Map<string, Film>> {
  const rows = await db
    .select({
      id: videos.id,
      title: videos.title,
      sourceUrl: videos.sourceUrl,
      durationSec: videos.durationSec,
      width: videos.width,
      height: videos.height,
      fps: videos.fps,
      frameRate: videos.frameRate,
      startTimecode: videos.startTimecode,
      shots: videos.shots,
    })
    .from(videos)
    .where(and(inArray(videos.id, ids), isNotNull(videos.firstReadyAt)))
  return new Map(
    rows.flatMap(({ durationSec, width, height, fps, shots, ...film }) => {
      if (!durationSec || !width || !height || !fps) return []
      const durationMs = Math.round(durationSec * 1000)
      const whole = [{ startMs: 0, endMs: durationMs, transition: 'start' }]
      return [[film.id, { ...film, durationMs, width, height, fps, shots: shots?.length ? shots : whole }] as const]
    }),
  )
}
