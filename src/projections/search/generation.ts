import { randomUUID } from 'node:crypto'
import type { Db, Tx } from '../../db/client.ts'
import { isIdle } from '../../events/consume.ts'
import { AT_SWAP, LIVE, NEXT, rowsOf } from '../../search/postgres/tables.ts'
import { WORDS_VERSION } from '../../search/text/tokens.ts'
import { sql } from '../../sql/orm.ts'

/** A generation is one build of the read model. A rebuild fills the next one and swaps it for the live one. */

const OLD = 'library_search_old'

/** An empty generation beside the live one, without indexes. Its vectors are of this space, or that of the live one. */
export async function beginGeneration(tx: Tx, space?: string): Promise<void> {
  await tx.execute(sql`drop schema if exists ${sql.raw(NEXT)} cascade`)
  await tx.execute(sql`select create_read_model(${NEXT})`)
  const live = sql`(select name from ${sql.raw(LIVE)}.space)`
  await tx.execute(sql`
    insert into ${sql.raw(NEXT)}.space select name from (select coalesce(${space ?? null}, ${live}) as name) next
     where name is not null`)
}

/**
 * Whether a space may take the place of the one that is searched: its consumer has read all of the log but what is
 * younger than 10 s, and no process fills the other one. So workers with different settings do not alternate.
 */
export async function isSpaceReady(db: Db, space: string, consumerOf: (space: string) => string): Promise<boolean> {
  const [row] = await rowsOf<{ ready: boolean }>(
    db,
    sql`select not exists (select from events e
                            where (e.xid, e.seq) > (c.xid, c.seq) and e.time < now() - interval '10 s') as ready
          from checkpoints c
         where c.consumer = ${consumerOf(space)}
           and not exists (select from ${sql.raw(LIVE)}.space
                            where name = ${space} or not ${isIdle(sql`${consumerOf('')} || name`)})`,
  )
  return row?.ready ?? false
}

/** Each index in a transaction of its own: an open one holds up the readers of the event log. */
export async function indexGeneration(db: Db): Promise<void> {
  const rows = await rowsOf<{ definition: string }>(db, sql`select read_model_indexes(${NEXT}) as definition`)
  for (const { definition } of rows)
    await db.transaction(async (tx) => {
      await tx.execute(sql`set local statement_timeout = 0`)
      await tx.execute(sql`set local maintenance_work_mem = '128MB'`)
      await tx.execute(sql.raw(definition))
    })
  for (const table of ['documents', 'frames', 'entries', 'words']) await db.execute(sql.raw(`analyze ${NEXT}.${table}`))
}

/**
 * What is new in the next generation gets the version of the swap, and what it lacks stays as a tombstone, so that a
 * replica copies the difference. Of older tombstones it keeps those that the replica has not seen.
 */
async function dateGeneration(tx: Tx): Promise<void> {
  const [live, next] = [sql.raw(LIVE), sql.raw(NEXT)]
  const swap = sql`(select version + 1 from read_models where engine = 'postgres')`
  await tx.execute(sql`update ${next}.documents set version = ${swap} where version = ${AT_SWAP}`)
  await tx.execute(sql`
    insert into ${next}.documents (kind, id, revision, version)
    select kind, id, '', case when doc is null then version else ${swap} end from ${live}.documents l
     where kind = 'frames' and not exists (select from ${next}.documents n where n.kind = l.kind and n.id = l.id)
       and (doc is not null or version > (select version from read_models where engine = 'meilisearch'))`)
}

/** Readers of the old generation finish on it. Call `dropOldGeneration` once this is committed. */
export async function swapGeneration(tx: Tx): Promise<void> {
  await dateGeneration(tx)
  await tx.execute(sql`drop schema if exists ${sql.raw(OLD)} cascade`)
  await tx.execute(sql`alter schema ${sql.raw(LIVE)} rename to ${sql.raw(OLD)}`)
  await tx.execute(sql`alter schema ${sql.raw(NEXT)} rename to ${sql.raw(LIVE)}`)
  await tx.execute(
    sql`update read_models
           set version = version + 1, generation = ${randomUUID()}::uuid, words = ${WORDS_VERSION}
         where engine = 'postgres'`,
  )
}

/** One table per transaction: dropping all could deadlock with a reader that holds one and waits for another. */
export async function dropOldGeneration(db: Db): Promise<void> {
  for (const table of ['frames', 'entries', 'words', 'space', 'documents'])
    await db.execute(sql`drop table if exists ${sql.raw(`${OLD}.${table}`)}`)
  await db.execute(sql`drop schema if exists ${sql.raw(OLD)} cascade`)
}

export async function abandonGeneration(db: Db): Promise<void> {
  await db.execute(sql`drop schema if exists ${sql.raw(NEXT)} cascade`)
}
