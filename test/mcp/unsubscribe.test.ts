import { expect, test } from 'vitest'
import { ensureAccount, setPlan } from '../../src/library/accounts/accounts.ts'
import { createKey } from '../../src/library/accounts/keys.ts'
import { createBoard, deleteBoard } from '../../src/library/collections/boards.ts'
import { openService } from '../support/service.ts'
import { openWebhookReceiver } from '../support/webhook-receiver.ts'
import { postModern } from './support.ts'

test('a subscription can be ended after the plan has lapsed, and after its board is gone', async () => {
  await using service = await openService({ worker: false, env: { WEBHOOK_ALLOW_PRIVATE: '1' } })
  await using receiver = await openWebhookReceiver(({ body }, response) => {
    response.end(JSON.stringify({ challenge: JSON.parse(body).challenge }))
  })
  const { db } = service.stores
  const { account } = await ensureAccount(db, { email: 'lapsed@example.com', plan: 'pro' })
  const accountId = account.id
  const { key } = await createKey(db, { accountId, name: 'agent' })
  const board = await createBoard(db, { accountId, name: 'Openings' })
  const told = [{ name: 'board.changed' }, { name: 'board.changed', arguments: { board_id: board.id } }]
  const delivery = { mode: 'webhook', url: receiver.url, secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}` }
  const ask = async (method: string, params: object) =>
    (await postModern(`${service.url}/api/mcp`, { method, params: { ...params } }, { authorization: `Bearer ${key}` }))
      .json
  const held = async () => (await db.$client.query('select from subscriptions')).rowCount
  for (const one of told) expect((await ask('events/subscribe', { ...one, delivery })).error).toBeUndefined()
  expect(await held()).toBe(2)
  await deleteBoard(db, { accountId, boardId: board.id })
  await setPlan(db, { accountId, plan: 'free' })
  for (const one of told)
    expect((await ask('events/unsubscribe', { ...one, delivery })).result).toMatchObject({ resultType: 'complete' })
  expect(await held()).toBe(0)
})
