import { isDeepStrictEqual } from 'node:util'
import { eq, sql } from 'drizzle-orm'
import { type Db, type DbOrTx, inTransaction, type Tx } from '../../db/client.ts'
import { techniqueRedirects, techniques } from '../../db/schema/techniques.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { appendEvent, appendEvents } from '../../events/append.ts'
import type { EventData } from '../../events/catalogue.ts'
import type { TechniqueTerm } from '../../vision/annotator.ts'
import { lockFrames } from '../frames/frame-facts.ts'

export type TechniqueRow = typeof techniques.$inferSelect

/** The governed vocabulary: what slugs mean today. */
export interface Vocabulary {
  bySlug: ReadonlyMap<string, TechniqueRow>
  /** Aliases and old slugs → current slug. */
  redirects: ReadonlyMap<string, string>
  /** Those that may be given to a frame. */
  active: readonly TechniqueRow[]
}

export async function loadVocabulary(db: DbOrTx): Promise<Vocabulary> {
  const [rows, old] = await Promise.all([
    db.select().from(techniques).orderBy(techniques.slug),
    db.select().from(techniqueRedirects),
  ])
  const redirects = new Map<string, string>()
  for (const row of rows) for (const alias of row.aliases) redirects.set(alias, row.slug)
  for (const redirect of old) redirects.set(redirect.oldSlug, redirect.slug)
  return {
    bySlug: new Map(rows.map((row) => [row.slug, row])),
    redirects,
    active: rows.filter((row) => row.retiredAt === null),
  }
}

/** The current slug for a slug, old slug or alias that may be given to a frame; undefined otherwise. */
export function resolveSlug(vocabulary: Vocabulary, given: string): string | undefined {
  for (const name of [given, toSlug(given)]) {
    const slug = vocabulary.bySlug.has(name) ? name : vocabulary.redirects.get(name)
    if (slug !== undefined && vocabulary.bySlug.get(slug)?.retiredAt === null) return slug
  }
  return undefined
}

/** Every word that names a technique which may be given to a frame. */
export function knownNames(vocabulary: Vocabulary): string[] {
  return [...vocabulary.bySlug.keys(), ...vocabulary.redirects.keys()].filter(
    (name) => resolveSlug(vocabulary, name) !== undefined,
  )
}

/** `Split Screen!` → `split-screen`; empty where no letter or digit is left. */
export function toSlug(phrase: string): string {
  return phrase
    .slice(0, 500)
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 64)
    .replace(/-+$/, '')
}

export function toTerm(row: TechniqueRow): TechniqueTerm {
  return {
    slug: row.slug,
    name: row.name,
    description: row.description,
    recognise: row.recognise,
    aliases: row.aliases,
  }
}

/** Puts the seeded moves into an empty vocabulary. An operator's vocabulary is never touched. */
export async function seedTechniques(db: Db, terms: readonly TechniqueTerm[]): Promise<void> {
  await db.transaction(async (tx) => {
    await lockVocabulary(tx)
    const [{ n } = { n: 0 }] = await tx.select({ n: sql<number>`count(*)::int` }).from(techniques)
    if (n > 0) return
    await tx.insert(techniques).values(terms.map((term) => ({ ...term })))
    await appendEvents(
      tx,
      terms.map(({ slug }) => ({
        type: 'technique.changed',
        subject: slug,
        accountId: null,
        data: { slug, change: 'added', previous_slug: null },
      })),
    )
  })
}

const SLUG = /^[a-z0-9]+(-[a-z0-9]+)*$/

export interface NewTechnique {
  slug: string
  name: string
  description: string
  recognise?: string | undefined
  aliases?: string[] | undefined
}

/** Longest texts of a technique, and most aliases: the same for HTTP and the command line. */
export const MAX_TECHNIQUE = { name: 100, description: 1_000, recognise: 1_000, aliases: 50 } as const

