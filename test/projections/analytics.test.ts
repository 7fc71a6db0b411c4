import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { openDb } from '../../src/db/client.ts'
import { events } from '../../src/db/schema/events.ts'
import { EVENTS, type EventData, type NewEvent } from '../../src/events/catalogue.ts'
import { FIGURES } from '../../src/library/analytics/figures.ts'
import { ANALYTICS, recountAnalytics } from '../../src/projections/analytics.ts'
import { sql } from '../../src/sql/orm.ts'
import { seededRandom } from '../support/seeded-random.ts'
import { untilReadable, useStores } from '../support/stores.ts'

const stores = useStores()
beforeAll(async () => {
  await writeLog(1, 600)
  // Corrected within the day: the same frame under two techniques.
  await append(`${DAYS[1]}T12:00:00Z`, [
    saved(1, 'acc1'),
    { ...saved(1, 'acc1'), data: { ...facts(1), technique: 'm' } },
  ])
})

const DAYS = ['2026-10-30', '2026-10-31', '2026-11-01', '2026-11-02']
const range = { from: DAYS[0]!, to: DAYS.at(-1)!, limit: 1_000 }

test('the figures are those that a plain walk over the events gives', async () => {
  await countAll()
  const { rows } = await stores.db.$client.query<{
    type: string
    day: string
    account_id: string | null
    data: EventData<'frame.unsaved'>
  }>(`select type, to_char(time at time zone 'UTC', 'YYYY-MM-DD') as day, account_id, data from events`)
  const tally = (keyOf: (row: (typeof rows)[number]) => string | null) => {
    const counts: Record<string, { saves: number; unsaves: number; pins: number; unpins: number }> = {}
    const names = {
      'frame.saved': 'saves',
      'frame.unsaved': 'unsaves',
      'board.frame_pinned': 'pins',
      'board.frame_unpinned': 'unpins',
    } as const
    for (const row of rows) {
      const name = names[row.type as keyof typeof names]
      if (name === undefined) continue
      counts[String(keyOf(row))] ??= { saves: 0, unsaves: 0, pins: 0, unpins: 0 }
      counts[String(keyOf(row))]![name]++
    }
    return counts
  }
  const read = async (by: string) =>
    Object.fromEntries(
      (await FIGURES.saves.read(stores.db, by, range)).map(({ key, ...counts }) => [String(key), counts]),
    )
  expect(await read('day')).toEqual(tally(({ day }) => day))
  expect(await read('frame')).toEqual(tally(({ data }) => data.frame_id))
  expect(await read('video')).toEqual(tally(({ data }) => data.video_id))
  // Some events name no brand: they are counted under null.
  expect(await read('brand')).toEqual(tally(({ data }) => data.author))
  expect(await read('technique')).toEqual(tally(({ data }) => data.technique))
  expect(await read('subject')).toEqual(tally(({ data }) => data.subject))

  const active = DAYS.map((day) => {
    // Who loses a save because a video was deleted has done nothing.
    const acts = rows.filter((row) => row.day === day && row.account_id && (row.data.cause ?? 'owner') === 'owner')
    return new Set(acts.map((row) => row.account_id)).size
  })
  const activity = await FIGURES.activity.read(stores.db, 'day', range)
  expect(activity.map((row) => row.active_accounts)).toEqual(active)

  const costs = rows.filter(({ type }) => type === 'model.called').map(({ data }) => data as never as { cost_usd: 0.1 })
  const [model] = await FIGURES.model.read(stores.db, 'model', range)
  expect(model).toMatchObject({ key: 'seer', calls: costs.length })
  expect(model!.cost_usd).toBeCloseTo(
    costs.reduce((sum, { cost_usd }) => sum + (cost_usd ?? 0), 0),
    9,
  )
  expect(await FIGURES.stages.read(stores.db, 'stage', range)).toEqual([
    expect.objectContaining({ key: 'extracting', seconds_mean: 2.5 }),
  ])
  const searches = await FIGURES.searches.read(stores.db, 'term', range)
  expect(searches.map(({ key }) => key)).toEqual(expect.arrayContaining(['blue kite', null]))
})

