import type { VisionConfig } from '../../config.ts'
import { type Db, type DbOrTx, VISION_LEDGER_LOCK } from '../../db/client.ts'
import { videos } from '../../db/schema/videos.ts'
import { visionCalls } from '../../db/schema/vision.ts'
import { appendEvent } from '../../events/append.ts'
import { and, eq, sql } from '../../sql/orm.ts'
import { type AnnotatorCall, AnnotatorUnavailable, type Ledger, VideoBudgetSpent } from '../../vision/annotator.ts'
import { MEASURED } from '../../vision/measured/identity.ts'

/** The model that is paid, its prices per million tokens, and the budgets, in US dollars. */
export type SpendingRules = Pick<VisionConfig, 'model' | 'priceIn' | 'priceOut' | 'budgetPerDay' | 'budgetPerVideo'>

/** The outcome of a call that was sent and has no answer yet. It counts at its expected cost. */
const SENT = 'sent'

/** How soon a spent budget of the day is checked again: its 24 hours are a sliding window. */
const BUDGET_WAIT_MS = 10 * 60_000

/** Tokens of a call before the first is known: the instructions, one picture and one answer. */
const TOKENS_GUESSED = { base: 2_500, picture: 1_000, answer: 250 }

/**
 * The ledger of one video's calls. Each call reserves its expected cost before it is sent and until its real cost is
 * known, across all processes. So concurrent calls cannot each spend the rest of a budget. A call without an answer
 * keeps its reservation, because it may be charged.
 */
export function openLedger(db: Db, rules: SpendingRules, videoId: string): Ledger {
  return {
    async reserve(frameCount) {
      const id = await reserveCall(db, rules, { videoId, frames: frameCount })
      return {
        settle: (call) => settleCall(db, id, videoId, call),
        release: () => releaseCall(db, id),
      }
    },
  }
}

/**
 * Reserves the expected cost of a call, and returns the reservation's number.
 * @throws AnnotatorUnavailable `budget_spent` `misconfigured`, VideoBudgetSpent
 */
async function reserveCall(
  db: DbOrTx,
  rules: SpendingRules,
  { videoId, frames }: { videoId: string; frames: number },
): Promise<number> {
  return db.transaction(async (tx) => {
    await checkBudgets(tx, rules, videoId)
    const [row] = await tx
      .insert(visionCalls)
      .values({
        // Null when the video was deleted in the meantime. The call is still reserved.
        videoId: sql`(select id from videos where id = ${videoId} for key share)`,
        model: rules.model,
        frames,
        costUsd: await expectedCost(tx, rules, frames),
        durationMs: 0,
        outcome: SENT,
      })
      .returning({ id: visionCalls.id })
    return row!.id
  })
}

async function checkBudgets(tx: DbOrTx, rules: SpendingRules, videoId: string): Promise<void> {
  const { model, budgetPerDay, budgetPerVideo } = rules
  if (budgetPerDay === undefined && budgetPerVideo === undefined) return
  await tx.execute(sql`select pg_advisory_xact_lock(${VISION_LEDGER_LOCK})`)
  if (await repliesWithoutUsage(tx, model))
    throw new AnnotatorUnavailable(
      'misconfigured',
      'The vision endpoint reports no token usage, so no budget can be kept. ' +
        'Make it report usage, or unset VISION_BUDGET_VIDEO and VISION_BUDGET_DAY.',
      BUDGET_WAIT_MS,
    )
  if (await isVideoBudgetSpent(tx, rules, videoId)) throw new VideoBudgetSpent()
  if (budgetPerDay !== undefined && (await costsOf(tx)).cost_usd >= budgetPerDay)
    throw new AnnotatorUnavailable(
      'budget_spent',
      `The budget of $${budgetPerDay} for 24 hours is spent. Frames wait; VISION_BUDGET_DAY raises it.`,
      BUDGET_WAIT_MS,
    )
}

/**
 * True when the calls for a video, including those without an answer, have used up the budget of its ingestion. A ready
 * video is described again because somebody asked for it and was told the cost: only the day's budget holds.
 */
async function isVideoBudgetSpent(
  db: DbOrTx,
  { budgetPerVideo }: Pick<SpendingRules, 'budgetPerVideo'>,
  videoId: string,
): Promise<boolean> {
  if (budgetPerVideo === undefined) return false
  if ((await db.$count(videos, and(eq(videos.id, videoId), eq(videos.status, 'ready')))) > 0) return false
  return (await costsOf(db, videoId)).cost_usd >= budgetPerVideo
}

/** US dollars: the mean of the model's last calls, or a guess by its prices; null without prices. */
async function expectedCost(tx: DbOrTx, rules: SpendingRules, frames: number): Promise<number | null> {
  const { costUsd } = await averageCallOf(tx, rules.model)
  if (costUsd !== null) return costUsd
  const { priceIn, priceOut } = rules
  if (priceIn === undefined || priceOut === undefined) return null
  const { base, picture, answer } = TOKENS_GUESSED
  return ((base + picture * frames) * priceIn + answer * frames * priceOut) / 1e6
}

