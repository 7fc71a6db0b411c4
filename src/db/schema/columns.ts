import { customType, type SQL, sql, timestamp } from '../../sql/orm.ts'

export const xid8 = customType<{ data: string; driverData: string }>({ dataType: () => 'xid8' })

export const bytes = customType<{ data: Buffer }>({ dataType: () => 'bytea' })

/** A `timestamptz` with milliseconds, as a Date. */
export const at = (name: string) => timestamp(name, { withTimezone: true, mode: 'date', precision: 3 })

/** The SQL of a check that a column holds one of a closed list. */
export const oneOf = (column: string, values: readonly string[]): SQL =>
  sql.raw(`${column} in (${values.map((value) => `'${value}'`).join(', ')})`)
