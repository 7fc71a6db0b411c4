import { isDeepStrictEqual } from 'node:util'
import type { Db, DbOrTx, Tx } from '../../db/client.ts'
import { annotations, type FrameRow, frames, reannotations } from '../../db/schema/frames.ts'
import { shots, type VideoRow } from '../../db/schema/videos.ts'
import { appendEvent } from '../../events/append.ts'
import { and, asc, eq, inArray, sql } from '../../sql/orm.ts'
import type { FrameAnnotation } from '../../vision/annotator.ts'
import { ANNOTATED, type Annotated } from '../../vocabulary.ts'
import { idArray } from '../ids.ts'
import { loadVocabulary, shareVocabulary, type Vocabulary } from '../techniques/vocabulary.ts'
import { settleIfComplete } from '../videos/lifecycle.ts'
import { aboutVideo, lockVideo } from '../videos/videos.ts'
import { lockFrames } from './frames.ts'
import { resolveFrame, type ValueCandidate, valuesOf } from './provenance.ts'
import { plainText, sanitizeAnnotation } from './sanitize-annotation.ts'

/**
 * The frames of a video that wait for this annotator, in time order. While the video is annotating: those without its
 * answer, or with a requested re-annotation. Once ready: only those with a requested re-annotation.
 */
export async function loadAwaiting(
  db: DbOrTx,
  video: Pick<VideoRow, 'id' | 'status'>,
  annotator: string,
  frameIds?: readonly string[],
): Promise<FrameRow[]> {
  const requested = sql`exists (
    select 1 from reannotations r where r.frame_id = ${frames.id} and r.annotator = ${annotator})`
  const unanswered = sql`not exists (
    select 1 from annotations a where a.frame_id = ${frames.id} and a.annotator = ${annotator})`
  return db
    .select()
    .from(frames)
    .where(
      and(
        eq(frames.videoId, video.id),
        frameIds ? inArray(frames.id, frameIds) : undefined,
        video.status === 'annotating' ? sql`(${requested} or ${unanswered})` : requested,
      ),
    )
    .orderBy(frames.tMs)
}

export interface AnswersToRecord {
  videoId: string
  /** The video's revision when the job was created. A higher one (cancelled, retried) rejects the answers. */
  revision: number
  annotator: string
  model: string
  list: readonly FrameAnnotation[]
}

/**
 * Stores an annotator's answers about frames of one video, resolves each frame's public values, and makes the video
 * ready when no answer is missing. A repeat overwrites. A value outside its closed list or the vocabulary is dropped.
 * Returns false, and writes nothing, when the video has moved on.
 */
export async function recordAnnotations(
  db: Db,
  { videoId, revision, annotator, model, list }: AnswersToRecord,
): Promise<boolean> {
  return db.transaction(async (tx) => {
    await shareVocabulary(tx)
    const video = await lockVideo(tx, videoId)
    if (!video || video.revision !== revision || (video.status !== 'annotating' && video.status !== 'ready'))
      return false
    if (list.length === 0) return true
    const { answered } = await storeAnswers(tx, { video, annotator, model, list })
    if (answered.length > 0)
      await tx
        .delete(reannotations)
        .where(and(inArray(reannotations.frameId, answered), eq(reannotations.annotator, annotator)))
    await settleIfComplete(tx, videoId)
    await settleReannotation(tx, video, annotator)
    return true
  })
}

/**
 * Stores answers about frames of one video, resolves the frames, and appends an event if any answer is new. The caller
 * holds the video's lock. `answered` and `changed` are ids of frames.
 */
async function storeAnswers(
  tx: Tx,
  { video, annotator, model, list }: Pick<AnswersToRecord, 'annotator' | 'model' | 'list'> & { video: VideoRow },
): Promise<{ answered: string[]; changed: string[] }> {
  const videoId = video.id
  const vocabulary = await loadVocabulary(tx)
  const ids = list.map((annotation) => annotation.frameId)
  await lockFrames(tx, sql`f.video_id = ${videoId} and f.id = any(${idArray(ids)})`, 'no key update')
  const known = await tx
    .select()
    .from(frames)
    .where(and(eq(frames.videoId, videoId), inArray(frames.id, ids)))
  const rows = new Map(known.map((row) => [row.id, row]))
  const stored = await tx
    .select()
    .from(annotations)
    .where(and(eq(annotations.annotator, annotator), inArray(annotations.frameId, ids)))
  const earlier = new Map(stored.map((answer) => [answer.frameId, answer]))
  const now = new Date()
  const answered: string[] = []
  const changed: string[] = []
  for (const annotation of list) {
    const row = rows.get(annotation.frameId)
    if (!row) continue
    answered.push(row.id)
    const answer = toAnswer(annotation, vocabulary, model, now)
    // A job that ran twice (Redis forgot it was running) repeats its answers: that is not a change.
    if (isRepeat(earlier.get(row.id), answer)) continue
    await tx
      .insert(annotations)
      .values({ frameId: row.id, annotator, ...answer })
      .onConflictDoUpdate({
        target: [annotations.frameId, annotations.annotator],
        set: answer,
        // A failure never replaces an earlier answer.
        setWhere: sql`${annotations.status} <> 'annotated' or excluded.status = 'annotated'`,
      })
    if (annotation.measures) await tx.update(frames).set(annotation.measures).where(eq(frames.id, row.id))
    await resolveFrame(tx, row, vocabulary)
    changed.push(row.id)
  }
  if (changed.length > 0)
    await appendEvent(tx, { type: 'frames.annotated', ...aboutVideo(video, { frame_ids: changed, annotator }) })
  return { answered, changed }
}

