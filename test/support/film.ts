import type { Db } from '../../src/db/client.ts'
import { recordFilm } from '../../src/library/films/films.ts'
import type { ExtractedShot } from '../../src/video/extract/extract.ts'
import type { FilmPicture } from '../../src/vocabulary.ts'
import { type SeedVideo, seedVideo } from './seed.ts'

/** What a decode measures of a film: a grey one that moves a little, but for what is given. */
export function filmPicture(given: Partial<FilmPicture['measures']> = {}): FilmPicture {
  const even = (value: number) => Array.from({ length: 32 }, () => value)
  return {
    measures: {
      held_share: 0.2,
      motion: 40,
      luma: 100,
      contrast: 40,
      colour: 15,
      loudness: -20,
      silence_share: 0,
      ...given,
    },
    noSound: null,
    arcs: { motion: even(40), luma: even(100), u: even(128), v: even(128) },
  }
}

/** Shots of these lengths, joined by cuts. */
export function cutShots(seconds: readonly number[]): ExtractedShot[] {
  let at = 0
  return seconds.map((length, n) => {
    const [fromMs, toMs] = [Math.round(at * 1000), Math.round((at + length) * 1000)]
    at += length
    const transition = n === 0 ? 'start' : 'cut'
    return {
      startMs: fromMs,
      endMs: toMs,
      fromMs,
      toMs,
      transition,
      through: null,
      held: 0.2,
      motion: 40,
    }
  })
}

interface SeedFilm extends SeedVideo {
  shots: readonly number[] | ExtractedShot[]
  picture?: Partial<FilmPicture['measures']>
}

/** A ready video as `seedVideo` leaves it, with its shots and its measures. */
export async function seedFilm(db: Db, { shots: given, picture, ...seed }: SeedFilm): Promise<string> {
  const shots = given.map((one) => (typeof one === 'number' ? one : null))
  const cut = shots.every((one) => one !== null) ? cutShots(shots) : (given as ExtractedShot[])
  const durationSec = cut.at(-1)!.toMs / 1000
  const { id } = await seedVideo(db, { durationSec, ...seed })
  await db.transaction((tx) =>
    recordFilm(tx, id, { shots: cut, picture: filmPicture(picture), probe: { durationSec } }),
  )
  return id
}
