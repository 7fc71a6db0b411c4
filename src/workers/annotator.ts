import type { Redis } from 'ioredis'
import type { Config, VisionConfig } from '../config.ts'
import type { Db } from '../db/client.ts'
import { answerCache } from '../library/annotator/answer-cache.ts'
import { averageCallOf, costsOf, repliesWithoutUsage } from '../library/annotator/vision-spending.ts'
import { sharedLimit } from '../queue/shared-limit.ts'
import { type Annotator, AnnotatorUnavailable } from '../vision/annotator.ts'
import { composeAnnotators } from '../vision/compose.ts'
import { openMeasuringAnnotator } from '../vision/measured/measuring-annotator.ts'
import { openModelAnnotator } from '../vision/model/model-annotator.ts'

export interface ConfiguredAnnotator {
  annotator: Annotator
  /** The part of it that costs nothing; absent where that is all there is. */
  measuringAnnotator?: Annotator
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
export async function openConfiguredAnnotator({
  config,
  db,
  redis,
  prefix,
  ...given
}: AnnotatorParts): Promise<ConfiguredAnnotator> {
  const measuring = given.measuring ?? (await openMeasuringAnnotator({}))
  if (!config.vision) return { annotator: measuring }
  return {
    annotator: composeAnnotators(measuring, openModel(config.vision, { db, redis, prefix })),
    measuringAnnotator: measuring,
  }
}

function openModel(
  vision: VisionConfig,
  { db, redis, prefix }: Pick<AnnotatorParts, 'db' | 'redis' | 'prefix'>,
): Annotator {
  const { baseUrl, model, apiKey, reasoningEffort, concurrency, perMinute, priceIn, priceOut } = vision
  const admit = withinBudget(db, vision)
  return openModelAnnotator({
    baseUrl,
    model,
    // Local servers want none; the client wants some.
    apiKey: apiKey ?? 'none',
    ...(reasoningEffort === undefined ? {} : { reasoningEffort }),
    limiter: sharedLimit(redis, { name: `${prefix}:vision`, concurrency, perMinute }),
    ...(admit ? { admit } : {}),
    cache: answerCache(db),
    prices: priceIn === undefined || priceOut === undefined ? {} : { [model]: { input: priceIn, output: priceOut } },
  })
}

/** How soon a spent daily budget is looked at again: the last 24 hours move on. */
const BUDGET_WAIT_MS = 10 * 60_000

/**
 * Throws `AnnotatorUnavailable` once the last 24 hours have cost the day's budget, and where the endpoint does not tell what its answers take, as then no budget
 * could be kept; undefined without a budget. `concurrentBefore` are calls that were begun before and not in the books at that moment: they count as what calls usually cost,
 * so that many at once cannot spend what is left several times over.
 */
export function withinBudget(
  db: Db,
  { model, budgetPerDay, budgetPerVideo }: Pick<VisionConfig, 'model' | 'budgetPerDay' | 'budgetPerVideo'>,
): ((concurrentBefore: number) => Promise<void>) | undefined {
  if (budgetPerDay === undefined && budgetPerVideo === undefined) return undefined
  return async (concurrentBefore) => {
    if (await repliesWithoutUsage(db, model))
      throw new AnnotatorUnavailable(
        'misconfigured',
        'The vision endpoint does not tell how many tokens its answers take, so no budget can be kept: unset VISION_BUDGET_VIDEO and VISION_BUDGET_DAY, or have it tell usage.',
        BUDGET_WAIT_MS,
      )
    if (budgetPerDay === undefined) return
    const { cost_usd } = await costsOf(db)
    const promised = concurrentBefore > 0 ? concurrentBefore * ((await averageCallOf(db, model)).costUsd ?? 0) : 0
    if (cost_usd + promised >= budgetPerDay)
      throw new AnnotatorUnavailable(
        'budget_spent',
        `The budget of $${budgetPerDay} for 24 hours is spent.`,
        BUDGET_WAIT_MS,
      )
  }
}
