import { expect, test } from 'vitest'
import { appendEvent } from '../../src/events/append.ts'
import { START } from '../../src/events/catalogue.ts'
import { replay } from '../../src/events/positions.ts'
import { refreshSaveCounts, SAVE_COUNTS, searchProjection } from '../../src/projections/search/project.ts'
import { rebuildSearch } from '../../src/projections/search/rebuild.ts'
import { lockReadModel } from '../../src/search/postgres/write.ts'
import { sql } from '../../src/sql/orm.ts'
import { ask } from '../support/frame-query.ts'
import { seedVideo } from '../support/seed.ts'
import { untilReadable } from '../support/stores.ts'
import { clip, type ProjectedLibrary } from './library.ts'

/** The live projection follows the event log. */
export function testFollowing(library: ProjectedLibrary): void {
  const { deps, start, drain, readModel, deleteVideo, correct, save } = library

  test('a ready video can be searched, one that is not ready cannot', async () => {
    const video = await seedVideo(library.stores.db, clip('Relay'))
    await seedVideo(library.stores.db, { ...clip('Hidden'), author: 'Nobody', ready: false })
    await drain()
    const wall = await library.search.frames(ask())
    expect(wall.frames.map(({ document }) => document.id)).toEqual(video.frameIds)
    expect(wall.frames[1]!.document).toMatchObject({
      source_url: 'https://example.com/clip#t=1',
      video: { title: 'Relay', author: 'Acme' },
      annotation: { model: 'seed', reviewed: false },
    })
    expect(await library.search.video(video.id)).toMatchObject({
      title: 'Relay',
      frame_count: 2,
      image_path: expect.stringMatching(/^\/media\/.+\.webp$/),
    })
    expect(
      (await library.search.brands({ after: undefined, limit: 10 })).items.map(({ name, frame_count }) => [
        name,
        frame_count,
      ]),
    ).toEqual([['Acme', 2]])
    expect((await library.search.techniques()).map(({ slug, frame_count }) => [slug, frame_count])).toEqual([
      ['logo-reveal', 1],
      ['slow-push', 1],
    ])
    await deleteVideo(video.id)
    await drain()
    expect((await library.search.frames(ask())).frames).toEqual([])
    expect(await library.search.videoFrames(video.id)).toBeUndefined()
    expect((await library.search.brands({ after: undefined, limit: 10 })).items).toEqual([])
    expect((await library.search.techniques()).map(({ frame_count }) => frame_count)).toEqual([0, 0])
  })

  test(
    'a corrected frame moves from one technique to the other, and the version tells of it; ' +
      'a repeat changes nothing',
    async () => {
      const video = await seedVideo(library.stores.db, clip('Moves'))
      await drain()
      const before = await library.search.version()
      await correct(video.frameIds[0]!, { technique: 'logo-reveal' })
      await drain()
      expect(await library.search.version()).not.toBe(before)
      const counts = Object.fromEntries(
        (await library.search.techniques()).map(({ slug, frame_count }) => [slug, frame_count]),
      )
      expect(counts).toEqual({ 'logo-reveal': 2, 'slow-push': 0 })

      const settled = await library.search.version()
      const documents = await readModel()
      await library.stores.db.$client.query(`update checkpoints set xid = '0', seq = 0 where consumer = 'search'`)
      await drain()
      expect(await library.search.version()).toBe(settled)
      expect(await readModel()).toEqual(documents)
    },
  )

  test('a replay from the beginning into an empty read model gives the same documents', async () => {
    await seedVideo(library.stores.db, clip('Replayed', { author: 'Zeta' }))
    await drain()
    const before = await readModel()
    await library.stores.db.$client.query(
      'truncate library_search.documents, library_search.frames, library_search.entries, library_search.words',
    )
    await library.stores.db.$client.query(`update checkpoints set xid = '0', seq = 0 where consumer = 'search'`)
    await drain()
    expect(await readModel()).toEqual(before)
    expect((await library.search.frames(ask({ q: 'hyperdrive' }))).frames.length).toBeGreaterThan(0)
  })

  test('the effect and the checkpoint stand or fall together', async () => {
    const video = await seedVideo(library.stores.db, clip('Falls', { author: 'Fallen' }))
    let die = true
    const whole = searchProjection(deps())
    await drain({
      ...whole,
      async handle(events, signal) {
        const commit = await whole.handle(events, signal)
        return async (tx) => {
          await commit?.(tx)
          if (!die) return
          die = false
          expect(await library.search.video(video.id)).toBeUndefined()
          throw Object.assign(new Error('gone'), { code: '57P01' })
        }
      },
    })
    expect(die).toBe(false)
    expect(await library.search.video(video.id)).toMatchObject({ frame_count: 2 })
  })

  test('two projectors at once leave what one would', async () => {
    const added = await Promise.all(
      Array.from({ length: 6 }, (_, n) =>
        seedVideo(library.stores.db, clip(`Twice ${n}`, { author: `Twin ${n % 2}` })),
      ),
    )
    const one = start()
    const two = start({ ...searchProjection(deps()), name: 'search-again' })
    await Promise.all(added.map(({ frameIds }) => correct(frameIds[0]!, { caption: 'changed under two' })))
    await Promise.all([one.drain(), two.drain()])
    await Promise.all([one[Symbol.asyncDispose](), two[Symbol.asyncDispose]()])
    const live = await readModel()
    expect(live.documents.filter(({ doc }) => doc.includes('changed under two'))).toHaveLength(6)
    await rebuildSearch(deps())
    expect(await readModel()).toEqual(live)
  })

  test('saves enter in batches: the version stands still until then', async () => {
    const video = await seedVideo(library.stores.db, clip('Saved', { author: 'Saver' }))
    await drain()
    await refreshSaveCounts(deps())
    const before = await library.search.version()
    // Stronger than the frames of all other tests.
    await save(video.frameIds[1]!, 700)
    await drain()
    expect(await library.search.version()).toBe(before)
    expect((await library.search.frame(video.frameIds[1]!))!.frame.save_count).toBe(0)
    expect(await refreshSaveCounts(deps())).toBe(1)
    expect(await library.search.version()).not.toBe(before)
    expect((await library.search.frame(video.frameIds[1]!))!.frame.save_count).toBe(1)
    expect((await library.search.search({ q: '', limit: 3 })).frames[0]!.document.id).toBe(video.frameIds[1])
    expect(await refreshSaveCounts(deps())).toBe(0)
  })

  test('a replay that comes while save counts are projected is carried out', async () => {
    const { db } = library.stores
    const video = await seedVideo(db, clip('Replayed', { author: 'Saver' }))
    await drain()
    await save(video.frameIds[0]!)
    await untilReadable(db)
    const running = await db.transaction(async (tx) => {
      await lockReadModel(tx)
      const refreshing = refreshSaveCounts(deps())
      await expect
        .poll(
          // Tests of other databases wait for their own locks on the same server.
          async () =>
            (
              await db.execute(sql`
            select from pg_locks l join pg_database d on d.oid = l.database
             where not l.granted and l.locktype = 'advisory' and d.datname = current_database()`)
            ).rows,
        )
        .toHaveLength(1)
      await replay(db, { consumer: SAVE_COUNTS, from: START })
      return { refreshing }
    })
    // Its own event, and all of the log once more.
    const { rows } = await db.execute<{ n: number }>(
      sql`select count(*)::int as n from events where type in ('frame.saved', 'frame.unsaved')`,
    )
    expect(await running.refreshing).toBe(rows[0]!.n + 1)
  })

  test('the rest of a long batch is not written over what another writer has read since', async () => {
    // Three pieces of at most twenty videos.
    const added: Awaited<ReturnType<typeof seedVideo>>[] = []
    for (let n = 0; n < 45; n++)
      added.push(await seedVideo(library.stores.db, clip(`Ahead ${n}`, { author: `Ahead ${n % 3}` })))
    const whole = searchProjection(deps())
    const saved = added.at(-1)!.frameIds[0]!
    let wrote = false
    await drain({
      ...whole,
      async handle(events, signal) {
        const commit = await whole.handle(events, signal)
        // The last piece waits for its turn. A save count is projected first.
        if (!wrote && events.some(({ data }) => data.video_id === added.at(-1)!.id)) {
          wrote = true
          await save(saved)
          // Invisible while an older transaction of another file is open.
          await expect.poll(() => refreshSaveCounts(deps())).toBe(1)
        }
        return commit
      },
    })
    expect(wrote).toBe(true)
    expect((await library.search.frame(saved))!.frame.save_count).toBe(1)
    const live = await readModel()
    await rebuildSearch(deps())
    expect(await readModel()).toEqual(live)
  })

  test('brands and techniques keep the numbers that counting gives', async () => {
    const { db } = library.stores
    const [one, two, three] = [
      await seedVideo(db, clip('Counted one', { author: 'Counted' })),
      await seedVideo(db, clip('Counted two', { author: 'Counted' })),
      await seedVideo(db, clip('Counted three', { author: 'Other' })),
    ]
    await drain()
    await db.execute(sql`update videos set author = 'Other' where id = ${one.id}`)
    await db.execute(sql`delete from frames where id = ${one.frameIds[1]!}`)
    await db.transaction((tx) =>
      appendEvent(tx, {
        type: 'video.ready',
        subject: one.id,
        accountId: null,
        data: { video_id: one.id, title: 'Counted one', author: 'Other', platform: 'web', frame_count: 1, stages: [] },
      }),
    )
    await correct(two.frameIds[0]!, { technique: null })
    await correct(two.frameIds[1]!, { technique: 'slow-push' })
    // The same frame by two kinds of events, in two pieces of one batch.
    await correct(one.frameIds[0]!, { technique: 'logo-reveal' })
    await deleteVideo(three.id)
    await drain()
    const { items } = await library.search.brands({ after: undefined, limit: 100 })
    const counts = new Map(items.map(({ name, frame_count }) => [name, frame_count]))
    expect([counts.get('Counted'), counts.get('Other')]).toEqual([2, 1])
    const live = await readModel()
    await rebuildSearch(deps())
    expect(await readModel()).toEqual(live)
  })
}
