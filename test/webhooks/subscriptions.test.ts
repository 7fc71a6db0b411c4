import { expect, test } from 'vitest'
import { createAccount } from '../../src/library/accounts/accounts.ts'
import { createKey, findCallers } from '../../src/library/accounts/keys.ts'
import { subscribe } from '../../src/library/subscriptions/subscribe.ts'
import { openStores } from '../support/stores.ts'

test('words that PostgreSQL cannot keep are refused by the name of their argument', async () => {
  await using stores = await openStores()
  const { db } = stores
  const { id: accountId } = await createAccount(db, { email: 'app@example.org' })
  const { record } = await createKey(db, { accountId, name: 'an app' })
  const [caller] = await findCallers(db, [record.id])
  const ask = (query: string) =>
    subscribe(db, {
      caller: caller!,
      asked: { name: 'search.matched', arguments: { query }, accountId },
      url: 'https://app.example.org/told',
      secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
      now: new Date(),
      secretsKeys: [],
    })
  for (const query of ['red\ud83d', 'red\0car'])
    await expect(ask(query)).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringMatching(/^query:/),
    })
  expect((await ask('red car')).row.arguments).toEqual({ query: 'red car' })
})
