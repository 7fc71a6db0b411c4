import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { runCommandLine } from '../../src/cli/program.ts'
import { openWebhookReceiver, status, type WebhookReceiver } from '../support/webhook-receiver.ts'
import { openStage, type Stage } from './support.ts'

let stage: Stage
let receiver: WebhookReceiver
const dataDir = mkdtempSync(join(tmpdir(), 'frames-cli-'))
beforeAll(async () => {
  stage = await openStage({ clock: undefined })
  receiver = await openWebhookReceiver()
  Object.assign(process.env, {
    DATA_DIR: dataDir,
    DATABASE_URL: stage.stores.databaseUrl,
    REDIS_URL: stage.stores.redisUrl,
    PUBLIC_URL: 'https://frames.example',
    WEBHOOK_ALLOW_PRIVATE: '1',
  })
})
afterAll(async () => {
  rmSync(dataDir, { recursive: true, force: true })
  await receiver[Symbol.asyncDispose]()
  await stage[Symbol.asyncDispose]()
})

/** The commands in this process: starting one for each would be most of the test. */
async function frames(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const said = { out: '', err: '' }
  const spies = (['out', 'err'] as const).map((to) =>
    vi.spyOn(process[`std${to}`], 'write').mockImplementation((text) => {
      said[to] += text
      return true
    }),
  )
  try {
    await runCommandLine(['webhooks', ...args])
    return { code: Number(process.exitCode ?? 0), ...said }
  } finally {
    process.exitCode = undefined
    for (const spy of spies) spy.mockRestore()
  }
}
const json = async (...args: string[]) => {
  const { out, err } = await frames(...args, '--json')
  expect(err).toBe('')
  return JSON.parse(out)
}

test('an operator registers, tests, pauses, resumes and resends, and sees what was answered', async () => {
  const { webhook, secret } = await json('create', receiver.url, '--types', 'key.revoked,video.ready')
  expect(webhook).toMatchObject({ state: 'active', types: ['key.revoked', 'video.ready'], signing: 'v1' })
  expect(secret).toMatch(/^whsec_/)
  const tested = await json('test', webhook.id)
  expect(tested.delivery).toMatchObject({ type: 'webhook.test', state: 'delivered', attempts: [{ status: 204 }] })

  expect((await frames('pause', webhook.id)).out).toContain('state: paused')
  const [subject] = await stage.write(1)
  await stage.worker.consumer.drain()
  expect((await frames('resume', webhook.id, '--from', 'stopped')).out).toContain('state: active')
  await stage.settle()
  expect(receiver.received.map(({ body }) => JSON.parse(body).subject)).toEqual([webhook.id, subject])

  const { deliveries } = await json('deliveries', webhook.id, '--state', 'delivered')
  expect(deliveries).toHaveLength(2)
  expect((await frames('deliveries', webhook.id)).out).toMatch(/key\.revoked +delivered +1 .* 204 \d+ ms/)
  expect(await json('resend', webhook.id, '--event', deliveries[0].event_id)).toEqual({ queued: 1 })
  expect(await json('resend', webhook.id, '--from', '2000-01-01', '--to', '2100-01-01')).toEqual({ queued: 1 })

  expect((await json('edit', webhook.id, '--types', 'all', '--email', 'Me@example.org')).webhook).toMatchObject({
    types: null,
    email: 'me@example.org',
  })
  const rotated = await json('rotate', webhook.id, '--overlap-hours', '1', '--signing', 'v1a')
  expect(rotated).toMatchObject({ secret: null, webhook: { signing: 'v1a' } })
  const list = await frames()
  expect(list.out).toContain(receiver.url)
  expect(list.out + (await frames('show', webhook.id)).out).not.toContain(secret.slice(6, 20))

  receiver.answer(status(500, {}, 'not today \u001b[2J'))
  const failed = await frames('test', webhook.id)
  expect([failed.code, failed.out.includes('500'), failed.out.includes('\u001b[2J')]).toEqual([1, true, false])
  expect(await frames('delete', webhook.id)).toMatchObject({ code: 2, err: /This deletes the receiver .* Add --yes/ })
  expect((await frames('delete', '--yes', webhook.id)).out).toBe(`deleted ${webhook.id}\n`)
  expect((await json()).webhooks).toEqual([])
})

test('every fault is one line that says what to do', async () => {
  const faults: [string[], number, RegExp][] = [
    [['show', 'none'], 1, /No such webhook endpoint/],
    [['create', 'ftp://x/'], 2, /https:\/\//],
    [['create', receiver.url, '--types', 'frame.stolen'], 2, /frame\.saved/],
    [['create', receiver.url, '--email', 'nobody'], 2, /e-mail/],
    [['edit', 'none'], 2, /--url/],
    [['resend', 'none'], 2, /--event/],
    [['resend', 'none', '--event', 'x', '--from', '2000-01-01'], 2, /--event/],
    [['rotate', 'none', '--overlap-hours', '1000'], 2, /720/],
  ]
  for (const [args, code, says] of faults) {
    const { code: found, out, err } = await frames(...args)
    expect([args, found, out]).toEqual([args, code, ''])
    expect(err).toMatch(says)
    expect(err.trim().split('\n').length).toBeLessThanOrEqual(2)
  }
})
