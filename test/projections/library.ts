import { pino } from 'pino'
import { beforeAll } from 'vitest'
import { frames } from '../../src/db/schema/frames.ts'
import { videos } from '../../src/db/schema/videos.ts'
import { appendEvent } from '../../src/events/append.ts'
import { type Consumer, startConsumer } from '../../src/events/consume.ts'
import { searchProjection } from '../../src/projections/search/project.ts'
import { findDifferences, repairDifferences } from '../../src/projections/search/reconcile.ts'
import type { LibrarySearch } from '../../src/search/library-search.ts'
import { sql } from '../../src/sql/orm.ts'
import { openPostgresSearch } from '../support/postgres-search.ts'
import type { SeedVideo } from '../support/seed.ts'
import { useStores } from '../support/stores.ts'

export const logger = pino({ level: 'silent' })
export const deepLink = (_platform: string, url: string, tSec: number) => `${url}#t=${Math.floor(tSec)}`

export const clip = (title: string, more: Partial<SeedVideo> = {}): SeedVideo => ({
  title,
  author: 'Acme',
  sourceUrl: 'https://example.com/clip',
  frames: [
    { caption: `${title} opens on a red kite`, subject: 'b-roll', technique: 'slow-push' },
    { caption: `${title} ends on a logo`, subject: 'logo', technique: 'logo-reveal', onScreenText: 'hyperdrive' },
  ],
  ...more,
})

export type ProjectedLibrary = ReturnType<typeof useProjectedLibrary>

/** One database for all tests of a file, with the search projection to run over it. */
export function useProjectedLibrary() {
  const stores = useStores()
  let search: LibrarySearch
  beforeAll(async () => {
    search = openPostgresSearch(stores.db.$client)
  })

  const deps = () => ({ db: stores.db, deepLink })

  function start(consumer: Consumer = searchProjection(deps())) {
    return startConsumer({ db: stores.db, url: stores.databaseUrl, logger, pollMs: 20 }, consumer)
  }

  async function drain(consumer?: Consumer) {
    const running = start(consumer)
    await running.drain()
    await running[Symbol.asyncDispose]()
  }

  /** All that readers can get, without versions. */
  async function readModel() {
    const { rows } = await stores.db.$client.query(
      `select kind, id, revision, doc::text as doc from library_search.documents where doc is not null order by 1, 2`,
    )
    const narrow = await stores.db.$client.query('select * from library_search.frames order by id')
    const entries = await stores.db.$client.query('select * from library_search.entries order by kind, id')
    return { documents: rows, frames: narrow.rows, entries: entries.rows }
  }

  /** Looks twice at once. */
  async function reconcile() {
    return repairDifferences(deps(), await findDifferences(deps()))
  }

  async function deleteVideo(id: string) {
    await stores.db.transaction(async (tx) => {
      await tx.delete(videos).where(sql`id = ${id}`)
      await appendEvent(tx, {
        type: 'video.deleted',
        subject: id,
        accountId: null,
        data: { video_id: id, title: 'gone', author: null, platform: 'web', frame_count: 0, upload_key: null },
      })
    })
  }

  async function correct(frameId: string, values: Partial<typeof frames.$inferInsert>) {
    await stores.db.transaction(async (tx) => {
      const [row] = await tx.update(frames).set(values).where(sql`id = ${frameId}`).returning()
      await appendEvent(tx, {
        type: 'frame.corrected',
        subject: frameId,
        accountId: null,
        data: {
          frame_id: frameId,
          video_id: row!.videoId,
          author: null,
          technique: row!.technique,
          subject: row!.subject,
          changes: {},
          unlocked: [],
        },
      })
    })
  }

  async function save(frameId: string, saveStrength = 690) {
    await stores.db.transaction(async (tx) => {
      const [row] = await tx
        .update(frames)
        .set({ saveCount: sql`save_count + 1`, saveStrength })
        .where(sql`id = ${frameId}`)
        .returning()
      await appendEvent(tx, {
        type: 'frame.saved',
        subject: frameId,
        accountId: 'a1',
        data: { frame_id: frameId, video_id: row!.videoId, author: null, technique: null, subject: null },
      })
    })
  }

  return {
    get stores() {
      return stores
    },
    get search() {
      return search
    },
    deps,
    start,
    drain,
    readModel,
    reconcile,
    deleteVideo,
    correct,
    save,
  }
}
