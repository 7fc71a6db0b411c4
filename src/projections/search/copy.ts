import { setTimeout as sleep } from 'node:timers/promises'
import { type Db, withSessionLock } from '../../db/client.ts'
import { createOutage, outageRecord } from '../../events/waiting.ts'
import type { Logger } from '../../logger.ts'
import type { DocumentChanges, FrameDocument } from '../../search/library-search.ts'
import type { MeiliSink } from '../../search/meilisearch/sink.ts'
import { DOCUMENTS, FRAMES, rowsOf } from '../../search/postgres/tables.ts'
import { WORDS_VERSION } from '../../search/text/tokens.ts'
import { sql } from '../../sql/orm.ts'

/**
 * Meilisearch as a copy of the frames of the read model. Every document of it carries the version that last changed it,
 * and the copy takes newer ones. It has no checkpoint in the log: what it has is a version.
 */

const LOCK = 'search-replica'
/** A task costs about the same for few documents as for many, so a busy library is copied at most this often. */
const REST_MS = 1_000
/** How often the copy is looked at without a change, to find an index that was emptied. */
const CHECK_MS = 10_000

export interface CopyDeps {
  db: Db
  sink: MeiliSink
  signal?: AbortSignal | undefined
}

/**
 * Copies what changed since the last time. Copies everything into a second index and swaps the two where one is
 * missing, has old settings or words or a wrong number of frames, or where `whole` asks for it. Resolves when the
 * engine's tasks have succeeded.
 */
export async function copyToMeilisearch(deps: CopyDeps, { whole = false } = {}): Promise<{ whole: boolean }> {
  // One process at a time writes to Meilisearch.
  return withSessionLock(deps.db, LOCK, async () => {
    if (!whole && (await copyChanges(deps))) return { whole: false }
    await copyWhole(deps)
    return { whole: true }
  })
}

/** False where only a whole copy helps. */
async function copyChanges({ db, sink, signal }: CopyDeps): Promise<boolean> {
  const live = await liveVersion(db)
  const [copied] = await rowsOf<{ version: string; words: number; ready: boolean }>(
    db,
    sql`select version, words, ready from read_models where engine = 'meilisearch'`,
  )
  if (!copied?.ready || copied.words !== WORDS_VERSION || !(await sink.intact())) return false
  if (copied.version !== live) {
    await copySince(db, copied.version, sink.apply, signal)
    await db.execute(sql`update read_models set version = ${live} where engine = 'meilisearch'`)
  }
  const [row] = await rowsOf<{ n: number; version: string }>(
    db,
    sql`select (select count(*)::int from ${FRAMES}) as n, version from read_models where engine = 'postgres'`,
  )
  // What has changed meanwhile is counted after it has been copied.
  if (row!.version !== live || (await sink.count()) === row!.n) return true
  await db.execute(sql`update read_models set ready = false where engine = 'meilisearch'`)
  return false
}

async function copyWhole({ db, sink, signal }: CopyDeps): Promise<void> {
  // Read before the first document: what changes meanwhile is copied again by the next turn.
  const live = await liveVersion(db)
  const target = await sink.beginRebuild()
  try {
    await copySince(db, '-1', ({ put }) => target.apply({ put, remove: {} }), signal)
    await target.swap()
  } catch (error) {
    await target.abandon().catch(() => undefined)
    throw error
  }
  // Another generation: what was answered from wrong documents of the same version must not be kept.
  await db.execute(sql`
    insert into read_models (engine, version, words) values ('meilisearch', ${live}, ${WORDS_VERSION})
    on conflict (engine) do update set generation = gen_random_uuid(), version = excluded.version, ready = true,
      words = excluded.words`)
}

async function liveVersion(db: Db): Promise<string> {
  const [row] = await rowsOf<{ version: string }>(db, sql`select version from read_models where engine = 'postgres'`)
  return row!.version
}

/** Documents per task. Waiting tasks are merged. */
const CHUNK = 10_000

/** Copies the frames changed after `version`, oldest change first; removed ones as removals. */
async function copySince(
  db: Db,
  version: string,
  apply: (changes: DocumentChanges) => Promise<void>,
  signal: AbortSignal | undefined,
): Promise<void> {
  let after = { version, id: '\uffff' }
  // One page is written while the next is read.
  let applying: Promise<void> = Promise.resolve()
  for (;;) {
    signal?.throwIfAborted()
    const rows = await rowsOf<{ id: string; version: string; doc: FrameDocument | null }>(
      db,
      sql`select id, version, doc from ${DOCUMENTS}
           where version >= ${after.version} and (version, id) > (${after.version}::bigint, ${after.id})
             and kind = 'frames'
           order by version, id limit ${CHUNK}`,
    )
    await applying
    if (rows.length === 0) return
    const frames = rows.flatMap(({ doc }) => doc ?? [])
    applying = apply({ put: { frames }, remove: { frames: rows.flatMap(({ id, doc }) => (doc ? [] : id)) } })
    applying.catch(() => undefined)
    after = rows.at(-1)!
  }
}

/** Copies what changes, and looks at the copy every ten seconds. */
export function startCopying({ db, sink, logger }: Omit<CopyDeps, 'signal'> & { logger: Logger }) {
  const stop = new AbortController()
  const outage = createOutage()
  const tell = (record: object | null) =>
    db
      .execute(
        sql`insert into read_models (engine, ready, words, outage)
            values ('meilisearch', false, 0, ${record && JSON.stringify(record)}::jsonb)
            on conflict (engine) do update set outage = excluded.outage`,
      )
      .catch(() => undefined)

  const turn = async () => {
    try {
      await copyToMeilisearch({ db, sink, signal: stop.signal })
      const ended = outage.over()
      if (!ended) return
      logger.info(ended, 'copying to Meilisearch succeeds again')
      await tell(null)
    } catch (error) {
      if (stop.signal.aborted) return
      const { log, soFar } = outage.failed()
      if (log) logger.warn({ err: error, ...log }, 'copying to Meilisearch failed')
      await tell(outageRecord({ of: 'Meilisearch', ...soFar }))
    }
  }

  const running = (async () => {
    let looked = { version: '', at: 0 }
    while (!stop.signal.aborted) {
      const version = await liveVersion(db).catch(() => looked.version)
      if (version !== looked.version || performance.now() - looked.at > CHECK_MS) {
        looked = { version, at: performance.now() }
        await turn()
      }
      await sleep(REST_MS, undefined, { signal: stop.signal }).catch(() => undefined)
    }
  })()
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      await running
    },
  }
}
