import type { Redis } from 'ioredis'
import type { Config, VisionConfig } from '../config.ts'
import type { Db } from '../db/client.ts'
import { answerCache } from '../library/annotator/answer-cache.ts'
import { costsOf, expectedCostOf, repliesWithoutUsage } from '../library/annotator/vision-spending.ts'
import { sharedLimit } from '../queue/shared-limit.ts'
import { CHILD_ENV } from '../video/extract/run-extraction.ts'
import { type Annotator, AnnotatorUnavailable } from '../vision/annotator.ts'
import { composeAnnotators } from '../vision/compose.ts'
import { measureInChild } from '../vision/measured/measure-in-child.ts'
import type { Admit } from './annotate-frames.ts'

export interface ConfiguredAnnotator {
  annotator: Annotator
  /** The part that makes no paid calls; absent when there is no other. */
  measuringAnnotator?: Annotator
}

export interface AnnotatorParts {
  config: Pick<Config, 'vision'>
  db: Db
  redis: Redis
  /** Separates the limits of installations that share a Redis. */
  prefix: string
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
  const measuring = given.measuring ?? measureInChild({ env: CHILD_ENV })
  if (!config.vision) return { annotator: measuring }
  return {
    annotator: composeAnnotators(measuring, await openModel(config.vision, { db, redis, prefix })),
    measuringAnnotator: measuring,
  }
}

async function openModel(
  vision: VisionConfig,
  { db, redis, prefix }: Pick<AnnotatorParts, 'db' | 'redis' | 'prefix'>,
): Promise<Annotator> {
  // Not at the top: the client for models takes 20 MB, which measuring alone does not need.
  const { openModelAnnotator } = await import('../vision/model/model-annotator.ts')
  const { baseUrl, model, apiKey, reasoningEffort, concurrency, perMinute, priceIn, priceOut } = vision
  const admit = withinBudget(db, vision)
  return openModelAnnotator({
    baseUrl,
    model,
    // Local servers need no key, but the client rejects an empty one.
    apiKey: apiKey ?? 'none',
    ...(reasoningEffort === undefined ? {} : { reasoningEffort }),
    limiter: sharedLimit(redis, { name: `${prefix}:vision`, concurrency, perMinute }),
    ...(admit ? { admit } : {}),
    cache: answerCache(db),
    prices: priceIn === undefined || priceOut === undefined ? {} : { [model]: { input: priceIn, output: priceOut } },
  })
}

/** How soon a spent budget of the day is checked again: its 24 hours are a sliding window. */
const BUDGET_WAIT_MS = 10 * 60_000

/**
 * Refuses calls once the last 24 hours have cost the day's budget, or when the endpoint reports no token usage, so that
 * no budget can be kept. Calls in flight that are not recorded yet count at their expected cost: many at once cannot
 * each spend the rest of the budget. Undefined without a budget.
 */
export function withinBudget(
  db: Db,
  { model, budgetPerDay, budgetPerVideo }: Pick<VisionConfig, 'model' | 'budgetPerDay' | 'budgetPerVideo'>,
): Admit | undefined {
  if (budgetPerDay === undefined && budgetPerVideo === undefined) return undefined
  return async (concurrentBefore) => {
    if (await repliesWithoutUsage(db, model))
      throw new AnnotatorUnavailable(
        'misconfigured',
        'The vision endpoint reports no token usage, so no budget can be kept. ' +
          'Make it report usage, or unset VISION_BUDGET_VIDEO and VISION_BUDGET_DAY.',
        BUDGET_WAIT_MS,
      )
    if (budgetPerDay === undefined) return
    const { cost_usd } = await costsOf(db)
    if (cost_usd + (await expectedCostOf(db, model, concurrentBefore)) >= budgetPerDay)
      throw new AnnotatorUnavailable(
        'budget_spent',
        `The budget of $${budgetPerDay} for 24 hours is spent.`,
        BUDGET_WAIT_MS,
      )
  }
}
