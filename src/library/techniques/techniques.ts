import { isDeepStrictEqual } from 'node:util'
import { characterCount, cleanText, toSlug } from '../../clean-text.ts'
import { type Db, type DbOrTx, inTransaction, type Tx } from '../../db/client.ts'
import { type TechniqueRow, techniques } from '../../db/schema/techniques.ts'
import { AppError, invalid, notFound } from '../../errors.ts'
import { appendEvent } from '../../events/append.ts'
import type { EventData } from '../../events/catalogue.ts'
import { and, eq, isNull, type PgUpdateSetSource, sql } from '../../sql/orm.ts'
import { adoptFirstProposals } from '../frames/technique-suggestions.ts'
import { finishMove, loadVocabulary, lockVocabulary, requireSlug, startMove } from './vocabulary.ts'

export interface NewTechnique {
  slug: string
  name?: string | undefined
  description?: string | undefined
  recognise?: string | undefined
  aliases?: string[] | undefined
}

/** A technique as HTTP and the command line show it to operators. */
export function describeTechnique({ slug, name, description, recognise, aliases, retiredAt }: TechniqueRow) {
  return { slug, name, description, recognise, aliases, retired: retiredAt !== null }
}

/** Maximum lengths of a technique's texts and maximum number of aliases, for HTTP and the command line. */
export const MAX_TECHNIQUE = { name: 100, description: 1_000, recognise: 1_000, aliases: 50 } as const

/** The texts as they are stored. @throws AppError invalid_request. */
function cleanTexts<T extends Partial<NewTechnique>>(technique: T): T {
  const given = { ...technique }
  for (const field of ['name', 'description', 'recognise'] as const) {
    if (given[field] === undefined) continue
    const text = cleanText(given[field])
    given[field] = text
    if (text === '' || characterCount(text) > MAX_TECHNIQUE[field])
      throw invalid(field, `A technique's ${field} has 1 to ${MAX_TECHNIQUE[field]} characters.`)
  }
  return given
}

/** What a change came to: the technique, and how many frames took at once what an annotator had proposed for them. */
export interface ChangedTechnique {
  technique: TechniqueRow
  adopted: number
}

/**
 * Frames whose annotator proposed what the vocabulary now names take it: the first of them here, the others by the
 * reconciler, because a common proposal may have tens of thousands of frames.
 */
async function withAdopted(db: Db, technique: TechniqueRow): Promise<ChangedTechnique> {
  return { technique, adopted: (await adoptFirstProposals(db)) ?? 0 }
}

/** Without a name it is the slug, without a description the name. @throws AppError invalid_request, conflict. */
export async function addTechnique(db: Db, given: NewTechnique): Promise<ChangedTechnique> {
  requireSlug(given.slug)
  const { name = given.slug, description = name, recognise = description } = given
  const technique = cleanTexts({ slug: given.slug, name, description, recognise })
  const aliases = toAliases(given.aliases ?? [], technique.slug)
  const added = await changeVocabulary(db, technique.slug, 'added', async (tx) => {
    await requireFree(tx, [technique.slug, ...aliases])
    const [row] = await tx
      .insert(techniques)
      .values({ ...technique, aliases })
      .returning()
    return row!
  })
  return withAdopted(db, added)
}

/** An edit that changes nothing appends no event. @throws AppError not_found, invalid_request, conflict. */
async function editTechnique(tx: Tx, slug: string, changes: Omit<NewTechnique, 'slug'>): Promise<TechniqueRow> {
  const given = cleanTexts(changes)
  const edit = { ...given, ...(given.aliases ? { aliases: toAliases(given.aliases, slug) } : {}) }
  return changeVocabulary(tx, slug, 'edited', async (_, unchanged) => {
    const row = await requireTechnique(tx, slug)
    const differs = ([name, value]: [string, unknown]) =>
      value !== undefined && !isDeepStrictEqual(value, row[name as keyof TechniqueRow])
    if (!Object.entries(edit).some(differs)) return unchanged(row)
    if (edit.aliases)
      await requireFree(
        tx,
        edit.aliases.filter((alias) => !row.aliases.includes(alias)),
        slug,
      )
    return setTechnique(tx, slug, edit)
  })
}

async function startRename(tx: Tx, slug: string, to: string): Promise<void> {
  requireSlug(to)
  await lockVocabulary(tx)
  const row = await requireTechnique(tx, slug)
  // Renaming back to one of its former slugs is allowed and removes that redirect.
  await tx.execute(sql`delete from technique_redirects where old_slug = ${to} and slug = ${slug}`)
  await requireFree(tx, [to], slug)
  await tx.insert(techniques).values({ ...row, slug: to, updatedAt: new Date() })
  await startMove(tx, slug, { to, as: 'renamed' })
}

/**
 * Moves every frame of `slug` to `into`, in pieces. The old slug and its aliases resolve to `into` from the start on.
 * @throws AppError not_found, invalid_request, conflict
 */
export async function mergeTechnique(db: Db, slug: string, into: string): Promise<ChangedTechnique> {
  if (slug === into) throw invalid('into', 'A technique cannot be merged into itself. Name another one.')
  const row = await db.transaction(async (tx) => {
    await lockVocabulary(tx)
    const from = await requireTechnique(tx, slug)
    const target = await requireTechnique(tx, into)
    if (target.retiredAt) throw new AppError('conflict', `${into} is retired; restore it first.`)
    await startMove(tx, slug, { to: into, as: 'merged' })
    return setTechnique(tx, into, { aliases: [...new Set([...target.aliases, ...from.aliases])] })
  })
  await finishMove(db, slug)
  return withAdopted(db, row)
}

