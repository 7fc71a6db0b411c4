import { and, asc, eq, inArray, isNotNull, type SQL, sql } from 'drizzle-orm'
import type { Db, DbOrTx, Tx } from '../../db/client.ts'
import { films, shots, type VideoRow, videos } from '../../db/schema/videos.ts'
import type { Extraction } from '../../video/extract/extract.ts'
import type { FilmPicture, FilmShot, Platform, Transition } from '../../vocabulary.ts'
import { GRAMMAR_VERSION, type Measures, measureFilm } from './measures.ts'

/** Replaces the shots of a video, and its grammar. */
export async function recordFilm(
  tx: Tx,
  videoId: string,
  { shots: found, picture, probe }: Pick<Extraction, 'shots' | 'picture'> & { probe: { durationSec: number } },
): Promise<void> {
  const rows = toFilmShots(found).map((shot, n) => ({ ...shot, videoId, n }))
  await tx.delete(shots).where(eq(shots.videoId, videoId))
  for (let from = 0; from < rows.length; from += 500) await tx.insert(shots).values(rows.slice(from, from + 500))
  const measures = measureFilm(rows, probe.durationSec, picture)
  const film = { version: GRAMMAR_VERSION, picture, measures }
  await tx
    .insert(films)
    .values({ videoId, ...film })
    .onConflictDoUpdate({ target: films.videoId, set: film })
}

/** The shots that an extraction found, as films have them. */
function toFilmShots(found: Extraction['shots']): FilmShot[] {
  return found.map(({ startMs, endMs, ...shot }) => ({ ...shot, cleanFromMs: startMs, cleanToMs: endMs }))
}

export interface FilmGrammar {
  shots: readonly FilmShot[]
  measures: Measures
  /** Null: the film was read before its picture was measured. */
  picture: FilmPicture | null
}

/** How a public film is built; undefined where there is none. Films that were never cut into shots have none. */
export async function loadGrammar(db: DbOrTx, videoId: string): Promise<FilmGrammar | undefined> {
  const [row] = await db
    .select({ durationSec: videos.durationSec, old: videos.shots, film: films })
    .from(videos)
    .leftJoin(films, eq(films.videoId, videos.id))
    .where(and(eq(videos.id, videoId), isNotNull(videos.firstReadyAt)))
  if (!row) return undefined
  const stored = await db.select().from(shots).where(eq(shots.videoId, videoId)).orderBy(asc(shots.n))
  const all = stored.length > 0 ? stored : fromOldShots(row.old)
  return { shots: all, picture: row.film?.picture ?? null, measures: measuresOf(row.film, all, row.durationSec) }
}

/** A film of the library with what others are compared by. */
export interface ShelfFilm {
  id: string
  title: string
  author: string | null
  platform: Platform
  measures: Measures
}

/** Every public film whose shots are known. */
export async function loadShelf(db: DbOrTx): Promise<ShelfFilm[]> {
  const isCurrent = sql`${films.version} = ${GRAMMAR_VERSION}`
  const rows = await db
    .select({
      id: videos.id,
      title: videos.title,
      author: videos.author,
      platform: videos.platform,
      durationSec: videos.durationSec,
      version: films.version,
      measures: films.measures,
      picture: sql<FilmPicture | null>`case when not ${isCurrent} then ${films.picture} end`,
      old: sql<VideoRow['shots']>`case when ${isCurrent} then null else ${videos.shots} end`,
    })
    .from(videos)
    .leftJoin(films, eq(films.videoId, videos.id))
    .where(isNotNull(videos.firstReadyAt))
    .orderBy(videos.id)
  return rows.flatMap(({ durationSec, version, measures, picture, old, platform, ...film }) => {
    const all = fromOldShots(old)
    if (all.length === 0 && version !== GRAMMAR_VERSION) return []
    const stored = version === null ? null : { version, picture, measures: measures! }
    return { ...film, platform: platform as Platform, measures: measuresOf(stored, all, durationSec) }
  })
}

