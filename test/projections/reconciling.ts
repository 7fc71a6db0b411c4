import { expect, test } from 'vitest'
import { findDifferences, repairDifferences } from '../../src/projections/search/reconcile.ts'
import { sql } from '../../src/sql/orm.ts'
import { seedVideo } from '../support/seed.ts'
import { untilReadable } from '../support/stores.ts'
import { clip, type ProjectedLibrary } from './library.ts'

/** The read model is compared with the rows and repaired. */
export function testReconciling(library: ProjectedLibrary): void {
  const { deps, drain, readModel, reconcile, correct } = library

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
      // The video, that of the ghost, and two frames of none.
      expect(await reconcile()).toMatchObject({ repaired: 4 })
      const again = await reconcile()
      expect(again).toMatchObject({ repaired: 0 })
      expect(again!.checked).toBeGreaterThan(0)
      expect(await readModel()).toEqual(before)
    },
  )

  test('what only waits for its event is no difference, and every video is in one slice', async () => {
    const { db } = library.stores
    const video = await seedVideo(db, clip('Behind', { author: 'Slow' }))
    await drain()
    const wrong = sql`update library_search.frames set subject = 'crowd' where id = ${video.frameIds[1]}`
    await db.execute(wrong)
    await correct(video.frameIds[0]!, { caption: 'corrected, not projected yet' })
    const slices = await Promise.all(Array.from({ length: 24 }, (_, slice) => findDifferences(deps(), slice)))
    const [found, ...others] = slices.filter(({ videos }) => videos.size > 0)
    expect([[...found!.videos], others]).toEqual([[video.id], []])
    // Not while an event from before the look waits.
    expect(await repairDifferences(deps(), found!)).toBeUndefined()
    await drain()
    await db.execute(wrong)
    expect(await repairDifferences(deps(), found!)).toMatchObject({ repaired: 1 })
    expect(await repairDifferences(deps(), found!)).toMatchObject({ repaired: 0 })
    const { rows } = await db.execute(sql`
      select doc->>'caption' as caption, (select subject from library_search.frames where id = ${video.frameIds[1]})
        from library_search.documents where kind = 'frames' and id = ${video.frameIds[0]}`)
    expect(rows).toEqual([{ caption: 'corrected, not projected yet', subject: 'logo' }])
  })

  test('saves that wait for their batch are no difference', async () => {
    const video = await seedVideo(library.stores.db, clip('Waits', { author: 'Waiter' }))
    await drain()
    await library.save(video.frameIds[0]!)
    await untilReadable(library.stores.db)
    expect(await reconcile()).toMatchObject({ repaired: 0 })
  })
}
