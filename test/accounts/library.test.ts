import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  createAccount,
  deleteAccount,
  ensureAccount,
  findAccountByEmail,
  setPlan,
} from '../../src/library/accounts/accounts.ts'
import { runIdempotently } from '../../src/library/accounts/idempotency.ts'
import {
  authenticate,
  createKey,
  isWellFormedKey,
  listKeys,
  MAX_KEYS,
  recordKeyUse,
  revokeKey,
  rotateKey,
} from '../../src/library/accounts/keys.ts'
import {
  createBoard,
  deleteBoard,
  listBoards,
  loadBoard,
  loadSharedBoard,
  renameBoard,
  shareBoard,
  unshareBoard,
} from '../../src/library/collections/boards.ts'
import { undoFrameReferences } from '../../src/library/collections/frame-references.ts'
import { pinFrame, pinFrames, unpinFrames } from '../../src/library/collections/pins.ts'
import { listSaves, saveFrame, saveFrames, unsaveFrames } from '../../src/library/collections/saves.ts'
import { deleteVideo } from '../../src/library/videos/lifecycle.ts'
import { openStores, type Stores } from '../support/stores.ts'
import { strengthOf } from './save-strength-oracle.ts'
import { seedAccount, seedFrames } from './seed-frames.ts'

let stores: Stores
beforeAll(async () => {
  stores = await openStores()
})
afterAll(() => stores[Symbol.asyncDispose]())

async function eventsOf(
  accountId: string,
): Promise<{ type: string; subject: string; data: Record<string, unknown> }[]> {
  const { rows } = await stores.db.$client.query(
    'select type, subject, data from events where account_id = $1 order by seq',
    [accountId],
  )
  return rows
}
async function typesOf(accountId: string): Promise<string[]> {
  return (await eventsOf(accountId)).map((event) => event.type).filter((type) => !/^(account|key)\./.test(type))
}
async function countsOf(frameId: string) {
  const { rows } = await stores.db.$client.query<{
    save_count: number
    save_strength: number | null
    times: Date[] | null
  }>(
    `select save_count, save_strength, (select array_agg(created_at) from saves where frame_id = $1) as times from frames where id = $1`,
    [frameId],
  )
  return rows[0]!
}
async function expectCountsToAddUp(frameId: string, count: number) {
  const { save_count, save_strength, times } = await countsOf(frameId)
  expect(save_count).toBe(count)
  expect((times ?? []).length).toBe(count)
  const expected = strengthOf(times ?? [])
  if (expected === null) expect(save_strength).toBeNull()
  else expect(save_strength).toBeCloseTo(expected, 6)
}

