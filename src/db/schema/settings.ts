import { jsonb, pgTable, text } from 'drizzle-orm/pg-core'
import { at } from './columns.ts'

/** Small facts of the installation: read-model generation, pauses, breaker states. */
export const settings = pgTable('settings', {
  name: text().primaryKey(),
  value: jsonb().$type<unknown>().notNull(),
  updatedAt: at('updated_at').notNull().defaultNow(),
})
