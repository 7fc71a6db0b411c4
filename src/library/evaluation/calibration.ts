import { like, type SQL, sql } from 'drizzle-orm'
import type { Db, DbOrTx } from '../../db/client.ts'
import { settings } from '../../db/schema/settings.ts'
import type { FrameAnnotation } from '../../vision/annotator.ts'
import { ANNOTATED, type AnnotatedAttribute } from '../../vocabulary.ts'
import { agreementOf, type Truth } from './agreement.ts'

/** Lower ends of the bands of confidence. */
const BANDS = [0, 0.5, 0.6, 0.7, 0.8, 0.9]

/** Weight of the stated confidence, as a number of frames. */
const PRIOR = 4

interface Band {
  /** Confidences from `from` to below `to`; the last band includes 1. */
  from: number
  to: number
  n: number
  mean_confidence: number
  /** Share of the values that were right: the sum of `agreementOf` ÷ n. */
  agreed: number
}

/** How often a model is right at each confidence: per attribute, and over all in `all`. */
export type Calibration = Partial<Record<AnnotatedAttribute | 'all', Band[]>>

/** Bands without a value are left out. */
export function calibrate(
  answers: ReadonlyMap<string, FrameAnnotation>,
  truths: ReadonlyMap<string, Truth>,
): Calibration {
  const points: { attribute: AnnotatedAttribute; confidence: number; agreed: number }[] = []
  for (const [frameId, { values }] of answers) {
    for (const attribute of ANNOTATED) {
      const right = truths.get(frameId)?.[attribute]
      const given = values[attribute]
      if (!right || right.length === 0 || !given || given.value === null || given.confidence === null) continue
      const agreed = agreementOf(attribute, given.value, right)
      points.push({ attribute, confidence: given.confidence, agreed })
    }
  }
  const calibration: Calibration = {}
  for (const name of [...ANNOTATED, 'all'] as const) {
    const bands = toBands(points.filter(({ attribute }) => name === 'all' || attribute === name))
    if (bands.length > 0) calibration[name] = bands
  }
  return calibration
}

function toBands(points: readonly { confidence: number; agreed: number }[]): Band[] {
  return BANDS.flatMap((from, i) => {
    const to = BANDS[i + 1] ?? 1
    const inside = points.filter(({ confidence }) => bandOf(confidence) === i)
    if (inside.length === 0) return []
    const mean = (of: (point: (typeof points)[number]) => number) =>
      inside.reduce((sum, point) => sum + of(point), 0) / inside.length
    return {
      from,
      to,
      n: inside.length,
      mean_confidence: mean((one) => one.confidence),
      agreed: mean((one) => one.agreed),
    }
  })
}

function bandOf(confidence: number): number {
  return BANDS.findLastIndex((from) => confidence >= from)
}

const PREFIX = 'calibration:'

/** Stores a model's calibration and replaces its last one. */
export async function storeCalibration(db: Db, model: string, calibration: Calibration): Promise<void> {
  const row = { name: `${PREFIX}${model}`, value: calibration, updatedAt: new Date() }
  await db.insert(settings).values(row).onConflictDoUpdate({ target: settings.name, set: row })
}

/** Every stored calibration, by model. */
export async function loadCalibrations(db: DbOrTx): Promise<ReadonlyMap<string, Calibration>> {
  const rows = await db
    .select()
    .from(settings)
    .where(like(settings.name, `${PREFIX}%`))
  return new Map(rows.map(({ name, value }) => [name.slice(PREFIX.length), value as Calibration]))
}

/**
 * SQL: how likely a model's value is right, 0–1, by its stated confidence; null without one.
 *
 * The share of right values in the confidence's band, mixed with the confidence itself as if it were four more frames.
 * Where the attribute has no such band, the band of all attributes counts. For a model that was never evaluated it is
 * the stated confidence.
 */
export function certaintySql(
  calibrations: ReadonlyMap<string, Calibration>,
  attribute: AnnotatedAttribute,
  { model, confidence }: { model: SQL; confidence: SQL },
): SQL {
  const cases = [...calibrations].flatMap(([name, calibration]) =>
    [...(calibration[attribute] ?? []), ...(calibration.all ?? [])].map(
      ({ from, to, n, agreed }) => sql`when ${model} = ${name} and ${confidence} >= ${from}::float8
        and (${confidence} < ${to}::float8 or ${to}::float8 = 1)
        then (${agreed * n}::float8 + ${confidence} * ${PRIOR}::float8) / ${n + PRIOR}::float8`,
    ),
  )
  return cases.length === 0 ? confidence : sql`case ${sql.join(cases, sql` `)} else ${confidence} end`
}
