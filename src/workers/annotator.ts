import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Redis } from 'ioredis'
import { LRUCache } from 'lru-cache'
import { type Config, ConfigError, type VisionConfig } from '../config.ts'
import type { Db } from '../db/client.ts'
import { answerCache } from '../library/annotator/answer-cache.ts'
import type { MediaStore } from '../media/media-store.ts'
import { sharedLimit } from '../queue/shared-limit.ts'
import { CHILD_ENV } from '../video/extract/run-extraction.ts'
import type { Annotator } from '../vision/annotator.ts'
import { composeAnnotators } from '../vision/compose.ts'
import type { ReadingLanguages } from '../vision/measured/identity.ts'
import { measureInChild } from '../vision/measured/measure-in-child.ts'
import type { AnswerCache } from '../vision/model/answer.ts'
import type { Correction, HouseStyle } from '../vision/model/house-style.ts'

export interface ConfiguredAnnotator {
  annotator: Annotator
  /** The annotator without paid calls; absent when the configured one makes none. */
  measuringAnnotator?: Annotator
}

export interface AnnotatorParts {
  config: Pick<Config, 'vision' | 'readingLanguages'>
  db: Db
  redis: Redis
  /** Separates the limits of installations that share a Redis. */
  prefix: string
  /** Where answers are kept (default: PostgreSQL). */
  answers?: AnswerCache
  /** Corrections that the model sees as examples. */
  style?: HouseStyle | undefined
  /** Tests: replaces the measuring annotator, whose models take seconds to load. */
  measuring?: Annotator
}

/** This installation's annotator: the measuring one, with the configured model on top. */
export async function openConfiguredAnnotator({
  config,
  db,
  redis,
  prefix,
  ...given
}: AnnotatorParts): Promise<ConfiguredAnnotator> {
  const measuring = given.measuring ?? openMeasuring(config.readingLanguages)
  if (!config.vision) return { annotator: measuring }
  return {
    annotator: composeAnnotators(measuring, await openModel(config.vision, { db, redis, prefix, ...given })),
    measuringAnnotator: measuring,
  }
}

/** The annotator without a model. Throws a `ConfigError` where the data of a language is missing. */
export function openMeasuring(languages: ReadingLanguages): Annotator {
  const { codes, dataDir } = languages
  const missing = dataDir && codes.map((code) => `${code}.traineddata`).find((name) => !existsSync(join(dataDir, name)))
  if (missing) throw new ConfigError(`OCR_LANGUAGES: put ${missing} into OCR_DATA_DIR, or leave the language out`)
  return measureInChild({ env: CHILD_ENV, languages })
}

/** A model behind the configured endpoint, within the limits that all processes share. */
export async function openModel(
  vision: VisionConfig,
  { db, redis, prefix, answers, style }: Omit<AnnotatorParts, 'config'>,
): Promise<Annotator> {
  // Not at the top: the client for models takes 20 MB, which measuring alone does not need.
  const { openModelAnnotator } = await import('../vision/model/model-annotator.ts')
  const { baseUrl, model, apiKey, reasoningEffort, concurrency, perMinute, priceIn, priceOut, builds } = vision
  return openModelAnnotator({
    baseUrl,
    model,
    // Local servers need no key, but the client rejects an empty one.
    apiKey: apiKey ?? 'none',
    reasoningEffort,
    builds,
    limiter: sharedLimit(redis, { name: `${prefix}:vision`, concurrency, perMinute }),
    cache: answers ?? answerCache(db),
    style,
    prices: priceIn === undefined || priceOut === undefined ? {} : { [model]: { input: priceIn, output: priceOut } },
  })
}

/** Long side of an example's picture. */
const SIDE = 320
/** Pictures kept in memory: every line of a batch has the same few. */
const MAX_KEPT = 200

/** A style with the pictures of the media store. Undefined without corrections. */
export function openHouseStyle(
  store: MediaStore,
  style: { version: string; corrections: readonly Correction[] } | undefined,
): HouseStyle | undefined {
  if (!style || style.corrections.length === 0) return undefined
  const kept = new LRUCache<string, Promise<string | null>>({ max: MAX_KEPT })
  return {
    ...style,
    pictureOf({ imageKey }) {
      const known = kept.get(imageKey)
      if (known) return known
      const picture = toPicture(store, imageKey)
      kept.set(imageKey, picture)
      // After an outage of the store the next call asks again.
      picture.catch(() => kept.delete(imageKey))
      return picture
    },
  }
}

async function toPicture(store: MediaStore, key: string): Promise<string | null> {
  const image = await store.get(key)
  if (!image) return null
  const { default: sharp } = await import('sharp')
  const jpeg = await sharp(image)
    .flatten({ background: '#000' })
    .resize(SIDE, SIDE, { fit: 'inside', withoutEnlargement: true })
    .jpeg({ quality: 70 })
    .toBuffer()
  return `data:image/jpeg;base64,${jpeg.toString('base64')}`
}
