import { randomBytes } from 'node:crypto'
import { pino } from 'pino'
import { Webhook } from 'standardwebhooks'
import { beforeEach, expect, test } from 'vitest'
import { secretKeysOf } from '../../src/webhooks/describe.ts'
import { encryptSecrets, rotateSecret } from '../../src/webhooks/endpoints.ts'
import { keyIdOf, openSigner } from '../../src/webhooks/secrets.ts'
import type { Received, WebhookReceiver } from '../support/webhook-receiver.ts'
import { type Stage, useStage } from './support.ts'

let stage: Stage
let receiver: WebhookReceiver
useStage({ clock: undefined }, (given) => {
  ;({ stage, receiver } = given)
})
beforeEach(() => {
  stage.secretsKeys = []
})

const [KEY, NEW_KEY] = [randomBytes(32), randomBytes(32)]

/** Creates an endpoint with the key of the stage; its secret as the caller sees it. */
async function create() {
  const { id } = await stage.register(receiver.url)
  const { secret } = await rotate(id, { overlapHours: 0 })
  return { id, secret }
}
const rotate = (id: string, { overlapHours }: { overlapHours: number }) =>
  stage.stores.db.transaction((tx) => rotateSecret(tx, id, { overlapHours, secretsKeys: stage.secretsKeys }))

/** What a dump of the database shows. */
async function storedText(): Promise<string> {
  return JSON.stringify((await stage.stores.db.$client.query('select * from webhook_endpoints')).rows)
}

/** One event, sent by a worker with these keys. Undefined when it was not sent. */
async function sendWith(secretsKeys: readonly Buffer[]): Promise<Received | undefined> {
  await stage.worker.stop(5_000)
  stage.secretsKeys = secretsKeys
  stage.worker = stage.open()
  receiver.received.length = 0
  await stage.write(1)
  await stage.settle()
  expect(receiver.received.length).toBeLessThanOrEqual(1)
  return receiver.received[0]
}

const fits = (secret: string, message: Received | undefined) => {
  try {
    new Webhook(secret).verify(message!.body, message!.headers)
    return true
  } catch {
    return false
  }
}