describe('saves', () => {
  test('50 identical saves at once leave one row and one event', async () => {
    const { account } = await seedAccount(stores.db)
    const { frameIds } = await seedFrames(stores.db, { count: 1 })
    const results = await Promise.all(
      Array.from({ length: 50 }, () => saveFrame(stores.db, { accountId: account.id, frameId: frameIds[0]! })),
    )
    expect(results.filter((result) => result.saved)).toHaveLength(1)
    expect((await listSaves(stores.db, account.id)).saves).toHaveLength(1)
    expect(await typesOf(account.id)).toEqual(['frame.saved'])
    await expectCountsToAddUp(frameIds[0]!, 1)
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
    for (const frameId of frameIds) await expectCountsToAddUp(frameId, (await countsOf(frameId)).times?.length ?? 0)
    for (const { account } of people) {
      const events = await eventsOf(account.id)
      const net =
        events.filter((e) => e.type === 'frame.saved').length - events.filter((e) => e.type === 'frame.unsaved').length
      expect(net).toBe((await listSaves(stores.db, account.id)).saves.length)
    }
  })

  test('the event of a save can be counted without a second look-up', async () => {
    const { account } = await seedAccount(stores.db)
    const { frameIds, videoId } = await seedFrames(stores.db, { count: 1 })
    await saveFrame(stores.db, { accountId: account.id, frameId: frameIds[0]! })
    expect((await eventsOf(account.id)).at(-1)).toEqual({
      type: 'frame.saved',
      subject: frameIds[0],
      data: { frame_id: frameIds[0], video_id: videoId, author: 'Acme, Inc.', technique: null, subject: 'ui' },
    })
  })

  test('a frame that is unknown or not public cannot be saved or pinned, and with one unknown id among many nothing is', async () => {
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
    expect(await typesOf(account.id)).toEqual(['board.created'])
  })

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

  test('a deleted video leaves saves and boards with an event each, also while it is being saved and pinned', async () => {
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
      const types = await typesOf(account.id)
      const count = (type: string) => types.filter((one) => one === type).length
      expect(count('frame.unsaved')).toBe(count('frame.saved'))
      expect(count('board.frame_pinned') - count('board.frame_unpinned')).toBe(2)
    }
  })

  test('references of single frames are undone with the cause', async () => {
    const { account } = await seedAccount(stores.db)
    const { frameIds } = await seedFrames(stores.db, { count: 2 })
    await saveFrames(stores.db, { accountId: account.id, frameIds })
    await stores.db.transaction((tx) => undoFrameReferences(tx, [frameIds[0]!], 'frame_deleted'))
    expect((await eventsOf(account.id)).at(-1)).toMatchObject({
      type: 'frame.unsaved',
      subject: frameIds[0],
      data: { cause: 'frame_deleted' },
    })
    await expectCountsToAddUp(frameIds[0]!, 0)
    await expectCountsToAddUp(frameIds[1]!, 1)
  })
})

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
        await pinFrame(stores.db, { accountId, boardId: real.boardId, ...this.act })
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
        await renameBoard(stores.db, { accountId, boardId: real.boardId, name: this.name })
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
      const { rows } = await stores.db.$client.query(
        'select position from board_items where board_id = $1 order by position',
        [real.boardId],
      )
      expect(rows.map((row) => row.position)).toEqual(model.items.map((_, n) => n))
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

  test('many pins and moves at once leave every frame once, in dense order', async () => {
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
    const { rows } = await stores.db.$client.query(
      'select position, frame_id from board_items where board_id = $1 order by position',
      [boardId],
    )
    expect(rows.map((row) => row.position)).toEqual(rows.map((_, n) => n))
    expect(new Set(rows.map((row) => row.frame_id)).size).toBe(rows.length)
    const types = await typesOf(account.id)
    expect(
      types.filter((type) => type === 'board.frame_pinned').length -
        types.filter((type) => type === 'board.frame_unpinned').length,
    ).toBe(rows.length)
  })

  test('another account’s board is like one that never was, for every act', async () => {
    const [owner, other] = [await seedAccount(stores.db), await seedAccount(stores.db)]
    const { frameIds } = await seedFrames(stores.db, { count: 1 })
    const board = await createBoard(stores.db, { accountId: owner.account.id, name: 'private' })
    const acts = (boardId: string) => {
      const at = { accountId: other.account.id, boardId }
      return [
        () => loadBoard(stores.db, at),
        () => renameBoard(stores.db, { ...at, name: 'x' }),
        () => deleteBoard(stores.db, at),
        () => pinFrame(stores.db, { ...at, frameId: frameIds[0]! }),
        () => pinFrames(stores.db, { ...at, frameIds }),
        () => unpinFrames(stores.db, { ...at, frameIds }),
        () => shareBoard(stores.db, at),
        () => unshareBoard(stores.db, at),
      ]
    }
    for (const [n, act] of acts(board.id).entries()) {
      const [theirs, none] = await Promise.all([
        act().catch((e: unknown) => e),
        acts('never')[n]!().catch((e: unknown) => e),
      ])
      expect(theirs).toMatchObject({ code: 'not_found' })
      expect((theirs as Error).message).toBe((none as Error).message)
    }
    expect(await typesOf(owner.account.id)).toEqual(['board.created'])
  })

  test('a share link works until it is replaced or revoked, and is kept only as a hash', async () => {
    const { account } = await seedAccount(stores.db)
    const { id: boardId } = await createBoard(stores.db, { accountId: account.id, name: 'shared' })
    const at = { accountId: account.id, boardId }
    const first = await shareBoard(stores.db, at)
    expect((await loadSharedBoard(stores.db, first.token)).board.id).toBe(boardId)
    const second = await shareBoard(stores.db, at)
    await expect(loadSharedBoard(stores.db, first.token)).rejects.toMatchObject({ code: 'not_found' })
    expect((await loadSharedBoard(stores.db, second.token)).board.id).toBe(boardId)
    await unshareBoard(stores.db, at)
    await unshareBoard(stores.db, at)
    await expect(loadSharedBoard(stores.db, second.token)).rejects.toMatchObject({ code: 'not_found' })
    expect(await typesOf(account.id)).toEqual(['board.created', 'board.shared', 'board.shared', 'board.unshared'])
  })

  test('boards list newest first with counts, and pages join', async () => {
    const { account } = await seedAccount(stores.db)
    const { frameIds } = await seedFrames(stores.db, { count: 6 })
    const made = []
    for (const name of ['a', 'b', 'c']) made.push(await createBoard(stores.db, { accountId: account.id, name }))
    // Boards of one millisecond have no order of time.
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

describe('keys', () => {
  test('a key has the shape, the checksum finds every single typo, and only its hash is kept', async () => {
    const { key, record, account } = await seedAccount(stores.db)
    expect(key).toMatch(/^flk_live_[0-9A-Za-z]{38}$/)
    expect(isWellFormedKey(key)).toBe(true)
    for (let n = 9; n < key.length; n++) {
      const typo = key.slice(0, n) + (key[n] === 'A' ? 'B' : 'A') + key.slice(n + 1)
      expect(isWellFormedKey(typo)).toBe(false)
    }
    expect(record.hint).toBe(key.slice(-4))
    expect(JSON.stringify(await listKeys(stores.db, account.id))).not.toContain(key.slice(9, 30))
  })

  test('missing, malformed, unknown, expired and revoked keys are nobody; a plan change holds at once', async () => {
    const { key, record, account } = await seedAccount(stores.db)
    expect(await authenticate(stores.db, key)).toMatchObject({
      account: { id: account.id, plan: 'pro', role: 'member' },
      key: { id: record.id },
    })
    await setPlan(stores.db, { accountId: account.id, plan: 'free' })
    expect((await authenticate(stores.db, key))?.account.plan).toBe('free')
    const short = await createKey(stores.db, {
      accountId: account.id,
      name: 'short',
      expiresAt: new Date(Date.now() + 50),
    })
    await stores.db.$client.query(`update api_keys set expires_at = now() where id = $1`, [short.record.id])
    await revokeKey(stores.db, { accountId: account.id, keyId: record.id })
    for (const dead of [undefined, '', 'nonsense', `flk_live_${'0'.repeat(38)}`, short.key, key, `${key} `])
      expect(await authenticate(stores.db, dead)).toBeUndefined()
    await revokeKey(stores.db, { accountId: account.id, keyId: record.id })
    const types = (await eventsOf(account.id)).map((event) => event.type)
    expect(types.filter((type) => type === 'key.revoked')).toHaveLength(1)
  })

  test('whatever is wrong with a key, the check asks the database one question', async () => {
    const { key, record, account } = await seedAccount(stores.db)
    const revoked = await createKey(stores.db, { accountId: account.id, name: 'r' })
    await revokeKey(stores.db, { accountId: account.id, keyId: revoked.record.id })
    const asked = vi.spyOn(stores.db.$client, 'query')
    try {
      for (const presented of [
        undefined,
        '',
        'nonsense',
        'x'.repeat(100_000),
        `flk_live_${'0'.repeat(38)}`,
        revoked.key,
        key,
      ]) {
        asked.mockClear()
        await authenticate(stores.db, presented)
        expect(asked).toHaveBeenCalledTimes(1)
      }
    } finally {
      asked.mockRestore()
    }
    expect(record.revokedAt).toBeNull()
  })

  test('a rotated key goes on for its grace period and is replaced once', async () => {
    const { key, record, account } = await seedAccount(stores.db)
    const at = { accountId: account.id, keyId: record.id }
    const outcomes = await Promise.allSettled([rotateKey(stores.db, at), rotateKey(stores.db, at)])
    const made = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
    expect(made).toHaveLength(1)
    expect(made[0]!.record.scopes).toEqual(record.scopes)
    expect(await authenticate(stores.db, key)).toBeDefined()
    expect(await authenticate(stores.db, made[0]!.key)).toBeDefined()
    const next = await rotateKey(stores.db, { accountId: account.id, keyId: made[0]!.record.id, graceSec: 0 })
    expect(await authenticate(stores.db, made[0]!.key)).toBeUndefined()
    expect(await authenticate(stores.db, next.key)).toBeDefined()
  })

  test('of a key rotated again and again the last two live, and each that ends early says so', async () => {
    const { key, record, account } = await seedAccount(stores.db)
    const line = [{ key, record }]
    for (let n = 0; n < 3; n++)
      line.push(await rotateKey(stores.db, { accountId: account.id, keyId: line.at(-1)!.record.id, graceSec: 86_400 }))
    const alive = await Promise.all(line.map(async (each) => (await authenticate(stores.db, each.key)) !== undefined))
    expect(alive).toEqual([false, false, true, true])
    const ended = (await eventsOf(account.id)).filter(
      (event) => event.type === 'key.revoked' && !event.data.effective_at,
    )
    expect(ended).toEqual(
      line.slice(0, 2).map(({ record: { id } }) => ({ type: 'key.revoked', subject: id, data: { key_id: id } })),
    )
  })

  test('a key in its grace period counts once its successor is dead', async () => {
    const { account, record } = await seedAccount(stores.db)
    const spare = MAX_KEYS - 1
    for (let n = 0; n < spare; n++) {
      const { record: old } = await createKey(stores.db, { accountId: account.id, name: `k${n}` })
      const { record: successor } = await rotateKey(stores.db, { accountId: account.id, keyId: old.id })
      await revokeKey(stores.db, { accountId: account.id, keyId: successor.id })
    }
    await expect(createKey(stores.db, { accountId: account.id, name: 'one more' })).rejects.toMatchObject({
      code: 'conflict',
    })
    await revokeKey(stores.db, { accountId: account.id, keyId: record.id })
    await createKey(stores.db, { accountId: account.id, name: 'one more' })
  })

  test('members cannot give operators’ scopes, and the cap holds when many are made at once', async () => {
    const { account } = await seedAccount(stores.db)
    await expect(
      createKey(stores.db, { accountId: account.id, name: 'x', scopes: ['accounts:write'] }),
    ).rejects.toMatchObject({
      code: 'invalid_request',
    })
    const outcomes = await Promise.allSettled(
      Array.from({ length: MAX_KEYS + 5 }, (_, n) => createKey(stores.db, { accountId: account.id, name: `k${n}` })),
    )
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(MAX_KEYS - 1)
  })

  test('the last use is written at most once a minute', async () => {
    const { key, record } = await seedAccount(stores.db)
    const used = async () =>
      (
        await stores.db.$client.query<{ last_used_at: Date | null }>(
          'select last_used_at from api_keys where id = $1',
          [record.id],
        )
      ).rows[0]!.last_used_at
    const caller = (await authenticate(stores.db, key))!
    await Promise.all(Array.from({ length: 5 }, () => recordKeyUse(stores.db, caller.key)))
    const first = await used()
    expect(first).not.toBeNull()
    await recordKeyUse(stores.db, caller.key)
    expect(await used()).toEqual(first)
    await stores.db.$client.query(`update api_keys set last_used_at = now() - interval '2 minutes' where id = $1`, [
      record.id,
    ])
    await recordKeyUse(stores.db, (await authenticate(stores.db, key))!.key)
    expect((await used())!.getTime()).toBeGreaterThan(first!.getTime() - 1)
  })
})

describe('stored answers', () => {
  const answer = (body: unknown) => async () => ({ status: 200, body })

  test('while the first request runs the second is told so; what fails or dies half-way leaves the key free', async () => {
    const { account } = await seedAccount(stores.db)
    const given = { accountId: account.id, key: 'k', request: 'POST /x' }
    await expect(
      runIdempotently(stores.db, given, async (tx) => {
        await createBoard(tx, { accountId: account.id, name: 'rolled back' })
        throw new Error('died')
      }),
    ).rejects.toThrow('died')
    expect((await listBoards(stores.db, account.id)).boards).toEqual([])

    const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>()
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    const first = runIdempotently(stores.db, given, async () => {
      begin()
      await mayEnd
      return { status: 201, body: { b: 1, a: 2 } }
    })
    await begun
    await expect(runIdempotently(stores.db, given, answer('never'))).rejects.toMatchObject({
      code: 'conflict',
      retryAfterSec: 1,
    })
    end()
    expect(await first).toMatchObject({ replayed: false })
    const again = await runIdempotently(stores.db, given, answer('never'))
    expect([again.status, JSON.stringify(again.body), again.replayed]).toEqual([201, '{"b":1,"a":2}', true])
  })

  test('an account that is deleted meanwhile stores nothing and waits for nobody', async () => {
    const { account } = await seedAccount(stores.db)
    const { frameIds } = await seedFrames(stores.db, { count: 6 })
    const board = await createBoard(stores.db, { accountId: account.id, name: 'mine' })
    const outcomes = await Promise.allSettled([
      ...frameIds.map((frameId, n) =>
        runIdempotently(stores.db, { accountId: account.id, key: `k${n}`, request: frameId }, async (tx) => {
          await pinFrames(tx, { accountId: account.id, boardId: board.id, frameIds: [frameId] })
          return { status: 200, body: {} }
        }),
      ),
      deleteAccount(stores.db, account.id),
    ])
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(['not_found', 'unauthenticated']).toContain(outcome.reason.code)
    expect(outcomes.at(-1)?.status).toBe('fulfilled')
  })
})

describe('accounts', () => {
  test('an address has one account, however often and concurrently it is made', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, () => ensureAccount(stores.db, { email: 'Same@Example.org' })),
    )
    expect(new Set(outcomes.map(({ account }) => account.id)).size).toBe(1)
    expect(outcomes.filter(({ created }) => created)).toHaveLength(1)
    await expect(createAccount(stores.db, { email: 'same@example.org' })).rejects.toMatchObject({ code: 'conflict' })
  })

  test('a deleted account leaves events under its random id and nothing that ties it to a person', async () => {
    const { account, key } = await seedAccount(stores.db)
    const { frameIds } = await seedFrames(stores.db, { count: 3 })
    await saveFrames(stores.db, { accountId: account.id, frameIds })
    const board = await createBoard(stores.db, { accountId: account.id, name: 'mine' })
    await pinFrames(stores.db, { accountId: account.id, boardId: board.id, frameIds: frameIds.slice(0, 2) })
    await deleteAccount(stores.db, account.id)
    expect(await findAccountByEmail(stores.db, account.email)).toBeUndefined()
    expect(await authenticate(stores.db, key)).toBeUndefined()
    for (const frameId of frameIds) await expectCountsToAddUp(frameId, 0)
    const events = await eventsOf(account.id)
    expect(events.slice(-7).map((event) => event.type)).toEqual([
      ...Array<string>(3).fill('frame.unsaved'),
      ...Array<string>(2).fill('board.frame_unpinned'),
      'board.deleted',
      'account.deleted',
    ])
    expect(JSON.stringify(events)).not.toContain(account.email)
  })

  test('an account that is deleted while it saves and pins ends with no rows and no deadlock', async () => {
    const { account } = await seedAccount(stores.db)
    const { frameIds } = await seedFrames(stores.db, { count: 8 })
    const board = await createBoard(stores.db, { accountId: account.id, name: 'mine' })
    const outcomes = await Promise.allSettled([
      ...frameIds.map((frameId) => saveFrame(stores.db, { accountId: account.id, frameId })),
      ...frameIds.map((frameId) => pinFrame(stores.db, { accountId: account.id, boardId: board.id, frameId })),
      deleteAccount(stores.db, account.id),
      saveFrames(stores.db, { accountId: account.id, frameIds }),
    ])
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'not_found' })
    for (const frameId of frameIds) await expectCountsToAddUp(frameId, 0)
    const types = await typesOf(account.id)
    expect(types.filter((type) => type === 'frame.saved').length).toBe(
      types.filter((type) => type === 'frame.unsaved').length,
    )
  })
})
