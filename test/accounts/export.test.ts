import { expect, test } from 'vitest'
import { createAccount, deleteAccount } from '../../src/library/accounts/accounts.ts'
import { createGrant } from '../../src/library/accounts/grants.ts'
import { createKey } from '../../src/library/accounts/keys.ts'
import { createSignInCode, redeemSignInCode } from '../../src/library/accounts/sessions.ts'
import { shareBoard } from '../../src/library/collections/board-settings.ts'
import { createBoard, deleteBoard } from '../../src/library/collections/boards.ts'
import { pinFrames } from '../../src/library/collections/pins.ts'
import { saveFrames, unsaveFrames } from '../../src/library/collections/saves.ts'
import { frames } from '../library/support.ts'
import { useFolder } from '../support/folder.ts'
import { useStores } from '../support/stores.ts'
import { seedFrames } from './seed-frames.ts'

const stores = useStores()
const dataDir = useFolder()

const run = (...args: string[]) => frames({ stores, config: { dataDir } }, stores.redisUrl, args)

test('one JSON object holds all rows that name a person, no secret, and nothing of another account', async () => {
  const { db } = stores
  const email = 'ann@example.org'
  const [ann, bob] = [await createAccount(db, { email, plan: 'pro' }), await createAccount(db, { email: 'bob@x.org' })]
  const { key } = await createKey(db, { accountId: ann.id, name: 'Ann’s agent' })
  await createKey(db, { accountId: bob.id, name: 'Bob’s agent' })
  const app = {
    clientId: 'studio',
    clientName: 'Studio',
    returnsTo: 'studio.example.org',
    scopes: ['saves:read'],
  } as const
  await createGrant(db, { accountId: ann.id, ...app })
  const used = (await createSignInCode(db, { email, newPlan: 'free' }))!.code
  const pending = (await createSignInCode(db, { email, newPlan: 'free' }))!.code
  const { token } = (await redeemSignInCode(db, { code: used }))!
  // More than one batch.
  const { frameIds } = await seedFrames(db, { count: 1_200 })
  for (const accountId of [ann.id, bob.id]) await saveFrames(db, { accountId, frameIds })
  await unsaveFrames(db, { accountId: ann.id, frameIds: frameIds.slice(0, 1) })
  const board = await createBoard(db, { accountId: ann.id, name: 'Openings' })
  await pinFrames(db, { accountId: ann.id, boardId: board.id, frameIds: frameIds.slice(0, 3), note: 'a private note' })
  const link = await shareBoard(db, { accountId: ann.id, boardId: board.id })
  await createBoard(db, { accountId: bob.id, name: 'Bob’s board' })
  const deleted = await createBoard(db, { accountId: ann.id, name: 'Endings' })
  const old = { accountId: ann.id, boardId: deleted.id }
  await pinFrames(db, { ...old, frameIds: frameIds.slice(0, 2), note: 'no more' })
  await deleteBoard(db, old)

  const { code, stdout, stderr } = await run('accounts', 'export', 'Ann@Example.org')
  expect([code, stderr]).toEqual([0, ''])
  const kept = JSON.parse(stdout)
  expect(Object.keys(kept).join(' ')).toBe(
    'account keys apps sessions sign_in_links stored_answers removed_saves deleted_boards saves boards events',
  )
  expect(kept.account).toMatchObject({ id: ann.id, email, plan: 'pro', role: 'member' })
  expect(kept.keys).toMatchObject([{ name: 'Ann’s agent', hint: key.slice(-4), revoked_at: null }])
  expect(kept.apps).toMatchObject([{ name: 'Studio', returns_to: 'studio.example.org', scopes: ['saves:read'] }])
  expect(kept.sessions).toHaveLength(1)
  expect(kept.sign_in_links).toHaveLength(1)
  expect(kept.saves.map((save: { frame_id: string }) => save.frame_id).sort()).toEqual(frameIds.slice(1).sort())
  const [removed] = kept.removed_saves
  for (const time of [kept.saves[0].saved_at, kept.keys[0].created_at, removed.saved_at, removed.removed_at])
    expect(time).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
  expect(kept.boards).toMatchObject([{ id: board.id, name: 'Openings', shared_at: expect.any(String) }])
  expect(kept.boards[0].items).toHaveLength(3)
  expect(kept.deleted_boards).toMatchObject([{ id: deleted.id, name: 'Endings', notes: ['no more', 'no more'] }])
  expect(kept.boards[0].items[0]).toMatchObject({ frame_id: frameIds[0], note: 'a private note' })
  expect(kept.events.every((event: { account_id: string }) => event.account_id === ann.id)).toBe(true)
  const types = new Set(kept.events.map((event: { type: string }) => event.type))
  for (const type of ['account.created', 'key.created', 'frame.saved', 'board.created', 'board.shared'])
    expect(types).toContain(type)
  for (const secret of [key, used, pending, token, link.token, 'Bob', bob.id]) expect(stdout).not.toContain(secret)

  // Every table that names the account, or its address, is in it.
  const { rows } = await db.$client.query<{ name: string }>(
    `select distinct table_name as name from information_schema.columns
      where table_schema = 'public' and column_name in ('account_id', 'email') order by 1`,
  )
  expect(rows.map((row) => row.name).join(' ')).toBe(
    'accounts api_keys boards events grants idempotency_keys removed_saves saves sessions sign_in_links',
  )

  // And after the deletion nothing is left but the events under the random id.
  await deleteAccount(db, ann.id)
  const unknown = { code: 1, stdout: '', stderr: expect.stringContaining('No such account') }
  expect(await run('accounts', 'export', email)).toMatchObject(unknown)
  const left = await db.$client.query(
    `select 1 from api_keys where account_id = $1 union all select 1 from saves where account_id = $1
      union all select 1 from boards where account_id = $1 union all select 1 from sessions where account_id = $1
      union all select 1 from removed_saves where account_id = $1
      union all select 1 from sign_in_links where email = $2`,
    [ann.id, email],
  )
  expect(left.rows).toEqual([])
})
