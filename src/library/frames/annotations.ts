import { isDeepStrictEqual } from 'node:util'
import { and, eq, inArray, isNotNull, sql } from 'drizzle-orm'
import type { Db, DbOrTx, Tx } from '../../db/client.ts'
import { annotations, dismissedSuggestions, reannotations } from '../../db/schema/annotations.ts'
import { frames, type Provenance } from '../../db/schema/frames.ts'
import { visionAnswers, visionCalls } from '../../db/schema/vision.ts'
import { invalid, notFound } from '../../errors.ts'
import { appendEvent } from '../../events/append.ts'
import type { AnnotatorCall, FrameAnnotation } from '../../vision/annotator.ts'
import type { AnswerCache, CachedAnswer } from '../../vision/model/model-annotator.ts'
import {
  ANNOTATED,
  type AnnotatedAttribute,
  MAX_TEXT,
  SHOTS,
  SOURCES,
  SUBJECTS,
  SURFACES,
  ZONES,
} from '../../vocabulary.ts'
import {
  knownNames,
  loadVocabulary,
  requireSlug,
  resolveSlug,
  shareVocabulary,
  toSlug,
  type Vocabulary,
} from '../techniques/techniques.ts'
import { factsOf, lockVideo, settleIfComplete, type VideoRow } from '../videos/videos.ts'
import { idArray, isId, lockFrames } from './frame-facts.ts'
import { type OfferedValue, OUT_OF_LIST, type Resolved, resolveValues, type ValueCandidate } from './provenance.ts'

export type FrameRow = typeof frames.$inferSelect

export const CLOSED: Partial<Record<AnnotatedAttribute, readonly string[]>> = {
  subject: SUBJECTS,
  surface: SURFACES,
  shot: SHOTS,
  zone: ZONES,
}

const COLUMN = {
  subject: 'subject',
  surface: 'surface',
  shot: 'shot',
  technique: 'technique',
  zone: 'zone',
  caption: 'caption',
  composition: 'composition',
  steal: 'steal',
  on_screen_text: 'onScreenText',
} as const satisfies Record<AnnotatedAttribute, keyof FrameRow>
const PROVENANCE_COLUMN = {
  subject: 'subjectProvenance',
  surface: 'surfaceProvenance',
  shot: 'shotProvenance',
  technique: 'techniqueProvenance',
  zone: 'zoneProvenance',
  caption: 'captionProvenance',
  composition: 'compositionProvenance',
  steal: 'stealProvenance',
  on_screen_text: 'onScreenTextProvenance',
} as const satisfies Record<AnnotatedAttribute, keyof FrameRow>

/**
 * The frames of a video that wait for the annotator, in time order: those of a video in work that it has not answered for, and those of a ready one that a
 * re-annotation named.
 */
export async function loadAwaiting(
  db: DbOrTx,
  video: Pick<VideoRow, 'id' | 'status'>,
  annotator: string,
  frameIds?: readonly string[],
): Promise<FrameRow[]> {
  const asked = sql`exists (select 1 from reannotations r where r.frame_id = ${frames.id} and r.annotator = ${annotator})`
  const unanswered = sql`not exists (select 1 from annotations a where a.frame_id = ${frames.id} and a.annotator = ${annotator})`
  return db
    .select()
    .from(frames)
    .where(
      and(
        eq(frames.videoId, video.id),
        frameIds ? inArray(frames.id, [...frameIds]) : undefined,
        video.status === 'annotating' ? sql`(${asked} or ${unanswered})` : asked,
      ),
    )
    .orderBy(frames.tMs)
}

export interface AnswersToRecord {
  videoId: string
  /** The video's revision when the work was given out: once it is raised (cancelled, retried), nothing is written any more. */
  revision: number
  annotator: string
  model: string
  list: readonly FrameAnnotation[]
}