/** Replaces a reservation by the call's real cost and appends the event. Settling twice changes nothing. */
async function settleCall(db: Db, id: number, videoId: string, call: AnnotatorCall): Promise<void> {
  const { inputTokens, cachedTokens, outputTokens, costUsd, outcome } = call
  const frames = call.frameIds.length
  const durationMs = Math.round(call.durationMs)
  await db.transaction(async (tx) => {
    const { rowCount } = await tx
      .update(visionCalls)
      .set({ frames, inputTokens, cachedTokens, outputTokens, costUsd, durationMs, outcome })
      .where(sql`${visionCalls.id} = ${id} and ${visionCalls.outcome} = ${SENT}`)
    if (rowCount === 0) return
    await appendEvent(tx, {
      type: 'model.called',
      subject: videoId,
      accountId: null,
      data: {
        video_id: videoId,
        model: call.model,
        outcome,
        frames,
        input_tokens: inputTokens,
        output_tokens: outputTokens,
        cost_usd: costUsd,
        duration_ms: durationMs,
      },
    })
  })
}

/** Releases the reservation of a call. */
async function releaseCall(db: Db, id: number): Promise<void> {
  await db.delete(visionCalls).where(sql`${visionCalls.id} = ${id} and ${visionCalls.outcome} = ${SENT}`)
}

export interface Costs {
  /** Calls, including those without an answer yet. */
  calls: number
  input_tokens: number
  output_tokens: number
  cost_usd: number
}

/** SQL: the columns of `Costs` over some of `vision_calls`. */
export const COSTS = sql`count(*)::int as calls, coalesce(sum(input_tokens), 0)::float8 as input_tokens,
  coalesce(sum(output_tokens), 0)::float8 as output_tokens, coalesce(sum(cost_usd), 0) as cost_usd`

/** The cost of a video's descriptions so far. Without an id: the cost of the last 24 hours. */
export async function costsOf(db: DbOrTx, videoId?: string): Promise<Costs> {
  const { rows } = await db.execute<Costs & Record<string, unknown>>(sql`
    select ${COSTS} from vision_calls
     where ${videoId === undefined ? sql`at > now() - interval '24 hours'` : sql`video_id = ${videoId}`}`)
  return rows[0]!
}

/** Mean cost and number of frames of the model's last 50 priced answers; null and 0 while there are none. */
async function averageCallOf(db: DbOrTx, model: string): Promise<{ costUsd: number | null; framesPerCall: number }> {
  const { rows } = await db.execute<{ cost: number | null; frames: number | null }>(sql`
    select avg(cost_usd)::float8 as cost, avg(frames)::float8 as frames
      from (select cost_usd, frames from vision_calls
             where model = ${model} and cost_usd is not null and outcome <> ${SENT}
             order by at desc limit 50) last`)
  const { cost, frames: framesPerCall } = rows[0]!
  return { costUsd: cost, framesPerCall: framesPerCall ?? 0 }
}

/**
 * The most that describing this many frames would cost, by the model's last calls. Zero without a model; a null cost
 * while no call had a price. Images that the model has described before cost nothing.
 */
export async function expectedCostOfFrames(
  db: DbOrTx,
  model: string,
  frames: number,
): Promise<{ calls: number; cost_usd: number | null }> {
  if (frames === 0 || model === MEASURED.model) return { calls: 0, cost_usd: 0 }
  const { costUsd, framesPerCall } = await averageCallOf(db, model)
  const calls = Math.ceil(frames / Math.max(1, framesPerCall))
  return { calls, cost_usd: costUsd === null ? null : costUsd * calls }
}

/** True when the model's last reply within 24 hours came without token counts. */
async function repliesWithoutUsage(db: DbOrTx, model: string): Promise<boolean> {
  const { rows } = await db.execute<{ without_usage: boolean }>(sql`
    select cost_usd is null and (input_tokens is null or output_tokens is null) as without_usage
      from vision_calls
     where model = ${model} and outcome not in ('failed', ${SENT}) and at > now() - interval '24 hours'
     order by at desc limit 1`)
  return rows[0]?.without_usage ?? false
}

export interface VisionErrors {
  calls: number
  failed: number
}

/** Calls to the model in the last 24 hours, and how many of them failed. */
export async function findVisionErrors(db: Db): Promise<VisionErrors> {
  const { rows } = await db.execute<{ calls: number; failed: number }>(sql`
    select count(*)::int as calls, (count(*) filter (where outcome = 'failed'))::int as failed
      from vision_calls where at > now() - interval '24 hours'`)
  return rows[0]!
}

export async function databaseBytes(db: Db): Promise<number> {
  const { rows } = await db.execute<{ bytes: string }>(sql`select pg_database_size(current_database()) as bytes`)
  return Number(rows[0]!.bytes)
}
