import type { Tx } from '../../db/client.ts'
import { annotations, type FrameRow, frames, type Provenance } from '../../db/schema/frames.ts'
import { eq } from '../../sql/orm.ts'
import { type AnnotatedValue, wasNotRead } from '../../vision/annotator.ts'
import { ANNOTATED, type Annotated, SOURCES, type Source } from '../../vocabulary.ts'
import type { Vocabulary } from '../techniques/vocabulary.ts'
import { type StoredValue, storedValue, toColumns } from './frames.ts'

/** One annotator's values for one frame, as the annotations table stores them. */
export interface ValueCandidate {
  annotator: string
  at: Date
  values: Partial<Record<Annotated, AnnotatedValue>>
}

interface Sourced extends StoredValue {
  provenance: Provenance
}

/** The values that people have locked. */
export type Locked = Partial<Record<Annotated, Sourced>>
export type Resolved = Record<Annotated, StoredValue>

/** The reason of a rejected value. Such an answer counts as no answer, not as a null. */
export const OUT_OF_LIST = 'out_of_list'

/**
 * Which value wins, per attribute: a person's value; else the value of the best source; else a null with its reason.
 * Only the newest answer of each source counts, even when it withdraws an older value. So a re-annotation replaces its
 * own values and nothing better.
 */
export function resolveValues(candidates: readonly ValueCandidate[], locked: Locked): Resolved {
  const ordered = [...candidates].sort(
    (a, b) => a.at.getTime() - b.at.getTime() || (a.annotator < b.annotator ? -1 : 1),
  )
  const resolved = {} as Resolved
  for (const attribute of ANNOTATED) {
    const newest = new Map<Provenance['source'], Sourced>()
    for (const { annotator, at, values } of ordered) {
      const offered = values[attribute]
      // Only a correction can set a person's value.
      if (!offered || offered.source === 'person') continue
      if (offered.value === null && offered.reason === OUT_OF_LIST && newest.has(offered.source)) continue
      newest.set(offered.source, {
        value: offered.value,
        provenance: {
          source: offered.source,
          confidence: offered.confidence,
          by: annotator,
          at: at.toISOString(),
          ...(offered.value === null && offered.reason ? { reason: offered.reason } : {}),
        },
      })
    }
    if (attribute === 'on_screen_text' && isOutread(newest)) newest.delete('notes')
    const best = [...newest.values()].sort((a, b) => rank(b) - rank(a))[0]
    resolved[attribute] = locked[attribute] ?? best ?? { value: null, provenance: null }
  }
  return resolved
}

/**
 * A note tells of a stretch, in which its words may come later than the picture, and it may leave some out. It counts
 * where a reading of the picture found one of its words and no longer text, or where there was none.
 */
function isOutread(newest: ReadonlyMap<Provenance['source'], Sourced>): boolean {
  const note = newest.get('notes')?.value
  const readings = [newest.get('model'), newest.get('ocr')].filter((reading) => reading !== undefined)
  if (!note || readings.length === 0) return false
  if (readings.some(({ provenance }) => wasNotRead(provenance?.reason))) return false
  if (readings.some(({ value }) => (value ?? '').length > note.length)) return true
  const seen = new Set(readings.flatMap(({ value }) => wordsOf(value ?? '')))
  return wordsOf(note).every((word) => !seen.has(word))
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) ?? []
}

/** Any value beats none. Among values the source decides; SOURCES has the weakest first. */
function rank({ value, provenance }: Sourced): number {
  return (value === null ? 0 : 100) + SOURCES.indexOf(provenance.source)
}

type AnswerRow = typeof annotations.$inferSelect

/** Recomputes a frame's public values from all annotators' answers and the values that people have locked. */
export async function resolveFrame(
  tx: Tx,
  row: FrameRow,
  vocabulary: Vocabulary,
  unlock: readonly Annotated[] = [],
): Promise<Resolved> {
  const answers = await tx.select().from(annotations).where(eq(annotations.frameId, row.id))
  const candidates = answers.map((answer) => ({
    annotator: answer.annotator,
    at: answer.createdAt,
    values: withCurrentTechnique(valuesOf(answer), vocabulary),
  }))
  const locked: Locked = {}
  for (const attribute of ANNOTATED) {
    const { value, provenance } = storedValue(row, attribute)
    if (provenance?.source === 'person' && !unlock.includes(attribute)) locked[attribute] = { value, provenance }
  }
  const resolved = resolveValues(candidates, locked)
  await tx
    .update(frames)
    .set({ ...toColumns(resolved), updatedAt: new Date(), annotationModel: describedBy(answers) })
    .where(eq(frames.id, row.id))
  return resolved
}

export function valuesOf(answer: Pick<AnswerRow, 'values'>): ValueCandidate['values'] {
  return answer.values as ValueCandidate['values']
}

/** The public `annotation.model`: the newest answer of a model, else that of notes, else the newest answer. */
function describedBy(answers: readonly AnswerRow[]): string | null {
  const answered = answers
    .filter((answer) => answer.status === 'annotated')
    .sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime() || (a.annotator < b.annotator ? -1 : 1))
  const from = (source: Source) =>
    answered.find((answer) => Object.values(valuesOf(answer)).some((value) => value.source === source))
  return (from('model') ?? from('notes') ?? answered[0])?.model ?? null
}

/** Stored answers keep the slug of their time. Redirects give the current slug; a retired technique stays. */
function withCurrentTechnique(values: ValueCandidate['values'], vocabulary: Vocabulary): ValueCandidate['values'] {
  const { technique } = values
  if (!technique?.value) return values
  const slug = vocabulary.bySlug.has(technique.value) ? technique.value : vocabulary.redirects.get(technique.value)
  return { ...values, technique: { ...technique, value: slug ?? null } }
}
