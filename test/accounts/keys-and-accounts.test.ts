import { describe, expect, test } from 'vitest'
import { apiKeys, sessions } from '../../src/db/schema/accounts.ts'
import {
  createAccount,
  deleteAccount,
  deleteExpired,
  ensureAccount,
  findAccountByEmail,
  markAccountDeleted,
  setDisabled,
  setPlan,
} from '../../src/library/accounts/accounts.ts'
import { createGrant } from '../../src/library/accounts/grants.ts'
import { runIdempotently } from '../../src/library/accounts/idempotency.ts'
import { isWellFormedKey, recordUse } from '../../src/library/accounts/key-checks.ts'
import {
  createKey,
  DEAD_KEY_PAGE,
  listDeadKeys,
  listKeys,
  MAX_KEYS,
  revokeKey,
  rotateKey,
} from '../../src/library/accounts/keys.ts'
import { createSignInCode, endAllSessions } from '../../src/library/accounts/sessions.ts'
import { shareBoard } from '../../src/library/collections/board-settings.ts'
import { createBoard } from '../../src/library/collections/boards.ts'
import { pinFrame, pinFrames } from '../../src/library/collections/pins.ts'
import { saveFrame, saveFrames } from '../../src/library/collections/saves.ts'
import { sha256 } from '../../src/library/ids.ts'
import { eq } from '../../src/sql/orm.ts'
import { useStores } from '../support/stores.ts'
import { until } from '../support/until.ts'
import { authenticate } from './authenticate.ts'
import { eventsOf, expectCountsToAddUp, typesOf } from './records.ts'
import { seedAccount, seedFrames } from './seed-frames.ts'

const stores = useStores()

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
    const types = (await eventsOf(stores.db, account.id)).map((event) => event.type)
    expect(types.filter((type) => type === 'key.revoked')).toHaveLength(1)
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
    const ended = (await eventsOf(stores.db, account.id)).filter(
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
    await Promise.all(Array.from({ length: 5 }, () => recordUse(stores.db, apiKeys, caller.key)))
    const first = await used()
    expect(first).not.toBeNull()
    await recordUse(stores.db, apiKeys, caller.key)
    expect(await used()).toEqual(first)
    await stores.db.$client.query(`update api_keys set last_used_at = now() - interval '2 minutes' where id = $1`, [
      record.id,
    ])
    await recordUse(stores.db, apiKeys, (await authenticate(stores.db, key))!.key)
    expect((await used())!.getTime()).toBeGreaterThan(first!.getTime() - 1)
  })
})

/** Keys can be made and revoked without end: what is listed and kept of them has an end. */
describe('dead keys', () => {
  test('a list holds every valid key and the newest of those that ended within 30 days', async () => {
    const { account } = await seedAccount(stores.db)
    const first = (await listKeys(stores.db, account.id)).map((key) => key.id)
    await stores.db.$client.query(
      `insert into api_keys (id, account_id, name, hash, hint, scopes, created_at, revoked_at)
       select 'dead' || n, $1, 'dead', 'hash' || n, '0000', '{}', now() - make_interval(mins => n),
              now() - make_interval(mins => n)
         from generate_series(1, 200) n`,
      [account.id],
    )
    const ids = (await listKeys(stores.db, account.id)).map((key) => key.id)
    expect(ids).toEqual([...first, ...Array.from({ length: DEAD_KEY_PAGE }, (_, n) => `dead${n + 1}`)])

    const paged: string[] = []
    let after: string | undefined
    for (let more = true; more; ) {
      const { keys, next } = await listDeadKeys(stores.db, account.id, { after })
      paged.push(...keys.map((key) => key.id))
      more = next !== null
      after = next ?? undefined
    }
    expect(paged).toEqual(Array.from({ length: 200 }, (_, n) => `dead${n + 1}`))
    // Another account's key is no place in this list, and neither is a text that names none.
    const other = await seedAccount(stores.db)
    for (const id of [(await listKeys(stores.db, other.account.id))[0]!.id, 'nothing', ''])
      expect((await listDeadKeys(stores.db, account.id, { after: id })).keys).toEqual([])
  })

  test('a key that ended more than 30 days ago is not listed, and deleted with what else has expired', async () => {
    const { account } = await seedAccount(stores.db)
    const at = { accountId: account.id }
    const keys = [
      await createKey(stores.db, { ...at, name: 'revoked' }),
      await createKey(stores.db, { ...at, name: 'old' }),
    ]
    for (const { record } of keys) await revokeKey(stores.db, { ...at, keyId: record.id })
    const expired = await createKey(stores.db, { ...at, name: 'expired' })
    const long = `now() - interval '31 days'`
    await stores.db.$client.query(`update api_keys set revoked_at = ${long} where id = $1`, [keys[1]!.record.id])
    await stores.db.$client.query(`update api_keys set expires_at = ${long} where id = $1`, [expired.record.id])
    const names = async () => (await listKeys(stores.db, account.id)).map((key) => key.name)
    const listed = await names()
    expect(listed).toContain('revoked')
    expect(listed).not.toContain('old')
    expect(listed).not.toContain('expired')
    // A sweep that fails keeps no other from its work.
    const { code } = (await createSignInCode(stores.db, { email: account.email, newPlan: null }))!
    await stores.db.$client.query('update sign_in_links set expires_at = now() where hash = $1', [sha256(code)])
    await stores.db.$client.query(`
      create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
      create trigger refuse before delete on sign_in_links for each row execute function refuse()`)
    await expect(deleteExpired(stores.db)).rejects.toThrow('not everything')
    await stores.db.$client.query('drop trigger refuse on sign_in_links')
    const { rows } = await stores.db.$client.query('select name from api_keys where account_id = $1', [account.id])
    expect(rows.map((row) => row.name).sort()).toEqual([...listed].sort())
  })
})

