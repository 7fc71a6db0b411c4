import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { status, type WebhookReceiver } from '../support/webhook-receiver.ts'
import { type Stage, useStage } from './support.ts'

interface Mail {
  to: string
  /** As it came: head and body, with soft line breaks taken out. */
  text: string
}

const DAY = 86_400_000
const mails: Mail[] = []
const refused = new Set<string>()

/** A mail server that signs people in and knows which mailboxes there are. */
const server = new SMTPServer({
  disabledCommands: ['STARTTLS'],
  onAuth: ({ username, password }, _session, done) =>
    username === 'frames@example.org' && password === 'p@ss' ? done(null, { user: username }) : done(new Error('no')),
  onRcptTo: ({ address }, _session, done) =>
    refused.has(address) ? done(Object.assign(new Error('no such mailbox'), { responseCode: 550 })) : done(),
  onData(stream, { envelope }, done) {
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => {
      const text = Buffer.concat(chunks).toString().replaceAll('=\r\n', '').replaceAll('=3D', '=')
      mails.push({ to: envelope.rcptTo.map(({ address }) => address).join(), text })
      done()
    })
  },
})
const config = {
  publicUrl: 'https://frames.example',
  webhookAllowPrivate: true,
  secretsKeys: [],
  smtpUrl: undefined as string | undefined,
}
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.server.address() as AddressInfo
  config.smtpUrl = `smtp://frames%40example.org:p%40ss@127.0.0.1:${port}`
})
afterAll(() => new Promise<void>((resolve) => server.close(resolve)))

let stage: Stage
let receiver: WebhookReceiver
useStage({ config }, (given) => {
  ;({ stage, receiver } = given)
})
beforeEach(() => {
  mails.length = 0
  refused.clear()
})

/** Lets every attempt of some days fail, and tells owners every half day. */
async function failFor(days: number): Promise<void> {
  receiver.answer(status(500))
  for (let half = 0; half < 2 * days; half++) {
    await stage.write(3)
    await stage.settle()
    await stage.worker.webhooks.tellOwners()
    stage.pass(DAY / 2)
  }
}

test('a mail server gets a mail after one day, after three and at the pause', async () => {
  const { id } = await stage.register(receiver.url, { email: 'owner@example.org' })
  await failFor(6)
  expect(await stage.endpoint(id)).toMatchObject({ state: 'paused', pausedBecause: 'failures' })
  expect(mails.map(({ to }) => to)).toEqual(Array(3).fill('owner@example.org'))
  const host = new URL(receiver.url).host
  expect(mails.map(({ text }) => /^Subject: (.*)\r$/m.exec(text)?.[1])).toEqual([
    `Webhook to ${host} fails`,
    `Webhook to ${host} fails`,
    `Webhook to ${host} is paused`,
  ])
  for (const { text } of mails) {
    expect(text).toMatch(/^From: Frame Library <frames@example\.org>\r$/m)
    expect(text).toMatch(/^To: owner@example\.org\r$/m)
    expect(text).toContain(`frames webhooks deliveries ${id}`)
  }
  expect(mails[2]!.text).toContain(`frames webhooks resume ${id}`)
})

test('a mailbox that is refused keeps no other owner from being told, and is tried again', async () => {
  refused.add('gone@example.org')
  const owners = ['gone@example.org', 'a@example.org', 'b@example.org']
  for (const email of owners) await stage.register(receiver.url, { email })
  await failFor(2)
  expect(mails.map(({ to }) => to).toSorted()).toEqual(['a@example.org', 'b@example.org'])
  refused.clear()
  stage.pass(DAY / 24)
  await stage.worker.webhooks.tellOwners()
  expect(mails.map(({ to }) => to)).toContain('gone@example.org')
})