type StoredAnswer = Omit<typeof annotations.$inferSelect, 'frameId' | 'annotator'>

const STATUSES: readonly FrameAnnotation['status'][] = ['annotated', 'refused', 'failed']

function toAnswer(annotation: FrameAnnotation, vocabulary: Vocabulary, model: string, now: Date): StoredAnswer {
  const { values, issues, proposal } = sanitizeAnnotation(annotation, vocabulary)
  return {
    model,
    status: STATUSES.includes(annotation.status) ? annotation.status : 'failed',
    reason: annotation.reason === undefined ? null : plainText(annotation.reason),
    proposedTechnique: proposal ?? null,
    values,
    issues,
    createdAt: now,
  }
}

/** Compares answers in the form the database returns: without undefined, keys in any order. */
function isRepeat(before: StoredAnswer | undefined, answer: StoredAnswer): boolean {
  if (!before) return false
  const content = ({ model, status, reason, proposedTechnique, values, issues }: StoredAnswer) =>
    JSON.parse(JSON.stringify({ model, status, reason, proposedTechnique, values, issues }))
  return isDeepStrictEqual(content(before), content(answer))
}

/** A ready video whose frames all have this annotator's answer belongs to this annotator from now on. */
async function settleReannotation(tx: Tx, video: VideoRow, annotator: string): Promise<void> {
  if (video.status !== 'ready' || video.annotator === annotator) return
  await tx.execute(sql`
    update videos v set annotator = ${annotator}, updated_at = now() where v.id = ${video.id}
       and not exists (select 1 from frames f where f.video_id = v.id
             and not exists (select 1 from annotations a where a.frame_id = f.id and a.annotator = ${annotator}))`)
}

/** The public `annotation.model` of frames that notes describe. */
const NOTES = 'notes'

/** What a person wrote about the shot in which `at` (seconds) lies. Of several in a shot, each begins at its own. */
export type Note = { at: number } & Partial<Record<Annotated, string>>

/** The notes of some frames by their ids. The choice is the same every time. */
export async function sampleNotes(db: Db, limit: number): Promise<Map<string, ValueCandidate['values']>> {
  const rows = await db
    .select()
    .from(annotations)
    .where(eq(annotations.model, NOTES))
    .orderBy(sql`md5(${annotations.frameId})`)
    .limit(limit)
  return new Map(rows.map((row) => [row.frameId, valuesOf(row)]))
}

/**
 * Describes the frames of a video by notes that came with it, in order of time. A note outranks a model's answers; a
 * correction outranks a note. Frames that `author`'s notes already describe are skipped, so a repeat changes nothing.
 * Returns the number of frames described: 0 before the frames are extracted and for an unknown video.
 */
export async function recordNotes(
  db: Db,
  { videoId, author, notes }: { videoId: string; author: string; notes: readonly Note[] },
): Promise<number> {
  const annotator = `${NOTES}:${author}`
  return db.transaction(async (tx) => {
    // The lock order of recordAnnotations: the vocabulary, the video, the frames.
    await shareVocabulary(tx)
    const video = await lockVideo(tx, videoId)
    if (video?.status !== 'annotating' && video?.status !== 'ready') return 0
    const rows = await tx
      .select({ id: frames.id, tMs: frames.tMs })
      .from(frames)
      .where(
        and(
          eq(frames.videoId, videoId),
          sql`not exists (select 1 from annotations a where a.frame_id = ${frames.id} and a.annotator = ${annotator})`,
        ),
      )
      .orderBy(asc(frames.tMs))
    const shotsOf = await tx.select().from(shots).where(eq(shots.videoId, videoId)).orderBy(asc(shots.n))
    const list = rows.flatMap(({ id, tMs }) => {
      const note = noteOf(tMs, { shots: shotsOf, notes })
      return note ? [toAnnotation(id, note)] : []
    })
    if (list.length === 0) return 0
    const { changed } = await storeAnswers(tx, { video, annotator, model: NOTES, list })
    return changed.length
  })
}

/** The note of a picture's moment. The first note of a shot holds from the beginning of the shot on. */
export function noteOf<N extends Note>(
  tMs: number,
  { shots, notes }: { shots: readonly { fromMs: number; toMs: number }[]; notes: readonly N[] },
): N | undefined {
  const shot = shots.findLast(({ fromMs }) => fromMs <= tMs)
  const ofShot = notes.filter(({ at }) => shot && shot.fromMs <= at * 1000 && at * 1000 < shot.toMs)
  return ofShot.findLast(({ at }) => at * 1000 <= tMs) ?? ofShot[0]
}

function toAnnotation(frameId: string, note: Note): FrameAnnotation {
  const values: FrameAnnotation['values'] = {}
  for (const attribute of ANNOTATED) {
    const value = note[attribute]
    if (value !== undefined) values[attribute] = { value, source: 'notes', confidence: 1 }
  }
  return { frameId, status: 'annotated', values, issues: [] }
}
