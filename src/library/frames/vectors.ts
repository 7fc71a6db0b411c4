import { plural } from '../../clean-text.ts'
import type { Db } from '../../db/client.ts'
import { appendEvent } from '../../events/append.ts'
import { sql } from '../../sql/orm.ts'

/** Vectors of what the texts of frames mean, in one space for each text model. */

/** Letters of a text: models cut longer ones, and the time of the embedded one grows with them. */
const MAX_TEXT = 600

/** The frames of public videos with what is embedded of them: empty where nothing is known that has a meaning. */
const textsIn = (space: string) => sql`(
  select f.id, f.video_id, f.technique, v.source_hash as held, v.refused,
         left(concat_ws('. ', f.caption, f.composition, f.steal, f.on_screen_text, t.name || ': ' || t.description,
                        replace(f.subject, '-', ' ')), ${MAX_TEXT}) as text
    from frames f
    join videos on videos.id = f.video_id and videos.first_ready_at is not null
    left join techniques t on t.slug = f.technique
    left join frame_vectors v on v.frame_id = f.id and v.space = ${space}) texts`

/** Of these, the frames whose vector is missing, was made from another text, or has lost its text. */
export async function findTextsToEmbed(
  db: Db,
  space: string,
  of: Record<'videos' | 'frames' | 'techniques', ReadonlySet<string>>,
): Promise<{ id: string; text: string; hash: string }[]> {
  const [videos, frames, techniques] = [of.videos, of.frames, of.techniques].map((ids) => sql.param([...ids]))
  const { rows } = await db.execute<{ id: string; text: string; hash: string }>(sql`
    select id, text, md5(text) as hash from ${textsIn(space)}
     where (video_id = any(${videos}) or id = any(${frames}) or technique = any(${techniques}))
       and held is distinct from nullif(md5(text), md5(''))
     order by id`)
  return rows
}

/** Stores vectors or why texts are refused, and takes away those of frames without a text, with one event for all. */
export async function recordVectors(
  db: Db,
  space: string,
  made: readonly { id: string; hash: string; q8?: Buffer | undefined; refused?: string }[],
): Promise<void> {
  const ids = made.map(({ id }) => id)
  const lists = [ids, ...(['hash', 'q8', 'refused'] as const).map((of) => made.map((one) => one[of] ?? null))]
  const [id, hash, q8, refused] = lists.map((list) => sql.param(list))
  await db.transaction(async (tx) => {
    await tx.execute(sql`delete from frame_vectors where space = ${space} and frame_id = any(${id})`)
    await tx.execute(sql`
      insert into frame_vectors (frame_id, space, source_hash, q8, refused)
      select id, ${space}, hash, q8, refused
        from unnest(${id}::text[], ${hash}::text[], ${q8}::bytea[], ${refused}::text[]) m(id, hash, q8, refused)
       where num_nonnulls(q8, refused) > 0 and exists (select from frames f where f.id = m.id for key share)`)
    const data = { space, frame_ids: ids }
    await appendEvent(tx, { type: 'frames.embedded', subject: space, accountId: null, data })
  })
}

/** How far the frames of public videos have vectors of a space. */
export interface VectorStatus {
  space: string
  done: number
  frames: number
  /** How many of the others the model refuses, and why one of them. */
  refused: number
  reason: string | null
  /** What the others will cost, in US dollars at four letters a token; null where no price is known. */
  expected_usd: number | null
  /** Questions are compared with the vectors of this space; null: of none yet. */
  searched: string | null
}

export async function findVectorStatus(db: Db, space: string, price: number | undefined): Promise<VectorStatus> {
  const { rows } = await db.execute<Omit<VectorStatus, 'space' | 'expected_usd'> & { letters: number }>(sql`
    select count(held)::int - count(refused)::int as done, count(*)::int as frames,
           count(refused)::int as refused, max(refused) as reason, (select name from library_search.space) as searched,
           coalesce(sum(length(text)) filter (where held is null), 0)::float8 as letters
      from ${textsIn(space)} where text <> ''`)
  const { letters, ...counted } = rows[0]!
  return { space, ...counted, expected_usd: price ? (letters / 4e6) * price : null }
}

/** For people. */
export function describeVectors(status: VectorStatus): string[] {
  const { space, done, frames, refused, reason, expected_usd, searched } = status
  const none = refused > 0 ? [`! The text model refuses the texts of ${plural(refused, 'frame')}: ${reason}`] : []
  if (frames === 0 || (done + refused === frames && searched === space)) return none
  const cost = expected_usd ? `, about $${expected_usd.toFixed(4)} to come` : ''
  const isLast = searched && searched !== space ? ` and no worker makes those of ${searched} any more` : ''
  const state = searched === space ? '' : `; they are searched once all have one${isLast}`
  return [...none, `${done} of ${frames} frames have vectors of ${space}${cost}${state}.`]
}

/**
 * Takes away the vectors of spaces that no consumer fills: one that begins there finds what is missing. In pieces,
 * because readers of the event log wait for each transaction.
 */
export async function deleteOldVectors(db: Db, consumerOf: (space: string) => string): Promise<void> {
  for (;;) {
    const { rowCount } = await db.execute(sql`
      delete from frame_vectors where (frame_id, space) in (
        select frame_id, space from frame_vectors v
         where not exists (select from checkpoints where consumer = ${consumerOf('')} || v.space) limit 5000)`)
    if (rowCount === 0) return
  }
}
