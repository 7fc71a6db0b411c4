import { expect, test } from 'vitest'
import { deleteExpired, setPlan } from '../../src/library/accounts/accounts.ts'
import { createBoard, deleteBoard, listBoards, loadBoard, restoreBoard } from '../../src/library/collections/boards.ts'
import { undoFrameReferences } from '../../src/library/collections/frame-references.ts'
import { pinFrame, pinFrames, repinFrames, unpinFrames } from '../../src/library/collections/pins.ts'
import { listSaves, resaveFrames, saveFrame, saveFrames, unsaveFrames } from '../../src/library/collections/saves.ts'
import { deleteVideo } from '../../src/library/videos/lifecycle.ts'
import { useStores } from '../support/stores.ts'
import { countsOf, eventsOf, expectCountsToAddUp, typesOf } from './records.ts'
import { seedAccount, seedFrames } from './seed-frames.ts'

/** Saves and pins, and what comes back when a removal is undone, whatever happened in between. */

const stores = useStores()

const sql = async <T extends object>(text: string, values: unknown[] = []) =>
  (await stores.db.$client.query<T>(text, values)).rows

async function boardWith(count: number) {
  const { account } = await seedAccount(stores.db)
  const { frameIds, videoId } = await seedFrames(stores.db, { count })
  const { id: boardId } = await createBoard(stores.db, { accountId: account.id, name: 'mine' })
  const at = { accountId: account.id, boardId }
  await pinFrames(stores.db, { ...at, frameIds })
  return { at, accountId: account.id, boardId, frameIds, videoId }
}

const orderOf = async (at: { accountId: string; boardId: string }) =>
  (await loadBoard(stores.db, at)).pins.map(({ frameId, note }) => [frameId, note])

