import { parseArgs } from 'node:util'
import type { Db } from '../src/db/client.ts'
import { createAccount } from '../src/library/accounts/accounts.ts'
import { saveFrame } from '../src/library/collections/saves.ts'
import type { About } from './support/bench.ts'
import { seedLibrary } from './support/library.ts'
import { openTemporaryDatabase } from './support/postgres.ts'
import { median, round } from './support/stats.ts'

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
  const { values } = parseArgs({
    args,
    options: {
      saves: { type: 'string', default: '1600' },
      rounds: { type: 'string', default: '7' },
      json: { type: 'boolean' },
    },
  })
  const counts = { saves: Number(values.saves), rounds: Number(values.rounds) }
  const durable = await measure({ ...counts, durable: true })
  const inMemory = await measure({ ...counts, durable: false })
  if (!values.json) {
    console.log('commits        saveFrame/s   two inserts/s   ratio')
    for (const [name, { ours, bare, ratio }] of [
      ['to disk', durable],
      ['in memory', inMemory],
    ] as const)
      console.log(
        `${name.padEnd(12)} ${String(ours).padStart(13)} ${String(bare).padStart(15)} ${String(ratio).padStart(7)}`,
      )
  }
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
  const ours: number[] = []
  const bare: number[] = []
  for (let n = 0; n <= rounds; n++) {
    const [one, other] = [await newAccount(), await newAccount()]
    const turns: [number[], () => Promise<number>][] = [
      [ours, () => perSecond(frames, (frame) => saveFrame(db, { accountId: one, frameId: frame.id }))],
      [bare, () => perSecond(frames, (frame) => twoInserts(db, other, frame))],
    ]
    if (n % 2) turns.reverse()
    for (const [figures, turn] of turns) {
      const figure = await turn()
      // The first round warms up.
      if (n > 0) figures.push(figure)
    }
  }
  return {
    ours: Math.round(median(ours)),
    bare: Math.round(median(bare)),
    ratio: round(median(ours.map((figure, n) => figure / bare[n]!))),
  }
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