describe('stored answers', () => {
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

  test.each(['signed out', 'disabled', 'deleted'])('an account %s keeps no session made meanwhile', async (how) => {
    const { account } = await seedAccount(stores.db)
    const { id: accountId, email } = account
    const { code } = (await createSignInCode(stores.db, { email, newPlan: null }))!
    const signIn = await stores.db.$client.connect()
    // As `redeemSignInCode` does.
    await signIn.query('begin')
    await signIn.query('delete from sign_in_links where hash = $1', [sha256(code)])
    const ending = {
      'signed out': () => endAllSessions(stores.db, account),
      disabled: () => setDisabled(stores.db, { accountId, disabled: true }),
      deleted: () => markAccountDeleted(stores.db, accountId),
    }[how]!()
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    await until(async () => (await stores.db.$client.query(waiting)).rowCount === 1)
    await signIn.query(`insert into sessions values ($1, $2, now(), now() + interval '1 day')`, [code, accountId])
    await signIn.query('commit')
    signIn.release()
    await ending
    expect(await stores.db.$count(sessions, eq(sessions.accountId, accountId))).toBe(0)
  })

  test('a deleted account leaves events under its random id and nothing that ties it to a person', async () => {
    const { account, key } = await seedAccount(stores.db)
    const { frameIds } = await seedFrames(stores.db, { count: 3 })
    await saveFrames(stores.db, { accountId: account.id, frameIds })
    const board = await createBoard(stores.db, { accountId: account.id, name: 'mine' })
    await pinFrames(stores.db, { accountId: account.id, boardId: board.id, frameIds: frameIds.slice(0, 2) })
    await shareBoard(stores.db, { accountId: account.id, boardId: board.id })
    const app = { clientId: 'app', clientName: 'App', returnsTo: 'app.test', scopes: [] }
    await createGrant(stores.db, { accountId: account.id, ...app })
    await deleteAccount(stores.db, account.id)
    expect(await findAccountByEmail(stores.db, account.email)).toBeUndefined()
    expect(await authenticate(stores.db, key)).toBeUndefined()
    for (const frameId of frameIds) await expectCountsToAddUp(stores.db, frameId, 0)
    const events = await eventsOf(stores.db, account.id)
    expect(events.slice(-10).map((event) => event.type)).toEqual([
      'key.revoked',
      'grant.revoked',
      ...Array<string>(3).fill('frame.unsaved'),
      'board.unshared',
      ...Array<string>(2).fill('board.frame_unpinned'),
      'board.deleted',
      'account.deleted',
    ])
    expect(events.at(-5)!.data).toMatchObject({ ended_by: 'account_deleted' })
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
    for (const frameId of frameIds) await expectCountsToAddUp(stores.db, frameId, 0)
    const types = await typesOf(stores.db, account.id)
    expect(types.filter((type) => type === 'frame.saved').length).toBe(
      types.filter((type) => type === 'frame.unsaved').length,
    )
  })
})
