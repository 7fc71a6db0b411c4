import { sql } from 'drizzle-orm'
import type { Db } from '../src/db/client.ts'
import { FIGURES } from '../src/library/analytics/figures.ts'
import { recountAnalytics } from '../src/projections/analytics/recount.ts'
import { type About, millisecondsOf, optionsOf } from './support/bench.ts'
import { seedLibrary } from './support/library.ts'
import { seedLivelyEvents } from './support/lively.ts'
import { openTemporaryDatabase } from './support/postgres.ts'
import { median, round } from './support/stats.ts'

/** Aim: at most 3 times one `group by` over the log. */
export const about: About = {
  measures: 'Seconds to count all figures of a log of a million events from its beginning into empty tables.',
  against:
    'one `group by` of the same events, by day, type and what a frame event names, in the same database. ' +
    'PostgreSQL runs it as it does by default: with two more processes. Its rows stay there. They take turns. ' +
    'The events are of a year and of 20,000 frames.',
  figures: [
    { what: 'replay ÷ one `group by`', at: ['ratio'], atMost: 3 },
    { what: 'replay ÷ the same with the memory of the replay', at: ['roomy_ratio'], atMost: 3 },
    { what: 'replay ÷ the same with that memory in one process', at: ['single_ratio'], atMost: 3 },
    { what: 'counting the last day again', at: ['recount_ms'], unit: 'ms' },
    { what: 'top 100 frames of a year, read', at: ['read_ms'], unit: 'ms' },
  ],
}

export async function run(args: string[]): Promise<object | undefined> {
  const values = optionsOf(args, { events: 1_000_000, frames: 20_000, days: 365, rounds: 3 })
  await using database = await openTemporaryDatabase()
  const { db } = database
  await seedLibrary(db, { frames: values.frames })
  // Weekends leave some out.
  const events = await seedLivelyEvents(db, { events: values.events * 1.19, days: values.days })
  await db.$client.query('vacuum analyze events')
  const times: Record<'group' | 'roomy' | 'single' | 'replay' | 'recount' | 'read', number[]> = {
    group: [],
    roomy: [],
    single: [],
    replay: [],
    recount: [],
    read: [],
  }
  for (let n = 0; n < values.rounds; n++) {
    times.group.push(await millisecondsOf(() => groupOnce(db, {})))
    times.roomy.push(await millisecondsOf(() => groupOnce(db, ROOMY)))
    times.single.push(await millisecondsOf(() => groupOnce(db, { ...ROOMY, max_parallel_workers_per_gather: '0' })))
    await db.$client.query('truncate analytics_uses, analytics_figures')
    await db.$client.query(`delete from checkpoints where consumer = 'analytics'`)
    times.replay.push(await millisecondsOf(() => recountAnalytics(db)))
    await db.$client.query('vacuum analyze analytics_uses, analytics_figures')
    await seedLivelyEvents(db, { events: 1, days: 0 })
    times.recount.push(await millisecondsOf(() => recountAnalytics(db)))
    times.read.push(await millisecondsOf(() => FIGURES.saves.read(db, 'frame', lastYear())))
  }
  return {
    bench: 'analytics',
    events,
    ratio: round(median(times.replay.map((ms, n) => ms / times.group[n]!))),
    ratio_of: 'the time to count all figures from the beginning to the time of one group by over the same events',
    roomy_ratio: round(median(times.replay.map((ms, n) => ms / times.roomy[n]!))),
    single_ratio: round(median(times.replay.map((ms, n) => ms / times.single[n]!))),
    group_by_seconds: round(median(times.group) / 1_000),
    replay_seconds: round(median(times.replay) / 1_000),
    recount_ms: round(median(times.recount)),
    read_ms: round(median(times.read)),
  }
}

/** The settings of a replay. */
const ROOMY = { work_mem: '64MB', jit: 'off' }

function groupOnce(db: Db, settings: Record<string, string>): Promise<unknown> {
  return db.transaction(async (tx) => {
    for (const [name, value] of Object.entries(settings))
      await tx.execute(sql`select set_config(${name}, ${value}, true)`)
    await tx.execute(sql`
      select sum(n) from (
        select (time at time zone 'UTC')::date, type, data->>'frame_id', data->>'video_id', data->>'author',
               data->>'technique', data->>'subject', count(*) as n
          from events group by 1, 2, 3, 4, 5, 6, 7) g`)
  })
}

function lastYear() {
  const day = (back: number) => new Date(Date.now() - back * 86_400_000).toISOString().slice(0, 10)
  return { from: day(365), to: day(0), limit: 100 }
}
