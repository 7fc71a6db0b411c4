import { sql } from 'drizzle-orm'
import { z } from 'zod'
import type { Db } from '../../db/client.ts'
import type { FrameRow } from '../../db/schema/frames.ts'
import { invalid } from '../../errors.ts'
import { ANNOTATED, type AnnotatedAttribute } from '../../vocabulary.ts'
import { anyAttributeBy, CLOSED_LISTS, loadFrames, storedValue } from '../frames/frames.ts'
import type { Truth } from './agreement.ts'

/** Frames of a video per call, as in ingestion, so that an evaluation costs what ingestion costs. */
const FRAMES_PER_VIDEO = 8

/**
 * Frames to evaluate models on, the same ones while the library does not change. Frames that people corrected or
 * described in notes come first, then others. Within each of the two, a ninth frame of a video comes after the first
 * eight of all others.
 */
export async function sampleForEvaluation(db: Db, limit: number): Promise<FrameRow[]> {
  const { rows } = await db.execute<{ id: string }>(sql`
    with candidates as (
      select f.id, f.video_id, ${anyAttributeBy('person')} or ${anyAttributeBy('notes')} as corrected
        from frames f join videos v on v.id = f.video_id where v.status = 'ready'),
    ranked as (
      select *, row_number() over (partition by video_id order by corrected desc, md5(id)) as n,
             bool_or(corrected) over (partition by video_id) as has_corrected from candidates)
    select id from ranked
     order by corrected desc, (n - 1) / ${FRAMES_PER_VIDEO}::int, has_corrected desc, md5(video_id), n limit ${limit}`)
  return loadFrames(
    db,
    rows.map(({ id }) => id),
  )
}

/**
 * The values of one source: people's corrections, or notes. A corrected null is left out, because it cannot be compared
 * with an answer.
 */
export function valuesBy(source: 'person' | 'notes', rows: readonly FrameRow[]): Map<string, Truth> {
  return new Map(
    rows.flatMap((row): [string, Truth][] => {
      const truth: Partial<Record<AnnotatedAttribute, string[]>> = {}
      for (const attribute of ANNOTATED) {
        const { value, provenance } = storedValue(row, attribute)
        if (provenance?.source === source && value !== null) truth[attribute] = [value]
      }
      return Object.keys(truth).length > 0 ? [[row.id, truth]] : []
    }),
  )
}

const Value = z.union([z.string(), z.array(z.string()).nonempty()])
const Label = z.strictObject({
  frame: z.string(),
  ...Object.fromEntries(ANNOTATED.map((attribute) => [attribute, Value.optional()])),
})

const FORM =
  'Give one JSON object a line, such as {"frame":"<id>","subject":"ui","shot":["no-face","corner-inset"]}. ' +
  `Attributes: ${ANNOTATED.join(', ')}. A list holds every value that counts as right.`

/** @throws AppError invalid_request that names the line and says what is allowed. */
export function parseLabels(text: string): Map<string, Truth> {
  const labels = new Map<string, Truth>()
  for (const [n, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const { frame, ...given } = parseLine(line, n + 1) as { frame: string } & Record<string, string | string[]>
    const truth: Partial<Record<AnnotatedAttribute, string[]>> = {}
    for (const attribute of ANNOTATED) {
      const value = given[attribute]
      if (value === undefined) continue
      const right = typeof value === 'string' ? [value] : value
      const wrong = right.find((one) => CLOSED_LISTS[attribute]?.includes(one) === false)
      if (wrong !== undefined)
        throw invalid(
          'labels',
          `Line ${n + 1}: ${attribute} cannot be "${wrong.slice(0, 40)}". Use ${CLOSED_LISTS[attribute]!.join(', ')}.`,
        )
      truth[attribute] = right
    }
    labels.set(frame, truth)
  }
  return labels
}

function parseLine(line: string, n: number): unknown {
  try {
    return Label.parse(JSON.parse(line))
  } catch {
    throw invalid('labels', `Line ${n} is not a label. ${FORM}`)
  }
}