/** Waits until a transaction waits for a row that another one holds. */
const untilOneWaits = () =>
  expect
    .poll(() => sql(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`))
    .not.toEqual([])

test('A1: an undo of many neighbours rewrites none of the pins that stayed, and each is where it was', async () => {
  const { at, accountId, boardId, frameIds } = await boardWith(150)
  await pinFrame(stores.db, { ...at, frameId: frameIds[60]!, note: 'hold this' })
  const before = await orderOf(at)
  const gone = frameIds.slice(20, 120)
  const { unpinned } = await unpinFrames(stores.db, { ...at, frameIds: gone })
  const rows = () =>
    sql('select frame_id, xmin::text from board_items where board_id = $1 and frame_id <> all($2) order by 1', [
      boardId,
      gone,
    ])
  const stayed = await rows()
  // Forged twice, and in any order.
  const pins = [...unpinned.toReversed(), unpinned[0]!]
  expect((await repinFrames(stores.db, { ...at, pins })).pinned).toEqual(gone)
  expect(await rows()).toEqual(stayed)
  expect(await orderOf(at)).toEqual(before)
  const pinned = (await eventsOf(stores.db, accountId)).filter(({ type }) => type === 'board.frame_pinned')
  expect(pinned.slice(-100).map(({ data }) => data.frame_id)).toEqual(gone)
  expect(await repinFrames(stores.db, { ...at, pins })).toEqual({ pinned: [] })
})

test('A1: pins come back to their places also where the board has no room and has changed meanwhile', async () => {
  const { at, boardId, frameIds } = await boardWith(12)
  const [a, b, c, d, e, f, ...rest] = frameIds as [string, string, string, string, string, string, ...string[]]
  const lost = (await seedFrames(stores.db, { count: 1 })).frameIds[0]!
  const { unpinned } = await unpinFrames(stores.db, { ...at, frameIds: [a, c, d, e] })
  await pinFrame(stores.db, { ...at, frameId: d, note: 'pinned anew' })
  await unpinFrames(stores.db, { ...at, frameIds: rest })
  await sql(
    `update board_items i set position = n from (select frame_id, row_number() over (order by position) as n
       from board_items where board_id = $1) placed where i.board_id = $1 and i.frame_id = placed.frame_id`,
    [boardId],
  )
  expect((await orderOf(at)).map(([id]) => id)).toEqual([b, f, d])
  const unknown = { frameId: `${lost}x`, note: null, position: 1 }
  expect(await repinFrames(stores.db, { ...at, pins: [...unpinned, unknown] })).toEqual({ pinned: [a, c, e] })
  expect((await orderOf(at)).map(([id]) => id)).toEqual([a, b, c, f, e, d])
  const { board, pins } = await loadBoard(stores.db, at)
  expect(pins.at(-1)!.note).toBe('pinned anew')
  expect(board.itemCount).toBe(6)
})

test('A6: a pin that was answered before its board goes comes back with the board', async () => {
  const { at, frameIds } = await boardWith(3)
  const late = (await seedFrames(stores.db, { count: 1 })).frameIds[0]!
  let deleting: ReturnType<typeof deleteBoard> | undefined
  await stores.db.transaction(async (tx) => {
    await tx.execute(`select 1 from boards where id = '${at.boardId}' for update`)
    deleting = deleteBoard(stores.db, at)
    await untilOneWaits()
    await pinFrame(tx, { ...at, frameId: late })
  })
  await deleting!
  await restoreBoard(stores.db, at)
  expect((await orderOf(at)).map(([id]) => id)).toEqual([...frameIds, late])
})

test('A6: a save that was answered before it is removed comes back too', async () => {
  const { account } = await seedAccount(stores.db)
  const { frameIds } = await seedFrames(stores.db, { count: 2 })
  const [early, late] = frameIds as [string, string]
  const at = { accountId: account.id }
  await saveFrames(stores.db, { ...at, frameIds: [early] })
  let removing: ReturnType<typeof unsaveFrames> | undefined
  await stores.db.transaction(async (tx) => {
    await saveFrames(tx, { ...at, frameIds: [late] })
    removing = unsaveFrames(stores.db, { ...at, frameIds })
    await untilOneWaits()
  })
  await removing!
  expect((await listSaves(stores.db, account.id)).saves).toEqual([])
  expect((await resaveFrames(stores.db, { ...at, frameIds })).saved).toHaveLength(2)
  expect((await listSaves(stores.db, account.id)).saves).toHaveLength(2)
})

test('a save comes back once with its own time; one made anew keeps its new time', async () => {
  const { account } = await seedAccount(stores.db)
  const at = { accountId: account.id }
  const { frameIds } = await seedFrames(stores.db, { count: 3 })
  for (const id of frameIds) await saveFrames(stores.db, { ...at, frameIds: [id] })
  await sql(`update saves set created_at = now() - interval '90 days' where account_id = $1`, [account.id])
  const before = await listSaves(stores.db, account.id)
  await unsaveFrames(stores.db, { ...at, frameIds })
  await saveFrames(stores.db, { ...at, frameIds: [frameIds[2]!] })
  const [anew] = (await listSaves(stores.db, account.id)).saves
  expect((await resaveFrames(stores.db, { ...at, frameIds })).saved.toSorted()).toEqual(frameIds.slice(0, 2).toSorted())
  expect((await listSaves(stores.db, account.id)).saves).toEqual([anew, ...before.saves.slice(1)])
  expect(anew!.savedAt.getTime()).toBeGreaterThan(before.saves[0]!.savedAt.getTime())
  for (const id of frameIds) await expectCountsToAddUp(stores.db, id, 1)
  expect(await resaveFrames(stores.db, { ...at, frameIds })).toEqual({ saved: [] })
})

test('A9: an undo exceeds no limit of boards, and waits until there is room', async () => {
  const { at, accountId } = await boardWith(3)
  await sql(
    `insert into boards (id, account_id, name, created_at)
     select $1 || n, $1, 'b' || n, now() - interval '1 day' from generate_series(1, 999) n`,
    [accountId],
  )
  await deleteBoard(stores.db, at)
  const extra = await createBoard(stores.db, { accountId, name: 'one more' })
  const full = { code: 'conflict', message: expect.stringContaining('1000 boards') }
  await expect(restoreBoard(stores.db, at)).rejects.toMatchObject(full)
  expect((await listBoards(stores.db, accountId)).boards).toHaveLength(1_000)
  await deleteBoard(stores.db, { accountId, boardId: extra.id })
  await restoreBoard(stores.db, at)
  expect((await loadBoard(stores.db, at)).pins).toHaveLength(3)
})

test('A9: an account whose plan has lapsed may take back a save and a board, once and for one day', async () => {
  const { at, accountId, boardId, frameIds } = await boardWith(2)
  await saveFrames(stores.db, { accountId, frameIds })
  await unsaveFrames(stores.db, { accountId, frameIds: [frameIds[0]!] })
  await deleteBoard(stores.db, at)
  await setPlan(stores.db, { accountId, plan: 'free' })
  const saves = await Promise.all([1, 2, 3].map(() => resaveFrames(stores.db, { accountId, frameIds })))
  expect(saves.flatMap(({ saved }) => saved)).toEqual([frameIds[0]])
  const boards = await Promise.allSettled([1, 2, 3].map(() => restoreBoard(stores.db, at)))
  expect(boards.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected'])

  await unsaveFrames(stores.db, { accountId, frameIds })
  await deleteBoard(stores.db, at)
  const { account: other } = await seedAccount(stores.db)
  const noBoard = (owner: string, id: string) =>
    expect(restoreBoard(stores.db, { accountId: owner, boardId: id })).rejects.toMatchObject({ code: 'not_found' })
  await noBoard(other.id, boardId)
  expect(await resaveFrames(stores.db, { accountId: other.id, frameIds })).toEqual({ saved: [] })
  await deleteExpired(stores.db)
  expect(await sql('select from boards where id = $1', [boardId])).toHaveLength(1)
  await sql(`update removed_saves set removed_at = now() - interval '25 hours' where account_id = $1`, [accountId])
  await sql(`update boards set deleted_at = now() - interval '25 hours' where id = $1`, [boardId])
  for (const id of [boardId, 'forged', "';--"]) await noBoard(accountId, id)
  expect(await resaveFrames(stores.db, { accountId, frameIds })).toEqual({ saved: [] })
  // Then nothing is kept of it, and nothing more is told.
  const told = await eventsOf(stores.db, accountId)
  await deleteExpired(stores.db)
  expect(await sql('select from boards where id = $1', [boardId])).toEqual([])
  expect(await sql('select from board_items where board_id = $1', [boardId])).toEqual([])
  expect(await sql('select from removed_saves where account_id = $1', [accountId])).toEqual([])
  expect(await eventsOf(stores.db, accountId)).toEqual(told)
})

test('a frame that is deleted while its board rests is not told again, and does not come back', async () => {
  const { at, accountId, videoId } = await boardWith(2)
  const kept = (await seedFrames(stores.db, { count: 1 })).frameIds[0]!
  await pinFrame(stores.db, { ...at, frameId: kept })
  await deleteBoard(stores.db, at)
  const typesSince = async (told: number) => (await eventsOf(stores.db, accountId)).slice(told).map(({ type }) => type)
  const told = (await eventsOf(stores.db, accountId)).length
  await deleteVideo(stores.db, videoId)
  expect(await typesSince(told)).toEqual([])
  await restoreBoard(stores.db, at)
  expect(await orderOf(at)).toEqual([[kept, null]])
  expect((await loadBoard(stores.db, at)).board.itemCount).toBe(1)
  expect(await typesSince(told)).toEqual(['board.created', 'board.frame_pinned'])
})

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
  'a frame that is unknown or not public cannot be saved or pinned, ' + 'and with one unknown id among many nothing is',
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
      await expect(pinFrames(stores.db, { accountId: account.id, boardId: board.id, frameIds })).rejects.toMatchObject({
        code: 'not_found',
      })
    }
    expect((await listSaves(stores.db, account.id)).saves).toEqual([])
    expect((await loadBoard(stores.db, { accountId: account.id, boardId: board.id })).pins).toEqual([])
    expect(await typesOf(stores.db, account.id)).toEqual(['board.created'])
  },
)

test('newest save first, and a save anew is the newest', async () => {
  const { account } = await seedAccount(stores.db)
  const { frameIds } = await seedFrames(stores.db, { count: 5 })
  for (const frameId of frameIds) await saveFrame(stores.db, { accountId: account.id, frameId })
  await unsaveFrames(stores.db, { accountId: account.id, frameIds: [frameIds[1]!] })
  await saveFrame(stores.db, { accountId: account.id, frameId: frameIds[1]! })
  const order = [1, 4, 3, 2, 0].map((n) => frameIds[n]!)
  expect((await listSaves(stores.db, account.id)).saves.map((save) => save.frameId)).toEqual(order)
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
