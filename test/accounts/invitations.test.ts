import { beforeAll, expect, test } from 'vitest'
import { ensureAccount } from '../../src/library/accounts/accounts.ts'
import type { Mailer } from '../../src/outbound/mailer.ts'
import { form, openPageVisitor, type PageVisitor, usePageVisitor } from './page-visitor.ts'

/** Where sign-up is off, an operator lets people in from the console. */

const visitor = usePageVisitor({ signup: false })
let post: (fields: Record<string, string>) => ReturnType<PageVisitor['api']['call']>
beforeAll(async () => {
  const operator = await visitor.signIn('op@example.org', { role: 'operator' })
  post = (fields) => operator.post('/web/accounts/invite', fields)
})

test('an invitation creates the account with the default plan, once', async () => {
  const { api } = visitor
  const invited = await post({ email: ' Ann@Example.org ' })
  expect(invited.status).toBe(201)
  expect(invited.text).toContain('ann@example.org is invited')
  const code = /sign-in\/confirm#(fll_\w+)/.exec(invited.text)![1]!
  const first = await api.call('/web/sign-in/confirm', form({ code }))
  expect(first.status).toBe(303)
  const cookie = first.headers.get('set-cookie')!.split(';')[0]!
  const me = await api.call('/web/me', { headers: { cookie } })
  expect(me.json).toMatchObject({ email: 'ann@example.org', role: 'member', plan: 'pro' })
  const second = await api.call('/web/sign-in/confirm', form({ code }))
  expect([second.status, second.text]).toEqual([400, expect.stringContaining('This link is used or expired')])
})

test('who has an account is not invited, and an address that is none is told', async () => {
  await ensureAccount(visitor.api.db, { email: 'here@example.org', plan: 'free' })
  const there = await post({ email: 'here@example.org' })
  expect([there.status, there.text]).toEqual([409, expect.stringContaining('has an account')])
  expect(there.text).not.toContain('fll_')
  expect((await post({ email: 'nobody' })).status).toBe(400)
  expect((await post({})).status).toBe(400)
})

test('with a mail server the invitation goes by mail and is not shown', async () => {
  const sent: { to: string; text: string }[] = []
  const mailer: Mailer = { send: async (mail) => void sent.push(mail), close: () => undefined }
  await using mailing = await openPageVisitor({ signup: false, mailer })
  const operator = await mailing.signIn('op@example.org', { role: 'operator' })
  const invited = await operator.post('/web/accounts/invite', { email: 'bob@example.org' })
  expect([invited.status, invited.text.includes('fll_')]).toEqual([201, false])
  expect(sent).toEqual([expect.objectContaining({ to: 'bob@example.org', text: expect.stringContaining('fll_') })])
})

test('an invitation whose mail cannot be sent shows its link', async () => {
  // No mail server listens on port 1.
  await using mailing = await openPageVisitor({ signup: false, env: { SMTP_URL: 'smtp://127.0.0.1:1' } })
  const { api } = mailing
  const operator = await mailing.signIn('op@example.org', { role: 'operator' })
  const invited = await operator.post('/web/accounts/invite', { email: 'bob@example.org' })
  expect([invited.status, invited.text]).toEqual([201, expect.stringContaining('The mail could not be sent')])
  const code = /sign-in\/confirm#(fll_\w+)/.exec(invited.text)![1]!
  expect((await api.call('/web/sign-in/confirm', form({ code }))).status).toBe(303)
  expect(api.logs.filter((line) => line.includes('invitation mail not sent'))).toHaveLength(1)
  expect(api.logs.join('')).not.toContain('bob@example.org')
})

test('in production without a mail server no link is promised, and no code is made', async () => {
  await using silent = await openPageVisitor({ env: { NODE_ENV: 'production' } })
  const { api } = silent
  await ensureAccount(api.db, { email: 'ann@example.org', plan: 'pro' })
  const asked = await api.call('/web/sign-in', form({ email: 'ann@example.org' }, { 'sec-fetch-site': 'same-origin' }))
  expect([asked.status, asked.text]).toEqual([200, expect.stringContaining('This service has no mail server')])
  expect(asked.text).not.toContain('on its way')
  const { rows } = await api.db.$client.query('select count(*)::int as codes from sign_in_links')
  expect(rows).toEqual([{ codes: 0 }])
})
