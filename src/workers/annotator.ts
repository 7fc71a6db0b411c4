import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Redis } from 'ioredis'
import { type Config, ConfigError, type VisionConfig } from '../config.ts'
import type { Db } from '../db/client.ts'
import { answerCache } from '../library/annotator/answer-cache.ts'
import { sharedLimit } from '../queue/shared-limit.ts'
import type { Annotator } from '../vision/annotator.ts'
import { composeAnnotators } from '../vision/compose.ts'
import type { ReadingLanguages } from '../vision/measured/identity.ts'
import { openMeasuringAnnotator } from '../vision/measured/measuring-annotator.ts'

export interface AnnotatorParts {
  config: Pick<Config, 'vision' | 'readingLanguages'>
  db: Db
  redis: Redis
  /** Separates the limits of installations that share a Redis. */
  prefix: string
  /** Tests: replaces the measuring annotator, whose models take seconds to load. */
  measuring?: Annotator
}

/** This installation's annotator: the measuring one, with the configured model on top. */
export async function openConfiguredAnnotator(parts: AnnotatorParts): Promise<Annotator> {
  const { vision, readingLanguages } = parts.config
  const measuring = parts.measuring ?? openMeasuring(readingLanguages)
  return vision ? composeAnnotators(measuring, await openModel(vision, parts)) : measuring
}

/** The annotator without a model. Throws a `ConfigError` where the data of a language is missing. */
export function openMeasuring(languages: ReadingLanguages): Annotator {
  const { codes, dataDir } = languages
  const missing = dataDir && codes.map((code) => `${code}.traineddata`).find((name) => !existsSync(join(dataDir, name)))
  if (missing) throw new ConfigError(`OCR_LANGUAGES: put ${missing} into OCR_DATA_DIR, or leave the language out`)
  return openMeasuringAnnotator({ languages })
}

/** A model behind the configured endpoint, within the limits that all processes share. */
async function openModel(vision: VisionConfig, { db, redis, prefix }: AnnotatorParts): Promise<Annotator> {
  // Not at the top: the client for models takes 20 MB, which measuring alone does not need.
  const { openModelAnnotator } = await import('../vision/model/model-annotator.ts')
  const { baseUrl, model, apiKey, reasoningEffort, concurrency, perMinute, priceIn, priceOut } = vision
  return openModelAnnotator({
    baseUrl,
    model,
    // Local servers need no key, but the client rejects an empty one.
    apiKey: apiKey ?? 'none',
    reasoningEffort,
    limiter: sharedLimit(redis, { name: `${prefix}:vision`, concurrency, perMinute }),
    cache: answerCache(db),
    price: priceIn === undefined || priceOut === undefined ? undefined : { input: priceIn, output: priceOut },
  })
}
