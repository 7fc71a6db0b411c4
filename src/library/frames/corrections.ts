import type { DbOrTx } from '../../db/client.ts'
import { type FrameRow, frames, type Provenance } from '../../db/schema/frames.ts'
import { invalid, notFound } from '../../errors.ts'
import { appendEvent } from '../../events/append.ts'
import { eq } from '../../sql/orm.ts'
import { ANNOTATED, type Annotated, ATTRIBUTES } from '../../vocabulary.ts'
import { isId } from '../ids.ts'
import { loadVocabulary, resolveSlug, shareVocabulary, type Vocabulary } from '../techniques/vocabulary.ts'
import { lockVideo } from '../videos/videos.ts'
import { storedValue, toColumns } from './frames.ts'
import { resolveFrame } from './provenance.ts'
import { plainText } from './sanitize-annotation.ts'

/** The value a person sets and locks, per attribute; null unlocks it. */
export type Correction = Partial<Record<Annotated, string | null>>

/**
 * Sets, locks or unlocks values. A correction that changes nothing appends no event. One that depends on the frame is
 * made from its locked row.
 */
export async function correctFrame(
  db: DbOrTx,
  given: { frameId: string; accountId: string; correction: Correction | ((row: FrameRow) => Correction) },
): Promise<void> {
  const { frameId, accountId } = given
  if (!isId(frameId)) throw notFound('frame')
  await db.transaction(async (tx) => {
    const [found] = await tx.select({ videoId: frames.videoId }).from(frames).where(eq(frames.id, frameId))
    if (!found) throw notFound('frame')
    // The lock order of recordAnnotations: the vocabulary, the video, the frame.
    await shareVocabulary(tx)
    const video = await lockVideo(tx, found.videoId)
    const [row] = await tx.select().from(frames).where(eq(frames.id, frameId)).for('update')
    if (!row || !video) throw notFound('frame')
    const correction = typeof given.correction === 'function' ? given.correction(row) : given.correction
    const vocabulary = await loadVocabulary(tx)
    const { changes, unlocked } = changesOf(row, correction, vocabulary)
    if (Object.keys(changes).length === 0 && unlocked.length === 0) return
    const corrected = { ...row, ...toColumns(lockedValues(changes, accountId)) }
    const resolved = await resolveFrame(tx, corrected, vocabulary, unlocked)
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
        unlocked,
      },
    })
  })
}

/** The author of a person's values, in their provenance. */
export function toAuthor(accountId: string): string {
  return `person:${accountId}`
}

type Changes = Partial<Record<Annotated, string>>

/** The changes that a correction makes to this row. @throws AppError invalid_request. */
function changesOf(
  row: FrameRow,
  correction: Correction,
  vocabulary: Vocabulary,
): { changes: Changes; unlocked: Annotated[] } {
  const changes: Changes = {}
  const unlocked: Annotated[] = []
  for (const attribute of ANNOTATED) {
    const wanted = correction[attribute]
    if (wanted === undefined) continue
    const before = storedValue(row, attribute)
    const isLocked = before.provenance?.source === 'person'
    if (wanted === null) {
      if (isLocked) unlocked.push(attribute)
      continue
    }
    const value = correctedValue(attribute, wanted, vocabulary)
    if (!isLocked || before.value !== value) changes[attribute] = value
  }
  return { changes, unlocked }
}

function lockedValues(changes: Changes, accountId: string) {
  const provenance: Provenance = {
    source: 'person',
    confidence: 1,
    by: toAuthor(accountId),
    at: new Date().toISOString(),
  }
  return Object.fromEntries(Object.entries(changes).map(([attribute, value]) => [attribute, { value, provenance }]))
}

function correctedValue(attribute: Annotated, wanted: string, vocabulary: Vocabulary): string {
  const allowed: readonly string[] | null = ATTRIBUTES[attribute].values
  if (allowed) {
    if (!allowed.includes(wanted))
      throw invalid(attribute, `${attribute} must be one of ${allowed.join(', ')}, or null to unlock`, allowed)
    return wanted
  }
  if (attribute === 'technique') {
    const slug = resolveSlug(vocabulary, wanted)
    if (slug === undefined)
      throw invalid('technique', `"${wanted.slice(0, 80)}" is not in the vocabulary; see /api/techniques`)
    return slug
  }
  const text = plainText(wanted)
  if (text === null) throw invalid(attribute, `${attribute} must not be empty; send null to unlock it`)
  return text
}