/**
 * Stores what an annotator said of some frames of one video, resolves each frame's public values, and makes the video ready when it was the last. A repeat
 * overwrites; a value outside a closed list or the vocabulary never gets in, whoever sent it. False when the video has moved on and nothing was written.
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
    const vocabulary = await loadVocabulary(tx)
    const ids = list.map((annotation) => annotation.frameId)
    await lockFrames(tx, sql`f.video_id = ${videoId} and f.id = any(${idArray(ids)})`, 'no key update')
    const known = await tx
      .select()
      .from(frames)
      .where(and(eq(frames.videoId, videoId), inArray(frames.id, ids)))
    const rows = new Map(known.map((row) => [row.id, row]))
    const held = await tx
      .select()
      .from(annotations)
      .where(and(eq(annotations.annotator, annotator), inArray(annotations.frameId, ids)))
    const earlier = new Map(held.map((answer) => [answer.frameId, answer]))
    const now = new Date()
    const done: string[] = []
    const changed: string[] = []
    for (const annotation of list) {
      const row = rows.get(annotation.frameId)
      if (!row) continue
      done.push(row.id)
      const { values, issues, proposal } = checked(annotation, vocabulary)
      const entry = {
        model,
        status: STATUSES.includes(annotation.status) ? annotation.status : 'failed',
        reason: annotation.reason === undefined ? null : plainText(annotation.reason),
        proposedTechnique: proposal ?? null,
        values,
        issues,
        copiedFrom: annotation.copiedFrom && isId(annotation.copiedFrom) ? annotation.copiedFrom : null,
        createdAt: now,
      }
      // A job done twice (Redis forgot that it was running) says the same again: that is no news.
      if (isRepeat(earlier.get(row.id), entry)) continue
      await tx
        .insert(annotations)
        .values({ frameId: row.id, annotator, ...entry })
        .onConflictDoUpdate({
          target: [annotations.frameId, annotations.annotator],
          set: entry,
          // A failure takes back nothing that was answered before.
          setWhere: sql`${annotations.status} <> 'annotated' or excluded.status = 'annotated'`,
        })
      await resolveFrame(tx, row, vocabulary)
      changed.push(row.id)
    }
    if (done.length > 0)
      await tx
        .delete(reannotations)
        .where(and(inArray(reannotations.frameId, done), eq(reannotations.annotator, annotator)))
    if (changed.length > 0) {
      await appendEvent(tx, {
        type: 'frames.annotated',
        subject: videoId,
        accountId: null,
        data: { ...factsOf(video), frame_ids: changed, annotator },
      })
    }
    await settleIfComplete(tx, videoId)
    await settleReannotation(tx, video, annotator)
    return true
  })
}

type StoredAnswer = Omit<typeof annotations.$inferSelect, 'frameId' | 'annotator'>

/** Compared as the database gives them back: without undefined, keys in any order. */
function isRepeat(before: StoredAnswer | undefined, entry: StoredAnswer): boolean {
  if (!before) return false
  const said = ({ model, status, reason, proposedTechnique, values, issues, copiedFrom }: StoredAnswer) =>
    JSON.parse(JSON.stringify({ model, status, reason, proposedTechnique, values, issues, copiedFrom }))
  return isDeepStrictEqual(said(before), said(entry))
}

/** A ready video of which every frame has the new annotator's answer is that annotator's from now on. */
async function settleReannotation(tx: Tx, video: VideoRow, annotator: string): Promise<void> {
  if (video.status !== 'ready' || video.annotator === annotator) return
  await tx.execute(sql`
    update videos v set annotator = ${annotator}, updated_at = now() where v.id = ${video.id}
       and not exists (select 1 from frames f where f.video_id = v.id
             and not exists (select 1 from annotations a where a.frame_id = f.id and a.annotator = ${annotator}))`)
}

