import { randomBytes } from 'node:crypto'
import type { Readable } from 'node:stream'
import { and, asc, desc, eq, getTableColumns, inArray, sql } from 'drizzle-orm'
import { cleanText } from '../../clean-text.ts'
import type { Db } from '../../db/client.ts'
import { type DraftFilm, type DraftRow, drafts } from '../../db/schema/videos.ts'
import { AppError, notFound } from '../../errors.ts'
import type { MediaStore } from '../../media/media-store.ts'
import { toShownAddress } from '../../video/source/shown-address.ts'
import { type DraftState, MAX_TEXT } from '../../vocabulary.ts'
import { isId } from '../ids.ts'
import { SPARE_MS } from '../videos/storage.ts'
import { type AddressRules, resolveAddress, storeFile, titleFromFilename } from '../videos/submit.ts'

/*
 * Drafts: films that a member measures against the library. They are no videos: nothing of them is in the library, in
 * search or in the event log, and no backup holds them. After a day they are gone.
 */

export const DRAFT_HOURS = 24
/** Drafts that an account may keep. */
const MAX_DRAFTS = 50
const RUNNING = ['queued', 'fetching', 'measuring'] as const satisfies DraftState[]
const FOLDER = 'drafts/'
/** As keys of the media store may be. */
const newId = () => randomBytes(16).toString('hex')

interface Whose {
  accountId: string
  id: string
}

const isLive = sql`${drafts.expiresAt} > now()`
const ownedBy = ({ accountId, id }: Whose) => and(eq(drafts.id, id), eq(drafts.accountId, accountId), isLive)

/** A draft without what was measured. Its address goes without what lets its holder in. */
export type Draft = Omit<DraftRow, 'film'>
export type WholeDraft = DraftRow
const { film: _, ...ABOUT } = getTableColumns(drafts)
const toShown = <D extends Draft>(row: D): D => ({ ...row, sourceUrl: row.sourceUrl && toShownAddress(row.sourceUrl) })

/** The account's drafts, newest first. */
export async function listDrafts(db: Db, accountId: string): Promise<Draft[]> {
  const own = and(eq(drafts.accountId, accountId), isLive)
  const rows = await db.select(ABOUT).from(drafts).where(own).orderBy(desc(drafts.createdAt), drafts.id)
  return rows.map(toShown)
}

/** @throws AppError not_found, also for another account's draft and after a day */
export async function requireDraft(db: Db, whose: Whose): Promise<WholeDraft> {
  const [draft] = isId(whose.id) ? await db.select().from(drafts).where(ownedBy(whose)) : []
  if (!draft)
    throw new AppError('not_found', 'You have no such draft. One ends after a day: submit the film again.', {
      missing: 'draft',
    })
  return toShown(draft)
}

/** @throws AppError conflict while another draft of the account is measured, and when it keeps too many */
async function requireTurn(db: Db, accountId: string): Promise<void> {
  const own = await listDrafts(db, accountId)
  const running = own.find(({ state }) => (RUNNING as readonly DraftState[]).includes(state))
  if (running)
    throw new AppError(
      'conflict',
      `Your draft ${running.id} is still being measured, one at a time. Wait until it is ready, or delete it.`,
    )
  if (own.length >= MAX_DRAFTS)
    throw new AppError('conflict', `You keep ${MAX_DRAFTS} drafts. Delete one, or wait: each goes after a day.`)
}

/**
 * Streams a file into the media store and queues it as a draft.
 * @throws AppError as `storeFile` and `requireTurn`
 */
export async function submitDraftFile(
  db: Db,
  store: MediaStore,
  body: Readable,
  given: { accountId: string; filename: string; maxBytes: number; title: () => Promise<string | undefined> },
): Promise<Draft> {
  const { accountId, filename, maxBytes, title } = given
  // Its sender may leave before the media store reads it. The store sees the error once it does.
  body.on('error', () => undefined)
  await requireTurn(db, accountId)
  const id = newId()
  const key = FOLDER + id
  const { details: own } = await storeFile(store, body, { key, maxBytes, details: title })
  try {
    return await addDraft(db, { id, accountId, title: own || titleFromFilename(filename), uploadKey: key })
  } catch (error) {
    await store.delete(key)
    throw error
  }
}

/** Queues an address as a draft. @throws AppError as `resolveAddress` and `requireTurn` */
export async function submitDraftAddress(
  db: Db,
  addresses: AddressRules,
  { accountId, url, title: own }: { accountId: string; url: string; title?: string | undefined },
): Promise<Draft> {
  const { canonicalUrl, title } = resolveAddress(url, addresses)
  return addDraft(db, { id: newId(), accountId, title: own || title, sourceUrl: canonicalUrl })
}