function requireTexts(given: Partial<Omit<NewTechnique, 'slug'>>): void {
  for (const field of ['name', 'description', 'recognise'] as const) {
    const text = given[field]
    if (text !== undefined && (text.trim() === '' || text.length > MAX_TECHNIQUE[field]))
      throw invalid(field, `A technique's ${field} has 1 to ${MAX_TECHNIQUE[field]} characters.`)
  }
  if ((given.aliases?.length ?? 0) > MAX_TECHNIQUE.aliases)
    throw invalid('aliases', `A technique has at most ${MAX_TECHNIQUE.aliases} aliases.`)
}

export async function addTechnique(db: DbOrTx, technique: NewTechnique): Promise<TechniqueRow> {
  requireSlug(technique.slug)
  requireTexts(technique)
  const aliases = toAliases(technique.aliases ?? [], technique.slug)
  return changeVocabulary(db, technique.slug, 'added', null, async (tx) => {
    await requireFree(tx, [technique.slug, ...aliases])
    const [row] = await tx
      .insert(techniques)
      .values({ ...technique, recognise: technique.recognise ?? technique.description, aliases })
      .returning()
    return row!
  })
}

/** What is there already changes nothing and tells of nothing. */
export async function editTechnique(
  db: DbOrTx,
  slug: string,
  given: Partial<Omit<NewTechnique, 'slug'>>,
): Promise<TechniqueRow> {
  requireTexts(given)
  const edit = { ...given, ...(given.aliases ? { aliases: toAliases(given.aliases, slug) } : {}) }
  return changeVocabulary(db, slug, 'edited', null, async (tx, unchanged) => {
    const row = await requireTechnique(tx, slug)
    if (isDeepStrictEqual({ ...row, ...edit }, row)) return unchanged(row)
    if (edit.aliases)
      await requireFree(
        tx,
        edit.aliases.filter((alias) => !row.aliases.includes(alias)),
        slug,
      )
    const [updated] = await tx
      .update(techniques)
      .set({ ...edit, updatedAt: new Date() })
      .where(eq(techniques.slug, slug))
      .returning()
    return updated!
  })
}

/** The frames follow (foreign key), the old slug goes on working as a redirect. To its own slug nothing changes. */
export async function renameTechnique(db: DbOrTx, slug: string, to: string): Promise<TechniqueRow> {
  requireSlug(to)
  return changeVocabulary(db, to, 'renamed', slug, async (tx, unchanged) => {
    const present = await requireTechnique(tx, slug)
    if (to === slug) return unchanged(present)
    // Renaming back to a former slug of its own is allowed: that redirect goes.
    await tx.execute(sql`delete from technique_redirects where old_slug = ${to} and slug = ${slug}`)
    await requireFree(tx, [to], slug)
    await lockFramesOf(tx, slug)
    const [row] = await tx
      .update(techniques)
      .set({ slug: to, updatedAt: new Date() })
      .where(eq(techniques.slug, slug))
      .returning()
    await tx.insert(techniqueRedirects).values({ oldSlug: slug, slug: to })
    return row!
  })
}

/** Moves every frame of `slug` to `into`; the old slug and its aliases lead there from now on. */
export async function mergeTechnique(db: DbOrTx, slug: string, into: string): Promise<TechniqueRow> {
  if (slug === into) throw invalid('into', 'A technique cannot be merged into itself.')
  return changeVocabulary(db, into, 'merged', slug, async (tx) => {
    const from = await requireTechnique(tx, slug)
    const target = await requireTechnique(tx, into)
    if (target.retiredAt) throw new AppError('conflict', `${into} is retired; restore it first.`)
    await lockFramesOf(tx, slug)
    await tx.execute(sql`update frames set technique = ${into}, updated_at = now() where technique = ${slug}`)
    await tx.execute(sql`update technique_redirects set slug = ${into} where slug = ${slug}`)
    await tx.delete(techniques).where(eq(techniques.slug, slug))
    await tx.insert(techniqueRedirects).values({ oldSlug: slug, slug: into })
    const [row] = await tx
      .update(techniques)
      .set({ aliases: [...new Set([...target.aliases, ...from.aliases])], updatedAt: new Date() })
      .where(eq(techniques.slug, into))
      .returning()
    return row!
  })
}

