import type { DbOrTx, Tx } from '../../db/client.ts'
import { ATTRIBUTE_COLUMN as COLUMN, type FrameRow, frames, type Provenance } from '../../db/schema/frames.ts'
import { inArray, type SQL, sql } from '../../sql/orm.ts'
import { ANNOTATED, type Annotated, type Source } from '../../vocabulary.ts'

/*
 * Every transaction locks in one order: the account, frames by id, boards by id. A save locks its frame's row, so that
 * counts add up and the frame cannot be deleted between the check and the insert.
 */

export async function lockFrames(tx: Tx, where: SQL, strength: 'update' | 'no key update'): Promise<void> {
  await tx.execute(sql`select 1 from frames f where ${where} order by f.id for ${sql.raw(strength)}`)
}

/** The frames of these ids, in order of video and time. Unknown ids are left out. */
export async function loadFrames(db: DbOrTx, ids: readonly string[]): Promise<FrameRow[]> {
  if (ids.length === 0) return []
  return db.select().from(frames).where(inArray(frames.id, ids)).orderBy(frames.videoId, frames.tMs)
}

/** All frames, and those of which it is not known what they show. */
export async function countDescribed(db: DbOrTx): Promise<{ all: number; left: number }> {
  const { rows } = await db.execute<{ all: number; left: number }>(
    sql`select count(*)::int as all, count(*) filter (where subject is null)::int as left from frames`,
  )
  return rows[0]!
}

type ValueColumn = (typeof COLUMN)[Annotated]
/** The columns of `frames` that hold an annotated attribute or its provenance. */
export type AttributeColumn = ValueColumn | `${ValueColumn}Provenance`

const ATTRIBUTE_COLUMNS = new Set<string>(Object.values(COLUMN).flatMap((column) => [column, `${column}Provenance`]))

export function isAttributeColumn(name: string): name is AttributeColumn {
  return ATTRIBUTE_COLUMNS.has(name)
}

export interface StoredValue {
  value: string | null
  provenance: Provenance | null
}

export function storedValue(row: FrameRow, attribute: Annotated): StoredValue {
  return { value: row[COLUMN[attribute]], provenance: row[`${COLUMN[attribute]}Provenance`] }
}

/** The columns of `frames` that hold these values. */
export function toColumns(values: Partial<Record<Annotated, StoredValue>>): Partial<FrameRow> {
  const columns: Partial<FrameRow> = {}
  for (const attribute of ANNOTATED) {
    const stored = values[attribute]
    if (stored === undefined) continue
    columns[COLUMN[attribute]] = stored.value
    columns[`${COLUMN[attribute]}Provenance`] = stored.provenance
  }
  return columns
}

/** SQL: at least one attribute of the frame `f` has this source. */
export function anyAttributeBy(source: Source): SQL {
  const conditions = [...ANNOTATED, 'tone'].map(
    (attribute) => `coalesce(f.${attribute}_provenance->>'source' = '${source}', false)`,
  )
  return sql.raw(conditions.join(' or '))
}

/** Frames whose palettes stand for the library: reading them takes milliseconds in a library of any size. */
const SAMPLE = 2_000

/**
 * Palettes of at most SAMPLE public frames from all over the library, or of all. The same table gives the same sample,
 * so that every process shows the same colours.
 */
export async function samplePalettes(db: DbOrTx): Promise<string[][]> {
  const { rows: sizes } = await db.execute<{ n: number }>(
    sql`select reltuples::float8 as n from pg_class where oid = 'frames'::regclass`,
  )
  // Nobody has counted a table that is new: it is read whole, up to the limit.
  const share = Math.min(100, (100 * SAMPLE) / Math.max(1, sizes[0]!.n))
  const { rows } = await db.execute<{ palette: string[] }>(sql`
    select f.palette from frames f tablesample system (${sql.raw(String(share))}) repeatable (1)
      join videos v on v.id = f.video_id
     where v.first_ready_at is not null limit ${SAMPLE}`)
  return rows.map(({ palette }) => palette)
}
