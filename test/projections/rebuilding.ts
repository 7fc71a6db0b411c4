import { expect, test } from 'vitest'
import { refreshSaveCounts } from '../../src/projections/search/project.ts'
import { rebuildSearch } from '../../src/projections/search/rebuild.ts'
import { sql } from '../../src/sql/orm.ts'
import { ask } from '../support/frame-query.ts'
import { seedVideo } from '../support/seed.ts'
import { clip, type ProjectedLibrary } from './library.ts'

/** The read model is rebuilt beside the live one. */
export function testRebuilding(library: ProjectedLibrary): void {
  const { deps, start, drain, readModel, reconcile, deleteVideo, correct, save } = library

  test('a rebuild under writes loses none of them, and equals what the live projection would have', async () => {
    const doomed = await seedVideo(library.stores.db, clip('Doomed', { author: 'Doom' }))
    const kept = await seedVideo(library.stores.db, clip('Kept', { author: 'Keeper' }))
    await drain()
    const running = start()
    let wrote = false
    let reads = 0
    const reading = (async () => {
      while (!wrote) {
        expect((await library.search.frames(ask({ filters: { author: ['Keeper'] } }))).frames).toHaveLength(2)
        reads++
      }
    })()
    await rebuildSearch({
      ...deps(),
      onProgress: () => {
        if (wrote) return
        wrote = true
      },
    })
    // Everything at once: new, changed and deleted while a second rebuild runs.
    await Promise.all([
      rebuildSearch(deps()),
      seedVideo(library.stores.db, clip('Arrives', { author: 'Late' })),
      correct(kept.frameIds[0]!, { caption: 'corrected meanwhile' }),
      deleteVideo(doomed.id),
      save(kept.frameIds[1]!),
    ])
    await reading
    await running.drain()
    await running[Symbol.asyncDispose]()
    await refreshSaveCounts(deps())
    expect(reads).toBeGreaterThan(0)
    const live = await readModel()
    expect(live.documents.some(({ doc }) => doc.includes('corrected meanwhile'))).toBe(true)
    expect(live.documents.some(({ doc }) => doc.includes('Doomed'))).toBe(false)
    expect(live.documents.some(({ doc }) => doc.includes('Arrives'))).toBe(true)
    expect(await reconcile()).toMatchObject({ repaired: 0 })
    await rebuildSearch(deps())
    expect(await readModel()).toEqual(live)
    const { rows } = await library.stores.db.$client.query(
      `select nspname from pg_namespace where nspname like 'library_search%'`,
    )
    expect(rows).toEqual([{ nspname: 'library_search' }])
  })

  test('a rebuild keeps the version of what did not change, dates the rest and leaves tombstones', async () => {
    const { db } = library.stores
    const kept = await seedVideo(db, clip('Stays', { author: 'Stayer' }))
    const doomed = await seedVideo(db, clip('Goes', { author: 'Stayer' }))
    await drain()
    const versions = async () => {
      const { rows } = await db.$client.query<{ id: string; version: string; gone: boolean }>(
        `select id, version, doc is null as gone from library_search.documents where kind = 'frames'`,
      )
      return new Map(rows.map(({ id, ...rest }) => [id, rest]))
    }
    const before = await versions()
    // Without their events: the rebuild alone finds them.
    await db.execute(sql`update frames set caption = 'changed' where id = ${kept.frameIds[0]}`)
    await db.execute(sql`delete from videos where id = ${doomed.id}`)
    await rebuildSearch(deps())
    const after = await versions()
    const { rows } = await db.$client.query(`select version from read_models where engine = 'postgres'`)
    expect(after.get(kept.frameIds[0]!)).toEqual({ version: rows[0].version, gone: false })
    expect(after.get(kept.frameIds[1]!)).toEqual(before.get(kept.frameIds[1]!))
    for (const id of doomed.frameIds) expect(after.get(id)).toEqual({ version: rows[0].version, gone: true })
  })

  test('only one rebuild runs at a time', async () => {
    const results = await Promise.allSettled([rebuildSearch(deps()), rebuildSearch(deps())])
    expect(results.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(0)
    for (const result of results)
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'conflict' })
  })
}
