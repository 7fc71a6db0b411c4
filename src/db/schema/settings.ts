import { jsonb, pgTable, text } from '../../sql/orm.ts'
import { at } from './columns.ts'

/** Facts of the installation: read-model generation, active annotator, annotator problem. */
export const settings = pgTable('settings', {
  name: text().primaryKey(),
  value: jsonb().$type<unknown>().notNull(),
  updatedAt: at('updated_at').notNull().defaultNow(),
})
