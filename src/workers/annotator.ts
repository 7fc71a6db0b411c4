import type { Redis } from 'ioredis'
import type { Config, VisionConfig } from '../config.ts'
import type { Db } from '../db/client.ts'
import { answerCache } from '../library/annotations.ts'
import { sharedLimit } from '../queue/shared-limit.ts'
import type { Annotator } from '../vision/annotator.ts'
import { composeAnnotators } from '../vision/compose.ts'
import { openMeasuringAnnotator } from '../vision/measured/measuring-annotator.ts'
import { openModelAnnotator } from '../vision/model/model-annotator.ts'

export interface ConfiguredAnnotator {
  annotator: Annotator
  /** The part of it that costs nothing; absent where that is all there is. */
  withoutModel?: Annotator
}

export interface AnnotatorParts {
  config: Pick<Config, 'vision'>
  db: Db
  redis: Redis
  /** Keeps one installation's limits apart from another's on the same Redis. */
  prefix: string
  /** Tests: in place of the measuring one, whose models take seconds to load. */
  measuring?: Annotator
}

/** The annotator this installation has: the measuring one always, the configured model over it. */
export async function openConfiguredAnnotator({ config, db, redis, prefix, ...given }: AnnotatorParts): Promise<ConfiguredAnnotator> {
  const measuring = given.measuring ?? (await openMeasuringAnnotator({}))
  if (!config.vision) return { annotator: measuring }
  return { annotator: composeAnnotators(measuring, openModel(config.vision, { db, redis, prefix })), withoutModel: measuring }
}

function openModel(vision: VisionConfig, { db, redis, prefix }: Pick<AnnotatorParts, 'db' | 'redis' | 'prefix'>): Annotator {
  const { baseUrl, model, apiKey, reasoningEffort, concurrency, perMinute, priceIn, priceOut } = vision
  return openModelAnnotator({
    baseUrl,
    model,
    // Local servers want none; the client wants some.
    apiKey: apiKey ?? 'none',
    ...(reasoningEffort === undefined ? {} : { reasoningEffort }),
    limiter: sharedLimit(redis, { name: `${prefix}:vision`, concurrency, perMinute }),
    cache: answerCache(db),
    prices: priceIn === undefined || priceOut === undefined ? {} : { [model]: { input: priceIn, output: priceOut } },
  })
}
