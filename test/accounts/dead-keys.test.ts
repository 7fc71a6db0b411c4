import { afterAll, beforeAll, expect, test } from 'vitest'
import { deleteExpired } from '../../src/library/accounts/accounts.ts'
import { createKey, DEAD_KEY_PAGE, listDeadKeys, listKeys, revokeKey } from '../../src/library/accounts/keys.ts'
import { openStores, type Stores } from '../support/stores.ts'
import { seedAccount } from './seed-frames.ts'

/** Keys can be made and revoked without end: what is listed and kept of them has an end. */

let stores: Stores
beforeAll(async () => {
  stores = await openStores()
})
afterAll(() => stores[Symbol.asyncDispose]())

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
  await deleteExpired(stores.db)
  const { rows } = await stores.db.$client.query('select name from api_keys where account_id = $1', [account.id])
  expect(rows.map((row) => row.name).sort()).toEqual([...listed].sort())
})
