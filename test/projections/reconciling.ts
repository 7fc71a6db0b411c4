import { expect, test } from 'vitest'
import { reconcileSearch } from '../../src/projections/search/reconcile.ts'
import { seedVideo } from '../support/seed.ts'
import { holdTransaction } from '../support/stores.ts'
import { clip, type ProjectedLibrary } from './library.ts'

/** The read model is compared with the rows and repaired. */
export function testReconciling(library: ProjectedLibrary): void {
  const { deps, drain, readModel, deleteVideo, correct, save } = library

  test(
    'reconcile finds and heals what was lost, ' + 'changed and left over, and finds nothing the second time',
    async () => {
      const video = await seedVideo(library.stores.db, clip('Healed', { author: 'Healer' }))
      await drain()
      const before = await readModel()
      const query = (text: string, values: unknown[] = []) => library.stores.db.$client.query(text, values)
      // Missing: a document, and the row that finds it.
      await query(`delete from library_search.documents where kind = 'frames' and id = $1`, [video.frameIds[0]])
      await query(`delete from library_search.frames where id = $1`, [video.frameIds[0]])
      // Stale: a damaged text under the right revision, a wrong searchable row, and a brand.
      await query(
        `update library_search.documents set doc = replace(doc::text, 'Healed', 'Heeled')::json
        where kind = 'videos' and id = $1`,
        [video.id],
      )
      await query(`update library_search.frames set subject = 'crowd' where id = $1`, [video.frameIds[1]])
      await query(
        `update library_search.documents set doc = json_build_object('name', 'Healer', 'revision', 'x')
        where kind = 'brands' and doc->>'name' = 'Healer'`,
      )
      // Extra: a row that finds a frame of no document, and a frame and a video without rows.
      await query(
        `insert into library_search.frames
       select (jsonb_populate_record(f, $2)).* from library_search.frames f where id = $1`,
        [video.frameIds[1], { id: 'ghost-2', video_id: 'ghost', technique: null, author: null }],
      )
      await query(
        `insert into library_search.documents (kind, id, revision, version, doc)
       values ('frames', 'ghost-1', 'r', 0, '{"id":"ghost-1"}')`,
      )
      await query(
        `insert into library_search.documents (kind, id, revision, version, doc)
       values ('videos', 'ghost', 'r', 0, '{"id":"ghost","revision":"r"}')`,
      )
      const found = await reconcileSearch(deps())
      expect(found).toMatchObject({ missing: 1, extra: 3 })
      expect(found.stale).toBe(3)
      const again = await reconcileSearch(deps())
      expect(again).toMatchObject({ missing: 0, stale: 0, extra: 0 })
      expect(again.checked).toBeGreaterThan(0)
      expect(await readModel()).toEqual(before)
    },
  )

  test('saves that wait for their batch are healed by reconcile and told as no fault', async () => {
    const video = await seedVideo(library.stores.db, clip('Waits', { author: 'Waiter' }))
    await drain()
    expect(await reconcileSearch(deps())).toMatchObject({ missing: 0, stale: 0, extra: 0 })
    {
      await using _older = await holdTransaction(library.stores)
      await save(video.frameIds[0]!)
      expect(await reconcileSearch(deps())).toMatchObject({ missing: 0, stale: 0, extra: 0 })
    }
    const { rows } = await library.stores.db.$client.query(
      `select doc->>'save_count' as n from library_search.documents where kind = 'frames' and id = $1`,
      [video.frameIds[0]],
    )
    expect(rows).toEqual([{ n: '1' }])
  })

  test('what only waits for its event is healed by a comparison, and is no fault', async () => {
    const kept = await seedVideo(library.stores.db, clip('Behind', { author: 'Slow' }))
    const doomed = await seedVideo(library.stores.db, clip('Doomed soon', { author: 'Slow' }))
    await drain()
    expect(await reconcileSearch(deps())).toMatchObject({ missing: 0, stale: 0, extra: 0 })
    // No projection runs, so all of this only waits for its event.
    await correct(kept.frameIds[0]!, { caption: 'corrected, not projected yet', technique: 'logo-reveal' })
    await seedVideo(library.stores.db, clip('Arrives behind', { author: 'Newcomer' }))
    await deleteVideo(doomed.id)
    // This is a fault, in the same video as a frame that waits.
    await library.stores.db.$client.query(`update library_search.frames set subject = 'crowd' where id = $1`, [
      kept.frameIds[1],
    ])
    expect(await reconcileSearch(deps())).toMatchObject({ missing: 0, stale: 1, extra: 0 })
    const healed = await readModel()
    expect(healed.documents.some(({ doc }) => doc.includes('corrected, not projected yet'))).toBe(true)
    await drain()
    expect(await readModel()).toEqual(healed)
    expect(await reconcileSearch(deps())).toMatchObject({ missing: 0, stale: 0, extra: 0 })
  })
}
