import { eq } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import { annotations, type FrameRow, frames } from '../../db/schema/frames.ts'
import { ANNOTATED, type AnnotatedAttribute, type Source } from '../../vocabulary.ts'
import { storedValue, toColumns } from '../frame-attributes.ts'
import type { Vocabulary } from '../techniques/vocabulary.ts'
import { type Locked, type Resolved, resolveValues, type ValueCandidate } from './provenance.ts'

type AnswerRow = typeof annotations.$inferSelect

/** Recomputes a frame's public values from all annotators' answers and the values that people have locked. */
export async function resolveFrame(
  tx: Tx,
  row: FrameRow,
  vocabulary: Vocabulary,
  unlock: readonly AnnotatedAttribute[] = [],
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
