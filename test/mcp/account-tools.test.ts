import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { post } from './support.ts'
import { ACCOUNT, ids, OPEN, openToolLibrary, type ToolLibrary } from './tool-library.ts'

let library: ToolLibrary
let service: ToolLibrary['service']
let call: ToolLibrary['call']
let listed: ToolLibrary['listed']
let get: ToolLibrary['get']
beforeAll(async () => {
  library = await openToolLibrary()
  ;({ service, call, listed, get } = library)
})
afterAll(() => library[Symbol.asyncDispose]())

/** They stay when a plan has lapsed. */
const TAKING_BACK = ['unsave_frame', 'unpin_frame']

describe('who sees what', () => {
  test('open tools for everybody, account tools by plan and scope', async () => {
    expect((await listed()).map((tool) => tool.name)).toEqual(OPEN)
    const free = await service.keyOf('free')
    expect((await listed(free.bearer)).map((tool) => tool.name)).toEqual([...OPEN, ...TAKING_BACK])
    const pro = await service.keyOf('pro')
    expect((await listed(pro.bearer)).map((tool) => tool.name)).toEqual([...OPEN, ...ACCOUNT])
    const reader = await service.keyOf('pro', ['boards:read'])
    expect((await listed(reader.bearer)).map((tool) => tool.name)).toEqual([...OPEN, 'list_boards', 'get_board'])
  })
  test('a revoked key is dead at the next call, and a lost plan takes its tools along', async () => {
    const { accountId, bearer } = await service.keyOf('pro')
    expect((await call('list_saves', {}, bearer)).isError).toBeUndefined()
    await service.stores.db.$client.query(`update accounts set plan = 'free' where id = $1`, [accountId])
    expect((await call('list_saves', {}, bearer))._meta.code).toBe('plan_required')
    expect((await listed(bearer)).map((tool) => tool.name)).toEqual([...OPEN, ...TAKING_BACK])
    expect((await call('save_frame', { frame_ids: 'x' }, bearer))._meta.code).toBe('plan_required')
    expect((await call('unsave_frame', { frame_ids: 'x' }, bearer)).structuredContent).toEqual({ removed: [] })
    await service.stores.db.$client.query(`update api_keys set revoked_at = now() where account_id = $1`, [accountId])
    const refused = await post(service.mcp, { jsonrpc: '2.0', id: 1, method: 'tools/list' }, bearer)
    expect([refused.status, refused.json]).toEqual([401, { code: 'unauthenticated' }])
    expect(refused.headers['www-authenticate']).toMatch(/^Bearer realm=/)
  })
})

describe('a collection', () => {
  test('saves: many at once, all or none, repeats change nothing, undone by the other tool', async () => {
    const { bearer, accountId } = await service.keyOf('pro')
    const frames = ids((await get('/api/frames?tone=dark')).frames).slice(0, 3)
    expect((await call('save_frame', { frame_ids: frames }, bearer)).structuredContent).toEqual({
      saved: expect.arrayContaining(frames),
      already_saved: [],
    })
    expect((await call('save_frame', { frame_ids: [...frames, frames[0]] }, bearer)).structuredContent).toEqual({
      saved: [],
      already_saved: expect.arrayContaining(frames),
    })
    expect((await call('save_frame', { frame_ids: frames[0] }, bearer)).structuredContent.saved).toEqual([])
    const half = await call(
      'save_frame',
      { frame_ids: [ids((await get('/api/frames?tone=bright')).frames)[0], 'nope'] },
      bearer,
    )
    expect([half.isError, half._meta.code]).toEqual([true, 'not_found'])
    expect(ids((await call('list_saves', { limit: 2 }, bearer)).structuredContent.frames)).toHaveLength(2)
    const { structuredContent } = await call('list_saves', { limit: 2 }, bearer)
    expect(
      ids(
        (await call('list_saves', { limit: 2, cursor: structuredContent.next_cursor }, bearer)).structuredContent
          .frames,
      ),
    ).toHaveLength(1)
    expect((await call('list_saves', { cursor: 'nope' }, bearer)).text).toContain('cursor: unknown')
    expect((await call('unsave_frame', { frame_ids: [frames[1], 'nope'] }, bearer)).structuredContent).toEqual({
      removed: [frames[1]],
    })
    expect((await call('unsave_frame', { frame_ids: [frames[1]] }, bearer)).structuredContent).toEqual({ removed: [] })
    const { rows } = await service.stores.db.$client.query(
      `select type, count(*)::int from events where account_id = $1 and type like 'frame.%' group by 1 order by 1`,
      [accountId],
    )
    expect(rows).toEqual([
      { type: 'frame.saved', count: 3 },
      { type: 'frame.unsaved', count: 1 },
    ])
  })
  test('ten agents that create one board at once make one', async () => {
    const { bearer } = await service.keyOf('pro')
    const made = await Promise.all(Array.from({ length: 10 }, () => call('create_board', { name: 'Openings' }, bearer)))
    expect(new Set(made.map((answer) => answer.structuredContent.board.id)).size).toBe(1)
    expect(made.filter((answer) => answer.structuredContent.created)).toHaveLength(1)
    expect((await call('list_boards', {}, bearer)).structuredContent.boards).toHaveLength(1)
  })
  test('another account’s board is not there', async () => {
    const [one, other] = [await service.keyOf('pro'), await service.keyOf('pro')]
    const { board } = (await call('create_board', { name: 'Mine' }, one.bearer)).structuredContent
    const frame = ids((await get('/api/frames')).frames)[0]
    for (const [name, args] of [
      ['get_board', {}],
      ['pin_frame', { frame_ids: [frame] }],
      ['unpin_frame', { frame_ids: [frame] }],
    ] as const) {
      const refused = await call(name, { board_id: board.id, ...args }, other.bearer)
      expect([refused.isError, refused._meta.code, refused.text]).toEqual([
        true,
        'not_found',
        `No such board: "${board.id}". list_boards names yours, create_board makes one.`,
      ])
    }
  })
  test('a note with a line break stays within its line', async () => {
    const { bearer } = await service.keyOf('pro')
    const { board } = (await call('create_board', { name: 'Notes' }, bearer)).structuredContent
    const frame = ids((await get('/api/frames')).frames)[0]
    await call('pin_frame', { board_id: board.id, frame_ids: [frame], note: 'look\nhere' }, bearer)
    const opened = await call('get_board', { board_id: board.id }, bearer)
    expect(opened.text).toContain('  note: look here')
    expect(opened.structuredContent.frames[0].note).toBe('look\nhere')
  })
})

describe('one budget with HTTP', () => {
  test('tool calls use it up by their points, and the answer says what is left', async () => {
    const { bearer } = await service.keyOf('pro')
    const left = async (name: string, args: Record<string, unknown>) => {
      const answer = await post(
        service.mcp,
        { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } },
        bearer,
      )
      return Number(/r=(\d+)/.exec(String(answer.headers.ratelimit))?.[1])
    }
    const start = await left('list_techniques', {})
    expect(await left('search_frames', { query: 'dark' })).toBe(start - 2)
    expect(await left('create_board', { name: 'B' })).toBe(start - 7)
  })
})
