import { toSlug } from '../../clean-text.ts'
import type { Db, DbOrTx, Tx } from '../../db/client.ts'
import { type TechniqueRow, techniqueRedirects, techniques } from '../../db/schema/techniques.ts'
import { AppError, invalid } from '../../errors.ts'
import { appendEvent, appendEvents } from '../../events/append.ts'
import { eq, isNotNull, sql } from '../../sql/orm.ts'
import type { TechniqueTerm } from '../../vision/annotator.ts'

export interface Vocabulary {
  bySlug: ReadonlyMap<string, TechniqueRow>
  /** Aliases and old slugs → current slug. */
  redirects: ReadonlyMap<string, string>
  /** The techniques that a frame may receive. */
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
  for (const row of rows) if (row.movesTo !== null) redirects.set(row.slug, row.movesTo)
  const staying = rows.filter((row) => row.movesTo === null)
  return {
    bySlug: new Map(staying.map((row) => [row.slug, row])),
    redirects,
    active: staying.filter((row) => row.retiredAt === null),
  }
}

/** The current slug for a slug, old slug or alias. Undefined when no active technique has that name. */
export function resolveSlug(vocabulary: Vocabulary, given: string): string | undefined {
  for (const name of [given, toSlug(given)]) {
    const slug = vocabulary.bySlug.has(name) ? name : vocabulary.redirects.get(name)
    if (slug !== undefined && vocabulary.bySlug.get(slug)?.retiredAt === null) return slug
  }
  return undefined
}

/** Every slug, old slug and alias of the active techniques. */
export function knownNames(vocabulary: Vocabulary): string[] {
  return [...vocabulary.bySlug.keys(), ...vocabulary.redirects.keys()].filter(
    (name) => resolveSlug(vocabulary, name) !== undefined,
  )
}

/** Fills an empty vocabulary with the seed. An operator's vocabulary is never changed. */
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

/**
 * Every transaction that assigns techniques to frames takes this lock before any row lock. A change of the vocabulary
 * then happens entirely before or entirely after it.
 */
export async function shareVocabulary(tx: Tx): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock_shared(hashtextextended('vocabulary', 0))`)
}

/** Slugs, redirects and aliases share one namespace, so the vocabulary has one writer at a time. */
export async function lockVocabulary(tx: Tx): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended('vocabulary', 0))`)
}

export const SLUG = /^[a-z0-9]+(-[a-z0-9]+)*$/

export function requireSlug(slug: string): string {
  if (SLUG.test(slug) && slug.length <= 64) return slug
  throw invalid(
    'slug',
    'A slug has lower-case letters, digits and single hyphens, at most 64 characters, such as split-screen.',
  )
}

/*
 * A rename or a merge moves every frame of a technique, and readers of the event log wait for each open transaction. So
 * it is marked first, then the frames follow in pieces, and its event comes with the last step. A worker finishes what
 * a stopped process began.
 */

const FRAMES_AT_ONCE = 1_000

/** Marks a technique: from here on its slug, aliases and old slugs stand for `to`. The vocabulary must be locked. */
export async function startMove(tx: Tx, slug: string, { to, as }: { to: string; as: 'renamed' | 'merged' }) {
  const [coming] = await tx.select().from(techniques).where(eq(techniques.movesTo, slug))
  if (coming)
    throw new AppError('conflict', `Frames of ${coming.slug} are still moving to ${slug}. Try again in a moment.`)
  await tx.execute(sql`update technique_redirects set slug = ${to} where slug = ${slug}`)
  await tx.update(techniques).set({ movesTo: to, movesAs: as, aliases: [] }).where(eq(techniques.slug, slug))
}

/** Finishes the moves that have begun. Safe at any time, in any process. */
export async function finishMoves(db: Db, signal?: AbortSignal): Promise<void> {
  const begun = await db.select({ slug: techniques.slug }).from(techniques).where(isNotNull(techniques.movesTo))
  for (const { slug } of begun) await finishMove(db, slug, signal)
}

/** Moves the frames that are left and ends the move. Nothing happens where none has begun. */
export async function finishMove(db: Db, slug: string, signal?: AbortSignal): Promise<void> {
  // Locks frames by id, as every transaction does (frames/frames.ts).
  const moveSome = () =>
    db.execute(sql`
      update frames set technique = t.moves_to, updated_at = now() from techniques t
       where t.slug = ${slug} and t.moves_to is not null and frames.id in (
         select id from frames where technique = ${slug} order by id limit ${FRAMES_AT_ONCE} for no key update)`)
  while (!signal?.aborted) {
    const { rowCount } = await moveSome()
    if (rowCount === 0 && (await endMove(db, slug))) return
  }
}

/** False while frames are left: an answer that was under way may have given it one. */
async function endMove(db: Db, slug: string): Promise<boolean> {
  return db.transaction(async (tx) => {
    await lockVocabulary(tx)
    // Waits for writers whose frames refer to it. Only the next statement sees what they wrote.
    const [row] = await tx.select().from(techniques).where(eq(techniques.slug, slug)).for('update')
    if (!row || row.movesTo === null || row.movesAs === null) return true
    const { rows } = await tx.execute(sql`select 1 from frames where technique = ${slug} limit 1`)
    if (rows.length > 0) return false
    await tx.delete(techniques).where(eq(techniques.slug, slug))
    await tx.insert(techniqueRedirects).values({ oldSlug: slug, slug: row.movesTo })
    const data = { slug: row.movesTo, change: row.movesAs, previous_slug: slug }
    await appendEvent(tx, { type: 'technique.changed', subject: row.movesTo, accountId: null, data })
    return true
  })
}
