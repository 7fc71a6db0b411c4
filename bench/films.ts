import { sql } from 'drizzle-orm'
import type { Db } from '../src/db/client.ts'
import { similarFilms, standingOf } from '../src/library/films/comparison.ts'
import { loadShelf, recordFilm } from '../src/library/films/films.ts'
import { openPostgresSearch } from '../src/search/postgres/search.ts'
import { toFcpxml, toXmeml } from '../src/timeline/final-cut.ts'
import { toOtio } from '../src/timeline/otio.ts'
import { checkTimeline, type Timeline } from '../src/timeline/timeline.ts'
import { toSequenceQuery } from '../src/views/sequences.ts'
import { SUBJECTS, SURFACES } from '../src/vocabulary.ts'
import { seededRandom } from '../test/support/seeded-random.ts'
import { type About, inTurns, millisecondsOf, optionsOf } from './support/bench.ts'
import { seedLibrary } from './support/library.ts'
import { openTemporaryDatabase } from './support/postgres.ts'
import { percentile, round } from './support/stats.ts'

/** Aims: percentiles in 20 ms at 5,000 films, sequences in 50 ms at a million frames (`--frames 1000000`). */
export const about: About = {
  measures:
    'The time of ranking a film among all, of finding films like it, and of sequences. The shelf of films is loaded ' +
    'once for each version of the library. The timeline of 1,000 clips is checked and written.',
  against: 'for the shelf a bare `select` of the same rows; for sequences a self-join by the times of frames alone.',
  figures: [
    { what: 'shelf of films ÷ a bare `select`', at: ['shelf', 'ratio'], atMost: 2 },
    { what: 'ranks of a film, 95th percentile', at: ['ranks_ms'], atMost: 20, unit: 'ms' },
    { what: 'films like one, 95th percentile', at: ['similar_ms'], atMost: 50, unit: 'ms' },
    { what: 'sequences, 95th percentile', at: ['sequences_ms'], atMost: 50, unit: 'ms' },
    {
      what: 'a timeline of 1,000 clips, the slowest form, 95th percentile',
      at: ['timeline_ms'],
      atMost: 50,
      unit: 'ms',
    },
    { what: 'sequences ÷ a bare self-join', at: ['sequences', 'ratio'] },
  ],
}

export async function run(args: string[]): Promise<object> {
  const { frames, films, rounds } = optionsOf(args, { frames: 100_000, films: 5_000, rounds: 30 })
  await using database = await openTemporaryDatabase()
  const { db } = database
  await seedLibrary(db, { frames, framesPerVideo: Math.max(2, Math.round(frames / films)) })
  await seedFilms(db)
  await db.execute(sql`analyze`)
  const bareShelf = () =>
    db.execute(sql`select v.id, v.title, v.author, f.measures from videos v join films f on true
    where f.video_id = v.id order by v.id`)
  const shelf = await inTurns(
    { ours: () => millisecondsOf(() => loadShelf(db)), bare: () => millisecondsOf(bareShelf) },
    { rounds: 7 },
  )
  const all = await loadShelf(db)
  const some = Array.from({ length: rounds }, (_, n) => all[Math.floor((n * all.length) / rounds)]!)
  const timesOf = async (act: (film: (typeof some)[number]) => unknown) => {
    const times: number[] = []
    for (const film of some) times.push(await millisecondsOf(async () => act(film)))
    return round(percentile(times, 0.95))
  }
  const search = openPostgresSearch(db.$client)
  const pairs = some.map((_, n) => {
    const [subject, surface] = [SUBJECTS[n % SUBJECTS.length]!, SURFACES[(n * 5) % SURFACES.length]!]
    return { subject, surface, seq: `subject.${subject}~3s~surface.${surface}` }
  })
  const times: number[] = []
  for (const { seq } of pairs)
    times.push(await millisecondsOf(() => search.sequences(toSequenceQuery({ seq }, { limit: 20 }))))
  let at = 0
  const next = () => pairs[at++ % pairs.length]!
  const sequences = await inTurns(
    {
      ours: () => millisecondsOf(() => search.sequences(toSequenceQuery({ seq: next().seq }, { limit: 20 }))),
      bare: () => millisecondsOf(() => selfJoin(db, next())),
    },
    { rounds },
  )
  return {
    bench: 'films',
    films: all.length,
    frames,
    shelf,
    ranks_ms: await timesOf((film) => standingOf(film, all)),
    similar_ms: await timesOf((film) => similarFilms(film, all, { view: 'style', limit: 8 })),
    timeline_ms: Math.max(...(await timelineTimes(rounds))),
    sequences_ms: round(percentile(times, 0.95)),
    sequences,
    ratio: sequences.ratio,
  }
}

