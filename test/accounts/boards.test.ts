import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  findSharedBoard,
  findShareToken,
  shareBoard,
  unshareBoard,
} from '../../src/library/collections/board-settings.ts'
import { createBoard, listBoards, loadBoard, updateBoard } from '../../src/library/collections/boards.ts'
import { pinFrame, pinFrames, unpinFrames } from '../../src/library/collections/pins.ts'
import { sql } from '../../src/sql/orm.ts'
import { useStores } from '../support/stores.ts'
import { typesOf } from './records.ts'
import { seedAccount, seedFrames } from './seed-frames.ts'

const stores = useStores()

interface Model {
  name: string
  items: { frameId: string; note: string | null }[]
  events: string[]
}

/** Pins a frame of the model, or moves it and changes its note. Its place. */
function pinned({ items, events }: Model, act: { frameId: string; note?: string | null; position?: number }): number {
  const note = act.note === undefined ? undefined : (act.note?.trim() ?? null)
  const from = items.findIndex(({ frameId }) => frameId === act.frameId)
  const [item] = from < 0 ? [{ frameId: act.frameId, note: note ?? null }] : items.splice(from, 1)
  const to = Math.min(act.position ?? (from < 0 ? items.length : from), items.length)
  items.splice(to, 0, item!)
  if (from < 0) events.push('board.frame_pinned')
  else if (to !== from) events.push('board.frame_moved')
  if (note !== undefined && note !== item!.note) {
    item!.note = note
    events.push('board.frame_noted')
  }
  return to
}

describe('boards', () => {
  test('order, counts, notes and events hold under any sequence of acts', async () => {
    const { account } = await seedAccount(stores.db)
    const { frameIds } = await seedFrames(stores.db, { count: 5 })
    const frame = fc.constantFrom(...frameIds)
    const note = fc.option(fc.constantFrom('a', 'b', '  c  '), { nil: null })
    const pin = fc.record({ frameId: frame, note, position: fc.nat({ max: 7 }) }, { requiredKeys: ['frameId'] })
    const act = fc.oneof(
      fc.record({ pin }),
      fc.record({ many: fc.array(frame, { minLength: 1, maxLength: 6 }) }),
      fc.record({ unpin: fc.array(frame, { minLength: 1, maxLength: 2 }) }),
      fc.record({ name: fc.constantFrom('x', 'y') }),
    )
    const property = fc.asyncProperty(fc.array(act, { maxLength: 15 }), async (acts) => {
      const { id: boardId } = await createBoard(stores.db, { accountId: account.id, name: 'x' })
      const at = { accountId: account.id, boardId }
      const model: Model = { name: 'x', items: [], events: ['board.created'] }
      for (const one of acts) {
        if ('pin' in one)
          expect((await pinFrame(stores.db, { ...at, ...one.pin })).position).toBe(pinned(model, one.pin))
        else if ('many' in one) {
          await pinFrames(stores.db, { ...at, frameIds: one.many })
          for (const frameId of one.many) pinned(model, { frameId })
        } else if ('unpin' in one) {
          await unpinFrames(stores.db, { ...at, frameIds: one.unpin })
          const left = model.items.filter(({ frameId }) => !one.unpin.includes(frameId))
          model.events.push(...Array(model.items.length - left.length).fill('board.frame_unpinned'))
          model.items = left
        } else {
          await updateBoard(stores.db, { ...at, name: one.name })
          if (model.name !== one.name) model.events.push('board.renamed')
          model.name = one.name
        }
        const { board, pins } = await loadBoard(stores.db, at)
        expect(pins.map(({ frameId, note }) => ({ frameId, note }))).toEqual(model.items)
        const coverFrameIds = model.items.slice(0, 4).map(({ frameId }) => frameId)
        expect(board).toMatchObject({ name: model.name, itemCount: model.items.length, coverFrameIds })
        const told = 'select type from events where subject = $1 order by seq'
        const { rows } = await stores.db.$client.query(told, [boardId])
        expect(rows.map(({ type }) => type)).toEqual(model.events)
      }
    })
    await fc.assert(property, { numRuns: 40 })
  })

  test('a share link works until it is replaced or revoked, and is kept only as a hash', async () => {
    const { account } = await seedAccount(stores.db)
    const { id: boardId } = await createBoard(stores.db, { accountId: account.id, name: 'shared' })
    const at = { accountId: account.id, boardId }
    const first = await shareBoard(stores.db, at)
    expect((await findSharedBoard(stores.db, first.token)).id).toBe(boardId)
    const second = await shareBoard(stores.db, at)
    await expect(findSharedBoard(stores.db, first.token)).rejects.toMatchObject({ code: 'not_found' })
    expect((await findSharedBoard(stores.db, second.token)).id).toBe(boardId)
    expect(await findShareToken(stores.db, at)).toBe(second.token)
    const { rows } = await stores.db.execute(sql`select to_jsonb(b) as row from boards b where id = ${boardId}`)
    expect(JSON.stringify(rows)).not.toContain(second.token)
    const other = await seedAccount(stores.db)
    expect(await findShareToken(stores.db, { accountId: other.account.id, boardId })).toBe(null)
    await unshareBoard(stores.db, at)
    await unshareBoard(stores.db, at)
    expect(await findShareToken(stores.db, at)).toBe(null)
    await expect(findSharedBoard(stores.db, second.token)).rejects.toMatchObject({ code: 'not_found' })
    expect(await typesOf(stores.db, account.id)).toEqual([
      'board.created',
      'board.shared',
      'board.shared',
      'board.unshared',
    ])
  })

  test('boards list newest first with counts', async () => {
    const { account } = await seedAccount(stores.db)
    const { frameIds } = await seedFrames(stores.db, { count: 6 })
    const made = []
    for (const name of ['a', 'b', 'c']) made.push(await createBoard(stores.db, { accountId: account.id, name }))
    // Boards created in the same millisecond have no order.
    for (const [n, { id }] of made.entries())
      await stores.db.$client.query(
        `update boards set created_at = created_at + $1 * interval '1 second' where id = $2`,
        [n, id],
      )
    await pinFrames(stores.db, { accountId: account.id, boardId: made[1]!.id, frameIds })
    const { boards } = await listBoards(stores.db, account.id)
    expect(boards.map((board) => [board.name, board.itemCount])).toEqual([
      ['c', 0],
      ['b', 6],
      ['a', 0],
    ])
    expect(boards[1]!.coverFrameIds).toEqual(frameIds.slice(0, 4))
  })
})
