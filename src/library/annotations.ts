import { and, eq, inArray, sql } from 'drizzle-orm'
import type { Db, DbOrTx, Tx } from '../db/client.ts'
import {
  annotations,
  dismissedSuggestions,
  frames,
  type Provenance,
  techniqueSuggestions,
  videos,
  visionAnswers,
  visionCalls,
} from '../db/schema.ts'
import { invalid, notFound } from '../errors.ts'
import { appendEvent } from '../events/append.ts'
import type { AnnotatorCall, FrameAnnotation } from '../vision/annotator.ts'
import { ANNOTATED, type AnnotatedAttribute, MAX_TEXT, SHOTS, SUBJECTS, SURFACES, ZONES } from '../vocabulary.ts'
import { type Candidate, type Resolved, resolveValues } from './provenance.ts'
import { loadVocabulary, resolveSlug, type Vocabulary } from './techniques.ts'
import { anyAttributeBy, factsOf, lockVideo, settleIfComplete } from './videos.ts'

type FrameRow = typeof frames.$inferSelect

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

/** The frames of a video that the wanted annotator has not answered for, in time order. */
export async function loadUnannotated(db: DbOrTx, videoId: string, annotator: string, frameIds?: readonly string[]): Promise<FrameRow[]> {
  return db
    .select()
    .from(frames)
    .where(
      and(
        eq(frames.videoId, videoId),
        frameIds ? inArray(frames.id, [...frameIds]) : undefined,
        sql`not exists (select 1 from annotations a where a.frame_id = ${frames.id} and a.annotator = ${annotator})`,
      ),
    )
    .orderBy(frames.tMs)
}

/**
 * Stores what an annotator said of some frames of one video, resolves each frame's public values, and makes the video ready when it was the last. A repeat
 * overwrites; a value outside a closed list or the vocabulary never gets in, whoever sent it.
 */
export async function recordAnnotations(
  db: Db,
  { videoId, annotator, model, list }: { videoId: string; annotator: string; model: string; list: readonly FrameAnnotation[] },
): Promise<void> {
  if (list.length === 0) return
  await db.transaction(async (tx) => {
    const video = await lockVideo(tx, videoId)
    if (!video) return
    const vocabulary = await loadVocabulary(tx)
    const ids = list.map((annotation) => annotation.frameId)
    const known = await tx
      .select()
      .from(frames)
      .where(and(eq(frames.videoId, videoId), inArray(frames.id, ids)))
    const rows = new Map(known.map((row) => [row.id, row]))
    const now = new Date()
    const done: string[] = []
    for (const annotation of list) {
      const row = rows.get(annotation.frameId)
      if (!row) continue
      const { values, issues, suggestion } = checked(annotation, vocabulary)
      const entry = {
        status: annotation.status,
        reason: annotation.reason ?? null,
        values,
        issues,
        copiedFrom: annotation.copiedFrom ?? null,
        createdAt: now,
      }
      await tx
        .insert(annotations)
        .values({ frameId: row.id, annotator, ...entry })
        .onConflictDoUpdate({ target: [annotations.frameId, annotations.annotator], set: entry })
      if (suggestion) await suggest(tx, suggestion.slug, row.id, suggestion.reason)
      await resolveFrame(tx, row, vocabulary, annotation.status === 'annotated' ? model : undefined)
      done.push(row.id)
    }
    if (done.length > 0) {
      await appendEvent(tx, {
        type: 'frames.annotated',
        subject: videoId,
        accountId: null,
        data: { ...factsOf(video), frame_ids: done, annotator },
      })
    }
    await settleIfComplete(tx, videoId)
  })
}