/** A retired technique takes no new frames and leaves the vocabulary; the frames that carry it keep it. */
export async function retireTechnique(db: DbOrTx, slug: string, retired = true): Promise<TechniqueRow> {
  return changeVocabulary(db, slug, retired ? 'retired' : 'restored', null, async (tx, unchanged) => {
    const present = await requireTechnique(tx, slug)
    if ((present.retiredAt !== null) === retired) return unchanged(present)
    const [row] = await tx
      .update(techniques)
      .set({ retiredAt: retired ? new Date() : null, updatedAt: new Date() })
      .where(eq(techniques.slug, slug))
      .returning()
    return row!
  })
}

/** Aliases are kept in the form of slugs, so that however a model writes them they are found. */
function toAliases(given: readonly string[], own: string): string[] {
  const aliases = given.map(toSlug).filter((alias) => alias !== '' && alias !== own)
  return [...new Set(aliases)]
}

type Change = EventData<'technique.changed'>['change']

export interface TechniquePatch extends Partial<NewTechnique> {
  retired?: boolean | undefined
}

/** Several changes of one technique, all or none. Undefined when nothing of it is a change. */
export async function patchTechnique(
  db: Db,
  slug: string,
  { slug: to, retired, ...edit }: TechniquePatch,
): Promise<TechniqueRow | undefined> {
  return db.transaction(async (tx) => {
    let current = slug
    let row: TechniqueRow | undefined
    if (to !== undefined && to !== slug) {
      row = await renameTechnique(tx, slug, to)
      current = to
    }
    if (Object.keys(edit).length > 0) row = await editTechnique(tx, current, edit)
    if (retired !== undefined) row = await retireTechnique(tx, current, retired)
    return row
  })
}

async function changeVocabulary(
  db: DbOrTx,
  slug: string,
  change: Change,
  previous: string | null,
  act: (tx: Tx, unchanged: (row: TechniqueRow) => TechniqueRow) => Promise<TechniqueRow>,
): Promise<TechniqueRow> {
  return inTransaction(db, async (tx) => {
    await lockVocabulary(tx)
    let same = false
    const row = await act(tx, (present) => {
      same = true
      return present
    })
    if (same) return row
    await appendEvent(tx, {
      type: 'technique.changed',
      subject: slug,
      accountId: null,
      data: { slug, change, previous_slug: previous },
    })
    return row
  })
}

/** Held by whatever gives techniques to frames, before any row: a change of the vocabulary comes wholly before or wholly after it. */
export async function shareVocabulary(tx: Tx): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock_shared(hashtextextended('vocabulary', 0))`)
}

/** Slugs, redirects and aliases share one name space: one change of the vocabulary at a time keeps it so. */
async function lockVocabulary(tx: Tx): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended('vocabulary', 0))`)
}

/** In the order of frame-facts.ts: somebody may be saving some of them. */
async function lockFramesOf(tx: Tx, slug: string): Promise<void> {
  await lockFrames(tx, sql`f.technique = ${slug}`, 'no key update')
}

async function requireTechnique(tx: Tx, slug: string): Promise<TechniqueRow> {
  const [row] = await tx.select().from(techniques).where(eq(techniques.slug, slug))
  if (!row) throw notFound(`technique "${slug.slice(0, 80)}"`)
  return row
}

async function requireFree(tx: Tx, names: readonly string[], except?: string): Promise<void> {
  const vocabulary = await loadVocabulary(tx)
  for (const name of names) {
    const owner = vocabulary.bySlug.has(name) ? name : vocabulary.redirects.get(name)
    if (owner !== undefined && owner !== except)
      throw new AppError('conflict', `"${name}" already stands for ${owner}.`)
  }
}

export function requireSlug(slug: string): string {
  if (SLUG.test(slug) && slug.length <= 64) return slug
  throw invalid(
    'slug',
    'A slug has lower-case letters, digits and single hyphens, at most 64 characters, such as split-screen.',
  )
}
