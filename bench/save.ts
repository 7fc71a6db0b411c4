import type { Db } from '../src/db/client.ts'
import { createAccount } from '../src/library/accounts/accounts.ts'
import { saveFrame } from '../src/library/collections/saves.ts'
import { type About, inTurns, optionsOf } from './support/bench.ts'
import { seedLibrary } from './support/library.ts'
import { openTemporaryDatabase } from './support/postgres.ts'

/** Aim: half of what the bare inserts reach. */
export const about: About = {
  measures: '`saveFrame()` per second with eight clients: rule, row, counts and event.',
  against:
    'the same two inserts in one transaction through pg, on the same tables, in turns. The first ratio waits for the ' +
    'disk at each commit as production does, the second does not.',
  figures: [
    { what: 'saves per second ÷ two inserts per second', at: ['ratio'], atLeast: 0.5 },
    { what: 'the same, commits in memory', at: ['ratio_in_memory'] },
  ],
}

export async function run(args: string[]): Promise<object | undefined> {
  const values = optionsOf(args, { saves: 1_600, rounds: 7 })
  const durable = await measure({ ...values, durable: true })
  const inMemory = await measure({ ...values, durable: false })
  return {
    bench: 'save',
    ratio: durable.ratio,
    ratio_in_memory: inMemory.ratio,
    ratio_of: 'saveFrame() per second ÷ the same two inserts in one transaction through pg per second, 8 clients',
    saves_per_second: durable.ours,
    inserts_per_second: durable.bare,
  }
}

const CLIENTS = 8

async function measure({ saves, rounds, durable }: { saves: number; rounds: number; durable: boolean }) {
  await using database = await openTemporaryDatabase({ durable })
  const { db } = database
  await seedLibrary(db, { frames: saves })
  await db.$client.query('vacuum analyze')
  const { rows: frames } = await db.$client.query<{
    id: string
    video_id: string
    author: string
    technique: string
    subject: string
  }>(
    `select f.id, f.video_id, v.author, f.technique, f.subject from frames f join videos v on v.id = f.video_id
      order by md5(f.id) limit $1`,
    [saves],
  )
  let people = 0
  const newAccount = async () => (await createAccount(db, { email: `bench${++people}@example.org` })).id
  // Awaited here: the database stops when this function ends.
  return await inTurns(
    {
      ours: async () => {
        const accountId = await newAccount()
        return perSecond(frames, (frame) => saveFrame(db, { accountId, frameId: frame.id }))
      },
      bare: async () => {
        const accountId = await newAccount()
        return perSecond(frames, (frame) => twoInserts(db, accountId, frame))
      },
    },
    { rounds },
  )
}

async function perSecond<T>(items: readonly T[], act: (item: T) => Promise<unknown>): Promise<number> {
  const queue = items.values()
  const started = performance.now()
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      for (const item of queue) await act(item)
    }),
  )
  return items.length / ((performance.now() - started) / 1000)
}

async function twoInserts(
  db: Db,
  accountId: string,
  frame: { id: string; video_id: string; author: string; technique: string; subject: string },
): Promise<void> {
  const client = await db.$client.connect()
  try {
    await client.query('begin')
    await client.query(
      'insert into saves (account_id, frame_id) values ($1, $2) on conflict do nothing returning frame_id',
      [accountId, frame.id],
    )
    await client.query('insert into events (type, subject, account_id, data) values ($1, $2, $3, $4)', [
      'frame.saved',
      frame.id,
      accountId,
      JSON.stringify({
        frame_id: frame.id,
        video_id: frame.video_id,
        author: frame.author,
        technique: frame.technique,
        subject: frame.subject,
      }),
    ])
    await client.query('commit')
  } finally {
    client.release()
  }
}
