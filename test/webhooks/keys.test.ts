import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { rotateSecret } from '../../src/library/webhooks/endpoints.ts'
import { openSigner } from '../../src/webhooks/secrets.ts'
import type { Received, WebhookReceiver } from '../support/webhook-receiver.ts'
import { type Stage, useStage } from './support.ts'

let stage: Stage
let receiver: WebhookReceiver
useStage({ clock: undefined }, (given) => {
  ;({ stage, receiver } = given)
})

async function next(): Promise<Received> {
  receiver.received.length = 0
  await stage.write(1)
  await stage.settle()
  expect(receiver.received).toHaveLength(1)
  return receiver.received[0]!
}

const rotate = (id: string, options: Partial<Parameters<typeof rotateSecret>[2]> = {}) =>
  stage.stores.db.transaction((tx) => rotateSecret(tx, id, { secretsKeys: stage.secretsKeys, ...options }))

const accepts = (secret: string, { body, headers }: Received) => {
  try {
    new Webhook(secret).verify(body, headers)
    return true
  } catch {
    return false
  }
}

test('during the overlap both secrets fit, afterwards only the new one', async () => {
  const { id, secret } = await stage.register(receiver.url)
  const alone = await next()
  expect(alone.headers['webhook-signature']!.split(' ')).toHaveLength(1)
  const { secret: second } = await rotate(id, { overlapHours: 1 })
  const both = await next()
  expect([accepts(secret, both), accepts(second, both)]).toEqual([true, true])
  await stage.stores.db.$client.query(`update webhook_endpoints set old_secret_until = now() - interval '1 second'`)
  const after = await next()
  expect([accepts(secret, after), accepts(second, after)]).toEqual([false, true])
  const { secret: third } = await rotate(id, { overlapHours: 0 })
  const atOnce = await next()
  expect([second, third].map((one) => accepts(one, atOnce))).toEqual([false, true])
})

test('signatures are those of the referee, byte for byte', () => {
  const secret = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`
  const id = '01979c3e-5d6f-7c1a-9d0e-3f6f6f0c8a11'
  for (const body of ['{}', '{"a":"ä😀"}', '', 'x'.repeat(20_000)])
    expect(openSigner([secret])({ id, timestamp: 1_700_000_000, body })).toBe(
      new Webhook(secret).sign(id, new Date(1_700_000_000_000), body),
    )
  expect(() => openSigner([secret])({ id: 'a.b', timestamp: 1, body: '' })).toThrow(/full stop/)
})
