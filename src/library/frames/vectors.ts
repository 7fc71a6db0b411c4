import type { Db } from '../../db/client.ts'
import { appendEvent } from '../../events/append.ts'
import { sql } from '../../sql/orm.ts'

/** Vectors of what the texts of frames mean, in one space for each text model. */

/** Letters of a text: models cut longer ones, and the time of the embedded one grows with them. */
const MAX_TEXT = 600

/** The frames of public videos with what is embedded of them: empty where nothing is known that has a meaning. */
const textsIn = (space: string) => sql`(
  select f.id, f.video_id, f.technique, v.source_hash as held,
         left(concat_ws('. ', f.caption, f.composition, f.steal, f.on_screen_text, t.name || ': ' || t.description,
                        replace(f.subject, '-', ' ')), ${MAX_TEXT}) as text
    from frames f
    join videos on videos.id = f.video_id and videos.first_ready_at is not null
    left join techniques t on t.slug = f.technique
    left join frame_vectors v on v.frame_id = f.id and v.space = ${space}) texts`

export interface TextOfFrame {
  id: string
  text: string
  hash: string
}

/** Of these, the frames whose vector is missing, was made from another text, or has lost its text. */
export async function findTextsToEmbed(
  db: Db,
  space: string,
  of: Record<'videos' | 'frames' | 'techniques', ReadonlySet<string>>,
): Promise<TextOfFrame[]> {
  const [videos, frames, techniques] = [of.videos, of.frames, of.techniques].map((ids) => sql.param([...ids]))
  const { rows } = await db.execute<TextOfFrame & Record<string, unknown>>(sql`
    select id, text, md5(text) as hash from ${textsIn(space)}
     where (video_id = any(${videos}) or id = any(${frames}) or technique = any(${techniques}))
       and held is distinct from nullif(md5(text), md5(''))
     order by id`)
  return rows
}

/** Stores vectors, and takes away those of frames without a text (null), with one event for all. */
export async function recordVectors(
  db: Db,
  space: string,
  made: readonly { id: string; hash: string; bytes: Buffer | null }[],
): Promise<void> {
  const [ids, hashes, bytes] = [made.map(({ id }) => id), made.map(({ hash }) => hash), made.map((one) => one.bytes)]
  await db.transaction(async (tx) => {
    await tx.execute(sql`delete from frame_vectors where space = ${space} and frame_id = any(${sql.param(ids)})`)
    await tx.execute(sql`
      insert into frame_vectors (frame_id, space, source_hash, q8)
      select id, ${space}, hash, q8
        from unnest(${sql.param(ids)}::text[], ${sql.param(hashes)}::text[], ${sql.param(bytes)}::bytea[])
             m(id, hash, q8)
       where q8 is not null and exists (select from frames f where f.id = m.id for key share)`)
    const data = { space, frame_ids: ids }
    await appendEvent(tx, { type: 'frames.embedded', subject: space, accountId: null, data })
  })
}

/** How far the frames of public videos have vectors of a space. */
export interface VectorStatus {
  space: string
  done: number
  frames: number
  /** What the others will cost, in US dollars at four letters a token; null where no price is known. */
  expected_usd: number | null
  /** Questions are compared with the vectors of this space; null: of none yet. */
  searched: string | null
}

export async function findVectorStatus(db: Db, space: string, price: number | undefined): Promise<VectorStatus> {
  const { rows } = await db.execute<Omit<VectorStatus, 'space' | 'expected_usd'> & { letters: number }>(sql`
    select count(held)::int as done, count(*)::int as frames, (select name from library_search.space) as searched,
           coalesce(sum(length(text)) filter (where held is null), 0)::float8 as letters
      from ${textsIn(space)} where text <> ''`)
  const { letters, ...counted } = rows[0]!
  return { space, ...counted, expected_usd: price ? (letters / 4e6) * price : null }
}

/** For people. */
export function describeVectors({ space, done, frames, expected_usd, searched }: VectorStatus): string[] {
  if (frames === 0 || (done === frames && searched === space)) return []
  const cost = expected_usd ? `, about $${expected_usd.toFixed(4)} to come` : ''
  const state = searched === space ? '' : '; they are searched once all have one'
  return [`${done} of ${frames} frames can be found by meaning (${space})${cost}${state}.`]
}

/** Takes away what is not of the space that is searched. */
export async function deleteOtherVectors(db: Db, space: string): Promise<void> {
  await db.execute(sql`delete from frame_vectors where space <> ${space}`)
}
