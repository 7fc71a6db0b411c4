import { afterAll, beforeAll, expect, test } from 'vitest'
import { setPlan } from '../../src/library/accounts/accounts.ts'
import { createBoard, listBoards, loadBoard } from '../../src/library/collections/boards.ts'
import { pinFrame, pinFrames, unpinFrames } from '../../src/library/collections/pins.ts'
import {
  putBack,
  removeBoardWithUndo,
  removePinsWithUndo,
  removeSavesWithUndo,
} from '../../src/library/collections/removals.ts'
import { listSaves, saveFrames } from '../../src/library/collections/saves.ts'
import { openStores, type Stores } from '../support/stores.ts'
import { eventsOf } from './records.ts'
import { seedAccount, seedFrames } from './seed-frames.ts'

/** What comes back when a removal is undone, whatever happened in between. */

let stores: Stores
beforeAll(async () => {
  stores = await openStores()
})
afterAll(() => stores[Symbol.asyncDispose]())

const sql = async <T extends object>(text: string, values: unknown[] = []) =>
  (await stores.db.$client.query<T>(text, values)).rows

async function boardWith(count: number) {
  const { account } = await seedAccount(stores.db)
  const { frameIds } = await seedFrames(stores.db, { count })
  const { id: boardId } = await createBoard(stores.db, { accountId: account.id, name: 'mine' })
  const at = { accountId: account.id, boardId }
  await pinFrames(stores.db, { ...at, frameIds })
  return { at, accountId: account.id, boardId, frameIds }
}

