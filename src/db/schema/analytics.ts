import { bigint, date, integer, numeric, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'

/*
 * Figures per day (UTC), counted from the events alone. Only the analytics projection writes them. An empty key stands
 * for what the events do not name.
 */

/** Saves and pins. `dimension`: `all` (with an empty key), or what `key` is. */
export const analyticsUses = pgTable(
  'analytics_uses',
  {
    day: date().notNull(),
    dimension: text().notNull(),
    key: text().notNull(),
    saves: integer().notNull(),
    unsaves: integer().notNull(),
    pins: integer().notNull(),
    unpins: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.dimension, t.day, t.key] })],
)

/** Everything else. `amount`: seconds of a stage, dollars of model calls; null where nothing is measured. */
export const analyticsFigures = pgTable(
  'analytics_figures',
  {
    day: date().notNull(),
    figure: text().notNull(),
    key: text().notNull(),
    count: bigint({ mode: 'number' }).notNull(),
    amount: numeric(),
  },
  (t) => [primaryKey({ columns: [t.figure, t.day, t.key] })],
)
