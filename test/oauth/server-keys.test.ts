import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadServerKeys, type ServerKey } from '../../src/library/accounts/grants.ts'
import { openStores, type Stores } from '../support/stores.ts'

/** The keys that the authorization server signs with, as several processes find them over months. */

let stores: Stores
beforeAll(async () => {
  stores = await openStores()
})
afterAll(() => stores[Symbol.asyncDispose]())

let made = 0
const load = () => loadServerKeys(stores.db, async () => ({ kid: `key ${++made}` }))
const names = (keys: readonly ServerKey[]) => keys.map(({ jwk }) => jwk.kid)

/** As if the newest key had been made so many days ago. */
const age = (days: number) =>
  stores.db.execute(sql`
    update settings set value = jsonb_set(value, '{0,at}',
             to_jsonb(to_char(now() - make_interval(days => ${days}), 'YYYY-MM-DD"T"HH24:MI:SS"Z"')))
     where name = 'oauth-keys'`)

test('processes that start at once use the same key, and keep it for 90 days', async () => {
  const [first, ...others] = await Promise.all(Array.from({ length: 8 }, load))
  expect(first).toHaveLength(1)
  for (const other of others) expect(other).toEqual(first)
  await age(89)
  expect(names(await load())).toEqual(names(first!))
})

test('a key of 91 days gets one successor, whoever asks first, and stays valid beside it', async () => {
  const [before] = await load()
  await age(91)
  const [after, ...others] = await Promise.all(Array.from({ length: 8 }, load))
  for (const other of others) expect(other).toEqual(after)
  expect(names(after!)).toEqual([expect.not.stringMatching(`^${before!.jwk.kid}$`), before!.jwk.kid])
  expect(after![0]!.cookie).not.toBe(before!.cookie)
  await age(91)
  const next = await load()
  expect(names(next).slice(1)).toEqual(names(after!).slice(0, 1))
  expect(next).toHaveLength(2)
})
