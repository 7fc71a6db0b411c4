import type { Db, DbOrTx } from '../../db/client.ts'
import { reannotations } from '../../db/schema/frames.ts'
import { settings } from '../../db/schema/settings.ts'
import { AppError } from '../../errors.ts'
import { and, eq, lt, sql } from '../../sql/orm.ts'
import { type Finding, faultOf } from '../../vision/annotator.ts'
import { findSetting, putSetting } from '../settings.ts'
import { findProgress, type Progress } from './progress.ts'
import { type Costs, costsOf } from './vision-spending.ts'

/** The annotator of this installation's workers. They publish it when they start. */
export interface ActiveAnnotator {
  version: string
  model: string
  batchSize: number
}

const ACTIVE_ANNOTATOR = 'annotator'

export async function publishAnnotator(db: Db, annotator: ActiveAnnotator): Promise<void> {
  await putSetting(db, ACTIVE_ANNOTATOR, annotator)
}

export function findAnnotator(db: DbOrTx): Promise<ActiveAnnotator | undefined> {
  return findSetting(db, ACTIVE_ANNOTATOR)
}

/** @throws AppError conflict while no worker has published its annotator. */
export async function requireAnnotator(db: Db): Promise<ActiveAnnotator> {
  const active = await findAnnotator(db)
  if (!active)
    throw new AppError(
      'conflict',
      'No worker has run here yet. Start one (npm start or frames worker), then try again.',
    )
  return active
}

/** Whether frames can be described now, how many wait, and what it costs. */
export interface AnnotatorStatus {
  present: string | null
  /** Why frames cannot be described; null while they can. */
  problem: { code: string; message: string; since: string } | null
  /** Frames of requested re-annotations that have no answer yet. */
  waiting: number
  progress: Progress | null
  /** What the model's server told last. */
  check: ModelCheck | null
  last_24_h: Costs
}

/** What a check of the model found, and when. */
interface ModelCheck {
  annotator: string
  at: string
  findings: readonly Finding[]
}

const VISION_CHECK = 'vision-check'

/** Records a check of the model. Its fault is a problem until a check without one, or until frames are described. */
export async function recordCheck(db: Db, annotator: string, findings: readonly Finding[]): Promise<void> {
  const mended = faultOf((await findSetting<ModelCheck>(db, VISION_CHECK))?.findings ?? [])
  const fault = faultOf(findings)
  if (fault) await recordAnnotatorProblem(db, { code: 'misconfigured', message: fault })
  else if (mended) await clearAnnotatorProblem(db, new Date(), mended)
  await putSetting(db, VISION_CHECK, { annotator, at: new Date().toISOString(), findings } satisfies ModelCheck)
}

const VISION_STATUS = 'vision-status'

interface StoredStatus {
  code: string
  message?: string
  since?: string
}

/**
 * Records why frames cannot be described (a wrong key, a spent budget), for operators. A repeat keeps the time of the
 * first report.
 */
export async function recordAnnotatorProblem(db: Db, problem: { code: string; message: string }): Promise<void> {
  const now = new Date()
  await db
    .insert(settings)
    .values({
      name: VISION_STATUS,
      value: { ...problem, since: now.toISOString() } satisfies StoredStatus,
      updatedAt: now,
    })
    .onConflictDoUpdate({
      target: settings.name,
      set: {
        value: sql`excluded.value || case when ${settings.value}->>'code' = excluded.value->>'code'
                     then jsonb_build_object('since', ${settings.value}->'since') else '{}' end`,
        updatedAt: now,
      },
    })
}

/** Records that describing works, or that `message` is mended. What began before the last report is ignored. */
export async function clearAnnotatorProblem(db: Db, began: Date, message?: string): Promise<void> {
  await db
    .update(settings)
    .set({ value: { code: 'ok' } satisfies StoredStatus, updatedAt: new Date() })
    .where(
      and(
        eq(settings.name, VISION_STATUS),
        sql`${settings.value}->>'message' = coalesce(${message ?? null}, ${settings.value}->>'message')`,
        lt(settings.updatedAt, began),
      ),
    )
}

export async function findAnnotatorStatus(db: Db): Promise<AnnotatorStatus> {
  const [row] = await db.select().from(settings).where(eq(settings.name, VISION_STATUS))
  const value = row?.value as StoredStatus | undefined
  const active = await findAnnotator(db)
  const check = await findSetting<ModelCheck>(db, VISION_CHECK)
  const problem =
    row && value?.message !== undefined
      ? { code: value.code, message: value.message, since: value.since ?? row.updatedAt.toISOString() }
      : null
  // A fault that was mended since is no news.
  const isNews = check && [undefined, problem?.message].includes(faultOf(check.findings))
  return {
    present: active?.version ?? null,
    problem,
    waiting: await db.$count(reannotations),
    progress: active ? await findProgress(db, active.model) : null,
    check: isNews && check.annotator === active?.version ? check : null,
    last_24_h: await costsOf(db),
  }
}
