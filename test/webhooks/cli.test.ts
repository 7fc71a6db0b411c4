import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openCipher } from '../../src/webhooks/secrets.ts'
import { useOpened } from '../support/closing.ts'
import { runHere } from '../support/command-line.ts'
import { useFolder } from '../support/folder.ts'
import { openStores } from '../support/stores.ts'
import { openWebhookReceiver, status } from '../support/webhook-receiver.ts'
import { openStage } from './support.ts'

const stage = useOpened(() => openStage({ clock: undefined }))
const receiver = useOpened(openWebhookReceiver)
const dataDir = useFolder()
beforeEach(() => {
  const settings = {
    DATA_DIR: dataDir,
    DATABASE_URL: stage.stores.databaseUrl,
    REDIS_URL: stage.stores.redisUrl,
    PUBLIC_URL: 'https://frames.example',
    WEBHOOK_ALLOW_PRIVATE: '1',
  }
  for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value)
})
afterEach(() => {
  vi.unstubAllEnvs()
})

const frames = (...args: string[]) =>
  runHere(...(args[0] === 'backup' || args[0] === 'restore' ? args : ['webhooks', ...args]))
const json = async (...args: string[]) => {
  const { out, err } = await frames(...args, '--json')
  expect(err).toBe('')
  return JSON.parse(out)
}

test('an operator registers, tests, pauses, resumes and resends, and sees what was answered', async () => {
  const { webhook, secret } = await json('create', receiver.url, '--types', 'key.revoked,video.ready')
  expect(webhook).toMatchObject({ state: 'active', types: ['key.revoked', 'video.ready'] })
  expect(secret).toMatch(/^whsec_/)
  const tested = await json('test', webhook.id)
  expect(tested.delivery).toMatchObject({ type: 'webhook.test', state: 'delivered', attempts: [{ status: 204 }] })

  expect((await frames('pause', webhook.id)).out).toContain('state: paused')
  const [subject] = await stage.write(1)
  expect((await frames('resume', webhook.id, '--from', 'stopped')).out).toContain('state: active')
  await stage.settle()
  expect(receiver.received.map(({ body }) => JSON.parse(body).subject)).toEqual([webhook.id, subject])

  const { deliveries } = await json('deliveries', webhook.id, '--state', 'delivered')
  expect(deliveries).toHaveLength(2)
  expect((await frames('deliveries', webhook.id)).out).toMatch(/key\.revoked +delivered +1 .* 204 \d+ ms/)
  const { event_id } = deliveries[0]
  const { delivery } = await json('resend', webhook.id, '--event-id', event_id)
  expect(delivery).toMatchObject({ event_id, state: 'waiting' })

  expect((await json('edit', webhook.id, '--types', 'all')).webhook.types).toBeNull()
  const rotated = await json('rotate', webhook.id, '--overlap-hours', '1')
  expect(rotated).toMatchObject({ secret: expect.stringMatching(/^whsec_/), webhook: { id: webhook.id } })
  const list = await frames()
  expect(list.out).toContain(receiver.url)
  expect(list.out + (await frames('show', webhook.id)).out).not.toContain(secret.slice(6, 20))

  receiver.answer(status(500, {}, 'not today \u001b[2J'))
  const failed = await frames('test', webhook.id)
  expect([failed.code, failed.out.includes('500'), failed.out.includes('\u001b[2J')]).toEqual([1, true, false])
  const err = expect.stringMatching(/This permanently deletes the receiver .* Add --yes/)
  expect(await frames('delete', webhook.id)).toMatchObject({ code: 2, err })
  expect((await frames('delete', '--yes', webhook.id)).out).toBe(`deleted ${webhook.id}\n`)
  expect((await json()).webhooks).toEqual([])
})

test('a receiver in one’s own network is refused with the setting that allows it', async () => {
  const told = expect.stringMatching(/WEBHOOK_ALLOW_PRIVATE=1 and restart the service: it reads it at its start/)
  vi.stubEnv('WEBHOOK_ALLOW_PRIVATE', '0')
  expect(await frames('create', receiver.url)).toMatchObject({ code: 2, err: told })
  expect((await frames('create', 'ftp://127.0.0.1/')).err).not.toContain('WEBHOOK')
  const config = { publicUrl: 'https://frames.example', webhookAllowPrivate: false, secretsKeys: [] }
  await using closed = await openStage({ clock: undefined, config })
  vi.stubEnv('DATABASE_URL', closed.stores.databaseUrl)
  const { id } = await closed.register(receiver.url)
  expect(await frames('test', id)).toMatchObject({ code: 1, err: told })
})

test('secrets are encrypted by a command, and backup and restore name the key they need', async () => {
  const { webhook, secret } = await json('create', receiver.url)
  expect(await frames('encrypt')).toMatchObject({ code: 1, err: expect.stringContaining('SECRETS_KEY is not set') })
  vi.stubEnv('SECRETS_KEY', 'ab'.repeat(32))
  expect(await json('encrypt')).toEqual({ encrypted: 1, unchanged: 0, failed: [] })
  const place = join(dataDir, 'backups')
  const { out } = await frames('backup', place)
  const keyId = /It does not hold SECRETS_KEY \(([\da-f]{8})\)/.exec(out)?.[1]
  expect(keyId).toBeDefined()

  await using other = await openStores()
  // A restore wants an empty database.
  await other.db.$client.query('drop schema if exists public, drizzle, library_search cascade; create schema public')
  vi.stubEnv('DATABASE_URL', other.databaseUrl)
  vi.stubEnv('DATA_DIR', join(dataDir, 'restored'))
  vi.stubEnv('SECRETS_KEY', 'cd'.repeat(32))
  expect((await frames('restore', place)).out).toContain(`add the key ${keyId} to SECRETS_KEY`)
  expect((await json('list')).webhooks).toMatchObject([{ id: webhook.id }])
  const failed = await frames('encrypt')
  expect([failed.code, failed.err.includes(`Not decrypted: ${webhook.id}`)]).toEqual([1, true])
  vi.stubEnv('SECRETS_KEY', ['cd', 'ab'].map((two) => two.repeat(32)).join())
  expect(await json('encrypt')).toMatchObject({ encrypted: 1, failed: [] })
  const { rows } = await other.db.$client.query('select secret from webhook_endpoints')
  expect(openCipher([Buffer.from('cd'.repeat(32), 'hex')]).decrypt(rows[0].secret, webhook.id)).toBe(secret)
  await stage.stores.db.$client.query('delete from webhook_endpoints')
})
