import type { DbOrTx, Tx } from '../../db/client.ts'
import { films, shots, videos } from '../../db/schema/videos.ts'
import { and, asc, eq, inArray, isNotNull, sql } from '../../sql/orm.ts'
import type { Extraction } from '../../video/extract/extract.ts'
import type { FilmPicture, FilmShot, Platform } from '../../vocabulary.ts'
import { type Measures, measureFilm } from './measures.ts'

/** Replaces the shots of a video, and its measures. */
export async function recordFilm(
  tx: Tx,
  videoId: string,
  { shots: found, picture, probe }: Pick<Extraction, 'shots' | 'picture'> & { probe: { durationSec: number } },
): Promise<void> {
  const rows = found.map(({ startMs, endMs, ...shot }, n) => {
    return { ...shot, cleanFromMs: startMs, cleanToMs: endMs, videoId, n }
  })
  await tx.delete(shots).where(eq(shots.videoId, videoId))
  for (let from = 0; from < rows.length; from += 500) await tx.insert(shots).values(rows.slice(from, from + 500))
  const measures = measureFilm(rows, probe.durationSec, picture)
  const film = { picture, measures }
  await tx
    .insert(films)
    .values({ videoId, ...film })
    .onConflictDoUpdate({ target: films.videoId, set: film })
}

export interface FilmBuild {
  shots: readonly FilmShot[]
  measures: Measures
  /** Null where none was measured. */
  picture: FilmPicture | null
  /** Whether the library has its file. */
  isKept: boolean
}

/** How a public film is built; undefined where there is none. */
export async function loadBuild(db: DbOrTx, videoId: string): Promise<FilmBuild | undefined> {
  const [row] = await db
    .select({ durationSec: videos.durationSec, isKept: sql<boolean>`${videos.uploadKey} is not null`, film: films })
    .from(videos)
    .leftJoin(films, eq(films.videoId, videos.id))
    .where(and(eq(videos.id, videoId), isNotNull(videos.firstReadyAt)))
  if (!row) return undefined
  const { film, durationSec, isKept } = row
  if (!film) return { shots: [], picture: null, measures: measureFilm([], durationSec ?? 0, null), isKept }
  const all = await db.select().from(shots).where(eq(shots.videoId, videoId)).orderBy(asc(shots.n))
  return { shots: all, picture: film.picture, measures: film.measures as Measures, isKept }
}

/** A film of the library with what others are compared by. */
export interface FilmRow {
  id: string
  title: string
  author: string | null
  platform: Platform
  measures: Measures
}

/** Every public film whose shots are known. */
export async function loadFilmRows(db: DbOrTx): Promise<FilmRow[]> {
  const { id, title, author, platform } = videos
  const rows = await db
    .select({ id, title, author, platform, measures: films.measures })
    .from(videos)
    .innerJoin(films, eq(films.videoId, videos.id))
    .where(isNotNull(videos.firstReadyAt))
    .orderBy(videos.id)
  return rows as FilmRow[]
}

/** How readers get at films. All are loaded once for each version of the library. */
export interface FilmReads {
  build(videoId: string): Promise<FilmBuild | undefined>
  all(): Promise<readonly FilmRow[]>
}

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
  /** The exact rate, `30000/1001`. Null: it varies. */
  frameRate: string | null
  /** The timecode of the first frame as the file has it; null where it has none. */
  startTimecode: string | null
  /** The clean parts of its shots. What lies between two of them is the transition into the later. */
  shots: readonly { startMs: number; endMs: number; transition: string }[]
}

/** The films of public videos by their ids. A video that was never ready, or whose file was never read, is absent. */
export async function loadFilms(db: DbOrTx, ids: readonly string[]): Promise<Map<string, Film>> {
  const { id, title, sourceUrl, durationSec, width, height, fps, frameRate, startTimecode } = videos
  const rows = await db
    .select({ id, title, sourceUrl, durationSec, width, height, fps, frameRate, startTimecode })
    .from(videos)
    .where(and(inArray(videos.id, ids), isNotNull(videos.firstReadyAt)))
  const { videoId, cleanFromMs: startMs, cleanToMs: endMs, transition } = shots
  const cut = await db
    .select({ videoId, startMs, endMs, transition })
    .from(shots)
    .where(inArray(videoId, ids))
    .orderBy(videoId, asc(shots.n))
  const cutOf = Map.groupBy(cut, (shot) => shot.videoId)
  return new Map(
    rows.flatMap(({ durationSec, width, height, fps, ...film }) => {
      if (!durationSec || !width || !height || !fps) return []
      const durationMs = Math.round(durationSec * 1000)
      const whole = [{ startMs: 0, endMs: durationMs, transition: 'start' }]
      return [[film.id, { ...film, durationMs, width, height, fps, shots: cutOf.get(film.id) ?? whole }] as const]
    }),
  )
}
