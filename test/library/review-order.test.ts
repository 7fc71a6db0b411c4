import { afterEach, expect, test } from 'vitest'
import { type Account, createAccount } from '../../src/library/accounts/accounts.ts'
import { acceptReview, nextToReview, takeBackReview } from '../../src/library/frames/review.ts'
import { sql } from '../../src/sql/orm.ts'
import { addVideo, frameRows, openScripted, scriptedAnnotator, values } from './support.ts'

let service: Awaited<ReturnType<typeof openScripted>>
afterEach(() => service[Symbol.asyncDispose]())

test('the review queue begins with what the model was least sure of', async () => {
  service = await openScripted(
    scriptedAnnotator('loud-vl@1', ({ tSec }) => {
      const sure = (confidence: number) => values({ subject: 'ui' }, 'model', confidence)
      const others = values({ surface: 'slide', shot: 'no-face', zone: 'none' }, 'model', 1)
      return { values: { ...others, ...sure([0.95, 0.75, 0.55][tSec]!) } }
    }),
  )
  const { db } = service.stores
  const video = await addVideo(service, 3)
  await service.drain()
  const [sure, fair, unsure] = (await frameRows(service, video)).map(({ id }) => id)
  const order = async () => (await nextToReview(db, { limit: 9 })).map(({ row }) => row.id)
  expect(await order()).toEqual([unsure, fair, sure])
  const told = await nextToReview(db, { limit: 9 })
  expect(told.map(({ place }) => place.confidence)).toEqual([0.55, 0.75, 0.95])
  // A correction is beyond doubt, whatever was stated.
  await db.execute(sql`
    update frames set subject_provenance = jsonb_set(subject_provenance, '{source}', '"person"') where id = ${unsure!}`)
  expect((await order()).at(-1)).toBe(unsure)
})

test('a frame without any value counts as reviewed once it is accepted, until it has a newer answer', async () => {
  service = await openScripted(
    scriptedAnnotator('mute-vl@1', ({ tSec }) => ({
      values: tSec === 0 ? {} : values({ subject: 'ui' }, 'model', 0.5),
    })),
  )
  const { db } = service.stores
  const video = await addVideo(service, 2)
  await service.drain()
  const [empty, partly] = (await frameRows(service, video)).map(({ id }) => id) as [string, string]
  const queue = async () => (await nextToReview(db, { limit: 9 })).map(({ row }) => row.id).sort()
  const both = [empty, partly].sort()
  expect(await queue()).toEqual(both)
  const { rows: accounts } = await db.execute<{ id: string }>(sql`select id from accounts`)
  const accountId = accounts[0]!.id

  const accept = (frameId: string) => acceptReview(db, { frameId, accountId, values: {} })
  expect(await accept(empty)).toEqual({ locked: [], taken: [] })
  expect(await queue()).toEqual([partly])
  // What was accepted twice at once is accepted.
  await Promise.all([accept(partly), accept(partly), accept(empty)])
  expect(await queue()).toEqual([])
  await takeBackReview(db, { frameId: empty, accountId, attributes: [] })
  expect(await queue()).toEqual([empty])
  await db.execute(sql`update annotations set created_at = now() + interval '1 second' where frame_id = ${partly}`)
  expect(await queue()).toEqual(both)
})

test('A8: of two who judge a frame at once one is first, and the other is told who', async () => {
  service = await openScripted(
    scriptedAnnotator('fair-vl@1', () => ({
      values: values({ subject: 'ui', surface: 'slide', shot: 'no-face', zone: 'none' }, 'model', 0.5),
    })),
  )
  const { db } = service.stores
  const video = await addVideo(service, 1)
  await service.drain()
  const frameId = (await frameRows(service, video))[0]!.id
  const people = await Promise.all(
    ['ada', 'bob'].map((name) => createAccount(db, { email: `${name}@example.org`, role: 'operator' })),
  )
  const given = {
    ada: { subject: 'terminal', surface: 'slide' },
    bob: { subject: 'chart', surface: 'slide', shot: 'no-face' },
  }
  const judge = ({ id, email }: Account) =>
    acceptReview(db, { frameId, accountId: id, values: given[email.split('@')[0] as 'ada' | 'bob'] })
  let judged: Promise<Awaited<ReturnType<typeof acceptReview>>[]> | undefined
  await db.transaction(async (tx) => {
    await tx.execute(sql`select 1 from frames where id = ${frameId} for update`)
    judged = Promise.all(people.map(judge))
    await expect
      .poll(
        async () =>
          (
            await db.execute(sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)
          ).rowCount,
      )
      .toBeGreaterThanOrEqual(2)
  })
  const answers = await judged!
  const first = answers.findIndex(({ taken }) => taken.length === 0)
  const [winner, loser] = [people[first]!, people[1 - first]!]
  const lost = answers[1 - first]!
  expect(answers[first]!.locked).toContain('subject')
  expect(lost.taken).toEqual(['subject', 'surface'].map((attribute) => ({ attribute, by: winner.email })))
  expect(lost.locked).toEqual(loser.email === 'bob@example.org' ? ['shot'] : [])

  // Whatever the form of the second says, the first one's values stay.
  const attributes = ['subject', 'surface', 'shot']
  const taken = await takeBackReview(db, { frameId, accountId: loser.id, attributes })
  expect(taken).toEqual(lost.locked)
  const row = (await frameRows(service, video))[0]!
  expect(row.subject).toBe(winner.email === 'ada@example.org' ? 'terminal' : 'chart')
  expect(row.subject_provenance).toMatchObject({ source: 'person', by: `person:${winner.id}` })
})
