import type { VisionConfig } from '../config.ts'
import { type Db, VISION_BATCHES_LOCK } from '../db/client.ts'
import { clearAnnotatorProblem, recordAnnotatorProblem } from '../library/annotator/active-annotator.ts'
import {
  type Batch,
  type BatchGroup,
  type BatchRequestRow,
  endBatch,
  findBatchable,
  moveBatch,
  openBatch,
  openBatches,
  requestsOf,
  withoutReplaced,
} from '../library/annotator/vision-batches.ts'
import { settleCall } from '../library/annotator/vision-spending.ts'
import { loadFrames } from '../library/frames/frames.ts'
import { loadVocabulary, toTerm } from '../library/techniques/vocabulary.ts'
import { findVideo } from '../library/videos/videos.ts'
import type { Logger } from '../logger.ts'
import type { MediaStore } from '../media/media-store.ts'
import { AnnotatorUnavailable, type FrameToAnnotate, type TechniqueTerm } from '../vision/annotator.ts'
import type { AnswerCache } from '../vision/model/answer.ts'
import type { BatchAnswer, BatchEndpoint } from '../vision/model/batches.ts'
import { findTwins } from '../vision/model/images.ts'
import { promptVersionOf } from '../vision/model/prompt.ts'
import { loadImages, toContext } from './annotate-frames.ts'
import type { AnnotatorTarget } from './dispatch.ts'
import type { FaultPoint } from './fault-point.ts'

/** Requests of one batch: its file of pictures stays near 40 MB, and as much memory is needed to write it. */
const MAX_REQUESTS = 40
/** Batches at the provider at once. */
const MAX_OPEN = 10
const HOUR_MS = 60 * 60_000
/** How old a batch becomes that the endpoint refuses, or that fails again and again, before it is given up. */
const PATIENCE_MS = {
  /** Nothing is paid for yet. */
  unsent: { refused: 0, failed: 24 * HOUR_MS },
  /** Providers end a batch within 24 hours, and keep no answers for more than 30 days. */
  sent: { refused: 48 * HOUR_MS, failed: 30 * 24 * HOUR_MS },
}

export interface BatchDeps {
  db: Db
  store: MediaStore
  rules: VisionConfig
  /** Tests: a provider of their own. */
  endpoint?: BatchEndpoint
  /** The annotator that frames wait for. */
  activeAnnotator: () => Promise<AnnotatorTarget>
  answers: AnswerCache
  /** Writes the answers into PostgreSQL that are kept on disk since an outage. */
  flush?: () => Promise<void>
  logger: Logger
  faultPoint: FaultPoint
}

/**
 * One round: collects the answers of ended batches, sends the stored ones, and stores a new one while frames wait.
 * Answers go into the answer cache and the books; the usual jobs record them from there.
 *
 * Every step is stored before the next begins, so a process may die at any of them. One process runs at a time.
 */
export async function runBatches(deps: BatchDeps): Promise<void> {
  const lock = await deps.db.$client.connect()
  try {
    const { rows } = await lock.query<{ mine: boolean }>('select pg_try_advisory_lock($1) as mine', [
      VISION_BATCHES_LOCK,
    ])
    if (!rows[0]!.mine) return
    try {
      const techniques = (await loadVocabulary(deps.db)).active.map(toTerm)
      await runRound({ ...deps, techniques, endpoint: deps.endpoint ?? (await openEndpoint(deps.rules)) })
    } finally {
      await lock.query('select pg_advisory_unlock($1)', [VISION_BATCHES_LOCK])
    }
  } finally {
    lock.release()
  }
}

interface RoundDeps extends BatchDeps {
  endpoint: BatchEndpoint
  /** The vocabulary, which stays the same for a round. */
  techniques: readonly TechniqueTerm[]
}

async function openEndpoint({ baseUrl, apiKey }: VisionConfig): Promise<BatchEndpoint> {
  // Not at the top: the client takes 20 MB.
  const { openBatchEndpoint } = await import('../vision/model/batches.ts')
  return openBatchEndpoint({ baseUrl, apiKey: apiKey ?? 'none' })
}

