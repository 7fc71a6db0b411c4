import { readRunFile } from '../src/cli/context.ts'
import { parseConfig } from '../src/config.ts'
import { openDb } from '../src/db/client.ts'
import { type About, optionsOf } from './support/bench.ts'
import { seedLibrary } from './support/library.ts'
import { seedLivelyEvents } from './support/lively.ts'
import { round } from './support/stats.ts'

/** Aim: 100,000 frames in a minute. The library goes into DATABASE_URL, or into the running local service. */
export const about: About = {
  measures: 'The seconds to fill a database with a made-up library and to build its read model.',
  against: 'nothing: it is a tool for other measurements.',
  figures: [{ what: '100,000 frames with their documents', at: ['seconds'], atMost: 60, unit: 's' }],
}

export async function run(args: string[]): Promise<object | undefined> {
  const values = optionsOf(args, { frames: 100_000, seed: 1, lively: 0 })
  const config = parseConfig(process.env)
  const url = config.databaseUrl ?? readRunFile(config.dataDir)?.database
  if (!url) {
    console.error('seed: run npm start or set DATABASE_URL')
    process.exitCode = 1
    return undefined
  }
  const db = openDb({ url, statementTimeoutMs: 0 })
  try {
    const started = performance.now()
    const added = await seedLibrary(db, { frames: values.frames, seed: values.seed })
    const seconds = (performance.now() - started) / 1000
    const events = await seedLivelyEvents(db, { events: values.lively, days: 30, seed: values.seed })
    if (events > 0) console.log(`${events} events of the last 30 days`)
    return {
      bench: 'seed',
      ...added,
      seconds: round(seconds),
      frames_per_second: Math.round(added.frames / seconds),
    }
  } finally {
    await db.$client.end()
  }
}
