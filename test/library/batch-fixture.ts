import type { VisionConfig } from '../../src/config.ts'
import { findAnnotator } from '../../src/library/annotator/active-annotator.ts'
import { answerCache } from '../../src/library/annotator/answer-cache.ts'
import { openMediaStore } from '../../src/media/open-store.ts'
import { openQueues } from '../../src/queue/queues.ts'
import { reconcileJobs } from '../../src/workers/dispatch.ts'
import { openWorker } from '../../src/workers/main.ts'
import { type BatchDeps, runBatches } from '../../src/workers/run-batches.ts'
import type { FakeVisionOptions } from '../support/fake-vision-endpoint.ts'
import { extractFromNumber } from './support.ts'
import { measuring, openVisionService } from './vision-service.ts'

const HOUR = 3_600_000

/** A service with VISION_BATCH, whose rounds the test runs. `close` ends it after the test. */
export async function openBatchService(
  close: <T extends AsyncDisposable>(opened: T) => T,
  { fake = {}, env = {} }: { fake?: FakeVisionOptions; env?: Record<string, string> } = {},
) {
  const { endpoint, service } = await openVisionService(close, {
    fake: { batches: {}, ...fake },
    env: { VISION_BATCH: '1', ...env },
    workerOptions: { batchMs: HOUR },
  })
  const { stores, config, logger } = service
  const queues = close(openQueues({ url: stores.redisUrl, prefix: stores.prefix, logger }))
  const activeAnnotator = async () => (await findAnnotator(stores.db))!
  const round = (faultPoint: BatchDeps['faultPoint'] = () => undefined, given: Partial<BatchDeps> = {}) =>
    runBatches({
      db: stores.db,
      store: openMediaStore(config),
      rules: config.vision!,
      activeAnnotator,
      answers: answerCache(stores.db),
      logger,
      faultPoint,
      ...given,
    })
  /** The jobs of what has come back. */
  async function work() {
    await reconcileJobs({ db: stores.db, queues, logger, activeAnnotator })
    await service.drain()
  }
  /** Restarts the worker with other settings. It runs one round of its own. */
  async function restart(vision: VisionConfig | undefined) {
    await service.worker.stop(5_000)
    service.worker.stop = async () => undefined
    const { databaseUrl, redisUrl, prefix } = stores
    const worker = await openWorker({
      ...{ config: { ...config, vision }, databaseUrl, redisUrl, prefix, logger, measuring },
      ...{ extract: extractFromNumber, reconcileMs: HOUR, pollMs: 20, batchMs: HOUR },
    })
    close({ [Symbol.asyncDispose]: () => worker.stop(5_000) })
    service.drain = worker.drain
  }
  return { service, endpoint, round, work, restart }
}

/** A frame costs 500 tokens in and 180 out, a request 2000 more. In a batch all of it costs half. */
export const halfOf = (requests: number, frames: number) => (requests * 2_000 + frames * (500 + 1_800)) / 2e6
