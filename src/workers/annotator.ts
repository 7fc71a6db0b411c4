import { existsSync, globSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { type Config, ConfigError, type VisionConfig } from '../config.ts'
import type { Db } from '../db/client.ts'
import { findAnnotatorStatus, recordCheck } from '../library/annotator/active-annotator.ts'
import { answerCache } from '../library/annotator/answer-cache.ts'
import { loadVocabulary } from '../library/techniques/vocabulary.ts'
import { sharedLimit } from '../queue/shared-limit.ts'
import { type Annotator, faultOf } from '../vision/annotator.ts'
import { composeAnnotators } from '../vision/compose.ts'
import { openMeasuringAnnotator } from '../vision/measured/measuring-annotator.ts'
import { type ModelAnnotatorOptions, openModelAnnotator } from '../vision/model/model-annotator.ts'
import { profileOf } from '../vision/model/profiles.ts'

export interface AnnotatorParts {
  config: Pick<Config, 'vision' | 'readingModels'>
  db: Db
  redis: Redis
  /** Separates the limits of installations that share a Redis. */
  prefix: string
  /** Tests: replaces the measuring annotator, whose models take seconds to load. */
  measuring?: Annotator
}

/** This installation's annotator: the measuring one, with the configured model on top. */
export function openConfiguredAnnotator(parts: AnnotatorParts): Annotator {
  const { vision, readingModels } = parts.config
  const measuring = parts.measuring ?? openMeasuring(readingModels)
  return vision ? composeAnnotators(measuring, openModel(vision, parts)) : measuring
}

/** The annotator without a vision model. Throws a `ConfigError` where the folder holds no model that can read. */
export function openMeasuring(folder: string | undefined): Annotator {
  if (folder === undefined) return openMeasuringAnnotator()
  const models = globSync('*.onnx', { cwd: folder }).sort()
  const alone = models.find((model) => !existsSync(join(folder, model.replace(/\.onnx$/, '.txt'))))
  if (alone) throw new ConfigError(`OCR_MODELS: put the letters of ${alone} beside it, as a .txt`)
  if (models.length === 0) throw new ConfigError('OCR_MODELS: the folder holds no .onnx; unset it, or put a model in')
  return openMeasuringAnnotator({ models: models.map((model) => join(folder, model)) })
}

/** A model behind the configured endpoint, within the limits that all processes share. */
export function openModel(
  vision: VisionConfig,
  { db, redis, prefix }: Pick<AnnotatorParts, 'db' | 'redis' | 'prefix'>,
  over: Partial<ModelAnnotatorOptions> = {},
): Annotator {
  const { apiKey, concurrency, frames, perMinute, priceIn, priceOut } = vision
  return openModelAnnotator({
    ...vision,
    // Local servers need no key.
    apiKey: apiKey ?? 'none',
    batchSize: frames,
    limiter: sharedLimit(redis, {
      name: `${prefix}:vision`,
      concurrency,
      perMinute,
      leaseMs: 2 * profileOf(vision.server).timeoutMs,
    }),
    cache: answerCache(db),
    price: priceIn === undefined || priceOut === undefined ? undefined : { input: priceIn, output: priceOut },
    ...over,
  })
}

const LOOK_AGAIN_MS = 60_000

/** Asks the model's server what costs nothing, for operators. A fault is looked at again while it stands. */
export async function inspectModel(annotator: Annotator, db: Db): Promise<void> {
  if (!annotator.inspect) return
  const techniques = (await loadVocabulary(db)).active
  do {
    const findings = await annotator.inspect(techniques)
    await recordCheck(db, annotator.version, findings)
    if (!faultOf(findings)) return
    await sleep(LOOK_AGAIN_MS, undefined, { ref: false })
  } while ((await findAnnotatorStatus(db)).check)
}
