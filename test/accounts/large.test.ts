import { expect, test } from 'vitest'
import { finishDeletions, markAccountDeleted } from '../../src/library/accounts/accounts.ts'
import { createBoard, deleteBoard, listBoards, loadBoard, restoreBoard } from '../../src/library/collections/boards.ts'
import { undoFrameReferences } from '../../src/library/collections/frame-references.ts'
import { pinFrame, pinFrames, repinFrames, unpinFrames } from '../../src/library/collections/pins.ts'
import { saveFrames } from '../../src/library/collections/saves.ts'
import { deleteVideo } from '../../src/library/videos/lifecycle.ts'
import { useStores } from '../support/stores.ts'
import { eventsOf, expectCountsToAddUp, typesOf } from './records.ts'
import { seedAccount, seedFrames } from './seed-frames.ts'

/** Full boards and large accounts: what is stored about them adds up, and no deed holds a transaction for long. */

const stores = useStores()

const rows = async <T extends object>(text: string, values: unknown[] = []) =>
  (await stores.db.$client.query<T>(text, values)).rows

test('A5: each pin is counted, told once and has a place of its own, however many pin and unpin at once', async () => {
  const { account } = await seedAccount(stores.db)
  const { frameIds } = await seedFrames(stores.db, { count: 12 })
  const accountId = account.id
  const boards = await Promise.all(['a', 'b', 'c'].map((name) => createBoard(stores.db, { accountId, name })))
  const acts = Array.from({ length: 60 }, (_, n) => {
    const at = { accountId, boardId: boards[n % 3]!.id }
    const some = frameIds.slice(n % 7, (n % 7) + 1 + (n % 5))
    if (n % 4 === 0) return unpinFrames(stores.db, { ...at, frameIds: some })
    if (n % 4 === 1) return pinFrame(stores.db, { ...at, frameId: frameIds[n % 12]!, position: n % 5 })
    return pinFrames(stores.db, { ...at, frameIds: some })
  })
  const gone = stores.db.transaction((tx) => undoFrameReferences(tx, frameIds.slice(0, 2), 'frame_deleted'))
  await Promise.all([...acts, gone])
  const counted = await rows<{ id: string; stored: number; held: number }>(
    `select b.id, b.item_count as stored, count(i.frame_id)::int as held
       from boards b left join board_items i on i.board_id = b.id where b.account_id = $1 group by b.id`,
    [accountId],
  )
  expect(counted.map(({ held }) => held).some((held) => held > 0)).toBe(true)
  expect(counted.map(({ stored }) => stored)).toEqual(counted.map(({ held }) => held))
  const { boards: shown } = await listBoards(stores.db, accountId)
  expect(Object.fromEntries(shown.map(({ id, itemCount }) => [id, itemCount]))).toEqual(
    Object.fromEntries(counted.map(({ id, held }) => [id, held])),
  )
  const places = await rows<{ position: number }>(
    `select i.board_id || ':' || i.position as position from board_items i join boards b on b.id = i.board_id
      where b.account_id = $1`,
    [accountId],
  )
  expect(new Set(places.map(({ position }) => position)).size).toBe(places.length)
  const types = await typesOf(stores.db, accountId)
  const told = (type: string) => types.filter((one) => one === type).length
  expect(told('board.frame_pinned') - told('board.frame_unpinned')).toBe(places.length)
  // Straight in the database, as a restore or a process of another version writes.
  await rows('delete from board_items where board_id = $1', [boards[0]!.id])
  expect(await rows('select item_count from boards where id = $1', [boards[0]!.id])).toEqual([{ item_count: 0 }])
})