test('random cuts, repeats and several runs at once give the same tables as one pass into an empty store', async () => {
  await countAll()
  const expected = await checksum()
  const random = seededRandom(3)
  for (let round = 0; round < 4; round++) {
    await forget()
    for (let step = 0; step < 12; step++) {
      const batch = 1 + Math.floor(random() * 200)
      await Promise.all([
        recountAnalytics(stores.db, { batch, signal: stopAfterOne() }),
        recountAnalytics(stores.db, { batch: batch * 2, signal: stopAfterOne() }),
      ])
      // Events that were counted come again.
      if (random() < 0.4)
        await stores.db.execute(sql`
          update checkpoints c set (xid, seq) =
                 (select xid, seq from events e where (e.xid, e.seq) < (c.xid, c.seq) order by random() limit 1)
           where consumer = ${ANALYTICS} and exists
                 (select from events e where (e.xid, e.seq) < (c.xid, c.seq))`)
    }
    await countAll()
    expect(await checksum()).toBe(expected)
  }
})

test('a process that is killed between the effect and the commit counts nothing twice', async () => {
  await countAll()
  const expected = await checksum()
  await forget()
  for (const batches of [0, 1, 3]) {
    const before = await checksum()
    const program = join(import.meta.dirname, 'recount-process.ts')
    const child = spawn(process.execPath, [program, String(batches)], {
      env: { ...process.env, DATABASE_URL: stores.databaseUrl },
      stdio: 'inherit',
    })
    expect(await once(child, 'exit')).toEqual([null, 'SIGKILL'])
    if (batches === 0) expect(await checksum()).toBe(before)
  }
  await countAll()
  expect(await checksum()).toBe(expected)
})

test.each([1, 2])(
  'a pool of %i connections counts the same, and two runs at once do not wait for themselves',
  async (max) => {
    await countAll()
    const expected = await checksum()
    await forget()
    const db = openDb({ url: stores.databaseUrl, max })
    await Promise.all([recountAnalytics(db), recountAnalytics(db, { batch: 40 })])
    await db.$client.end()
    expect(await checksum()).toBe(expected)
  },
)

test('events that come later change the figures of their own day', async () => {
  await countAll()
  const before = await FIGURES.saves.read(stores.db, 'day', range)
  await append('2026-10-31T23:59:59.999Z', [saved(1, 'acc1')])
  await append('2026-11-01T00:00:00Z', [saved(1, 'acc1')])
  await countAll()
  const after = await FIGURES.saves.read(stores.db, 'day', range)
  expect(after.map(({ saves }, at) => Number(saves) - Number(before[at]!.saves))).toEqual([0, 1, 1, 0])
})

test('a key has all its figures, also where another key is the first of one of them', async () => {
  const day = '2026-11-04'
  const terms = [
    { kind: 'unanswered' as const, term: 'a', count: 5 },
    { kind: 'weak' as const, term: 'a', count: 3 },
    { kind: 'weak' as const, term: 'b', count: 4 },
  ]
  await append(`${day}T10:00:00Z`, [
    { type: 'searches.counted', subject: 'search', accountId: null, data: { askers: [], terms } },
  ])
  await countAll()
  expect(await FIGURES.searches.read(stores.db, 'term', { from: day, to: day, limit: 1 })).toEqual([
    { key: 'a', searches: null, unanswered: 5, weak: 3 },
  ])
})

test('an account whose share an operator ends was not active', async () => {
  const days = ['2026-11-05', '2026-11-06'] as const
  const unshared = (by: 'owner' | 'operator'): NewEvent[] => [
    { type: 'board.unshared', subject: 'b1', accountId: 'acc1', data: { board_id: 'b1', name: 'B', ended_by: by } },
  ]
  await append(`${days[0]}T10:00:00Z`, unshared('operator'))
  await append(`${days[1]}T10:00:00Z`, unshared('owner'))
  await countAll()
  const rows = await FIGURES.activity.read(stores.db, 'day', { from: days[0], to: days[1], limit: 10 })
  expect(rows.map((row) => row.active_accounts)).toEqual([0, 1])
})

async function countAll(): Promise<void> {
  await untilReadable(stores.db)
  await recountAnalytics(stores.db)
}

