import { beforeAll, expect, test } from 'vitest'
import { createBoard, loadBoard } from '../../src/library/collections/boards.ts'
import { pinFrame, pinFrames } from '../../src/library/collections/pins.ts'
import { useTestApi } from './app.ts'
import { seedAccount, seedFrames } from './seed-frames.ts'

/** Moving pins: a move writes one row, and a board that its owner moves at without end delays nobody else. */

const PINS = 500

const api = useTestApi()
let frameIds: string[]
beforeAll(async () => {
  ;({ frameIds } = await seedFrames(api.db, { count: PINS }))
})

async function longBoard() {
  const { account, key } = await seedAccount(api.db)
  const at = { accountId: account.id, boardId: (await createBoard(api.db, { accountId: account.id, name: 'long' })).id }
  await pinFrames(api.db, { ...at, frameIds })
  return { at, key }
}

const orderOf = async (at: { accountId: string; boardId: string }) =>
  (await loadBoard(api.db, at)).pins.map((pin) => pin.frameId)

/** The row versions of a board's pins: a row that is written gets another. */
async function versionsOf(boardId: string): Promise<Map<string, string>> {
  const { rows } = await api.db.$client.query<{ frame_id: string; xmin: string }>(
    'select frame_id, xmin::text from board_items where board_id = $1',
    [boardId],
  )
  return new Map(rows.map((row) => [row.frame_id, row.xmin]))
}

async function written(boardId: string, act: () => Promise<unknown>): Promise<number> {
  const before = await versionsOf(boardId)
  await act()
  const after = await versionsOf(boardId)
  return [...after].filter(([id, version]) => before.get(id) !== version).length
}

test('a move writes one row: to the front, to the end, between two, and over HTTP', async () => {
  const { at, key } = await longBoard()
  const model = [...frameIds]
  for (const [from, to] of [
    [499, 0],
    [0, 499],
    [250, 10],
    [10, 400],
    [3, 2],
  ] as const) {
    const [frameId] = model.splice(from, 1)
    model.splice(to, 0, frameId!)
    const move = async () =>
      expect(
        (
          await api.call(`/api/boards/${at.boardId}/frames/${frameId}`, {
            method: 'PUT',
            key,
            body: { position: to },
          })
        ).json,
      ).toEqual({ ok: true, position: to })
    expect([from, to, await written(at.boardId, move)]).toEqual([from, to, 1])
  }
  expect(await orderOf(at)).toEqual(model)
})

test('moves into one gap without end, and boards whose places leave no gaps, keep the order', async () => {
  const { account } = await seedAccount(api.db)
  const at = {
    accountId: account.id,
    boardId: (await createBoard(api.db, { accountId: account.id, name: 'dense' })).id,
  }
  const model = frameIds.slice(0, 30)
  await pinFrames(api.db, { ...at, frameIds: model })
  // As an older version wrote it.
  await api.db.$client.query(
    `update board_items i set position = n - 1 from unnest($2::text[]) with ordinality as given(id, n)
      where board_id = $1 and frame_id = given.id`,
    [at.boardId, model],
  )
  for (let n = 0; n < 60; n++) {
    const to = n % 3 === 0 ? 0 : 7
    const frameId = model.pop()!
    model.splice(to, 0, frameId)
    await pinFrame(api.db, { ...at, frameId, position: to })
  }
  const added = frameIds.slice(30, 40)
  await pinFrames(api.db, { ...at, frameIds: added })
  expect(await orderOf(at)).toEqual([...model, ...added])
})

test('while an account’s writes wait for a lock, another account saves and everyone searches', async () => {
  const { at, key } = await longBoard()
  const other = await seedAccount(api.db)
  const client = await api.db.$client.connect()
  await client.query('begin')
  await client.query('select 1 from boards where id = $1 for update', [at.boardId])
  let answered = 0
  const moves = Array.from({ length: 40 }, (_, n) =>
    api
      .call(`/api/boards/${at.boardId}/frames/${frameIds[n]}`, { method: 'PUT', key, body: { position: 400 } })
      .finally(() => answered++),
  )
  try {
    // All that may run wait for the lock.
    await expect
      .poll(
        async () =>
          (
            await api.db.$client.query(
              `select 1 from pg_stat_activity where application_name = 'frame-library api'
                  and datname = current_database() and wait_event_type = 'Lock'`,
            )
          ).rowCount,
      )
      .toBeGreaterThan(3)
    const [save, search] = await Promise.all([
      api.call('/api/favourites', { method: 'POST', key: other.key, body: { frameId: frameIds[0] } }),
      api.call('/api/search?q=nobody-asked-this-before'),
    ])
    expect([save.status, search.status]).toEqual([200, 200])
    // A move that waits two seconds for the lock is refused, so a save behind all of them would come after most.
    expect(answered).toBeLessThan(20)
  } finally {
    await client.query('rollback')
    client.release()
  }
  const statuses = (await Promise.all(moves)).map(({ status }) => status)
  expect(statuses.every((status) => status === 200 || status === 503)).toBe(true)
  expect(statuses).toContain(200)
})
