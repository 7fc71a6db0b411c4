import { type SQL, sql } from 'drizzle-orm'
import type { FrameRow, Provenance } from '../db/schema/frames.ts'
import { ANNOTATED, type AnnotatedAttribute, SHOTS, type Source, SUBJECTS, SURFACES, ZONES } from '../vocabulary.ts'

/** The allowed values of the attributes that have a closed list. */
export const CLOSED_LISTS: Partial<Record<AnnotatedAttribute, readonly string[]>> = {
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

type ValueColumn = (typeof COLUMN)[AnnotatedAttribute]
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

export function storedValue(row: FrameRow, attribute: AnnotatedAttribute): StoredValue {
  return { value: row[COLUMN[attribute]], provenance: row[`${COLUMN[attribute]}Provenance`] }
}

/** The columns of `frames` that hold these values. */
export function toColumns(values: Partial<Record<AnnotatedAttribute, StoredValue>>): Partial<FrameRow> {
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
