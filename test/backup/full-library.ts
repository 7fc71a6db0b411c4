import { pino } from 'pino'
import { expect } from 'vitest'
import type { Db } from '../../src/db/client.ts'
import { moveToDeadEvents } from '../../src/events/dead-events.ts'
import { createAccount } from '../../src/library/accounts/accounts.ts'
import { createGrant, putRecord } from '../../src/library/accounts/grants.ts'
import { runIdempotently } from '../../src/library/accounts/idempotency.ts'
import { createKey } from '../../src/library/accounts/keys.ts'
import { createSignInCode, redeemSignInCode } from '../../src/library/accounts/sessions.ts'
import { publishAnnotator } from '../../src/library/annotator/active-annotator.ts'
import { answerCache } from '../../src/library/annotator/answer-cache.ts'
import { openLedger } from '../../src/library/annotator/vision-spending.ts'
import { createBoard } from '../../src/library/collections/boards.ts'
import { pinFrames } from '../../src/library/collections/pins.ts'
import { saveFrames, unsaveFrames } from '../../src/library/collections/saves.ts'
import { recordFilm } from '../../src/library/films/films.ts'
import { correctFrame } from '../../src/library/frames/corrections.ts'
import { requestReannotation } from '../../src/library/frames/reannotation.ts'
import { recordAnnotations } from '../../src/library/frames/record-annotations.ts'
import { acceptReview } from '../../src/library/frames/review.ts'
import { dismissSuggestion } from '../../src/library/frames/technique-suggestions.ts'
import { recordVectors } from '../../src/library/frames/vectors.ts'
import { addTechnique, updateTechnique } from '../../src/library/techniques/techniques.ts'
import type { MediaStore } from '../../src/media/media-store.ts'
import { recountAnalytics } from '../../src/projections/analytics.ts'
import { resendEvent } from '../../src/webhooks/deliveries.ts'
import { createEndpoint } from '../../src/webhooks/endpoints.ts'
import { openWebhooks } from '../../src/webhooks/send.ts'
import { cutShots, filmPicture } from '../support/film.ts'
import { untilReadable } from '../support/stores.ts'
import { openWebhookReceiver, status } from '../support/webhook-receiver.ts'
import { queryAt, seedWithImages } from './support.ts'

const DAY = 86_400_000
const RULES = { model: 'paid-vl', priceIn: 1, priceOut: 1, budgetPerDay: 10, budgetPerVideo: 10 }

/** What the drill asks for again after the restore. */
export interface FullLibrary {
  accountId: string
  videoId: string
  frameIds: string[]
  session: string
  /** An endpoint with one delivery that failed for good, of this event. */
  dead: { endpointId: string; eventId: string; secret: string }
}

/** Gives every table a row, by what the service itself does. No worker may run yet. Adds seven images. */
export async function fillEveryTable(db: Db, media: MediaStore): Promise<FullLibrary> {
  const video = await seedWithImages(db, media, {
    frames: [{ caption: 'a zeppelin' }, { caption: 'a zeppelin too' }, { caption: 'and its hangar', loop: true }],
  })
  const { id: accountId } = await createAccount(db, { email: 'everything@example.com', role: 'member', plan: 'pro' })
  const session = await useAccount(db, accountId)
  await collect(db, accountId, video.frameIds)
  await describe(db, accountId, video)
  await cutIntoShots(db, video.id)
  await payForModel(db, video)
  const dead = await failForGood(db)
  await recountAnalytics(db)
  return { accountId, videoId: video.id, frameIds: video.frameIds, session, dead }
}

async function useAccount(db: Db, accountId: string): Promise<string> {
  await createKey(db, { accountId, name: 'everything' })
  const app = {
    clientId: 'studio',
    clientName: 'Studio',
    returnsTo: 'studio.example.org',
    scopes: ['saves:read'],
  } as const
  const grantId = await createGrant(db, { accountId, ...app })
  await putRecord(db, { kind: 'AccessToken', id: 'kept', payload: { grantId }, lifetimeSec: 3_600 })
  const request = { accountId, key: 'once', request: 'POST /api/boards' }
  await runIdempotently(db, request, async () => ({ status: 201, body: { board: { id: 'kept' } } }))
  const email = 'everything@example.com'
  await createSignInCode(db, { email, newPlan: null })
  const link = await createSignInCode(db, { email, newPlan: null })
  return (await redeemSignInCode(db, { code: link!.code }))!.token
}