/** The last line of defence: what an annotator says is data. */
export function checked(annotation: FrameAnnotation, vocabulary: Vocabulary) {
  const values: FrameAnnotation['values'] = {}
  const issues = annotation.issues.slice(0, MAX_ISSUES)
  let proposed = annotation.suggestedTechnique?.slug
  for (const attribute of ANNOTATED) {
    const offered = annotation.values[attribute]
    if (!offered) continue
    let { value } = offered
    if (value !== null) {
      const allowed = CLOSED[attribute]
      if (allowed && !allowed.includes(value)) {
        issues.push({ attribute, code: OUT_OF_LIST, message: `"${value.slice(0, 80)}" is not in the list` })
        value = null
      } else if (attribute === 'technique') {
        const slug = resolveSlug(vocabulary, value)
        if (slug === undefined) {
          issues.push({ attribute, code: OUT_OF_LIST, message: `"${value.slice(0, 80)}" is not in the vocabulary` })
          proposed ??= value
        }
        value = slug ?? null
      } else if (!allowed) {
        value = plainText(value)
      }
    }
    const { confidence, reason } = offered
    values[attribute] = {
      value,
      // An annotator is no person, whatever it says.
      source: SOURCES.includes(offered.source) && offered.source !== 'person' ? offered.source : 'model',
      confidence: confidence === null || !Number.isFinite(confidence) ? null : Math.min(1, Math.max(0, confidence)),
      ...(value !== null
        ? {}
        : offered.value !== null
          ? { reason: OUT_OF_LIST }
          : reason
            ? { reason: plainText(reason) ?? 'unknown' }
            : {}),
    }
  }
  let proposal = proposed === undefined ? undefined : toSlug(proposed) || undefined
  if (proposal !== undefined && !values.technique?.value) {
    // What it calls a proposal may be a known move by another name.
    const slug = resolveSlug(vocabulary, proposal)
    if (slug !== undefined) {
      values.technique = adopted(values.technique, slug)
      proposal = undefined
    }
  }
  return {
    values,
    issues: issues.map(({ attribute, code, message }) => ({
      ...(attribute ? { attribute } : {}),
      code,
      message: plainText(message),
    })),
    proposal: values.technique?.value ? undefined : proposal,
  }
}

const MAX_ISSUES = 50
const STATUSES: readonly FrameAnnotation['status'][] = ['annotated', 'refused', 'failed']

function adopted(offered: OfferedValue | undefined, slug: string): OfferedValue {
  return { value: slug, source: offered?.source ?? 'model', confidence: offered?.confidence ?? null }
}

/** What Postgres can hold and a page can show: no NUL or other control characters but line breaks, bounded. */
function plainText(value: string): string | null {
  const clean = value
    .toWellFormed()
    .replace(/[^\P{Cc}\n]/gu, ' ')
    .trim()
    .slice(0, MAX_TEXT)
    .toWellFormed()
  return clean === '' ? null : clean
}

/** Recomputes a frame's public values from every annotator's answer and the values people have locked. */
async function resolveFrame(
  tx: Tx,
  row: FrameRow,
  vocabulary: Vocabulary,
  unlock: readonly AnnotatedAttribute[] = [],
): Promise<Resolved> {
  const answers = await tx.select().from(annotations).where(eq(annotations.frameId, row.id))
  const candidates: ValueCandidate[] = answers.map((answer) => ({
    annotator: answer.annotator,
    at: answer.createdAt,
    values: withCurrentTechnique(answer.values as ValueCandidate['values'], vocabulary),
  }))
  const locked: Partial<Record<AnnotatedAttribute, { value: string | null; provenance: Provenance }>> = {}
  for (const attribute of ANNOTATED) {
    const provenance = row[PROVENANCE_COLUMN[attribute]]
    if (provenance?.source === 'person' && !unlock.includes(attribute))
      locked[attribute] = { value: row[COLUMN[attribute]], provenance }
  }
  const resolved = resolveValues(candidates, locked)
  const set: Record<string, unknown> = { updatedAt: new Date(), annotationModel: describedBy(answers) }
  for (const attribute of ANNOTATED) {
    set[COLUMN[attribute]] = resolved[attribute].value
    set[PROVENANCE_COLUMN[attribute]] = resolved[attribute].provenance
  }
  await tx.update(frames).set(set).where(eq(frames.id, row.id))
  return resolved
}