/** The last line of defence: what an annotator says is data. */
function checked(annotation: FrameAnnotation, vocabulary: Vocabulary) {
  const values: FrameAnnotation['values'] = {}
  const issues = [...annotation.issues]
  let suggestion = annotation.suggestedTechnique
  for (const attribute of ANNOTATED) {
    const offered = annotation.values[attribute]
    if (!offered) continue
    let { value } = offered
    if (value !== null) {
      const allowed = CLOSED[attribute]
      if (allowed && !allowed.includes(value)) {
        issues.push({ attribute, code: 'out_of_list', message: `"${value.slice(0, 80)}" is not in the list` })
        value = null
      } else if (attribute === 'technique') {
        const slug = resolveSlug(vocabulary, value)
        if (slug === undefined) {
          issues.push({ attribute, code: 'out_of_list', message: `"${value.slice(0, 80)}" is not in the vocabulary` })
          suggestion ??= { slug: value }
        }
        value = slug ?? null
      } else if (!allowed) {
        value = plainText(value)
      }
    }
    values[attribute] = { ...offered, value, ...(value === null && offered.value !== null ? { reason: 'out_of_list' } : {}) }
  }
  return { values, issues, suggestion }
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
  model?: string,
  unlock: readonly AnnotatedAttribute[] = [],
): Promise<Resolved> {
  const answers = await tx.select().from(annotations).where(eq(annotations.frameId, row.id))
  const candidates: Candidate[] = answers.map((answer) => ({
    annotator: answer.annotator,
    at: answer.createdAt,
    values: withCurrentTechnique(answer.values as Candidate['values'], vocabulary),
  }))
  const locked: Partial<Record<AnnotatedAttribute, { value: string | null; provenance: Provenance }>> = {}
  for (const attribute of ANNOTATED) {
    const provenance = row[PROVENANCE_COLUMN[attribute]]
    if (provenance?.source === 'person' && !unlock.includes(attribute)) locked[attribute] = { value: row[COLUMN[attribute]], provenance }
  }
  const resolved = resolveValues(candidates, locked)
  const set: Record<string, unknown> = { updatedAt: new Date() }
  for (const attribute of ANNOTATED) {
    set[COLUMN[attribute]] = resolved[attribute].value
    set[PROVENANCE_COLUMN[attribute]] = resolved[attribute].provenance
  }
  if (model) set.annotationModel = model
  await tx.update(frames).set(set).where(eq(frames.id, row.id))
  return resolved
}

/** Stored answers keep the slug of their day; redirects bring it up to date, a retired one stays. */
function withCurrentTechnique(values: Candidate['values'], vocabulary: Vocabulary): Candidate['values'] {
  const technique = values.technique
  if (!technique?.value) return values
  const slug = vocabulary.bySlug.has(technique.value) ? technique.value : resolveSlug(vocabulary, technique.value)
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
  await db.transaction(async (tx) => {
    const [found] = await tx.select({ videoId: frames.videoId }).from(frames).where(eq(frames.id, frameId))
    if (!found) throw notFound('frame')
    // The video first, then the frame: the order of recordAnnotations.
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
        [PROVENANCE_COLUMN[attribute]]: { source: 'person', confidence: 1, by: `person:${accountId}`, at } satisfies Provenance,
      })
    }
    if (Object.keys(changes).length === 0 && unlock.length === 0) return
    const resolved = await resolveFrame(tx, row, vocabulary, undefined, unlock)
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
    if (!allowed.includes(wanted)) throw invalid(attribute, `${attribute} must be one of ${allowed.join(', ')}, or null to unlock`, allowed)
    return wanted
  }
  if (attribute === 'technique') {
    const slug = resolveSlug(vocabulary, wanted)
    if (slug === undefined) throw invalid('technique', `"${wanted.slice(0, 80)}" is no technique of the vocabulary; see /api/techniques`)
    return slug
  }
  const text = plainText(wanted)
  if (text === null) throw invalid(attribute, `${attribute} must not be empty; null unlocks it`)
  return text
}

/* ---------- suggestions ---------- */

async function suggest(tx: Tx, phrase: string, frameId: string, reason: string | undefined): Promise<void> {
  const slug = toSlug(phrase)
  if (slug === '') return
  await tx
    .insert(techniqueSuggestions)
    .values({ slug, frameId, reason: reason?.slice(0, 500) ?? null })
    .onConflictDoNothing()
}

