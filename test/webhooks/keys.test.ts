import { createPublicKey, verify } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { rotateSecret } from '../../src/library/webhooks/endpoints.ts'
import { openSigner, publicKeyOf } from '../../src/webhooks/secrets.ts'
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

/** As a receiver checks `v1a`, by the text of Standard Webhooks: the referee does not know it. */
function verifyV1a(publicKey: string, { body, headers }: Received): boolean {
  const x = Buffer.from(publicKey.replace('whpk_', ''), 'base64').toString('base64url')
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  const content = Buffer.from(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`)
  return headers['webhook-signature']!.split(' ').some((one) => {
    const [version, signature] = one.split(',')
    return version === 'v1a' && verify(null, content, key, Buffer.from(signature!, 'base64'))
  })
}

test('v1a signatures fit the public key alone; changing from v1 overlaps too', async () => {
  const made = await stage.register(receiver.url, { signing: 'v1a' })
  const first = await next()
  expect(first.headers['webhook-signature']).toMatch(/^v1a,/)
  expect(verifyV1a(publicKeyOf(made.secret)!, first)).toBe(true)
  expect(verifyV1a(publicKeyOf(made.secret)!, { ...first, body: `${first.body} ` })).toBe(false)
  const { secret, endpoint } = await rotate(made.id, { signing: 'v1' })
  expect(publicKeyOf(endpoint.secret)).toBeNull()
  const both = await next()
  expect(verifyV1a(publicKeyOf(made.secret)!, both)).toBe(true)
  expect(accepts(secret, both)).toBe(true)
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