/** The public `annotation.model`: the newest that described the frame as a model does, else the newest that answered at all. */
function describedBy(answers: readonly (typeof annotations.$inferSelect)[]): string | null {
  const answered = answers
    .filter((answer) => answer.status === 'annotated')
    .sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime() || (a.annotator < b.annotator ? -1 : 1))
  const byModel = answered.find((answer) =>
    Object.values(answer.values as ValueCandidate['values']).some((value) => value.source === 'model'),
  )
  return (byModel ?? answered[0])?.model ?? null
}

/** Stored answers keep the slug of their day; redirects bring it up to date, a retired one stays. */
function withCurrentTechnique(values: ValueCandidate['values'], vocabulary: Vocabulary): ValueCandidate['values'] {
  const technique = values.technique
  if (!technique?.value) return values
  const slug = vocabulary.bySlug.has(technique.value) ? technique.value : vocabulary.redirects.get(technique.value)
  return { ...values, technique: { ...technique, value: slug ?? null } }
}

/* ---------- corrections ---------- */

/** Attribute → the value a person sets and locks; null gives it back to the annotators. */
export type Correction = Partial<Record<AnnotatedAttribute, string | null>>

/** Sets, locks or unlocks values. Nothing that differs from what is there already: no event. */
export async function correctFrame(
  db: Db,
  { frameId, accountId, correction }: { frameId: string; accountId: string; correction: Correction },
): Promise<void> {
  if (!isId(frameId)) throw notFound('frame')
  await db.transaction(async (tx) => {
    const [found] = await tx.select({ videoId: frames.videoId }).from(frames).where(eq(frames.id, frameId))
    if (!found) throw notFound('frame')
    // The vocabulary, the video, then the frame: the order of recordAnnotations.
    await shareVocabulary(tx)
    const video = await lockVideo(tx, found.videoId)
    const [row] = await tx.select().from(frames).where(eq(frames.id, frameId)).for('update')
    if (!row || !video) throw notFound('frame')
    const vocabulary = await loadVocabulary(tx)
    const unlock: AnnotatedAttribute[] = []
    const changes: Record<string, string | null> = {}
    const at = new Date().toISOString()
    for (const attribute of ANNOTATED) {
      const wanted = correction[attribute]
      if (wanted === undefined) continue
      const before = row[PROVENANCE_COLUMN[attribute]]
      if (wanted === null) {
        if (before?.source === 'person') unlock.push(attribute)
        continue
      }
      const value = personValue(attribute, wanted, vocabulary)
      if (before?.source === 'person' && row[COLUMN[attribute]] === value) continue
      changes[attribute] = value
      Object.assign(row, {
        [COLUMN[attribute]]: value,
        [PROVENANCE_COLUMN[attribute]]: {
          source: 'person',
          confidence: 1,
          by: `person:${accountId}`,
          at,
        } satisfies Provenance,
      })
    }
    if (Object.keys(changes).length === 0 && unlock.length === 0) return
    const resolved = await resolveFrame(tx, row, vocabulary, unlock)
    await appendEvent(tx, {
      type: 'frame.corrected',
      subject: frameId,
      accountId,
      data: {
        frame_id: frameId,
        video_id: row.videoId,
        author: video.author,
        technique: resolved.technique.value,
        subject: resolved.subject.value,
        changes,
        unlocked: unlock,
      },
    })
  })
}

function personValue(attribute: AnnotatedAttribute, wanted: string, vocabulary: Vocabulary): string {
  const allowed = CLOSED[attribute]
  if (allowed) {
    if (!allowed.includes(wanted))
      throw invalid(attribute, `${attribute} must be one of ${allowed.join(', ')}, or null to unlock`, allowed)
    return wanted
  }
  if (attribute === 'technique') {
    const slug = resolveSlug(vocabulary, wanted)
    if (slug === undefined)
      throw invalid('technique', `"${wanted.slice(0, 80)}" is no technique of the vocabulary; see /api/techniques`)
    return slug
  }
  const text = plainText(wanted)
  if (text === null) throw invalid(attribute, `${attribute} must not be empty; null unlocks it`)
  return text
}