export function toSlug(phrase: string): string {
  return phrase
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 64)
    .replace(/-+$/, '')
}

export interface Suggestion {
  slug: string
  count: number
  frame_ids: string[]
}

/** Proposals waiting for review, most frequent first. */
export async function listSuggestions(db: Db): Promise<Suggestion[]> {
  const { rows } = await db.execute<{ slug: string; count: string; frame_ids: string[] }>(sql`
    select slug, count(*) as count, (array_agg(frame_id order by created_at, frame_id))[1:12] as frame_ids
      from ${techniqueSuggestions} s
     where not exists (select 1 from ${dismissedSuggestions} d where d.slug = s.slug)
       and not exists (select 1 from techniques t where t.slug = s.slug or s.slug = any(t.aliases))
     group by slug order by count(*) desc, slug`)
  return rows.map((row) => ({ slug: row.slug, count: Number(row.count), frame_ids: row.frame_ids }))
}

export async function dismissSuggestion(db: Db, slug: string): Promise<void> {
  await db.insert(dismissedSuggestions).values({ slug }).onConflictDoNothing()
}

/* ---------- the books ---------- */

export async function recordVisionCall(db: Db, videoId: string, call: AnnotatorCall): Promise<void> {
  await db.insert(visionCalls).values({
    videoId,
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

/** A model's earlier answers by picture, for the annotator's cache. */
export function answerCache(db: Db) {
  return {
    async get(imageSha256: string, model: string, prompt: string): Promise<unknown> {
      const [row] = await db
        .select({ answer: visionAnswers.answer })
        .from(visionAnswers)
        .where(and(eq(visionAnswers.imageSha256, imageSha256), eq(visionAnswers.model, model), eq(visionAnswers.prompt, prompt)))
      return row?.answer
    },
    async set(imageSha256: string, model: string, prompt: string, answer: unknown): Promise<void> {
      await db.insert(visionAnswers).values({ imageSha256, model, prompt, answer }).onConflictDoNothing()
    },
  }
}

/* ---------- re-annotation ---------- */

export interface ReannotationScope {
  videoId?: string | undefined
  /** Only frames whose attribute has no value. */
  missing?: AnnotatedAttribute | undefined
}

/** Frames that the wanted annotator has not described, of videos that are ready; people's values stay in any case. */
export async function loadReannotatable(
  db: Db,
  annotator: string,
  { videoId, missing }: ReannotationScope,
): Promise<{ id: string; videoId: string }[]> {
  const { rows } = await db.execute<{ id: string; video_id: string }>(sql`
    select f.id, f.video_id from frames f join videos v on v.id = f.video_id
     where v.status = 'ready' ${videoId ? sql`and v.id = ${videoId}` : sql``}
       ${missing ? sql.raw(`and f.${missing} is null`) : sql``}
       and not exists (select 1 from annotations a where a.frame_id = f.id and a.annotator = ${annotator})
     order by v.added_at desc, f.video_id, f.t_ms`)
  return rows.map((row) => ({ id: row.id, videoId: row.video_id }))
}

/** Names the annotator whose answers the videos now want; workers fill in what is missing as a back-fill, search keeps the old values until then. */
export async function wantAnnotator(db: Db, annotator: string, videoIds: readonly string[]): Promise<void> {
  if (videoIds.length === 0) return
  await db
    .update(videos)
    .set({ annotator })
    .where(and(inArray(videos.id, [...videoIds]), eq(videos.status, 'ready')))
}

/** How many attributes of a frame a person has fixed: shown before a back-fill. */
export async function countLocked(db: Db): Promise<number> {
  const { rows } = await db.execute<{ n: string }>(sql`select count(*) as n from frames f where ${anyAttributeBy('person')}`)
  return Number(rows[0]!.n)
}
