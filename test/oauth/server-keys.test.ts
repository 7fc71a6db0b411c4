import { expect, test } from 'vitest'
import { loadServerKeys, type ServerKey } from '../../src/library/accounts/grants.ts'
import { openApi } from '../../src/server/main.ts'
import { sql } from '../../src/sql/orm.ts'
import { useStores } from '../support/stores.ts'
import { askForAccess, letIn, openSignInService } from './support.ts'

/** The keys that the authorization server signs with, as several processes find them over months. */

const stores = useStores()

let made = 0
const load = () => loadServerKeys(stores.db, async () => ({ kid: `key ${++made}` }))
const names = (keys: readonly ServerKey[]) => keys.map(({ jwk }) => jwk.kid)

/** As if the newest key had been made so many days ago. */
const age = (days: number, db = stores.db) =>
  db.execute(sql`
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

test('a key of 91 days gets one successor, whoever asks first, which signs once every process knows it', async () => {
  const [before] = await load()
  await age(91)
  const [after, ...others] = await Promise.all(Array.from({ length: 8 }, load))
  for (const other of others) expect(other).toEqual(after)
  expect(names(after!)).toEqual([before!.jwk.kid, expect.not.stringMatching(`^${before!.jwk.kid}$`)])
  expect(after![1]!.cookie).not.toBe(before!.cookie)
  expect(await load()).toEqual(after)
  await age(3)
  expect(names(await load())).toEqual(names(after!).reverse())
  await age(91)
  const next = await load()
  expect(names(next).slice(0, 1)).toEqual(names(after!).slice(1))
  expect(next).toHaveLength(2)
})

test('a process that starts after 90 days shares its requests for access with those that run', async () => {
  await using service = await openSignInService()
  const person = await service.person('designer@example.com')
  const { clientId, redirectUri } = await letIn(service, person)
  await age(91, service.stores.db)
  const { config, logger, stores } = service
  const { databaseUrl, redisUrl, prefix } = stores
  const fresh = await openApi({ config, databaseUrl, redisUrl, prefix, logger, port: 0, host: '127.0.0.1' })
  try {
    const { address } = askForAccess(service, { clientId, redirectUri })
    const began = await person.open(address.replace(service.url, `http://127.0.0.1:${fresh.port}`), {
      redirect: 'manual',
    })
    const page = await person.open(service.url + new URL(began.headers.get('location')!, service.url).pathname)
    expect([page.status, page.text]).toEqual([200, expect.stringContaining('Allow “An app”?')])
  } finally {
    await fresh.stop()
  }
})