/** Waits until a transaction waits for a row that another one holds. */
const untilOneWaits = () =>
  expect
    .poll(() => sql(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`))
    .not.toEqual([])

test('A1: an undo of many neighbours rewrites none of the pins that stayed, and each is where it was', async () => {
  const { at, accountId, boardId, frameIds } = await boardWith(150)
  await pinFrame(stores.db, { ...at, frameId: frameIds[60]!, note: 'hold this' })
  const before = await loadBoard(stores.db, at)
  const gone = frameIds.slice(20, 120)
  const { undo } = await removePinsWithUndo(stores.db, { ...at, frameIds: gone })
  const rows = () =>
    sql('select frame_id, xmin::text from board_items where board_id = $1 and frame_id <> all($2) order by 1', [
      boardId,
      gone,
    ])
  const stayed = await rows()
  expect(await putBack(stores.db, { accountId, id: undo! })).toMatchObject({ frames: 100, lost: 0 })
  expect(await rows()).toEqual(stayed)
  const after = await loadBoard(stores.db, at)
  expect(after.pins).toEqual(before.pins)
  expect(after.board.itemCount).toBe(150)
  const pinned = (await eventsOf(stores.db, accountId)).filter(({ type }) => type === 'board.frame_pinned')
  expect(pinned.slice(-100).map(({ data }) => data.frame_id)).toEqual(gone)
})

test('A1: pins come back to their places also where the board has no room and has changed meanwhile', async () => {
  const { at, accountId, boardId, frameIds } = await boardWith(12)
  const [a, b, c, d, e, f, ...rest] = frameIds as [string, string, string, string, string, string, ...string[]]
  const { undo } = await removePinsWithUndo(stores.db, { ...at, frameIds: [a, c, d, e] })
  await pinFrame(stores.db, { ...at, frameId: d, note: 'pinned anew' })
  await unpinFrames(stores.db, { ...at, frameIds: rest })
  await sql(
    `update board_items i set position = n from (select frame_id, row_number() over (order by position) as n
       from board_items where board_id = $1) placed where i.board_id = $1 and i.frame_id = placed.frame_id`,
    [boardId],
  )
  expect((await loadBoard(stores.db, at)).pins.map((pin) => pin.frameId)).toEqual([b, f, d])
  expect(await putBack(stores.db, { accountId, id: undo! })).toMatchObject({ frames: 4, lost: 0 })
  const { board, pins } = await loadBoard(stores.db, at)
  expect(pins.map((pin) => pin.frameId)).toEqual([a, b, c, f, e, d])
  expect(pins.at(-1)!.note).toBe('pinned anew')
  expect(board.itemCount).toBe(6)
})

test('A6: a pin that was answered before its board goes comes back with the board', async () => {
  const { at, accountId, frameIds } = await boardWith(3)
  const late = (await seedFrames(stores.db, { count: 1 })).frameIds[0]!
  let deleting: ReturnType<typeof removeBoardWithUndo> | undefined
  await stores.db.transaction(async (tx) => {
    await tx.execute(`select 1 from boards where id = '${at.boardId}' for update`)
    deleting = removeBoardWithUndo(stores.db, at)
    await untilOneWaits()
    await pinFrame(tx, { ...at, frameId: late })
  })
  const { undo } = await deleting!
  expect(await putBack(stores.db, { accountId, id: undo })).toMatchObject({ frames: 4, lost: 0 })
  expect((await loadBoard(stores.db, at)).pins.map((pin) => pin.frameId)).toEqual([...frameIds, late])
})

test('A6: a save that was answered before it is removed comes back too', async () => {
  const { account } = await seedAccount(stores.db)
  const { frameIds } = await seedFrames(stores.db, { count: 2 })
  const [early, late] = frameIds as [string, string]
  const at = { accountId: account.id }
  await saveFrames(stores.db, { ...at, frameIds: [early] })
  let removing: ReturnType<typeof removeSavesWithUndo> | undefined
  await stores.db.transaction(async (tx) => {
    await saveFrames(tx, { ...at, frameIds: [late] })
    removing = removeSavesWithUndo(stores.db, { ...at, frameIds })
    await untilOneWaits()
  })
  const { undo } = await removing!
  expect((await listSaves(stores.db, account.id)).saves).toEqual([])
  expect(await putBack(stores.db, { ...at, id: undo! })).toMatchObject({ frames: 2, lost: 0 })
  expect((await listSaves(stores.db, account.id)).saves).toHaveLength(2)
})

test('A9: an undo exceeds no limit of boards or pins, and waits until there is room', async () => {
  const { at, accountId, boardId, frameIds } = await boardWith(3)
  await sql(
    `insert into boards (id, account_id, name, created_at)
     select $1 || n, $1, 'b' || n, now() - interval '1 day' from generate_series(1, 999) n`,
    [accountId],
  )
  const board = await removeBoardWithUndo(stores.db, at)
  const extra = await createBoard(stores.db, { accountId, name: 'one more' })
  const full = { code: 'conflict', message: expect.stringContaining('1000 boards') }
  await expect(putBack(stores.db, { accountId, id: board.undo })).rejects.toMatchObject(full)
  expect((await listBoards(stores.db, accountId)).boards).toHaveLength(1_000)
  await removeBoardWithUndo(stores.db, { accountId, boardId: extra.id })
  await putBack(stores.db, { accountId, id: board.undo })
  expect((await loadBoard(stores.db, at)).pins).toHaveLength(3)

  const pins = await removePinsWithUndo(stores.db, { ...at, frameIds: frameIds.slice(0, 2) })
  const { frameIds: others } = await seedFrames(stores.db, { count: 1_250 })
  for (let copy = 0; copy < 4; copy++) {
    const more = copy === 0 ? others : (await seedFrames(stores.db, { count: 1_250 })).frameIds
    await pinFrames(stores.db, { ...at, frameIds: copy === 3 ? more.slice(0, 1_248) : more })
  }
  const tooMany = { code: 'conflict', message: expect.stringContaining('5000 frames') }
  await expect(putBack(stores.db, { accountId, id: pins.undo! })).rejects.toMatchObject(tooMany)
  await unpinFrames(stores.db, { ...at, frameIds: others.slice(0, 1) })
  expect(await putBack(stores.db, { accountId, id: pins.undo! })).toMatchObject({ frames: 2 })
  expect((await loadBoard(stores.db, { accountId, boardId }, { limit: 2 })).board.itemCount).toBe(5_000)
})

test('A9: an account whose plan has lapsed may undo, a removal is undone once, and for one day', async () => {
  const { account } = await seedAccount(stores.db)
  const accountId = account.id
  const { frameIds } = await seedFrames(stores.db, { count: 2 })
  await saveFrames(stores.db, { accountId, frameIds })
  const { undo } = await removeSavesWithUndo(stores.db, { accountId, frameIds: [frameIds[0]!] })
  await setPlan(stores.db, { accountId, plan: 'free' })
  const attempts = await Promise.allSettled([1, 2, 3].map(() => putBack(stores.db, { accountId, id: undo! })))
  expect(attempts.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected'])
  const late = await removeSavesWithUndo(stores.db, { accountId, frameIds })
  await sql(`update removals set at = now() - interval '25 hours' where id = $1`, [late.undo])
  const { account: other } = await seedAccount(stores.db)
  for (const [owner, id] of [
    [accountId, late.undo!],
    [other.id, late.undo!],
    [accountId, 'forged'],
    [accountId, "';--"],
  ] as const)
    await expect(putBack(stores.db, { accountId: owner, id })).rejects.toMatchObject({ code: 'not_found' })
})
