import { parseArgs } from 'node:util'
import { createAccount } from '../src/library/accounts/accounts.ts'
import { authenticate, createKey } from '../src/library/accounts/keys.ts'
import type { About } from './support/bench.ts'
import { openTemporaryDatabase } from './support/postgres.ts'
import { median, round } from './support/stats.ts'

/** Aim: at most 1.3 times the bare look-up. */
export const about: About = {
  measures: 'The time of a whole key check: checksum, SHA-256, look-up with the account.',
  against: 'one prepared primary-key look-up through pg, call by call in turns.',
  figures: [{ what: 'key check ÷ look-up', at: ['ratio'], atMost: 1.3 }],
}

export async function run(args: string[]): Promise<object | undefined> {
  const { values } = parseArgs({
    args,
    options: {
      keys: { type: 'string', default: '2000' },
      rounds: { type: 'string', default: '5' },
      json: { type: 'boolean' },
    },
  })
  await using database = await openTemporaryDatabase()
  const { db } = database
  const keys: { key: string; id: string }[] = []
  for (let n = 0; n < Number(values.keys); n++) {
    const account = await createAccount(db, { email: `bench${n}@example.org`, plan: 'pro' })
    const { key, record } = await createKey(db, { accountId: account.id, name: 'bench' })
    keys.push({ key, id: record.id })
  }
  await db.$client.query('vacuum analyze')
  const byId = { name: 'by-id', text: 'select * from api_keys where id = $1' }
  const ours: number[] = []
  const bare: number[] = []
  for (let n = 0; n <= Number(values.rounds); n++) {
    // Calls take turns, so that other load on the machine weighs on both sides.
    for (const [at, key] of keys.entries()) {
      const turns: [number[], () => Promise<unknown>][] = [
        [ours, () => authenticate(db, key.key)],
        [bare, () => db.$client.query({ ...byId, values: [key.id] })],
      ]
      if (at % 2) turns.reverse()
      for (const [figures, act] of turns) {
        const started = performance.now()
        await act()
        if (n > 0) figures.push((performance.now() - started) * 1000)
      }
    }
  }
  const ratio = round(median(ours) / median(bare))
  if (!values.json)
    console.log(`key check ${round(median(ours))} µs, primary-key look-up ${round(median(bare))} µs, ratio ${ratio}`)
  return {
    bench: 'key-check',
    ratio,
    ratio_of: 'time of authenticate() ÷ time of one prepared primary-key look-up',
    key_check_us: round(median(ours)),
    lookup_us: round(median(bare)),
  }
}