/** Of each form, the 95th percentile. Every fifth clip mixes, each has a marker. */
async function timelineTimes(rounds: number): Promise<number[]> {
  const rate = { num: 30_000, den: 1001 }
  const size = { width: 1920, height: 1080 }
  const media = { id: 'v', fileName: 'launch.mp4', title: 'Launch', url: null, rate, ...size, length: 60_000 }
  const clips = Array.from({ length: 1000 }, (_, n) => ({
    ...{ name: `Shot ${n + 1}`, media: { ...media, start: 0, drop: true }, from: n * 60, to: n * 60 + 60 },
    ...(n > 0 && n % 5 === 0 ? { mix: { before: 5, behind: 5 } } : {}),
    markers: [{ frame: n * 60 + 30, name: 'A card on a table', note: 'Let the light in from the left.' }],
  }))
  const whole: Timeline = { name: 'Launch', rate, start: 107_892, drop: true, clips }
  const times: number[] = []
  for (const write of [toOtio, toXmeml, toFcpxml]) {
    const each: number[] = []
    for (let n = 0; n < rounds; n++)
      each.push(
        await millisecondsOf(async () => {
          checkTimeline(whole)
          write(whole)
        }),
      )
    times.push(round(percentile(each, 0.95)))
  }
  return times
}

const selfJoin = (db: Db, { subject, surface }: { subject: string; surface: string }) =>
  db.execute(sql`select a.id, b.id from library_search.frames a
    join lateral (select id from library_search.frames b where b.video_id = a.video_id and b.surface = ${surface}
      and b.t_ms > a.t_ms and b.t_ms <= a.t_ms + 3000 order by b.t_ms limit 1) b on true
    where a.subject = ${subject} order by a.added_ms desc limit 20`)

/** Invented shots for every video. */
async function seedFilms(db: Db): Promise<void> {
  const { rows } = await db.execute<{ id: string }>(sql`select id from videos order by id`)
  const random = seededRandom(7)
  const even = Array.from({ length: 32 }, () => 100)
  for (const { id } of rows) {
    const lengths = Array.from({ length: 5 + Math.floor(random() * 30) }, () => 500 + Math.round(random() * 6000))
    let fromMs = 0
    const shots = lengths.map((length, n) => {
      const [startMs, endMs] = [fromMs, fromMs + length]
      fromMs = endMs
      const transition = n === 0 ? ('start' as const) : ('cut' as const)
      return {
        startMs,
        endMs,
        fromMs: startMs,
        toMs: endMs,
        transition,
        through: null,
        held: random(),
        motion: 40,
      }
    })
    const some = (most: number) => Math.round(random() * most * 1000) / 1000
    const picture = {
      measures: {
        ...{ held_share: some(1), motion: some(500), luma: some(255), contrast: some(60), colour: some(30) },
        ...{ loudness: -some(30), silence_share: some(1) },
      },
      noSound: null,
      arcs: { motion: even, luma: even, u: even, v: even },
    }
    await db.transaction((tx) => recordFilm(tx, id, { shots, picture, probe: { durationSec: fromMs / 1000 } }))
  }
}
