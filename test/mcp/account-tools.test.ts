import { beforeAll, describe, expect, test } from 'vitest'
import { seedVideo } from '../support/seed.ts'
import { post } from './support.ts'
import { ACCOUNT, callOf, FILMS, ids, OPEN, useToolLibrary } from './tool-library.ts'

const library = useToolLibrary()
const { service, call, listed, get } = library

/** They stay when a plan has lapsed. */
const onEveryPlan = ['export_board', 'remove']

describe('who sees what', () => {
  test('open tools for everybody, account tools by plan and scope', async () => {
    expect((await listed()).map((tool) => tool.name)).toEqual(OPEN)
    const free = await service.keyOf('free')
    expect((await listed(free.bearer)).map((tool) => tool.name)).toEqual([...OPEN, ...FILMS, ...onEveryPlan])
    const pro = await service.keyOf('pro')
    expect((await listed(pro.bearer)).map((tool) => tool.name)).toEqual([...OPEN, ...FILMS, ...ACCOUNT])
    const reader = await service.keyOf('pro', ['boards:read'])
    expect((await listed(reader.bearer)).map((tool) => tool.name)).toEqual([
      ...OPEN,
      ...FILMS,
      'get_board',
      'export_board',
    ])
    const saver = await service.keyOf('pro', ['saves:write'])
    expect((await listed(saver.bearer)).map((tool) => tool.name)).toEqual([...OPEN, ...FILMS, 'save_frame', 'remove'])
    const refused = await call('remove', { board_id: 'Any', frame_ids: 'x' }, saver.bearer)
    expect([refused._meta.code, refused.text]).toEqual(['forbidden', expect.stringContaining('the scope boards:write')])
  })
  test('a lost plan takes its tools along at the next call: all but those that take back or export', async () => {
    const { accountId, bearer } = await service.keyOf('pro')
    const frame_ids = ids((await get('/api/frames')).frames).slice(0, 2)
    await call('edit_board', { name: 'Mine', share: 'new_link' }, bearer)
    const codes = async () => {
      const found: unknown[] = []
      for (const [name, args] of Object.entries({
        list_saves: {},
        save_frame: { frame_ids },
        get_board: { board_id: 'Mine' },
        edit_board: { name: 'Mine' },
        export_board: { board_id: 'Mine' },
        pin_frame: { board_id: 'Mine', frame_ids },
        remove: { frame_ids },
      }))
        found.push([name, (await call(name, args, bearer))._meta?.code])
      return found
    }
    expect(await codes()).toEqual(ACCOUNT.map((name) => [name, undefined]))
    await service.stores.db.$client.query(`update accounts set plan = 'free' where id = $1`, [accountId])
    expect(await codes()).toEqual(
      ACCOUNT.map((name) => [name, onEveryPlan.includes(name) ? undefined : 'plan_required']),
    )
    expect((await listed(bearer)).map((tool) => tool.name)).toEqual([...OPEN, ...FILMS, ...onEveryPlan])
    expect((await call('get_board', {}, bearer))._meta.code).toBe('plan_required')
    for (const args of [{ frame_ids }, { link: true }, { confirm: true }])
      expect((await call('remove', { board_id: 'Mine', ...args }, bearer)).isError).toBeUndefined()
    expect((await call('remove', { board_id: 'Mine', confirm: true }, bearer))._meta.code).toBe('not_found')
  })
  test('a revoked key is dead at the next call', async () => {
    const { accountId, bearer } = await service.keyOf('pro')
    expect((await call('list_saves', {}, bearer)).isError).toBeUndefined()
    await service.stores.db.$client.query(`update api_keys set revoked_at = now() where account_id = $1`, [accountId])
    const refused = await post(service.mcp, { jsonrpc: '2.0', id: 1, method: 'tools/list' }, bearer)
    expect([refused.status, refused.json]).toEqual([401, { code: 'unauthenticated' }])
    expect(refused.headers['www-authenticate']).toMatch(/^Bearer realm="[^"]+", error="invalid_token"/)
  })
})

