import { sql } from 'drizzle-orm'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  findSharedBoard,
  findShareToken,
  shareBoard,
  unshareBoard,
} from '../../src/library/collections/board-settings.ts'
import { createBoard, listBoards, loadBoard, updateBoard } from '../../src/library/collections/boards.ts'
import { pinFrame, pinFrames, unpinFrames } from '../../src/library/collections/pins.ts'
import { openStores, type Stores } from '../support/stores.ts'
import { typesOf } from './records.ts'
import { seedAccount, seedFrames } from './seed-frames.ts'

let stores: Stores
beforeAll(async () => {
  stores = await openStores()
})
afterAll(() => stores[Symbol.asyncDispose]())

describe('boards', () => {
  test('order, counts, notes and events hold under any sequence of acts', async () => {
    const { account } = await seedAccount(stores.db)
    const { frameIds } = await seedFrames(stores.db, { count: 5 })
    const accountId = account.id
    interface Model {
      name: string
      items: { frameId: string; note: string | null }[]
      events: string[]
    }
    interface Real {
      boardId: string
    }
    const frame = fc.constantFrom(...frameIds)
    const noteArb = fc.option(fc.constantFrom('a', 'b', '  c  '), { nil: null })
    class Pin implements fc.AsyncCommand<Model, Real> {
      readonly act: { frameId: string; note?: string | null; position?: number }
      constructor(act: Pin['act']) {
        this.act = act
      }
      check = () => true
      async run(model: Model, real: Real) {
        const { frameId, position } = this.act
        const note = this.act.note === undefined ? undefined : (this.act.note?.trim() ?? null)
        const from = model.items.findIndex((item) => item.frameId === frameId)
        if (from < 0) {
          const to = Math.min(position ?? model.items.length, model.items.length)
          model.items.splice(to, 0, { frameId, note: note ?? null })
          model.events.push('board.frame_pinned')
        } else {
          const item = model.items[from]!
          const to = Math.min(position ?? from, model.items.length - 1)
          model.items.splice(from, 1)
          model.items.splice(to, 0, item)
          if (to !== from) model.events.push('board.frame_moved')
          if (note !== undefined && note !== item.note) {
            item.note = note
            model.events.push('board.frame_noted')
          }
        }
        const told = await pinFrame(stores.db, { accountId, boardId: real.boardId, ...this.act })
        expect(told.position).toBe(model.items.findIndex((item) => item.frameId === frameId))
        await agree(model, real)
      }
      toString = () => `pin(${JSON.stringify(this.act)})`
    }
    class PinMany implements fc.AsyncCommand<Model, Real> {
      readonly ids: string[]
      constructor(ids: string[]) {
        this.ids = ids
      }
      check = () => true
      async run(model: Model, real: Real) {
        for (const frameId of new Set(this.ids))
          if (!model.items.some((item) => item.frameId === frameId)) {
            model.items.push({ frameId, note: null })
            model.events.push('board.frame_pinned')
          }
        await pinFrames(stores.db, { accountId, boardId: real.boardId, frameIds: this.ids })
        await agree(model, real)
      }
      toString = () => `pinMany(${this.ids})`
    }
    class Unpin implements fc.AsyncCommand<Model, Real> {
      readonly ids: string[]
      constructor(ids: string[]) {
        this.ids = ids
      }
      check = () => true
      async run(model: Model, real: Real) {
        const gone = model.items.filter((item) => this.ids.includes(item.frameId))
        model.items = model.items.filter((item) => !this.ids.includes(item.frameId))
        model.events.push(...gone.map(() => 'board.frame_unpinned'))
        await unpinFrames(stores.db, { accountId, boardId: real.boardId, frameIds: this.ids })
        await agree(model, real)
      }
      toString = () => `unpin(${this.ids})`
    }
    class Rename implements fc.AsyncCommand<Model, Real> {
      readonly name: string
      constructor(name: string) {
        this.name = name
      }
      check = () => true
      async run(model: Model, real: Real) {
        if (model.name !== this.name) model.events.push('board.renamed')
        model.name = this.name
        await updateBoard(stores.db, { accountId, boardId: real.boardId, name: this.name })
        await agree(model, real)
      }
      toString = () => `rename(${this.name})`
    }
    async function agree(model: Model, real: Real) {
      const { board, pins } = await loadBoard(stores.db, { accountId, boardId: real.boardId })
      expect(pins.map(({ frameId, note }) => ({ frameId, note }))).toEqual(model.items)
      expect(board).toMatchObject({
        name: model.name,
        itemCount: model.items.length,
        coverFrameIds: model.items.slice(0, 4).map((item) => item.frameId),
      })
      const { rows: told } = await stores.db.$client.query('select type from events where subject = $1 order by seq', [
        real.boardId,
      ])
      expect(told.map((row) => row.type)).toEqual(model.events)
    }
    await fc.assert(
      fc.asyncProperty(
        fc.commands(
          [
            fc
              .record({ frameId: frame, note: noteArb, position: fc.nat({ max: 7 }) }, { requiredKeys: ['frameId'] })
              .map((act) => new Pin(act)),
            fc.array(frame, { minLength: 1, maxLength: 6 }).map((ids) => new PinMany(ids)),
            fc.array(frame, { minLength: 1, maxLength: 2 }).map((ids) => new Unpin(ids)),
            fc.constantFrom('x', 'y').map((name) => new Rename(name)),
          ],
          { maxCommands: 15 },
        ),
        async (commands) => {
          const board = await createBoard(stores.db, { accountId, name: 'x' })
          await fc.asyncModelRun(
            () => ({ model: { name: 'x', items: [], events: ['board.created'] }, real: { boardId: board.id } }),
            commands,
          )
        },
      ),
      { numRuns: 40 },
    )
  })

  test('many pins and moves at once leave every frame once, each in a place of its own', async () => {
    const { account } = await seedAccount(stores.db)
    const { frameIds } = await seedFrames(stores.db, { count: 12 })
    const { id: boardId } = await createBoard(stores.db, { accountId: account.id, name: 'busy' })
    await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        n % 5 === 4
          ? unpinFrames(stores.db, { accountId: account.id, boardId, frameIds: [frameIds[n % 12]!] })
          : pinFrame(stores.db, { accountId: account.id, boardId, frameId: frameIds[n % 12]!, position: n % 3 }),
      ),
    )
    const { pins } = await loadBoard(stores.db, { accountId: account.id, boardId })
    expect(new Set(pins.map((pin) => pin.frameId)).size).toBe(pins.length)
    const { rows } = await stores.db.$client.query('select position from board_items where board_id = $1', [boardId])
    expect(new Set(rows.map((row) => row.position)).size).toBe(pins.length)
    const types = await typesOf(stores.db, account.id)
    expect(
      types.filter((type) => type === 'board.frame_pinned').length -
        types.filter((type) => type === 'board.frame_unpinned').length,
    ).toBe(rows.length)
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

  test('boards list newest first with counts, and pages join', async () => {
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
    const first = await listBoards(stores.db, account.id, { limit: 2 })
    const rest = await listBoards(stores.db, account.id, { limit: 2, after: first.next! })
    expect([...first.boards, ...rest.boards].map((board) => board.name)).toEqual(['c', 'b', 'a'])
    expect(rest.next).toBeNull()
  })
})
