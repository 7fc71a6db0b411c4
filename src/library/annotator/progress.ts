import { plural, span } from '../../clean-text.ts'
import type { Db } from '../../db/client.ts'
import { reannotations } from '../../db/schema/frames.ts'
import { sql } from '../../sql/orm.ts'
import { findUnderWay } from '../videos/video-status.ts'
import { type Costs, expectedCostOfFrames } from './vision-spending.ts'

/** How far the describing of frames is: first descriptions, and those that were asked for again. */
export interface Progress {
  done: number
  frames: number
  /** Of those that are left, the ones described again: they wait behind first descriptions. */
  again: number
  /** Answers of the model in the last ten minutes; null without any. */
  per_minute: number | null
  left_sec: number | null
  /** Dollars that the rest may cost; null while no call had a price. */
  expected_usd: number | null
}

/** Null while nothing waits. */
export async function findProgress(db: Db, model: string): Promise<Progress | null> {
  const first = await findUnderWay(db)
  const again = await db.$count(reannotations)
  const left = first.frames - first.described + again
  if (left === 0) return null
  const { rows } = await db.execute<{ redone: number; answered: number; seconds: number | null }>(sql`
    with answers as (
      select c.frames, c.at, v.status = 'ready' and c.at >= r.since as redone
        from vision_calls c left join videos v on v.id = c.video_id,
             (select min(requested_at) as since from reannotations) r
       where c.outcome in ('ok', 'repaired') and c.at >= least(r.since, now() - interval '10 minutes'))
    select coalesce(sum(frames) filter (where redone), 0)::int as redone,
           coalesce(sum(frames) filter (where at > now() - interval '10 minutes'), 0)::int as answered,
           extract(epoch from now() - min(at) filter (where at > now() - interval '10 minutes'))::float8 as seconds
      from answers`)
  const { redone, answered, seconds } = rows[0]!
  const perMinute = seconds === null ? null : answered / Math.max(1, seconds / 60)
  return {
    done: first.described + redone,
    frames: first.described + redone + left,
    again,
    per_minute: perMinute && Math.round(perMinute * 10) / 10,
    left_sec: perMinute && Math.ceil((left / perMinute) * 60),
    expected_usd: (await expectedCostOfFrames(db, model, left)).cost_usd,
  }
}

interface Told {
  progress: Progress | null
  problem: { message: string } | null
  last_24_h: Costs
}

/** For people: n of m with pace and time, then the money, then what waits for what. */
export function describeProgress({ progress, problem, last_24_h }: Told, budgetPerDay: number | undefined): string[] {
  const lines: string[] = []
  if (progress) {
    const { done, frames, again, per_minute, left_sec } = progress
    const pace = per_minute ? `, ${per_minute} a minute` : ''
    const time = left_sec && !problem ? `, about ${span(left_sec)} left` : ''
    lines.push(`${done} of ${frames} frames are described${pace}${time}.`)
    if (problem) lines.push(`${frames - done} frames wait until the model answers again.`)
    else if (again > 0 && again < frames - done)
      lines.push(`${again} of the rest, described again, wait behind those of new videos.`)
  }
  const { calls, cost_usd } = last_24_h
  const expected = progress?.expected_usd
  const rest = expected ? `, about $${expected.toFixed(2)} to come` : ''
  const budget = budgetPerDay === undefined ? '' : ` of $${budgetPerDay}, $${left(budgetPerDay, cost_usd)} left`
  if (calls > 0) lines.push(`${plural(calls, 'call')} in 24 hours, $${cost_usd.toFixed(4)}${budget}${rest}.`)
  return lines
}

const left = (budget: number, spent: number) => Math.max(0, budget - spent).toFixed(2)