describe('a collection', () => {
  test('saves: many at once, repeats change nothing, taken back by remove', async () => {
    const { bearer } = await service.keyOf('pro')
    const frames = ids((await get('/api/frames?tone=dark')).frames).slice(0, 3)
    expect((await call('save_frame', { frame_ids: frames }, bearer)).structuredContent).toEqual({
      saved: expect.arrayContaining(frames),
      already_saved: [],
    })
    expect((await call('save_frame', { frame_ids: [...frames, frames[0]] }, bearer)).structuredContent).toEqual({
      saved: [],
      already_saved: expect.arrayContaining(frames),
    })
    const some = await call('remove', { frame_ids: [frames[1], 'nope'] }, bearer)
    expect(some.structuredContent).toEqual({ removed: [frames[1]], missing: ['nope'] })
    expect(some.text).toBe('Removed 1 save. 1 was not saved: nope.')
    expect((await call('list_saves', { limit: 1 }, bearer)).structuredContent.total).toBe(2)
  })
  test('ten agents that create one board at once make one', async () => {
    const { bearer } = await service.keyOf('pro')
    const made = await Promise.all(Array.from({ length: 10 }, () => call('edit_board', { name: 'Openings' }, bearer)))
    expect(new Set(made.map((answer) => answer.structuredContent.board.id)).size).toBe(1)
    expect(made.filter((answer) => answer.structuredContent.created)).toHaveLength(1)
    expect((await call('get_board', {}, bearer)).structuredContent.boards).toHaveLength(1)
  })
  test('a note with a line break stays within its line', async () => {
    const { bearer } = await service.keyOf('pro')
    const { board } = (await call('edit_board', { name: 'Notes' }, bearer)).structuredContent
    const frame = ids((await get('/api/frames')).frames)[0]
    await call('pin_frame', { board_id: board.id, frame_ids: [frame], note: 'look\nhere' }, bearer)
    const opened = await call('get_board', { board_id: board.id }, bearer)
    expect(opened.text).toContain('  note: "look here"')
    expect(opened.structuredContent.frames[0].note).toBe('look\nhere')
  })
})