async function addDraft(
  db: Db,
  { title, ...draft }: Whose & { title: string; uploadKey?: string; sourceUrl?: string },
): Promise<Draft> {
  const { accountId } = draft
  // One that ran into its end may still be there: the sweep comes by minutes later.
  await db.delete(drafts).where(and(eq(drafts.accountId, accountId), sql`not ${isLive}`))
  await requireTurn(db, accountId)
  const expiresAt = sql`now() + make_interval(hours => ${DRAFT_HOURS})` as unknown as Date
  const row = { ...draft, title: cleanText(title, MAX_TEXT), expiresAt }
  // The index of running drafts decides between two at the same moment.
  const [added] = await db.insert(drafts).values(row).onConflictDoNothing().returning()
  if (added) return toShown(added)
  await requireTurn(db, accountId)
  throw new AppError('conflict', 'Another draft came at the same moment. Try again.')
}

/** Deletes a draft with its file; a worker that measures it stops. @throws AppError not_found */
export async function deleteDraft(db: Db, store: MediaStore, whose: Whose): Promise<void> {
  const { rowCount } = isId(whose.id) ? await db.delete(drafts).where(ownedBy(whose)) : { rowCount: 0 }
  if (rowCount === 0) throw notFound('draft')
  await forgetDraftFile(store, whose.id)
}

export async function forgetDraftFile(store: MediaStore, id: string): Promise<void> {
  await store.delete(FOLDER + id)
}

/** Deletes drafts that have ended, and files that no draft names. Safe at any time, in any process. */
export async function sweepDrafts(db: Db, store: MediaStore, { now = Date.now() } = {}): Promise<number> {
  const ended = sql`${drafts.expiresAt} <= ${new Date(now).toISOString()}::timestamptz`
  const gone = await db.delete(drafts).where(ended).returning({ id: drafts.id })
  for (const { id } of gone) await forgetDraftFile(store, id)
  for await (const { key, modifiedAt } of store.list(FOLDER)) {
    if (now - modifiedAt.getTime() < SPARE_MS) continue
    const [named] = await db.select({ id: drafts.id }).from(drafts).where(eq(drafts.uploadKey, key))
    if (!named) await store.delete(key)
  }
  return gone.length
}

/* What the worker does. A draft that was deleted meanwhile is never written again. */

const isRunning = (id: string) => and(eq(drafts.id, id), inArray(drafts.state, [...RUNNING]))

/** The drafts that are still to be measured, oldest first. */
export async function listRunningDrafts(db: Db): Promise<string[]> {
  const ours = and(inArray(drafts.state, [...RUNNING]), isLive)
  const rows = await db.select({ id: drafts.id }).from(drafts).where(ours).orderBy(asc(drafts.createdAt)).limit(1_000)
  return rows.map(({ id }) => id)
}

/** Begins an attempt. Undefined where no work is left. */
export async function beginDraft(db: Db, id: string): Promise<DraftRow | undefined> {
  const attempts = sql`${drafts.attempts} + 1`
  const [draft] = await db
    .update(drafts)
    .set({ attempts })
    .where(and(isRunning(id), isLive))
    .returning()
  return draft
}

/** Takes the attempt back after an outage. */
export async function refundDraft(db: Db, id: string): Promise<void> {
  const attempts = sql`greatest(${drafts.attempts} - 1, 0)`
  await db.update(drafts).set({ attempts }).where(isRunning(id))
}

/** False when the draft is gone or settled. */
export async function recordDraftState(db: Db, id: string, state: 'fetching' | 'measuring'): Promise<boolean> {
  const { rowCount } = await db.update(drafts).set({ state }).where(isRunning(id))
  return rowCount === 1
}

/** Records what was measured, or why nothing could be. The file is no longer needed. */
export async function settleDraft(
  db: Db,
  store: MediaStore,
  id: string,
  outcome: { film: DraftFilm } | { code: string; message: string },
): Promise<void> {
  const settled =
    'film' in outcome
      ? { state: 'ready' as const, film: outcome.film }
      : { state: 'failed' as const, failureCode: outcome.code, failureMessage: outcome.message }
  await db
    .update(drafts)
    .set({ ...settled, uploadKey: null })
    .where(isRunning(id))
  await forgetDraftFile(store, id)
}
