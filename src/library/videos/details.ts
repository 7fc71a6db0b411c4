import { z } from 'zod'
import { cleanText } from '../../clean-text.ts'
import type { Db } from '../../db/client.ts'
import { type VideoRow, videos } from '../../db/schema/videos.ts'
import { invalid, notFound } from '../../errors.ts'
import { appendEvents } from '../../events/append.ts'
import { and, eq, inArray } from '../../sql/orm.ts'
import { PLATFORMS } from '../../vocabulary.ts'
import { aboutVideo, lockVideo, setVideo } from './videos.ts'

/** Most characters of a title and of a brand that people give. */
export const MAX_NAME = 300
const line = z
  .string()
  .max(MAX_NAME)
  .transform((text) => cleanText(text))
  .refine((text) => text !== '', 'must have a character that can be seen')

const Time = z.union([z.iso.date(), z.iso.datetime({ offset: true })])
/** From the first film to where it is tomorrow already. */
const isPast = (ms: number) => ms >= Date.UTC(1888, 0) && ms <= Date.now() + 86_400_000
const time = z
  .string()
  .max(40)
  .refine(
    (text) => Time.safeParse(text).success,
    'must be a date such as 2026-11-20, or a time such as 2026-11-20T09:00Z',
  )
  .refine((text) => isPast(Date.parse(text)), 'must be from 1888 on, and not in the future')
  .transform((text) => new Date(text))

/** What people say of a video, when they add it and later. The author is its brand or channel. */
export const DETAILS = { title: line, author: line, platform: z.enum(PLATFORMS), published_at: time }
export const NewDetails = z.object(DETAILS).partial()
/** What is absent stays. Null: none. */
export const DetailEdit = z
  .strictObject({
    title: line.describe('What the video is called.'),
    author: line.nullable().describe('Brand or channel; null, or an empty text in commands, removes it.'),
    platform: DETAILS.platform.describe('Where it was published.'),
    published_at: time.nullable().describe('When it was published; null, or an empty text in commands, removes it.'),
  })
  .partial()
type DetailEdit = z.output<typeof DetailEdit>

/** The columns of the details that are named. */
export function toColumns({ title, author, platform, published_at: publishedAt }: DetailEdit) {
  return {
    ...(title === undefined ? {} : { title, titleGiven: true }),
    ...(author === undefined ? {} : { author, authorGiven: true }),
    ...(platform === undefined ? {} : { platform }),
    ...(publishedAt === undefined ? {} : { publishedAt }),
  }
}
type Columns = ReturnType<typeof toColumns>

/** The details as answers and events tell them. */
function told({ title, author, platform, publishedAt }: VideoRow) {
  return { title, author, platform, published_at: publishedAt?.toISOString() ?? null }
}

/** The details of a video that the columns would change, as they are now. */
export function changedBy(video: VideoRow, columns: Columns): Partial<ReturnType<typeof told>> {
  const now = told({ ...video, ...columns })
  return Object.fromEntries(Object.entries(told(video)).filter(([name, was]) => was !== now[name as keyof typeof now]))
}

/** The events of an edit of these rows, which are locked: none of a row that stays as it is. */
function changesOf(rows: readonly VideoRow[], columns: Columns, accountId: string | null) {
  return rows.flatMap((video) => {
    const previous = changedBy(video, columns)
    const edited = { ...video, ...columns }
    const about = aboutVideo(edited, { published_at: told(edited).published_at, previous })
    return Object.keys(previous).length === 0 ? [] : { type: 'video.changed' as const, ...about, accountId }
  })
}

/** Changes what is named. Nothing that a source says replaces it afterwards. @throws AppError not_found */
export async function editVideo(
  db: Db,
  { id, accountId, details }: { id: string; accountId: string | null; details: DetailEdit },
): Promise<VideoRow> {
  const columns = toColumns(details)
  return db.transaction(async (tx) => {
    const video = await lockVideo(tx, id)
    if (!video) throw notFound('video')
    await appendEvents(tx, changesOf([video], columns, accountId))
    return setVideo(tx, id, columns)
  })
}

/** Readers of the event log wait for each transaction, so one changes so many videos at most. */
const VIDEOS_AT_ONCE = 50

/**
 * Gives every video of one brand the name of another, in pieces; returns how many. Where it ends in between, it can be
 * asked for again. @throws AppError invalid_request
 */
export async function mergeBrands(
  db: Db,
  { from, into, accountId }: { from: string; into: string; accountId: string | null },
): Promise<number> {
  if (into === from) throw invalid('into', 'A brand cannot be merged into itself. Name another one.')
  const columns = toColumns({ author: into })
  const ids = await db.select({ id: videos.id }).from(videos).where(eq(videos.author, from)).orderBy(videos.id)
  let changed = 0
  for (let at = 0; at < ids.length; at += VIDEOS_AT_ONCE)
    changed += await db.transaction(async (tx) => {
      const piece = ids.slice(at, at + VIDEOS_AT_ONCE).map(({ id }) => id)
      const stillIts = and(inArray(videos.id, piece), eq(videos.author, from))
      const locked = await tx.select().from(videos).where(stillIts).orderBy(videos.id).for('update')
      const held = locked.map(({ id }) => id)
      await tx
        .update(videos)
        .set({ ...columns, updatedAt: new Date() })
        .where(inArray(videos.id, held))
      await appendEvents(tx, changesOf(locked, columns, accountId))
      return held.length
    })
  return changed
}