describe('a board, as over HTTP', () => {
  let bearer: { authorization: string }
  let accountId: string
  let five: string[]
  beforeAll(async () => {
    ;({ bearer, accountId } = await service.keyOf('pro'))
    five = ids((await get('/api/frames')).frames).slice(0, 5)
  })
  const order = async (board_id: string) =>
    ids((await call('get_board', { board_id }, bearer)).structuredContent.frames).map((id) => five.indexOf(id))
  const eventsOf = async (boardId: string) => {
    const { rows } = await service.stores.db.$client.query(
      `select type, count(*)::int as n from events where account_id = $1 and subject = $2 group by 1`,
      [accountId, boardId],
    )
    return Object.fromEntries(rows.map(({ type, n }) => [type, n]))
  }

  test('pins move, alone or together; pinning again with another note changes it and says so', async () => {
    const { board } = (await call('edit_board', { name: 'Order' }, bearer)).structuredContent
    await call('pin_frame', { board_id: board.id, frame_ids: five.slice(0, 4), note: 'first' }, bearer)
    const pin = (args: object) => call('pin_frame', { board_id: board.id, ...args }, bearer)
    expect((await pin({ frame_ids: [five[3]], position: 0 })).text).toBe(
      'Pinned 0 frames. 1 pinned before. Moved 1 of them.',
    )
    expect(await order(board.id)).toEqual([3, 0, 1, 2])
    expect((await pin({ frame_ids: [five[2], five[4], five[3]], position: 1 })).structuredContent).toEqual({
      pinned: [five[4]],
      already_pinned: [five[2], five[3]],
      note_changed: [],
      moved: [five[2], five[3]],
    })
    expect(await order(board.id)).toEqual([0, 2, 4, 3, 1])
    expect((await pin({ frame_ids: [five[0], five[3]], position: 999 })).structuredContent.moved).toHaveLength(2)
    expect(await order(board.id)).toEqual([2, 4, 1, 0, 3])
    const again = await pin({ frame_ids: [five[0], five[1]], note: 'for Monday' })
    expect(again.text).toBe('Pinned 0 frames. 2 pinned before. Changed the note of 2 of them.')
    expect((await pin({ frame_ids: [five[0], five[1]], note: 'for Monday' })).structuredContent.note_changed).toEqual(
      [],
    )
    await pin({ frame_ids: [five[1]], note: '' })
    const { frames } = (await call('get_board', { board_id: board.id }, bearer)).structuredContent
    const notes = frames.map(({ note }: { note?: string }) => note)
    expect(notes).toEqual(['first', undefined, undefined, 'for Monday', 'first'])
    expect(await eventsOf(board.id)).toEqual({
      'board.created': 1,
      'board.frame_pinned': 5,
      'board.frame_moved': 6,
      'board.frame_noted': 3,
    })
    const gone = await call('remove', { board_id: board.id, frame_ids: [five[0], 'nope'] }, bearer)
    expect([gone.text, gone.structuredContent]).toEqual([
      'Unpinned 1 frame. 1 was not on the board: nope.',
      { removed: [five[0]], missing: ['nope'] },
    ])
  })
  test('is renamed, described, shared, and no longer shared; each repeat changes nothing', async () => {
    const { board } = (await call('edit_board', { name: 'Plans' }, bearer)).structuredContent
    const update = (args: object) => call('edit_board', { board_id: board.id, ...args }, bearer)
    const changed = await update({ name: 'May', description: 'For the launch', share: 'new_link' })
    expect(changed.structuredContent).toMatchObject({
      board: { id: board.id, name: 'May', description: 'For the launch', shared: true },
      changed: ['name', 'description'],
    })
    const { url } = changed.structuredContent
    expect(changed.text).toContain(url)
    expect((await update({ share: 'new_link' })).structuredContent).toMatchObject({ url, changed: [] })
    const shared = await fetch(url.replace('/shared/', '/api/shared/'))
    expect(((await shared.json()) as { board: object }).board).toMatchObject({
      name: 'May',
      description: 'For the launch',
    })
    expect((await update({ name: 'May', description: 'For the launch' })).text).toMatch(/^Nothing changed: board/)
    expect((await update({ description: '' })).structuredContent).toMatchObject({
      board: { shared: true },
      changed: ['description'],
    })
    for (const said of ['Its public link has ended', 'It had no public link'])
      expect((await call('remove', { board_id: board.id, link: true }, bearer)).text).toMatch(`${said}: board`)
    expect((await fetch(url)).status).toBe(404)
    const half = await update({ name: 'Half', description: 'x'.repeat(2_001) })
    expect([half.isError, (await call('get_board', { board_id: 'May' }, bearer)).isError]).toEqual([true, undefined])
    expect((await update({})).isError).toBe(true)
    expect(await eventsOf(board.id)).toEqual({
      'board.created': 1,
      'board.renamed': 1,
      'board.described': 2,
      'board.shared': 1,
      'board.unshared': 1,
    })
  })
  test('says what it is about and whether it is shared; in full its frames and saves tell all', async () => {
    const made = { board_name: 'Told', description: 'Calm openings', share: 'new_link' }
    expect((await call('edit_board', made, bearer)).structuredContent.created).toBe(true)
    await call('pin_frame', { board_id: 'Told', frame_ids: five }, bearer)
    await call('save_frame', { frame_ids: five }, bearer)
    const line = '"Told" (5 frames), shared, about "Calm openings"'
    expect((await call('get_board', {}, bearer)).text).toContain(line)
    for (const [name, args] of [
      ['get_board', { board_id: 'Told' }],
      ['list_saves', {}],
    ] as const) {
      const whole = await call(name, { ...args, detail: 'full' }, bearer)
      if (name === 'get_board') expect(whole.text.split('\n')[0]).toContain(line)
      const [frame] = whole.structuredContent.frames
      expect([frame.surface, frame.palette]).toEqual([expect.any(String), expect.any(Array)])
      expect(whole.text).toContain('; colours #')
      const { text, structuredContent } = await call(name, args, bearer)
      expect([structuredContent.frames[0].caption, structuredContent.frames[0].surface]).toEqual([
        frame.caption,
        undefined,
      ])
      const alone = (await post(service.mcp, callOf(name, { ...args, format: 'text' }), bearer)).json.result
      expect(alone).toEqual({ content: [{ type: 'text', text }] })
    }
    const past = await call('get_board', { board_id: 'Told', page: 9 }, bearer)
    expect(past.text).toBe(`board ${past.structuredContent.board.id} ${line}; no more frames`)
    const { frameIds } = await seedVideo(service.stores.db, { frames: [{ caption: 'a late frame' }] })
    await call('pin_frame', { board_id: 'Told', frame_ids: frameIds }, bearer)
    const late = '(1 frame not shown yet: the library is still updating.)'
    expect((await call('get_board', { board_id: 'Told' }, bearer)).structuredContent.notes).toEqual([late])
    await call('remove', { board_id: 'Told', frame_ids: frameIds }, bearer)
    await call('edit_board', { board: 'Told', title: 'Retold' }, bearer)
    expect((await call('get_board', { name: 'Retold' }, bearer)).structuredContent.total).toBe(5)
    await call('remove', { frame_ids: five }, bearer)
  })
  test('is exported with its credits, and deleted when asked twice', async () => {
    const { board } = (await call('edit_board', { name: 'Gone' }, bearer)).structuredContent
    await call('pin_frame', { board_id: 'Gone', frame_ids: five, note: 'kept' }, bearer)
    const file = await (
      await fetch(`${service.url}/api/boards/${board.id}/export?format=csv`, { headers: bearer })
    ).text()
    const exported = await call('export_board', { board_id: 'Gone' }, bearer)
    expect(exported.text).toBe(file)
    const json = await call('export_board', { board_id: 'Gone', type: 'json' }, bearer)
    expect(JSON.parse(json.structuredContent.file)).toHaveLength(5)
    const asked = await call('remove', { board_id: 'Gone' }, bearer)
    expect([asked.structuredContent.deleted, asked.text]).toEqual([false, expect.stringContaining('confirm: true')])
    expect((await call('remove', { board_id: 'Gone', confirm: true }, bearer)).structuredContent.deleted).toBe(true)
    expect((await call('remove', { board_id: 'Gone', confirm: true }, bearer))._meta.code).toBe('not_found')
  })
  test('is made a second time under one name only when asked for', async () => {
    const first = await call('edit_board', { name: 'Twins' }, bearer)
    const same = await call('edit_board', { name: 'Twins' }, bearer)
    expect(same.structuredContent).toMatchObject({ created: false, board: { id: first.structuredContent.board.id } })
    expect((await call('edit_board', { name: 'tWINS' }, bearer)).structuredContent).toEqual(same.structuredContent)
    const second = await call('edit_board', { name: 'Twins', another: true }, bearer)
    expect(second.structuredContent.created).toBe(true)
    expect(second.structuredContent.board.id).not.toBe(first.structuredContent.board.id)
    const { text } = await call('remove', { board_id: 'Twins', confirm: true }, bearer)
    expect(text).toContain('2 boards have this name. Pass the id of one:')
    for (const { structuredContent } of [first, second]) expect(text).toContain(structuredContent.board.id)
  })
  test.each<[name: string, args: Record<string, unknown>, said: string]>([
    ['edit_board', {}, 'Pass name to make a board, or board_id to change one.'],
    ['edit_board', { board_id: 'Both' }, 'Pass name, description or share: what to change.'],
    ['edit_board', { board_id: 'Both', name: 'x', another: true }, 'another makes a board, and board_id changes one'],
    ['edit_board', { board_id: 'Both', share: 'end' }, 'share (got "end"): must be one of new_link'],
    ['remove', {}, 'Pass frame_ids or board_id: what to remove.'],
    ['remove', { confirm: true }, 'Pass frame_ids or board_id: what to remove.'],
    ['remove', { board_id: 'Both', frame_ids: [], confirm: true }, 'frame_ids (got a list of 0)'],
    ['remove', { board_id: 'Both', frame_ids: 'FRAME', confirm: true }, 'one of frame_ids, confirm.'],
    ['remove', { board_id: 'Both', frame_ids: 'FRAME', link: true }, 'one of frame_ids, link.'],
    ['remove', { board_id: 'Both', link: true, confirm: true }, 'one of confirm, link.'],
  ])('%s %j has no meaning, and nothing is done', async (name, args, said) => {
    const made = { name: 'Both', description: 'kept', share: 'new_link' }
    const { url } = (await call('edit_board', made, bearer)).structuredContent
    await call('pin_frame', { board_id: 'Both', frame_ids: five }, bearer)
    const before = await call('get_board', { board_id: 'Both' }, bearer)
    const given = JSON.parse(JSON.stringify(args).replace('FRAME', five[0]!))
    const refused = await call(name, given, bearer)
    expect([refused.isError, refused.text]).toEqual([true, expect.stringContaining(said)])
    expect((await call('get_board', { board_id: 'Both' }, bearer)).structuredContent).toEqual(before.structuredContent)
    expect((await fetch(url)).status).toBe(200)
  })
  test.each([
    ['unsave_frame', { frame_ids: ['x'] }, 'remove'],
    ['delete_board', { board_id: 'Order', confirm: true }, 'remove'],
    ['list_boards', {}, 'get_board'],
    ['createBoard', { name: 'Never' }, 'edit_board'],
    ['compare_films', { video_id: ['a', 'b'] }, 'describe_film'],
    ['report', {}, 'usage_report'],
  ])('%s %j is unknown, and the error names %s', async (name, args, now) => {
    const { json } = await post(service.mcp, callOf(name, args), bearer)
    expect(json.error).toMatchObject({ code: -32602, message: expect.stringContaining(`part of ${now} now`) })
    expect((await call('get_board', {}, bearer)).text).not.toContain('Never')
  })
})
