import { type AnyPgColumn, check, pgTable, sql, text } from '../../sql/orm.ts'
import { at } from './columns.ts'

export const techniques = pgTable(
  'techniques',
  {
    slug: text().primaryKey(),
    name: text().notNull(),
    description: text().notNull(),
    /** How to recognise it in a single frame. */
    recognise: text().notNull(),
    aliases: text().array().notNull().default([]),
    /** A retired technique takes no new frames. Frames that have it keep it. */
    retiredAt: at('retired_at'),
    /** Renamed or merged: its frames are on their way to this one. It is no technique of the vocabulary any more. */
    movesTo: text('moves_to').references((): AnyPgColumn => techniques.slug, { onUpdate: 'cascade' }),
    movesAs: text('moves_as').$type<'renamed' | 'merged'>(),
    createdAt: at('created_at').notNull().defaultNow(),
    updatedAt: at('updated_at').notNull().defaultNow(),
  },
  () => [check('techniques_slug', sql`slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$' and length(slug) <= 64`)],
)

/** Old slugs of renamed and merged techniques. They stay valid in filters and in annotators' answers. */
export const techniqueRedirects = pgTable('technique_redirects', {
  oldSlug: text('old_slug').primaryKey(),
  slug: text()
    .notNull()
    .references(() => techniques.slug, { onUpdate: 'cascade', onDelete: 'cascade' }),
  createdAt: at('created_at').notNull().defaultNow(),
})

export type TechniqueRow = typeof techniques.$inferSelect