async function collect(db: Db, accountId: string, frameIds: string[]): Promise<void> {
  await saveFrames(db, { accountId, frameIds })
  await unsaveFrames(db, { accountId, frameIds: frameIds.slice(0, 1) })
  const { id: boardId } = await createBoard(db, { accountId, name: 'Airships' })
  await pinFrames(db, { accountId, boardId, frameIds })
}

async function describe(db: Db, accountId: string, { id, frameIds }: { id: string; frameIds: string[] }) {
  const [first, second] = frameIds as [string, string]
  await addTechnique(db, { slug: 'pan-up', name: 'Pan up', description: 'The camera pans up.' })
  await updateTechnique(db, 'pan-up', { slug: 'tilt-up' })
  await dismissSuggestion(db, 'tilt-and-shift')
  const answer = {
    status: 'annotated',
    values: { caption: { value: 'An airship.', source: 'model', confidence: 0.9 } },
    issues: [],
  } as const
  const list = [{ frameId: first, ...answer, issues: [] }]
  await recordAnnotations(db, { videoId: id, revision: 1, annotator: 'old-1', model: 'old', list })
  await correctFrame(db, { frameId: second, accountId, correction: { caption: 'Corrected by hand.' } })
  await acceptReview(db, { frameId: first, accountId, values: {} })
  await recordVectors(db, 'fake@8', [{ id: first, hash: 'kept', q8: Buffer.from('01ff7f80', 'hex') }])
  await publishAnnotator(db, { version: 'paid-1', model: 'paid', batchSize: 1 })
  await requestReannotation(db, 'paid-1', { videoId: id })
}

async function cutIntoShots(db: Db, id: string): Promise<void> {
  const film = { shots: cutShots([2, 3]), picture: filmPicture(), probe: { durationSec: 5 } }
  await db.transaction((tx) => recordFilm(tx, id, film))
}

async function payForModel(db: Db, { id, frameIds }: { id: string; frameIds: string[] }): Promise<void> {
  const call = await openLedger(db, RULES, id).reserve(1)
  const usage = { inputTokens: 900, cachedTokens: 0, outputTokens: 90, costUsd: 0.001, durationMs: 700 }
  await call.settle({ model: RULES.model, frameIds: frameIds.slice(0, 1), ...usage, outcome: 'ok' })
  const key = { imageSha256: 'a'.repeat(64), model: RULES.model, promptVersion: 'p1' }
  await answerCache(db).set(key, { caption: 'An airship, paid for.' } as never)
}

/** An event that a consumer gave up, and one that a receiver refused ten times. */
async function failForGood(db: Db): Promise<FullLibrary['dead']> {
  const { rows } = await db.$client.query<{ id: string }>(`select id from events where type = 'board.created' limit 1`)
  const eventId = rows[0]!.id
  await db.transaction((tx) =>
    moveToDeadEvents(tx, { consumer: 'dispatch', eventId, error: 'a fault of ours', attempts: 10 }),
  )
  await using receiver = await openWebhookReceiver(status(500))
  const { endpoint, secret } = await db.transaction((tx) =>
    createEndpoint(tx, { url: receiver.url, types: ['key.revoked'] }, { allowPrivate: true, secretsKeys: [] }),
  )
  let now = new Date(Date.now() - 21 * DAY)
  await untilReadable(db)
  await resendEvent(db, endpoint.id, eventId, now)
  const config = { publicUrl: 'http://frames.test', webhookAllowPrivate: true, secretsKeys: [] }
  const logger = pino({ level: 'silent' })
  const { connectionString: url = '' } = db.$client.options
  const steps = { faultPoint: () => undefined, clock: () => now, random: () => 0.5 }
  const sending = openWebhooks({ db, url, config, logger, ...steps })
  for (let tries = 0; tries < 10; tries++) {
    await sending.drain()
    now = new Date(now.getTime() + 2 * DAY)
  }
  await sending.stop(5_000)
  expect(receiver.received).toHaveLength(10)
  return { endpointId: endpoint.id, eventId, secret }
}

/** Tables of a database without a row. The read model is built anew by a restore. */
export async function emptyTables(url: string): Promise<string[]> {
  const tables = await queryAt(
    url,
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
        and relname <> 'read_models' order by 1`,
  )
  const empty: string[] = []
  for (const { name } of tables)
    if ((await queryAt(url, `select 1 from ${name} limit 1`)).length === 0) empty.push(String(name))
  return empty
}
