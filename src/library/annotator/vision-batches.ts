import { and, eq, inArray, ne, type SQL, sql } from 'drizzle-orm'
import type { Db, DbOrTx } from '../../db/client.ts'
import { visionBatches, visionBatchFrames, visionBatchRequests } from '../../db/schema/vision.ts'
import { AnnotatorUnavailable, VideoBudgetSpent } from '../../vision/annotator.ts'
import { BATCH_PRICE } from '../../vision/model/usage.ts'
import { reserveCall, type SpendingRules } from './vision-spending.ts'

/** A frame is in at most this many batches. After that it is asked about in the usual calls. */
const MAX_ATTEMPTS = 2

export type Batch = typeof visionBatches.$inferSelect
export type BatchRequestRow = typeof visionBatchRequests.$inferSelect

export interface BatchTarget {
  /** The annotator that frames wait for, and how many frames share a call. */
  annotator: string
  batchSize: number
  model: string
  promptVersion: string
}

/** Frames of one video that one job describes together. */
export interface BatchGroup {
  videoId: string
  frameIds: string[]
}

/** Frames of back-fills and re-annotations that no batch and no kept answer covers, oldest video first. */
export async function findBatchable(db: Db, target: BatchTarget, groups: number): Promise<BatchGroup[]> {
  const { rows } = await db.execute<{ video_id: string; ids: string[] }>(sql`
    with numbered as (
      select f.id, f.video_id, f.t_ms, f.image_sha256, v.added_at,
             (row_number() over (partition by f.video_id order by f.t_ms) - 1) / ${target.batchSize}::int as part,
             v.backfill and v.status = 'annotating' and not exists (
               select 1 from annotations a where a.frame_id = f.id and a.annotator = ${target.annotator}) as first
        from frames f join videos v on v.id = f.video_id
       where (v.backfill and v.status = 'annotating' and v.annotator = ${target.annotator})
          or (v.status = 'ready' and exists (select 1 from reannotations r where r.video_id = v.id)))
    select video_id, array_agg(id order by t_ms) as ids
      from numbered n left join vision_batch_frames b on b.frame_id = n.id
     where (n.first or exists (
             select 1 from reannotations r where r.frame_id = n.id and r.annotator = ${target.annotator}))
       and not ${inBatch(sql`n.id`, target.model)}
       and b.state is distinct from 'done' and not ${answered(sql`n.image_sha256`, target)}
     group by video_id, added_at, part order by added_at, video_id, part limit ${groups}`)
  return rows.map((row) => ({ videoId: row.video_id, frameIds: row.ids }))
}

const answered = (sha: SQL, { model, promptVersion }: Pick<BatchTarget, 'model' | 'promptVersion'>) => sql`exists (
  select 1 from vision_answers w
   where w.image_sha256 = ${sha} and w.model = ${model} and w.prompt = ${promptVersion})`

/** SQL: a batch of this model that has not ended will answer the frame. Those of other models answer for themselves. */
const inBatch = (frameId: SQL, model: string) => sql`${frameId} in (
  select unnest(q.frame_ids || q.copy_ids) from vision_batches o join vision_batch_requests q on q.batch_id = o.id
   where o.status <> 'ended' and o.model = ${model})`

/** True while one of these frames is in a batch or waits for one: then no other call asks about them. */
export async function waitForBatch(db: Db, target: BatchTarget, frameIds: readonly string[]): Promise<boolean> {
  const { rows } = await db.execute(sql`
    select 1 from frames f left join vision_batch_frames b on b.frame_id = f.id
     where f.id = any(${sql.param([...frameIds])}::text[])
       and (${inBatch(sql`f.id`, target.model)}
            or (b.state is distinct from 'done' and not ${answered(sql`f.image_sha256`, target)})) limit 1`)
  return rows.length > 0
}

/** True when the answer to one of these frames is kept. */
export async function hasAnswers(db: Db, target: BatchTarget, frameIds: readonly string[]): Promise<boolean> {
  const { rows } = await db.execute(sql`
    select 1 from frames f where f.id = any(${sql.param([...frameIds])}::text[])
       and ${answered(sql`f.image_sha256`, target)} limit 1`)
  return rows.length > 0
}

/** Lets these frames go into batches again, as if they had been in none. Those that are in one stay in it. */
export async function forgetBatches(tx: DbOrTx, frameIds: SQL): Promise<void> {
  await tx.execute(sql`delete from vision_batch_frames where state <> 'open' and frame_id in (${frameIds})`)
}

/** The same for frames whose image was replaced. The answer of a batch that they are in is not about the new image. */
export async function forgetReplaced(tx: DbOrTx, frameIds: SQL): Promise<void> {
  await tx.execute(sql`delete from vision_batch_frames where frame_id in (${frameIds})`)
}

/** Of the frames of a batch, those whose image is still the one that was sent. */
export async function withoutReplaced(db: DbOrTx, frameIds: readonly string[]): Promise<string[]> {
  const rows = await db
    .select({ id: visionBatchFrames.frameId })
    .from(visionBatchFrames)
    .where(inArray(visionBatchFrames.frameId, [...frameIds]))
  return rows.map(({ id }) => id)
}