async function forget(): Promise<void> {
  await stores.db.$client.query('truncate analytics_uses, analytics_figures')
  await stores.db.$client.query('delete from checkpoints where consumer = $1', [ANALYTICS])
}

/** Of both tables, with the decimals of every amount. */
async function checksum(): Promise<string> {
  const { rows } = await stores.db.$client.query<{ sum: string }>(`
    select md5(coalesce(string_agg(line, E'\\n' order by line collate "C"), '')) as sum from (
      select u::text as line from analytics_uses u union all select f::text from analytics_figures f) t`)
  return rows[0]!.sum
}

/** Lets one batch through. */
function stopAfterOne(): AbortSignal {
  let reads = 0
  return {
    get aborted() {
      return reads++ > 0
    },
  } as AbortSignal
}

/** Events as `appendEvents` writes them, of another time. */
async function append(time: string, list: NewEvent[]): Promise<void> {
  const rows = list.map(({ data, ...event }) => ({
    ...event,
    time: new Date(time),
    data: EVENTS[event.type].parse(data) as Record<string, unknown>,
  }))
  await stores.db.insert(events).values(rows)
}

function saved(n: number, accountId: string): NewEvent<'frame.saved'> {
  return { type: 'frame.saved', subject: `f${n}`, accountId, data: facts(n) }
}

function facts(n: number): EventData<'frame.saved'> {
  return {
    frame_id: `f${n}`,
    video_id: `v${n % 5}`,
    author: n % 4 === 0 ? null : `Brand ${n % 3}`,
    technique: n % 6 === 0 ? null : `move-${n % 7}`,
    subject: 'ui',
  }
}

/** Events of four days, in transactions of a few, whose times are not in the order of the log. */
async function writeLog(seed: number, count: number): Promise<void> {
  const random = seededRandom(seed)
  const pick = (n: number) => Math.floor(random() * n)
  for (let made = 0; made < count; ) {
    const list = Array.from({ length: 1 + pick(12) }, (): NewEvent => {
      const n = pick(30)
      const accountId = `acc${pick(9)}`
      const data = facts(n)
      const board = { board_id: 'b1', name: 'B' }
      const video = { video_id: data.video_id, title: 'T', author: data.author, platform: 'web' }
      const made: NewEvent[] = [
        saved(n, accountId),
        saved(n, accountId),
        { type: 'frame.unsaved', subject: data.frame_id, accountId, data: { ...data, cause: 'owner' } },
        {
          type: 'frame.unsaved',
          subject: data.frame_id,
          accountId: 'bystander',
          data: { ...data, cause: 'video_deleted' },
        },
        { type: 'board.frame_pinned', subject: 'b1', accountId, data: { ...data, board_id: 'b1' } },
        { type: 'board.frame_unpinned', subject: 'b1', accountId, data: { ...data, board_id: 'b1', cause: 'owner' } },
        { type: 'board.created', subject: 'b1', accountId, data: board },
        {
          type: 'video.ready',
          subject: 'v1',
          accountId: null,
          data: { ...video, frame_count: 3, stages: [{ stage: 'extracting', seconds: 2.5 }] },
        },
        // As early versions wrote it.
        { type: 'video.ready', subject: 'v1', accountId: null, data: { ...video, frame_count: 3, stages: [] } },
        { type: 'video.failed', subject: 'v1', accountId: null, data: { ...video, code: 'no_video', stages: [] } },
        {
          type: 'model.called',
          subject: 'v1',
          accountId: null,
          data: {
            video_id: 'v1',
            model: 'seer',
            outcome: 'ok',
            frames: 4,
            input_tokens: 1,
            output_tokens: 1,
            cost_usd: random() < 0.2 ? null : random() / 1_000_000,
            duration_ms: 5,
          },
        },
        {
          type: 'searches.counted',
          subject: 'search',
          accountId: null,
          data: { askers: [], terms: [{ kind: 'unanswered', term: pick(2) ? null : 'blue kite', count: 2 }] },
        },
      ]
      return made[pick(made.length)]!
    })
    made += list.length
    await append(`${DAYS[pick(DAYS.length)]}T${String(pick(24)).padStart(2, '0')}:30:00Z`, list)
  }
}
