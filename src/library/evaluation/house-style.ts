import { createHash } from 'node:crypto'
import { eq, sql } from 'drizzle-orm'
import type { Db, DbOrTx } from '../../db/client.ts'
import { frames } from '../../db/schema/frames.ts'
import { settings } from '../../db/schema/settings.ts'
import type { Correction } from '../../vision/model/house-style.ts'
import { anyAttributeBy } from '../frames/frames.ts'
import { findSetting, putSetting } from '../settings.ts'
import { valuesBy } from './sample.ts'

/** The corrections that models see as examples, as they were when an operator took them. */
export interface TakenStyle {
  version: string
  takenAt: string
  corrections: Correction[]
}

const NAME = 'house-style'
/** Only the newest are taken: more give no better six examples, and each call scans all of them. */
const MAX_CORRECTIONS = 2_000

/** The newest corrections by people, in order of their frames' ids. */
export async function loadCorrections(db: DbOrTx): Promise<Correction[]> {
  const { rows } = await db.execute<{ id: string }>(sql`
    select f.id from frames f where ${anyAttributeBy('person')}
     order by f.updated_at desc, f.id limit ${MAX_CORRECTIONS}`)
  const ids = rows.map(({ id }) => id)
  if (ids.length === 0) return []
  const found = await db
    .select()
    .from(frames)
    .where(sql`${frames.id} = any(${sql.param(ids)}::text[])`)
    .orderBy(frames.id)
  const corrected = valuesBy('person', found)
  return found.flatMap((row) => {
    const truth = corrected.get(row.id)
    if (!truth) return []
    const values = Object.fromEntries(Object.entries(truth).map(([name, [value]]) => [name, value!]))
    return [{ frameId: row.id, videoId: row.videoId, phash: row.phash, luma: row.luma, imageKey: row.imageKey, values }]
  })
}

/** A text that changes whenever a correction in the style changes. */
export function styleVersion(corrections: readonly Correction[]): string {
  const told = corrections.map(({ frameId, values }) => [frameId, values])
  return `style-${createHash('sha256').update(JSON.stringify(told)).digest('hex').slice(0, 12)}`
}

/** Takes today's corrections as the house style, for workers from their next start. Undefined without corrections. */
export async function takeStyle(db: Db): Promise<TakenStyle | undefined> {
  const corrections = await loadCorrections(db)
  if (corrections.length === 0) return undefined
  const style = { version: styleVersion(corrections), takenAt: new Date().toISOString(), corrections }
  await putSetting(db, NAME, style)
  return style
}

export function findStyle(db: DbOrTx): Promise<TakenStyle | undefined> {
  return findSetting(db, NAME)
}

/** Drops the style: models then see no examples. False when there was no style. */
export async function dropStyle(db: Db): Promise<boolean> {
  const { rowCount } = await db.delete(settings).where(eq(settings.name, NAME))
  return (rowCount ?? 0) > 0
}

/**
 * Splits corrections into two parts by video: frames of one video look alike, so an example from the same video would
 * reveal the answer. A gain is measured on `apart`.
 */
export function holdApart(corrections: readonly Correction[]): { examples: Correction[]; apart: Correction[] } {
  const order = (id: string) => createHash('sha256').update(id).digest('hex')
  const videos = [...new Set(corrections.map(({ videoId }) => videoId))].toSorted((a, b) =>
    order(a) < order(b) ? -1 : 1,
  )
  const shown = new Set(videos.filter((_, n) => n % 2 === 0))
  return {
    examples: corrections.filter(({ videoId }) => shown.has(videoId)),
    apart: corrections.filter(({ videoId }) => !shown.has(videoId)),
  }
}