/* ---------- suggestions ---------- */

export interface Suggestion {
  slug: string
  count: number
  frame_ids: string[]
}

/** Proposals waiting for review, most frequent first. */
export async function listSuggestions(db: Db): Promise<Suggestion[]> {
  const { rows } = await db.execute<{ slug: string; count: string; frame_ids: string[] }>(sql`
    select proposed_technique as slug, count(*) as count, (array_agg(frame_id order by first_at, frame_id))[1:12] as frame_ids
      from (select proposed_technique, frame_id, min(created_at) as first_at from annotations
             where proposed_technique is not null group by proposed_technique, frame_id) p
     where not exists (select 1 from ${dismissedSuggestions} d where d.slug = p.proposed_technique)
     group by proposed_technique order by count(*) desc, proposed_technique limit 1000`)
  return rows.map((row) => ({ slug: row.slug, count: Number(row.count), frame_ids: row.frame_ids }))
}

/** Turned down: not shown again. Adding a technique of that name later takes the frames in all the same. */
export async function dismissSuggestion(db: Db, slug: string): Promise<void> {
  await db
    .insert(dismissedSuggestions)
    .values({ slug: requireSlug(slug) })
    .onConflictDoNothing()
}

const ADOPTED_AT_ONCE = 200

/**
 * Gives every frame the technique its model proposed, once the vocabulary knows that word: as slug, old slug or alias. Called after a change of the vocabulary and
 * by the reconciler, so that an interrupted run is finished. Number of frames.
 */
export async function adoptProposals(db: Db): Promise<number> {
  let count = 0
  for (;;) {
    const names = knownNames(await loadVocabulary(db))
    const { rows } = await db.execute<{ video_id: string; frame_ids: string[] }>(sql`
      select f.video_id, array_agg(distinct f.id) as frame_ids
        from (select frame_id from annotations where proposed_technique = any(${sql.param(names)}::text[]) limit ${ADOPTED_AT_ONCE}) p
        join frames f on f.id = p.frame_id group by f.video_id`)
    if (rows.length === 0) return count
    for (const { video_id, frame_ids } of rows) count += await adoptInVideo(db, video_id, frame_ids)
  }
}

async function adoptInVideo(db: Db, videoId: string, frameIds: readonly string[]): Promise<number> {
  return db.transaction(async (tx) => {
    await shareVocabulary(tx)
    const video = await lockVideo(tx, videoId)
    if (!video) return 0
    const vocabulary = await loadVocabulary(tx)
    await lockFrames(tx, sql`f.id = any(${idArray(frameIds)})`, 'no key update')
    const rows = await tx
      .select()
      .from(frames)
      .where(inArray(frames.id, [...frameIds]))
    for (const row of rows) {
      const proposals = await tx
        .select()
        .from(annotations)
        .where(and(eq(annotations.frameId, row.id), isNotNull(annotations.proposedTechnique)))
      for (const { annotator, proposedTechnique, values } of proposals) {
        const slug = resolveSlug(vocabulary, proposedTechnique!)
        if (slug === undefined) continue
        const answer = values as ValueCandidate['values']
        await tx
          .update(annotations)
          .set({ proposedTechnique: null, values: { ...answer, technique: adopted(answer.technique, slug) } })
          .where(and(eq(annotations.frameId, row.id), eq(annotations.annotator, annotator)))
      }
      await resolveFrame(tx, row, vocabulary)
    }
    const ids = rows.map((row) => row.id)
    if (ids.length > 0)
      await appendEvent(tx, {
        type: 'frames.annotated',
        subject: videoId,
        accountId: null,
        data: { ...factsOf(video), frame_ids: ids, annotator: 'vocabulary' },
      })
    return ids.length
  })
}

