import type { VisionConfig } from '../config.ts'
import { type Db, VISION_BATCHES_LOCK } from '../db/client.ts'
import {
  type Batch,
  type BatchGroup,
  type BatchRequestRow,
  type BatchTarget,
  endBatch,
  findBatchable,
  moveBatch,
  openBatch,
  openBatches,
  requestsOf,
} from '../library/annotator/vision-batches.ts'
import { settleCall } from '../library/annotator/vision-spending.ts'
import { loadFrames } from '../library/frames/frames.ts'
import { loadVocabulary, toTerm } from '../library/techniques/vocabulary.ts'
import { findVideo } from '../library/videos/videos.ts'
import type { Logger } from '../logger.ts'
import type { MediaStore } from '../media/media-store.ts'
import type { FrameToAnnotate, TechniqueTerm } from '../vision/annotator.ts'
import type { AnswerCache } from '../vision/model/answer.ts'
import type { BatchAnswer, BatchEndpoint } from '../vision/model/batches.ts'
import type { HouseStyle } from '../vision/model/house-style.ts'
import { findTwins } from '../vision/model/images.ts'
import { promptVersionOf } from '../vision/model/prompt.ts'
import { loadImages, toContext } from './annotate-frames.ts'
import type { AnnotatorTarget } from './dispatch.ts'
import type { FaultPoint } from './fault-point.ts'

/** Requests of one batch: its file of pictures stays near 40 MB, and as much memory is needed to write it. */
const MAX_REQUESTS = 40
/** Batches at the provider at once. */
const MAX_OPEN = 10

export interface BatchDeps {
  db: Db
  store: MediaStore
  rules: VisionConfig
  /** Tests: a provider of their own. */
  endpoint?: BatchEndpoint
  /** The annotator that frames wait for. */
  activeAnnotator: () => Promise<AnnotatorTarget>
  answers: AnswerCache
  style: HouseStyle | undefined
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
  const { db, faultPoint, rules, techniques } = deps
  const open = await openBatches(db)
  for (const batch of open) await advance(deps, batch)
  if (!rules.batch || open.length >= MAX_OPEN) return
  const { version, batchSize } = await deps.activeAnnotator()
  const target: BatchTarget = {
    annotator: version,
    batchSize,
    model: rules.model,
    promptVersion: promptVersionOf(techniques, { style: deps.style, builds: rules.builds }),
  }
  const groups = await findBatchable(db, target, MAX_REQUESTS)
  if (groups.length === 0) return
  const requests: { videoId: string; frameIds: string[]; copyIds: string[] }[] = []
  for (const group of groups) requests.push(await withoutTwins(deps, group))
  const id = await openBatch(db, rules, requests)
  if (id === undefined) return
  faultPoint('batch-written')
  const [batch] = (await openBatches(db)).filter((one) => one.id === id)
  if (batch) await advance(deps, batch)
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
  const { db, endpoint, techniques, logger, faultPoint } = deps
  let { status, fileId, providerId } = batch
  try {
    if (status === 'preparing') {
      fileId = await endpoint.upload(await writeLines(deps, batch))
      faultPoint('batch-uploaded')
      await moveBatch(db, batch.id, {
        status: 'uploaded',
        fileId,
        promptVersion: promptVersionOf(techniques, { style: deps.style, builds: deps.rules.builds }),
      })
      status = 'uploaded'
    }
    if (status === 'uploaded') {
      // A process that died right here has created the batch already. A second one would be charged too.
      providerId = (await endpoint.find(fileId!)) ?? (await endpoint.create(fileId!))
      faultPoint('batch-created')
      await moveBatch(db, batch.id, { status: 'sent', providerId })
      logger.info({ batch: batch.id }, 'batch sent to the vision endpoint')
      return
    }
    const state = await endpoint.state(providerId!)
    if (state.ended) await takeOver(deps, batch, state)
  } catch (error) {
    if (!isRefusal(error)) throw error
    // The provider refuses it. After the second batch its frames are asked about in the usual calls.
    logger.error({ err: error, batch: batch.id }, 'batch refused by the vision endpoint')
    await endBatch(db, batch.id, 'refused', new Set())
  }
}

/** A 4xx other than a rate limit or a timeout: the same request will be refused later too. */
function isRefusal(error: unknown): boolean {
  const status = error instanceof Error && 'status' in error ? Number(error.status) : 0
  return status >= 400 && status < 500 && status !== 408 && status !== 409 && status !== 429
}

async function writeLines(deps: RoundDeps, batch: Batch): Promise<string[]> {
  const { db, rules, techniques, style, logger } = deps
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
      lines.push(await writeBatchLine(request, techniques, { ...rules, style }))
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
  const { readBatchLine } = await import('../vision/model/batches.ts')
  const { priceIn: input, priceOut: output } = rules
  const price = input === undefined || output === undefined ? undefined : { input, output }
  const requests = new Map((await requestsOf(db, batch.id)).map((request) => [lineId(batch, request.n), request]))
  const answered = new Set<number>()
  for (const file of files) {
    for (const line of (await endpoint.download(file)).split('\n')) {
      const answer = line.trim() === '' ? undefined : readBatchLine(line, price)
      const request = answer && requests.get(answer.id)
      // When a request comes back twice, the first line counts.
      if (!request || answered.has(request.n)) continue
      await keepAnswers(deps, batch, request, answer)
      answered.add(request.n)
      faultPoint('batch-answer-kept')
    }
  }
  await endBatch(db, batch.id, status, answered)
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
  const pictures = new Map((await loadFrames(db, frameIds)).map((row) => [row.id, row.imageSha256]))
  for (const { frameId, ...answer } of annotationsOf(frameIds, techniques)) {
    const imageSha256 = pictures.get(frameId)
    if (imageSha256 === undefined || answer.status !== 'annotated' || promptVersion === null) continue
    await answers.set({ imageSha256, model, promptVersion }, answer)
  }
  await settleCall(db, callId, videoId, { model, frameIds, ...usage, durationMs: 0, outcome })
}