/** Frames of a video that a batch of this model will answer. */
export async function framesInBatches(db: DbOrTx, videoId: string, model: string): Promise<Set<string>> {
  const { rows } = await db.execute<{ id: string }>(
    sql`select f.id from frames f where f.video_id = ${videoId} and ${inBatch(sql`f.id`, model)}`,
  )
  return new Set(rows.map(({ id }) => id))
}

/**
 * Reserves the cost of the requests and stores the batch before anything is sent. Where the budget does not cover all
 * requests, the batch holds those that it covers. Undefined when it does not cover the first.
 */
export async function openBatch(
  db: Db,
  rules: SpendingRules,
  requests: readonly { videoId: string; frameIds: string[]; copyIds: string[] }[],
): Promise<number | undefined> {
  return db.transaction(async (tx) => {
    const [batch] = await tx
      .insert(visionBatches)
      .values({ model: rules.model, status: 'preparing' })
      .returning({ id: visionBatches.id })
    let n = 0
    for (const { videoId, frameIds, copyIds } of requests) {
      const callId = await reserve(tx, rules, videoId, frameIds.length)
      if (callId === 'stop') break
      const ids = [...frameIds, ...copyIds]
      if (callId === 'video') {
        await setFrames(tx, ids, 'done')
        continue
      }
      await tx.insert(visionBatchRequests).values({ batchId: batch!.id, n: n++, videoId, frameIds, copyIds, callId })
      await setFrames(tx, ids, 'open')
    }
    if (n > 0) return batch!.id
    await tx.delete(visionBatches).where(eq(visionBatches.id, batch!.id))
    return undefined
  })
}

async function reserve(tx: DbOrTx, rules: SpendingRules, videoId: string, frames: number) {
  try {
    return await reserveCall(tx, rules, { videoId, frames, share: BATCH_PRICE })
  } catch (error) {
    if (error instanceof VideoBudgetSpent) return 'video'
    if (error instanceof AnnotatorUnavailable) return 'stop'
    throw error
  }
}

async function setFrames(tx: DbOrTx, ids: readonly string[], state: 'open' | 'done'): Promise<void> {
  if (ids.length === 0) return
  await tx
    .insert(visionBatchFrames)
    .values(ids.map((frameId) => ({ frameId, attempts: 1, state })))
    .onConflictDoUpdate({
      target: visionBatchFrames.frameId,
      // A row that is open here belongs to a batch of another model, or to one that was never sent: it does not count.
      set: {
        state,
        attempts: sql`case when ${visionBatchFrames.state} = 'open' then 1 else ${visionBatchFrames.attempts} + 1 end`,
      },
    })
}

/** Batches that have not ended, oldest first. */
export async function openBatches(db: Db): Promise<Batch[]> {
  return db.select().from(visionBatches).where(ne(visionBatches.status, 'ended')).orderBy(visionBatches.id)
}

export async function requestsOf(db: Db, batchId: number): Promise<BatchRequestRow[]> {
  return db
    .select()
    .from(visionBatchRequests)
    .where(eq(visionBatchRequests.batchId, batchId))
    .orderBy(visionBatchRequests.n)
}

export async function moveBatch(db: Db, id: number, to: Partial<Omit<Batch, 'id'>>): Promise<void> {
  await db.update(visionBatches).set(to).where(eq(visionBatches.id, id))
}

export interface BatchEnd {
  /** How the provider ended it, or why it was given up. */
  outcome: string
  /** Numbers of the requests that were answered. */
  answered?: ReadonlySet<number>
  /** True: requests without an answer may be charged, so they stay in the books. */
  charged?: boolean
  /** True: it was not sent, or is of a model that is no longer used. It does not count as one of a frame's batches. */
  uncounted?: boolean
}

/**
 * Ends a batch and releases the reservations of requests without an answer. Their frames wait for another batch; after
 * the second batch they are asked about in the usual calls.
 */
export async function endBatch(
  db: Db,
  id: number,
  { outcome, answered = new Set(), charged = false, uncounted = false }: BatchEnd,
): Promise<void> {
  const requests = await requestsOf(db, id)
  const open = requests.filter(({ n }) => !answered.has(n))
  const framesOf = (list: readonly BatchRequestRow[]) =>
    list.flatMap(({ frameIds, copyIds }) => [...frameIds, ...copyIds])
  await db.transaction(async (tx) => {
    if (open.length > 0 && !charged)
      await tx.execute(sql`
        delete from vision_calls where outcome = 'sent'
           and id = any(${sql.param(open.map(({ callId }) => callId))}::bigint[])`)
    const openFrames = framesOf(open)
    if (openFrames.length > 0 && !uncounted)
      await tx
        .update(visionBatchFrames)
        .set({ state: sql`case when ${visionBatchFrames.attempts} < ${MAX_ATTEMPTS} then 'again' else 'done' end` })
        .where(inArray(visionBatchFrames.frameId, openFrames))
    const doneFrames = framesOf(requests.filter(({ n }) => answered.has(n)))
    if (doneFrames.length > 0 && !uncounted)
      await tx.update(visionBatchFrames).set({ state: 'done' }).where(inArray(visionBatchFrames.frameId, doneFrames))
    await tx
      .update(visionBatches)
      .set({ status: 'ended', outcome, endedAt: new Date() })
      .where(and(eq(visionBatches.id, id), ne(visionBatches.status, 'ended')))
  })
}
