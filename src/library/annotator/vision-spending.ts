import { sql } from 'drizzle-orm'
import type { Db, DbOrTx } from '../../db/client.ts'
import { visionCalls } from '../../db/schema/vision.ts'
import { appendEvent } from '../../events/append.ts'
import type { AnnotatorCall } from '../../vision/annotator.ts'
import { MEASURED } from '../../vision/measured/identity.ts'

/** Records a paid call and its event, also when its video was deleted while it ran. */
export async function recordVisionCall(db: Db, videoId: string, call: AnnotatorCall): Promise<void> {
  const { model, inputTokens, cachedTokens, outputTokens, costUsd, outcome } = call
  const frames = call.frameIds.length
  const durationMs = Math.round(call.durationMs)
  await db.transaction(async (tx) => {
    await tx.insert(visionCalls).values({
      videoId: sql`(select id from videos where id = ${videoId} for key share)`,
      model,
      frames,
      inputTokens,
      cachedTokens,
      outputTokens,
      costUsd,
      durationMs,
      outcome,
    })
    await appendEvent(tx, {
      type: 'model.called',
      subject: videoId,
      accountId: null,
      data: {
        video_id: videoId,
        model,
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

export interface Costs {
  calls: number
  input_tokens: number
  output_tokens: number
  cost_usd: number
}

/** The cost of a video's descriptions so far. Without an id: the cost of the last 24 hours. */
export async function costsOf(db: DbOrTx, videoId?: string): Promise<Costs> {
  const { rows } = await db.execute<Record<keyof Costs, string | null>>(sql`
    select count(*) as calls, sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens,
           sum(cost_usd) as cost_usd
      from vision_calls
     where ${videoId === undefined ? sql`at > now() - interval '24 hours'` : sql`video_id = ${videoId}`}`)
  const row = rows[0]!
  return {
    calls: Number(row.calls),
    input_tokens: Number(row.input_tokens ?? 0),
    output_tokens: Number(row.output_tokens ?? 0),
    cost_usd: Number(row.cost_usd ?? 0),
  }
}

/** Mean cost and number of frames of the model's last 50 priced calls; null and 0 while there are none. */
async function averageCallOf(db: DbOrTx, model: string): Promise<{ costUsd: number | null; framesPerCall: number }> {
  const { rows } = await db.execute<{ cost: number | null; frames: number | null }>(sql`
    select avg(cost_usd)::float8 as cost, avg(frames)::float8 as frames
      from (select cost_usd, frames from vision_calls
             where model = ${model} and cost_usd is not null order by at desc limit 50) last`)
  const { cost, frames: framesPerCall } = rows[0]!
  return { costUsd: cost, framesPerCall: framesPerCall ?? 0 }
}

/**
 * What describing so many frames would take, by the model's last calls. No calls and no cost without a model; a null
 * cost where no call had a price yet. Images that the model has described before cost nothing, so it is the most.
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
export async function repliesWithoutUsage(db: DbOrTx, model: string): Promise<boolean> {
  const { rows } = await db.execute<{ without_usage: boolean }>(sql`
    select cost_usd is null and (input_tokens is null or output_tokens is null) as without_usage
      from vision_calls
     where model = ${model} and outcome <> 'failed' and at > now() - interval '24 hours' order by at desc limit 1`)
  return rows[0]?.without_usage ?? false
}

/** The cost to expect of calls in flight: the mean call of this model, times their number. */
export async function expectedCostOf(db: DbOrTx, model: string, calls: number): Promise<number> {
  return calls > 0 ? calls * ((await averageCallOf(db, model)).costUsd ?? 0) : 0
}