test('the deletion of a large account is many transactions, may stop between any two, and loses no event', async () => {
  const { account } = await seedAccount(stores.db)
  const accountId = account.id
  const lists = await Promise.all([1, 2, 3].map(() => seedFrames(stores.db, { count: 1_000 })))
  for (const { frameIds } of lists) {
    await saveFrames(stores.db, { accountId, frameIds })
    const { id: boardId } = await createBoard(stores.db, { accountId, name: 'full' })
    await pinFrames(stores.db, { accountId, boardId, frameIds })
  }
  await markAccountDeleted(stores.db, accountId)
  const before = await typesOf(stores.db, accountId)
  expect(before).not.toContain('frame.unsaved')

  // The process that finishes it dies after some of the transactions, then two at once go on.
  const dying = new AbortController()
  const first = finishDeletions(stores.db, dying.signal)
  await expect.poll(async () => (await typesOf(stores.db, accountId)).length).toBeGreaterThan(before.length)
  dying.abort()
  await first
  await Promise.all([finishDeletions(stores.db), finishDeletions(stores.db)])

  const events = await rows<{ type: string; n: number; transactions: number; most: number }>(
    `select type, sum(n)::int as n, count(*)::int as transactions, max(n)::int as most from (
       select type, xmin::text, count(*) as n from events where account_id = $1 group by type, xmin::text) e
      group by type`,
    [accountId],
  )
  const of = Object.fromEntries(events.map(({ type, ...counts }) => [type, counts]))
  expect(of['frame.unsaved']).toEqual({ n: 3_000, transactions: 2, most: 2_000 })
  expect(of['board.frame_unpinned']).toEqual({ n: 3_000, transactions: 3, most: 1_000 })
  expect(of['board.deleted']).toMatchObject({ n: 3, transactions: 3 })
  expect(of['account.deleted']).toMatchObject({ n: 1 })
  const log = await eventsOf(stores.db, accountId)
  expect(log.at(-1)!.type).toBe('account.deleted')
  const deleted = log.filter(({ type }) => type === 'board.deleted')
  expect(deleted.map(({ data }) => [data.item_count, data.cause])).toEqual(Array(3).fill([1_000, 'account_deleted']))
  for (const { frameIds } of lists) await expectCountsToAddUp(stores.db, frameIds[7]!, 0)
  expect(await rows('select from accounts where id = $1', [accountId])).toEqual([])
  expect(await finishDeletions(stores.db)).toBe(0)
})

test('no transaction of the largest deeds writes more events than a full board has pins', async () => {
  const { account } = await seedAccount(stores.db)
  const accountId = account.id
  const lists = await Promise.all([1, 2, 3, 4, 5].map(() => seedFrames(stores.db, { count: 1_000 })))
  const all = lists.flatMap(({ frameIds }) => frameIds)
  const at = { accountId, boardId: (await createBoard(stores.db, { accountId, name: 'full' })).id }
  for (const { frameIds } of lists) await pinFrames(stores.db, { ...at, frameIds })
  const { unpinned } = await unpinFrames(stores.db, { ...at, frameIds: all.slice(1_000, 1_500) })
  // A9: an undo exceeds no limit of pins, and waits until there is room.
  const other = (await seedFrames(stores.db, { count: 1 })).frameIds
  await pinFrames(stores.db, { ...at, frameIds: other })
  const tooMany = { code: 'conflict', message: expect.stringContaining('5000 frames') }
  await expect(repinFrames(stores.db, { ...at, pins: unpinned })).rejects.toMatchObject(tooMany)
  await unpinFrames(stores.db, { ...at, frameIds: other })
  await repinFrames(stores.db, { ...at, pins: unpinned })
  await deleteBoard(stores.db, at)
  await restoreBoard(stores.db, at)
  expect((await loadBoard(stores.db, at)).pins.map(({ frameId }) => frameId)).toEqual(all)

  // A video whose frames thousands have saved and pinned.
  const { videoId, frameIds } = lists[0]!
  await rows(
    `with people as (insert into accounts (id, email) select 'fan' || n, 'fan' || n || '@example.org'
                       from generate_series(1, 300) n returning id),
       saved as (insert into saves (account_id, frame_id) select p.id, f from people p, unnest($1::text[]) f),
       boards as (insert into boards (id, account_id, name) select id, id, 'b' from people returning id)
     insert into board_items (board_id, frame_id, position) select b.id, f, n * 1000
       from boards b, unnest($1::text[]) with ordinality as given(f, n)`,
    [frameIds.slice(0, 20)],
  )
  await deleteVideo(stores.db, videoId)
  expect(await rows(`select distinct item_count from boards where id like 'fan%'`)).toEqual([{ item_count: 0 }])
  expect(await rows('select item_count from boards where id = $1', [at.boardId])).toEqual([{ item_count: 4_000 }])
  const undone = await rows<{ type: string; n: number }>(
    `select type, count(*)::int as n from events
      where data->>'cause' = 'video_deleted' and data->>'video_id' = $1 group by 1 order by 1`,
    [videoId],
  )
  expect(undone).toEqual([
    { type: 'board.frame_unpinned', n: 7_000 },
    { type: 'frame.unsaved', n: 6_000 },
  ])
  const [most] = await rows<{ n: number }>(
    'select max(n)::int as n from (select count(*) as n from events group by xmin::text) transactions',
  )
  // Beside the pins, what became of the board.
  expect(most!.n).toBeLessThanOrEqual(5_001)
})
