import { like, type SQL, sql } from 'drizzle-orm'
import type { Db, DbOrTx } from '../../db/client.ts'
import { settings } from '../../db/schema/settings.ts'
import type { AnnotatedAttribute } from '../../vocabulary.ts'
import { putSetting } from '../settings.ts'
import type { Calibration } from './agreement.ts'

const PREFIX = 'calibration:'

/** Stores a model's calibration and replaces its last one. */
export async function storeCalibration(db: Db, model: string, calibration: Calibration): Promise<void> {
  await putSetting(db, `${PREFIX}${model}`, calibration)
}

/** Every stored calibration, by model. */
export async function loadCalibrations(db: DbOrTx): Promise<ReadonlyMap<string, Calibration>> {
  const rows = await db
    .select()
    .from(settings)
    .where(like(settings.name, `${PREFIX}%`))
  return new Map(rows.map(({ name, value }) => [name.slice(PREFIX.length), value as Calibration]))
}

/** Weight of the stated confidence, as a number of frames. */
const PRIOR = 4

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
