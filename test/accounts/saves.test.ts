import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createBoard, loadBoard } from '../../src/library/collections/boards.ts'
import { undoFrameReferences } from '../../src/library/collections/frame-references.ts'
import { pinFrame, pinFrames } from '../../src/library/collections/pins.ts'
import { listSaves, saveFrame, saveFrames, unsaveFrames } from '../../src/library/collections/saves.ts'
import { deleteVideo } from '../../src/library/videos/lifecycle.ts'
import { openStores, type Stores } from '../support/stores.ts'
import { countsOf, eventsOf, expectCountsToAddUp, typesOf } from './records.ts'
import { seedAccount, seedFrames } from './seed-frames.ts'

let stores: Stores
beforeAll(async () => {
  stores = await openStores()
})
afterAll(() => stores[Symbol.asyncDispose]())

describe('saves', () => {
  test('50 identical saves at once leave one row and one event', async () => {
    const { account } = await seedAccount(stores.db)
    const { frameIds } = await seedFrames(stores.db, { count: 1 })
    const results = await Promise.all(
      Array.from({ length: 50 }, () => saveFrame(stores.db, { accountId: account.id, frameId: frameIds[0]! })),
    )
    expect(results.filter((result) => result.saved)).toHaveLength(1)
    expect((await listSaves(stores.db, account.id)).saves).toHaveLength(1)
    expect(await typesOf(stores.db, account.id)).toEqual(['frame.saved'])
    await expectCountsToAddUp(stores.db, frameIds[0]!, 1)
  })

  test('counts and strength add up when many accounts save and unsave the same frames at once', async () => {
    const { frameIds } = await seedFrames(stores.db, { count: 3 })
    const people = await Promise.all(Array.from({ length: 6 }, () => seedAccount(stores.db)))
    await Promise.all(
      people.flatMap(({ account }, n) => [
        saveFrames(stores.db, { accountId: account.id, frameIds: n % 2 ? frameIds : [...frameIds].reverse() }),
        unsaveFrames(stores.db, { accountId: account.id, frameIds: [frameIds[n % 3]!] }),
        saveFrame(stores.db, { accountId: account.id, frameId: frameIds[1]! }),
      ]),
    )
    for (const frameId of frameIds)
      await expectCountsToAddUp(stores.db, frameId, (await countsOf(stores.db, frameId)).times?.length ?? 0)
    for (const { account } of people) {
      const events = await eventsOf(stores.db, account.id)
      const net =
        events.filter((e) => e.type === 'frame.saved').length - events.filter((e) => e.type === 'frame.unsaved').length
      expect(net).toBe((await listSaves(stores.db, account.id)).saves.length)
    }
  })

  test('the event of a save can be counted without a second look-up', async () => {
    const { account } = await seedAccount(stores.db)
    const { frameIds, videoId } = await seedFrames(stores.db, { count: 1 })
    await saveFrame(stores.db, { accountId: account.id, frameId: frameIds[0]! })
    expect((await eventsOf(stores.db, account.id)).at(-1)).toEqual({
      type: 'frame.saved',
      subject: frameIds[0],
      data: { frame_id: frameIds[0], video_id: videoId, author: 'Acme, Inc.', technique: null, subject: 'ui' },
    })
  })

  test(
    'a frame that is unknown or not public cannot be saved or pinned, ' +
      'and with one unknown id among many nothing is',
    async () => {
      const { account } = await seedAccount(stores.db)
      const hidden = await seedFrames(stores.db, { count: 1, ready: false })
      const open = await seedFrames(stores.db, { count: 1 })
      const board = await createBoard(stores.db, { accountId: account.id, name: 'b' })
      for (const frameId of ['nope', hidden.frameIds[0]!]) {
        await expect(saveFrame(stores.db, { accountId: account.id, frameId })).rejects.toMatchObject({
          code: 'not_found',
        })
        await expect(pinFrame(stores.db, { accountId: account.id, boardId: board.id, frameId })).rejects.toMatchObject({
          code: 'not_found',
        })
        const frameIds = [open.frameIds[0]!, frameId]
        await expect(saveFrames(stores.db, { accountId: account.id, frameIds })).rejects.toMatchObject({
          code: 'not_found',
        })
        await expect(
          pinFrames(stores.db, { accountId: account.id, boardId: board.id, frameIds }),
        ).rejects.toMatchObject({
          code: 'not_found',
        })
      }
      expect((await listSaves(stores.db, account.id)).saves).toEqual([])
      expect((await loadBoard(stores.db, { accountId: account.id, boardId: board.id })).pins).toEqual([])
      expect(await typesOf(stores.db, account.id)).toEqual(['board.created'])
    },
  )

  test('newest save first, a save anew is the newest, and pages join without loss', async () => {
    const { account } = await seedAccount(stores.db)
    const { frameIds } = await seedFrames(stores.db, { count: 5 })
    for (const frameId of frameIds) await saveFrame(stores.db, { accountId: account.id, frameId })
    await unsaveFrames(stores.db, { accountId: account.id, frameIds: [frameIds[1]!] })
    await saveFrame(stores.db, { accountId: account.id, frameId: frameIds[1]! })
    const order = [1, 4, 3, 2, 0].map((n) => frameIds[n]!)
    expect((await listSaves(stores.db, account.id)).saves.map((save) => save.frameId)).toEqual(order)
    const paged: string[] = []
    let after: string | undefined
    do {
      const page = await listSaves(stores.db, account.id, { limit: 2, after })
      paged.push(...page.saves.map((save) => save.frameId))
      after = page.next ?? undefined
    } while (after)
    expect(paged).toEqual(order)
  })

  test(
    'a deleted video leaves saves and boards with an event each, ' + 'also while it is being saved and pinned',
    async () => {
      const { frameIds, videoId } = await seedFrames(stores.db, { count: 4 })
      const other = await seedFrames(stores.db, { count: 2 })
      const people = await Promise.all(Array.from({ length: 4 }, () => seedAccount(stores.db)))
      const boards = await Promise.all(
        people.map(({ account }) => createBoard(stores.db, { accountId: account.id, name: 'mine' })),
      )
      await Promise.all(
        people.map(({ account }, n) =>
          pinFrames(stores.db, {
            accountId: account.id,
            boardId: boards[n]!.id,
            frameIds: [frameIds[0]!, other.frameIds[0]!, frameIds[1]!, other.frameIds[1]!],
          }),
        ),
      )
      const acts = people.flatMap(({ account }, n) => [
        ...frameIds.map((frameId) => saveFrame(stores.db, { accountId: account.id, frameId })),
        ...frameIds.map((frameId) =>
          pinFrame(stores.db, { accountId: account.id, boardId: boards[n]!.id, frameId, position: 0 }),
        ),
      ])
      const outcomes = await Promise.allSettled([...acts, deleteVideo(stores.db, videoId)])
      const reasons = outcomes.filter((outcome) => outcome.status === 'rejected').map((outcome) => outcome.reason.code)
      expect(new Set(reasons.filter((code) => code !== 'not_found'))).toEqual(new Set())
      for (const [n, { account }] of people.entries()) {
        const { board, pins } = await loadBoard(stores.db, { accountId: account.id, boardId: boards[n]!.id })
        expect(pins.map((pin) => pin.frameId)).toEqual(other.frameIds)
        expect(board.itemCount).toBe(2)
        expect((await listSaves(stores.db, account.id)).saves).toEqual([])
        const types = await typesOf(stores.db, account.id)
        const count = (type: string) => types.filter((one) => one === type).length
        expect(count('frame.unsaved')).toBe(count('frame.saved'))
        expect(count('board.frame_pinned') - count('board.frame_unpinned')).toBe(2)
      }
    },
  )

  test('references of single frames are undone with the cause', async () => {
    const { account } = await seedAccount(stores.db)
    const { frameIds } = await seedFrames(stores.db, { count: 2 })
    await saveFrames(stores.db, { accountId: account.id, frameIds })
    await stores.db.transaction((tx) => undoFrameReferences(tx, [frameIds[0]!], 'frame_deleted'))
    expect((await eventsOf(stores.db, account.id)).at(-1)).toMatchObject({
      type: 'frame.unsaved',
      subject: frameIds[0],
      data: { cause: 'frame_deleted' },
    })
    await expectCountsToAddUp(stores.db, frameIds[0]!, 0)
    await expectCountsToAddUp(stores.db, frameIds[1]!, 1)
  })
})