async function runRound(deps: RoundDeps): Promise<void> {
  const { db, rules } = deps
  const began = new Date()
  const open = await openBatches(db)
  const failures = await advanceAll(deps, open)
  const own = (await openBatches(db)).filter(({ model }) => model === rules.model)
  // An endpoint that does not take a batch gets no second one meanwhile.
  const unsent = own.some(({ status }) => status !== 'sent')
  if (rules.batch && own.length < MAX_OPEN && !unsent) failures.push(...(await storeBatch(deps)))
  for (const error of failures)
    if (error instanceof AnnotatorUnavailable)
      await recordAnnotatorProblem(db, { code: error.code, message: error.message, ofBatches: true })
  if (failures.length > 1) throw new AggregateError(failures, 'Several batches failed.')
  if (failures.length > 0) throw failures[0]
  if (open.length > 0) await clearAnnotatorProblem(db, began, { ofBatches: true })
}

/** Advances each batch, however the others fare. Returns what failed. */
async function advanceAll(deps: RoundDeps, open: readonly Batch[]): Promise<unknown[]> {
  const failures: unknown[] = []
  for (const batch of open) await advance(deps, batch).catch((error: unknown) => failures.push(error))
  return failures
}

/** Stores and sends a new batch, if frames wait for one. Returns what failed. */
async function storeBatch(deps: RoundDeps): Promise<unknown[]> {
  const { db, faultPoint, rules, techniques } = deps
  const { version, batchSize, model } = await deps.activeAnnotator()
  // Frames wait for a worker with other settings.
  if (model !== rules.model) return []
  const promptVersion = promptVersionOf(techniques, rules.builds)
  const groups = await findBatchable(db, { annotator: version, batchSize, model, promptVersion }, MAX_REQUESTS)
  if (groups.length === 0) return []
  const requests: { videoId: string; frameIds: string[]; copyIds: string[] }[] = []
  for (const group of groups) requests.push(await withoutTwins(deps, group))
  const id = await openBatch(db, rules, requests)
  if (id === undefined) return []
  faultPoint('batch-written')
  return advanceAll(
    deps,
    (await openBatches(db)).filter((one) => one.id === id),
  )
}

/** Near-identical frames share one answer, as in a call. */
async function withoutTwins(deps: BatchDeps, { videoId, frameIds }: BatchGroup) {
  const twins = await findTwins(await loadPictures(deps, frameIds))
  const copyIds = [...twins.values()].flat().map(({ id }) => id)
  return { videoId, frameIds: frameIds.filter((id) => !copyIds.includes(id)), copyIds }
}

async function loadPictures({ db, store }: BatchDeps, ids: readonly string[]): Promise<FrameToAnnotate[]> {
  const { frames } = await loadImages(store, await loadFrames(db, ids))
  return frames
}

/** Takes a batch as many steps further as possible now. */
async function advance(deps: RoundDeps, batch: Batch): Promise<void> {
  const { db, endpoint, rules, logger } = deps
  const ofOtherModel = batch.model !== rules.model
  try {
    if (batch.status !== 'sent') return await send(deps, batch)
    const state = await endpoint.state(batch.providerId!)
    if (state.ended) await takeOver(deps, batch, state)
  } catch (error) {
    const { failureOf, unknownBatch } = await import('../vision/model/batches.ts')
    const failure = failureOf(error)
    if (failure === undefined) throw error
    const sent = batch.status === 'sent'
    if (Date.now() - batch.createdAt.getTime() < PATIENCE_MS[sent ? 'sent' : 'unsent'][failure])
      throw sent && failure === 'refused' && !ofOtherModel ? unknownBatch(error) : error
    // After the second batch its frames are asked about in the usual calls.
    logger.error({ err: error, batch: batch.id }, 'batch refused by the vision endpoint')
    await endBatch(db, batch.id, { outcome: 'refused', charged: sent, uncounted: ofOtherModel })
  }
}