test('during the overlap both secrets fit, afterwards only the new one', async () => {
  const { id, secret } = await create()
  expect((await sendWith([]))!.headers['webhook-signature']!.split(' ')).toHaveLength(1)
  const { secret: second } = await rotate(id, { overlapHours: 1 })
  const both = await sendWith([])
  expect([fits(secret, both), fits(second, both)]).toEqual([true, true])
  await stage.stores.db.$client.query(`update webhook_endpoints set old_secret_until = now() - interval '1 second'`)
  const after = await sendWith([])
  expect([fits(secret, after), fits(second, after)]).toEqual([false, true])
  const { secret: third } = await rotate(id, { overlapHours: 0 })
  const atOnce = await sendWith([])
  expect([second, third].map((one) => fits(one, atOnce))).toEqual([false, true])
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

test('with a key the database never holds the secret, and receivers accept what it signs', async () => {
  stage.secretsKeys = [KEY]
  const { id, secret } = await create()
  const { secret: next } = await rotate(id, { overlapHours: 1 })
  const stored = await storedText()
  for (const one of [secret, next]) expect(stored).not.toContain(one.slice('whsec_'.length, 30))
  const message = await sendWith([KEY])
  expect([fits(secret, message), fits(next, message)]).toEqual([true, true])
})

test('secrets from before the key go on signing, and the command encrypts them', async () => {
  const { id, secret } = await create()
  expect(await storedText()).toContain(secret)
  expect(fits(secret, await sendWith([KEY]))).toBe(true)
  expect(await encryptSecrets(stage.stores.db, [KEY])).toEqual({ encrypted: 1, unchanged: 0, failed: [] })
  expect(await encryptSecrets(stage.stores.db, [KEY])).toEqual({ encrypted: 0, unchanged: 1, failed: [] })
  expect(await storedText()).not.toContain(secret)
  expect(fits(secret, await sendWith([KEY]))).toBe(true)
  const { endpoint } = await rotate(id, { overlapHours: 1 })
  expect(endpoint.secret).not.toContain('whsec_')
})

test('a new key goes first, the old one may go when the command has run', async () => {
  stage.secretsKeys = [KEY]
  const { secret } = await create()
  expect(fits(secret, await sendWith([NEW_KEY, KEY]))).toBe(true)
  expect(await encryptSecrets(stage.stores.db, [NEW_KEY, KEY])).toMatchObject({ encrypted: 1 })
  expect(fits(secret, await sendWith([NEW_KEY]))).toBe(true)
  expect(await secretKeysOf(stage.stores.db, [NEW_KEY])).toEqual({ used: [keyIdOf(NEW_KEY)], missing: [] })
})

test.each([
  ['no key', []],
  ['another key', [NEW_KEY]],
])('with %s nothing is sent and nothing is lost, and the log says which key is missing', async (_, keys) => {
  stage.secretsKeys = [KEY]
  const { id, secret } = await create()
  const lines: { msg: string; level: number; endpoint?: string; err?: { message: string } }[] = []
  await stage.worker.stop(5_000)
  stage.secretsKeys = keys
  const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const worker = stage.open({ logger })
  await stage.write(1)
  await worker.drain()
  await worker.stop(5_000)
  expect(receiver.received).toHaveLength(0)
  const said = lines.find(({ msg }) => msg === 'webhook waits: its secret cannot be decrypted')
  expect(said).toMatchObject({ level: 50, endpoint: id, err: { message: expect.stringContaining(keyIdOf(KEY)) } })
  expect(await secretKeysOf(stage.stores.db, keys)).toEqual({ used: [keyIdOf(KEY)], missing: [keyIdOf(KEY)] })

  // The lease of the worker that gave up has to end first.
  await endLeases()
  stage.secretsKeys = [KEY]
  stage.worker = stage.open()
  await stage.settle()
  expect(receiver.received.map((message) => fits(secret, message))).toEqual([true])
})

test('a missing key is one line for each endpoint, and one with a count about once an hour', async () => {
  stage.secretsKeys = [KEY]
  const endpoints = [(await create()).id, (await create()).id]
  await stage.worker.stop(5_000)
  stage.secretsKeys = []
  const lines: { level: number; endpoint: string; attempts: number }[] = []
  const logger = pino({ level: 'error' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const worker = stage.open({ logger })
  await stage.write(1)
  for (let attempt = 0; attempt < 125; attempt++) {
    await endLeases()
    await worker.drain()
  }
  await worker.stop(5_000)
  for (const id of endpoints)
    expect(lines.filter(({ endpoint }) => endpoint === id).map(({ attempts }) => attempts)).toEqual([1, 121])
})

test('a process without the key stores no plain secret beside encrypted ones', async () => {
  stage.secretsKeys = [KEY]
  const { id } = await create()
  stage.secretsKeys = []
  await expect(stage.register(receiver.url)).rejects.toThrow('SECRETS_KEY is not set')
  await expect(rotate(id, { overlapHours: 0 })).rejects.toThrow('SECRETS_KEY is not set')
  await expect(encryptSecrets(stage.stores.db, [])).rejects.toThrow('SECRETS_KEY is not set')
})

test('a lost key is answered by a rotation: the old secret ends at once', async () => {
  stage.secretsKeys = [KEY]
  const { id } = await create()
  expect(await encryptSecrets(stage.stores.db, [NEW_KEY])).toEqual({ encrypted: 0, unchanged: 0, failed: [id] })
  stage.secretsKeys = [NEW_KEY]
  const { secret, endpoint } = await rotate(id, { overlapHours: 24 })
  expect(endpoint.oldSecretUntil).toBeNull()
  expect(fits(secret, await sendWith([NEW_KEY]))).toBe(true)
})

test('a secret that was moved to another endpoint, or changed, does not sign', async () => {
  stage.secretsKeys = [KEY]
  const [one, other] = [await create(), await create()]
  const { secret } = await stage.endpoint(one.id)
  await stage.stores.db.$client.query('update webhook_endpoints set secret = $1 where id = $2', [secret, other.id])
  expect(await encryptSecrets(stage.stores.db, [NEW_KEY, KEY])).toMatchObject({ failed: [other.id] })
})

/** As time does after half a minute. */
async function endLeases(): Promise<void> {
  await stage.stores.db.$client.query('update webhook_endpoints set lease_until = null')
}