/** How readers get at films. The shelf is loaded once for each version of the library. */
export interface FilmReads {
  grammar(videoId: string): Promise<FilmGrammar | undefined>
  shelf(): Promise<readonly ShelfFilm[]>
}

const FILMS_AT_ONCE = 100

/** Writes the grammar of films again that an earlier version wrote. Until then readers compute it at every change. */
export async function backfillGrammar(db: Db, signal?: AbortSignal): Promise<void> {
  // No row of a later version: during an upgrade both versions run.
  const number = sql`split_part(${films.version}, '@', 2)::int`
  const isOlder = sql`${number} < ${Number(GRAMMAR_VERSION.split('@')[1])}`
  while (!signal?.aborted) {
    const older = await db.select({ id: films.videoId }).from(films).where(isOlder).limit(FILMS_AT_ONCE)
    if (older.length === 0) return
    for (const { id } of older) await db.transaction((tx) => measureAgain(tx, and(eq(films.videoId, id), isOlder)!))
  }
}

/** The film's row is locked before its shots are read: whoever reads the film again waits, or has done so. */
async function measureAgain(tx: Tx, which: SQL): Promise<void> {
  const [film] = await tx.select().from(films).where(which).for('update')
  if (!film) return
  const [video] = await tx.select({ sec: videos.durationSec }).from(videos).where(eq(videos.id, film.videoId))
  const all = await tx.select().from(shots).where(eq(shots.videoId, film.videoId)).orderBy(asc(shots.n))
  const set = { version: GRAMMAR_VERSION, measures: measuresOf(film, all, video?.sec ?? null) }
  await tx.update(films).set(set).where(eq(films.videoId, film.videoId))
}

function measuresOf(
  film: { version: string; picture: FilmPicture | null; measures: Record<string, number | null> } | null,
  all: readonly FilmShot[],
  durationSec: number | null,
): Measures {
  if (film?.version === GRAMMAR_VERSION) return film.measures as Measures
  return measureFilm(all, durationSec ?? (all.at(-1)?.toMs ?? 0) / 1000, film?.picture ?? null)
}

/** Shots as earlier versions stored them: the clean parts alone. A gradual transition then changes in its middle. */
function fromOldShots(old: VideoRow['shots']): FilmShot[] {
  const all = old ?? []
  const middle = (n: number) => Math.round((all[n - 1]!.endMs + all[n]!.startMs) / 2)
  return all.map(({ startMs, endMs, transition }, n) => ({
    fromMs: n === 0 ? startMs : middle(n),
    toMs: n === all.length - 1 ? endMs : middle(n + 1),
    cleanFromMs: startMs,
    cleanToMs: endMs,
    transition: transition as Transition,
    through: null,
    held: null,
    motion: null,
    camera: null,
    jumps: null,
  }))
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
  /** The exact rate, `30000/1001`. Null: it varies, or the film was read before rates were kept. */
  frameRate: string | null
  /** The timecode of the first frame as the file has it; null where it has none. */
  startTimecode: string | null
  /** The clean parts of its shots. What lies between two of them is the transition into the later. */
  shots: readonly { startMs: number; endMs: number; transition: string }[]
}

/** The films of public videos by their ids. A video that was never ready, or whose file was never read, is absent. */
export async function loadFilms(db: DbOrTx, ids: readonly string[]): Promise<Map<string, Film>> {
  const { id, title, sourceUrl, durationSec, width, height, fps, frameRate, startTimecode, shots: cut } = videos
  const rows = await db
    .select({ id, title, sourceUrl, durationSec, width, height, fps, frameRate, startTimecode, cut })
    .from(videos)
    .where(and(inArray(videos.id, ids), isNotNull(videos.firstReadyAt)))
  return new Map(
    rows.flatMap(({ durationSec, width, height, fps, cut, ...film }) => {
      if (!durationSec || !width || !height || !fps) return []
      const durationMs = Math.round(durationSec * 1000)
      const whole = [{ startMs: 0, endMs: durationMs, transition: 'start' }]
      return [[film.id, { ...film, durationMs, width, height, fps, shots: cut?.length ? cut : whole }] as const]
    }),
  )
}