async function send(deps: RoundDeps, batch: Batch): Promise<void> {
  const { db, endpoint, rules, techniques, logger, faultPoint } = deps
  const { id, status, createdAt } = batch
  const wanted = rules.batch && batch.model === rules.model
  const drop = () => endBatch(db, id, { outcome: 'dropped', uncounted: true })
  let fileId = batch.fileId!
  if (status === 'preparing') {
    if (!wanted) return drop()
    fileId = await endpoint.upload(await writeLines(deps, batch))
    faultPoint('batch-uploaded')
    const promptVersion = promptVersionOf(techniques, rules.builds)
    await moveBatch(db, id, { status: 'uploaded', fileId, promptVersion })
  }
  // A process that died right here has created the batch already. A second one would be charged too.
  const made = await endpoint.find(fileId, createdAt)
  if (!made && !wanted) return drop()
  const providerId = made ?? (await endpoint.create(fileId))
  faultPoint('batch-created')
  await moveBatch(db, id, { status: 'sent', providerId })
  logger.info({ batch: id }, 'batch sent to the vision endpoint')
}

async function writeLines(deps: RoundDeps, batch: Batch): Promise<string[]> {
  const { db, rules, techniques, logger } = deps
  const { writeBatchLine } = await import('../vision/model/batches.ts')
  const lines: string[] = []
  for (const { n, videoId, frameIds } of await requestsOf(db, batch.id)) {
    const video = await findVideo(db, videoId)
    const found = new Map((await loadPictures(deps, frameIds)).map((frame) => [frame.id, frame]))
    const frames = frameIds.flatMap((id) => found.get(id) ?? [])
    // Answers name frames by their index, so a request is sent whole or not at all.
    if (!video || frames.length < frameIds.length) continue
    const request = { id: lineId(batch, n), video: toContext(video), frames }
    try {
      lines.push(await writeBatchLine(request, techniques, rules))
    } catch (error) {
      logger.warn({ err: error, batch: batch.id }, 'request left out of a batch')
    }
  }
  return lines
}

const lineId = (batch: Batch, n: number) => `frames-${batch.id}-${n}`

async function takeOver(
  deps: RoundDeps,
  batch: Batch,
  { status, files }: { status: string; files: string[] },
): Promise<void> {
  const { db, endpoint, rules, logger, faultPoint } = deps
  const { failureOf, readBatchLine } = await import('../vision/model/batches.ts')
  const { priceIn: input, priceOut: output } = rules
  const price = input === undefined || output === undefined ? undefined : { input, output }
  const requests = new Map((await requestsOf(db, batch.id)).map((request) => [lineId(batch, request.n), request]))
  const answered = new Set<number>()
  let unread = false
  for (const file of files) {
    const text = await endpoint.download(file).catch((error: unknown) => {
      if (failureOf(error) !== 'refused') throw error
      logger.error({ err: error, batch: batch.id }, 'file of a batch cannot be read')
      unread = true
      return ''
    })
    for (const line of text.split('\n')) {
      const answer = line.trim() === '' ? undefined : readBatchLine(line, price)
      const request = answer && requests.get(answer.id)
      // When a request comes back twice, the first line counts.
      if (!request || answered.has(request.n)) continue
      await keepAnswers(deps, batch, request, answer)
      answered.add(request.n)
      faultPoint('batch-answer-kept')
    }
  }
  // Frames of a batch that has ended are asked about again, unless their answers are in PostgreSQL.
  await deps.flush?.()
  await endBatch(db, batch.id, { outcome: status, answered, charged: unread, uncounted: batch.model !== rules.model })
  logger.info(
    { batch: batch.id, status, requests: requests.size, answered: answered.size },
    'batch came back from the vision endpoint',
  )
}

/** The cache comes first, so that every settled call has its answers there. */
async function keepAnswers(
  { db, answers, techniques }: RoundDeps,
  { model, promptVersion }: Batch,
  { callId, videoId, frameIds }: BatchRequestRow,
  { usage, outcome, annotationsOf }: BatchAnswer,
): Promise<void> {
  const kept = await withoutReplaced(db, frameIds)
  const pictures = new Map((await loadFrames(db, kept)).map((row) => [row.id, row.imageSha256]))
  for (const { frameId, ...answer } of annotationsOf(frameIds, techniques)) {
    const imageSha256 = pictures.get(frameId)
    if (imageSha256 === undefined || answer.status !== 'annotated' || promptVersion === null) continue
    await answers.set({ imageSha256, model, promptVersion }, answer)
  }
  await settleCall(db, callId, videoId, { model, frameIds, ...usage, durationMs: 0, outcome })
}