/** A retired technique takes no new frames and leaves the vocabulary. Frames that have it keep it. */
async function retireTechnique(tx: Tx, slug: string, retired: boolean): Promise<TechniqueRow> {
  return changeVocabulary(tx, slug, retired ? 'retired' : 'restored', async (_, unchanged) => {
    const row = await requireTechnique(tx, slug)
    if ((row.retiredAt !== null) === retired) return unchanged(row)
    return setTechnique(tx, slug, { retiredAt: retired ? new Date() : null })
  })
}

/**
 * Changes what is given of a technique: its slug, texts and other names, or whether it is retired. The frames follow a
 * new slug in pieces, and the old one stays valid as a redirect. A repeat changes nothing.
 */
export async function updateTechnique(
  db: Db,
  slug: string,
  { slug: to = slug, retired, ...edit }: TechniquePatch,
): Promise<ChangedTechnique> {
  const row = await db.transaction(async (tx) => {
    if (to !== slug) await startRename(tx, slug, to)
    const edited = await editTechnique(tx, to, edit)
    return retired === undefined ? edited : retireTechnique(tx, to, retired)
  })
  if (to !== slug) await finishMove(db, slug)
  return withAdopted(db, row)
}

export interface TechniquePatch extends Partial<NewTechnique> {
  /** A retired technique is given to no more frames. */
  retired?: boolean | undefined
}

/** Aliases are stored as slugs, so that any spelling by a model matches. */
function toAliases(given: readonly string[], own: string): string[] {
  if (given.length > MAX_TECHNIQUE.aliases)
    throw invalid('aliases', `A technique has at most ${MAX_TECHNIQUE.aliases} aliases.`)
  const aliases = given.map(toSlug).filter((alias) => alias !== '' && alias !== own)
  return [...new Set(aliases)]
}

type Change = EventData<'technique.changed'>['change']

async function changeVocabulary(
  db: DbOrTx,
  slug: string,
  change: Change,
  act: (tx: Tx, unchanged: (row: TechniqueRow) => TechniqueRow) => Promise<TechniqueRow>,
): Promise<TechniqueRow> {
  return inTransaction(db, async (tx) => {
    await lockVocabulary(tx)
    let same = false
    const row = await act(tx, (row) => {
      same = true
      return row
    })
    if (same) return row
    await appendEvent(tx, {
      type: 'technique.changed',
      subject: slug,
      accountId: null,
      data: { slug, change, previous_slug: null },
    })
    return row
  })
}

async function setTechnique(
  tx: Tx,
  slug: string,
  columns: PgUpdateSetSource<typeof techniques>,
): Promise<TechniqueRow> {
  const [row] = await tx
    .update(techniques)
    .set({ ...columns, updatedAt: new Date() })
    .where(eq(techniques.slug, slug))
    .returning()
  return row!
}

async function requireTechnique(tx: Tx, slug: string): Promise<TechniqueRow> {
  const [row] = await tx
    .select()
    .from(techniques)
    .where(and(eq(techniques.slug, slug), isNull(techniques.movesTo)))
  if (!row) throw notFound(`technique "${slug.slice(0, 80)}"`)
  return row
}

async function requireFree(tx: Tx, names: readonly string[], except?: string): Promise<void> {
  const vocabulary = await loadVocabulary(tx)
  for (const name of names) {
    const owner = vocabulary.bySlug.has(name) ? name : vocabulary.redirects.get(name)
    if (owner !== undefined && owner !== except)
      throw new AppError('conflict', `"${name}" already stands for ${owner}. Use another name.`)
  }
}

/** A technique as operators see it, with its frames and old slugs. */
export interface TechniqueUsage {
  technique: TechniqueRow
  frames: number
  videos: number
  /** Frames whose technique a person set. */
  corrected: number
  /** Some of its frames, the best-described first. */
  frameIds: string[]
}

type UsageCounts = Pick<TechniqueUsage, 'frames' | 'videos' | 'corrected' | 'frameIds'>

const PICTURES = 6

/** Every technique, or one, retired ones last, by its number of frames. */
export async function listTechniqueUsage(db: Db, slug?: string): Promise<TechniqueUsage[]> {
  const asked = slug === undefined ? sql`technique is not null` : sql`technique = ${slug}`
  const { bySlug } = await loadVocabulary(db)
  const { rows } = await db.execute<{ slug: string } & UsageCounts>(sql`
    select technique as slug, count(*)::int as frames, count(distinct video_id)::int as videos,
           (count(*) filter (where technique_provenance->>'source' = 'person'))::int as corrected,
           (array_agg(id order by save_count desc, id))[1:${sql.raw(String(PICTURES))}] as "frameIds"
      from frames where ${asked} group by technique`)
  const used = new Map(rows.map(({ slug: name, ...counts }) => [name, counts]))
  return [...bySlug.values()]
    .filter((technique) => slug === undefined || technique.slug === slug)
    .map((technique) => {
      return { technique, ...(used.get(technique.slug) ?? { frames: 0, videos: 0, corrected: 0, frameIds: [] }) }
    })
    .sort(
      (a, b) => Number(a.technique.retiredAt !== null) - Number(b.technique.retiredAt !== null) || b.frames - a.frames,
    )
}

/** @throws AppError not_found */
export async function findTechniqueUsage(db: Db, slug: string): Promise<TechniqueUsage> {
  const [found] = await listTechniqueUsage(db, slug)
  if (!found) throw notFound('technique')
  return found
}
