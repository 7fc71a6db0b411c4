import type { Db, DbOrTx } from '../../db/client.ts'
import type { MediaStore } from '../../media/media-store.ts'
import { sql } from '../../sql/orm.ts'
import { lockMedia, mayRemoveMedia } from './videos.ts'

/** Younger files may belong to a job or an upload that has not written its rows yet. */
const SPARE_MS = 60 * 60 * 1_000
const BATCH = 1_000
const DAY_MS = 24 * 60 * 60 * 1_000

/** Frees what killed processes left of files under way, once it is a day old. */
export async function freeUnfinished(store: MediaStore, { now = Date.now() } = {}): Promise<void> {
  await store.freeUnfinished?.('uploads/', new Date(now - DAY_MS))
}

/** Compares the media store with the database, both ways. `remove` as in `checkFiles`. */
export async function checkStorage(db: Db, store: MediaStore, { remove }: { remove: boolean }) {
  const report = {
    ...(await checkFiles(db, store, { remove })),
    /** Keys of rows whose image is not in the media store, at most 100. */
    missing: [] as string[],
    missing_count: 0,
  }
  for await (const key of keysOfRecord(db)) {
    if (await store.stat(key)) continue
    report.missing_count++
    if (report.missing.length < 100) report.missing.push(key)
  }
  return report
}

/**
 * Looks for files that no row names and that are older than an hour: orphans. With `remove` they are deleted.
 * @throws the signal's reason
 */
export async function checkFiles(
  db: Db,
  store: MediaStore,
  { remove, signal }: { remove: boolean; signal?: AbortSignal },
) {
  const now = Date.now()
  const report = { files: 0, bytes: 0, orphans: 0, orphan_bytes: 0, removed: 0 }
  for (const prefix of ['frames/', 'uploads/']) {
    let batch: { key: string; bytes: number; modifiedAt: Date }[] = []
    const settle = async () => {
      signal?.throwIfAborted()
      const named = await namedKeys(
        db,
        batch.map((file) => file.key),
      )
      for (const file of batch) {
        if (named.has(file.key) || now - file.modifiedAt.getTime() < SPARE_MS) continue
        report.orphans++
        report.orphan_bytes += file.bytes
        if (remove && (await removeUnnamed(db, store, file.key))) report.removed++
      }
      batch = []
    }
    for await (const file of store.list(prefix)) {
      report.files++
      report.bytes += file.bytes
      batch.push(file)
      if (batch.length >= BATCH) await settle()
    }
    await settle()
  }
  return report
}

/**
 * Checks again with the video's files locked, because the listing may be minutes old. A video that was added again may
 * have stored its images meanwhile.
 */
async function removeUnnamed(db: Db, store: MediaStore, key: string): Promise<boolean> {
  const videoId = /^frames\/([^/]+)\//.exec(key)?.[1]
  return db.transaction(async (tx) => {
    if (!(await mayRemoveMedia(tx))) return false
    if (videoId !== undefined) {
      await lockMedia(tx, videoId)
      const { rows } = await tx.execute(
        sql`select 1 from videos where id = ${videoId} and status in ('queued', 'fetching', 'extracting')`,
      )
      if (rows.length > 0) return false
    }
    if ((await namedKeys(tx, [key])).size > 0) return false
    await store.delete(key)
    return true
  })
}

async function namedKeys(db: DbOrTx, keys: readonly string[]): Promise<Set<string>> {
  if (keys.length === 0) return new Set()
  const { rows } = await db.execute<{ key: string }>(sql`
    with k as (select unnest(${sql.param([...keys])}::text[]) as key)
    select key from k where exists (select 1 from frames f
                                     where key in (f.image_key, f.thumb_key, f.loop_key))
                         or exists (select 1 from videos v where v.upload_key = key)`)
  return new Set(rows.map((row) => row.key))
}

async function* keysOfRecord(db: Db): AsyncIterable<string> {
  let after = ''
  for (;;) {
    const { rows } = await db.execute<{ id: string; keys: string[] }>(
      sql`select id, array_remove(array[image_key, thumb_key, loop_key], null) as keys from frames where id > ${after}
           union all select id, array[upload_key] from videos where id > ${after} and upload_key is not null
           order by id limit ${BATCH}`,
    )
    for (const { keys } of rows) yield* keys
    if (rows.length < BATCH) return
    after = rows.at(-1)!.id
  }
}