/* ---------- the books ---------- */

/** A call is paid for also when its video was deleted while it ran. */
export async function recordVisionCall(db: Db, videoId: string, call: AnnotatorCall): Promise<void> {
  await db.insert(visionCalls).values({
    videoId: sql`(select id from videos where id = ${videoId} for key share)`,
    model: call.model,
    frames: call.frameIds.length,
    inputTokens: call.inputTokens,
    cachedTokens: call.cachedTokens,
    outputTokens: call.outputTokens,
    costUsd: call.costUsd,
    durationMs: Math.round(call.durationMs),
    outcome: call.outcome,
  })
}

export interface Costs {
  calls: number
  input_tokens: number
  output_tokens: number
  cost_usd: number
}

/** What a video's descriptions have cost so far; with no id, what the last 24 hours have. */
export async function costsOf(db: DbOrTx, videoId?: string): Promise<Costs> {
  const { rows } = await db.execute<Record<keyof Costs, string | null>>(sql`
    select count(*) as calls, sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens, sum(cost_usd) as cost_usd
      from vision_calls where ${videoId === undefined ? sql`at > now() - interval '24 hours'` : sql`video_id = ${videoId}`}`)
  const row = rows[0]!
  return {
    calls: Number(row.calls),
    input_tokens: Number(row.input_tokens ?? 0),
    output_tokens: Number(row.output_tokens ?? 0),
    cost_usd: Number(row.cost_usd ?? 0),
  }
}

/** What a call costs and how many frames it asks about, by the last ones that had a price; null and 0 while there are none. */
export async function usualCallOf(
  db: DbOrTx,
  model: string,
): Promise<{ costUsd: number | null; framesPerCall: number }> {
  const { rows } = await db.execute<{ cost: number | null; frames: number | null }>(sql`
    select avg(cost_usd)::float8 as cost, avg(frames)::float8 as frames
      from (select cost_usd, frames from vision_calls where model = ${model} and cost_usd is not null order by at desc limit 50) last`)
  const { cost, frames: framesPerCall } = rows[0]!
  return { costUsd: cost, framesPerCall: framesPerCall ?? 0 }
}

/** True when the model's last answer of these 24 hours came without a count of its tokens. */
export async function answersUncounted(db: DbOrTx, model: string): Promise<boolean> {
  const { rows } = await db.execute<{ uncounted: boolean }>(sql`
    select cost_usd is null and (input_tokens is null or output_tokens is null) as uncounted from vision_calls
     where model = ${model} and outcome <> 'failed' and at > now() - interval '24 hours' order by at desc limit 1`)
  return rows[0]?.uncounted ?? false
}

/** A model's earlier answers by picture, for the annotator's cache. */
export function answerCache(db: Db): AnswerCache {
  return {
    async get({ imageSha256, model, promptVersion }) {
      const [row] = await db
        .select({ answer: visionAnswers.answer })
        .from(visionAnswers)
        .where(
          and(
            eq(visionAnswers.imageSha256, imageSha256),
            eq(visionAnswers.model, model),
            eq(visionAnswers.prompt, promptVersion),
          ),
        )
      return (row?.answer as CachedAnswer | undefined) ?? null
    },
    async set({ imageSha256, model, promptVersion }, answer) {
      await db.insert(visionAnswers).values({ imageSha256, model, prompt: promptVersion, answer }).onConflictDoNothing()
    },
  }
}

/** Deletes answers, older than `days`, about pictures that no frame has any more: a video that comes back soon costs nothing. Number deleted. */
export async function forgetAnswers(db: Db, days = 30): Promise<number> {
  const { rowCount } = await db.execute(
    sql`delete from vision_answers a
        where a.created_at < now() - make_interval(days => ${days}) and not exists (select 1 from frames f where f.image_sha256 = a.image_sha256)`,
  )
  return rowCount ?? 0
}
