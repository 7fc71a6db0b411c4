import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Db } from '../../src/db/client.ts'
import { createAccount } from '../../src/library/accounts/accounts.ts'
import { createKey, findCallers } from '../../src/library/accounts/keys.ts'
import { loadDue } from '../../src/library/subscriptions/deliveries.ts'
import { subscribe } from '../../src/library/subscriptions/subscribe.ts'
import { secretKeysOf } from '../../src/library/webhooks/describe.ts'
import { encryptSecrets } from '../../src/library/webhooks/endpoints.ts'
import { keyIdOf } from '../../src/webhooks/secrets.ts'
import { openStores } from '../support/stores.ts'

const SECRETS = [7, 9].map((byte) => `whsec_${Buffer.alloc(32, byte).toString('base64')}`)
const [KEY, NEW_KEY] = [randomBytes(32), randomBytes(32)]

test('the secrets of subscriptions get a new key with those of webhooks', async () => {
  await using stores = await openStores()
  const { db } = stores
  const ask = await openApp(db)
  for (const secret of SECRETS) await ask('red car', { secret, secretsKeys: [KEY] })
  const { row } = await ask('blue car', { secretsKeys: [KEY] })
  expect(await secretKeysOf(db, [NEW_KEY])).toEqual({ used: [keyIdOf(KEY)], missing: [keyIdOf(KEY)] })
  expect((await encryptSecrets(db, [NEW_KEY])).failed).toContain(row.id)
  expect(await encryptSecrets(db, [NEW_KEY, KEY])).toEqual({ encrypted: 2, unchanged: 0, failed: [] })
  expect(await secretKeysOf(db, [NEW_KEY])).toEqual({ used: [keyIdOf(NEW_KEY)], missing: [] })
  const { row: both } = await ask('red car', { secret: SECRETS[1]!, secretsKeys: [NEW_KEY] })
  const due = await loadDue(db, both.id, { now: new Date(), secretsKeys: [NEW_KEY] })
  expect(due?.secrets).toEqual(SECRETS.toReversed())
})

test('words that PostgreSQL cannot keep are refused by the name of their argument', async () => {
  await using stores = await openStores()
  const ask = await openApp(stores.db)
  for (const query of ['red\ud83d', 'red\0car'])
    await expect(ask(query)).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringMatching(/^query:/),
    })
  expect((await ask('red car')).row.arguments).toEqual({ query: 'red car' })
})

/** An account that asks for what answers a question. */
async function openApp(db: Db) {
  const { id: accountId } = await createAccount(db, { email: 'app@example.org' })
  const { record } = await createKey(db, { accountId, name: 'an app' })
  const [caller] = await findCallers(db, [record.id])
  return (query: string, { secret = SECRETS[0]!, secretsKeys = [] as readonly Buffer[] } = {}) =>
    subscribe(db, {
      caller: caller!,
      asked: { name: 'search.matched', arguments: { query }, accountId },
      url: 'https://app.example.org/told',
      ...{ secret, secretsKeys, now: new Date() },
    })
}
