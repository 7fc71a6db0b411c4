import { bigint, date, integer, numeric, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'

/*
 * Figures per day (UTC), counted from the events alone. Only the analytics projection writes them. An empty key stands
 * for what the events do not name.
 */

/**
 * Saves and pins: one row for each day and dimension, so that a frame takes an array element and no row. `dimension`:
 * `all` (with one empty key), or what `keys` are. Each count is at the index of its key. A frame appears twice when its
 * facts changed on that day.
 */
export const analyticsUses = pgTable(
  'analytics_uses',
  {
    day: date().notNull(),
    dimension: text().notNull(),
    keys: text().array().notNull(),
    saves: integer().array().notNull(),
    unsaves: integer().array().notNull(),
    pins: integer().array().notNull(),
    unpins: integer().array().notNull(),
  },
  (t) => [primaryKey({ columns: [t.dimension, t.day] })],
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
