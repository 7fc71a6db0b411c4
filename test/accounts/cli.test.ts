import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { runCommandLine } from '../../src/cli/program.ts'
import { findAccountByEmail } from '../../src/library/accounts/accounts.ts'
import type { Caller } from '../../src/library/accounts/keys.ts'
import { redeemSignInCode } from '../../src/library/accounts/sessions.ts'
import { saveFrame } from '../../src/library/collections/saves.ts'
import { openStores, type Stores, untilReadable } from '../support/stores.ts'
import { authenticate } from './authenticate.ts'
import { seedFrames } from './seed-frames.ts'

let stores: Stores
const dataDir = mkdtempSync(join(tmpdir(), 'frames-cli-'))
beforeAll(async () => {
  stores = await openStores()
  Object.assign(process.env, {
    DATA_DIR: dataDir,
    DATABASE_URL: stores.databaseUrl,
    REDIS_URL: stores.redisUrl,
    PUBLIC_URL: 'https://frames.example',
  })
})
afterAll(async () => {
  rmSync(dataDir, { recursive: true, force: true })
  await stores[Symbol.asyncDispose]()
})

/** The commands in this process: starting one for each would be most of the test. */
async function frames(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const said = { out: '', err: '' }
  const spies = (
    [
      ['stdout', 'out'],
      ['stderr', 'err'],
    ] as const
  ).map(([stream, to]) =>
    vi.spyOn(process[stream], 'write').mockImplementation((text) => {
      said[to] += text
      return true
    }),
  )
  try {
    await runCommandLine(args)
    return { code: Number(process.exitCode ?? 0), ...said }
  } finally {
    process.exitCode = undefined
    for (const spy of spies) spy.mockRestore()
  }
}
const json = async (...args: string[]) => JSON.parse((await frames(...args, '--json')).out)

test('an operator makes accounts, keys, links and plans, reads the log, and every fault is one line', async () => {
  const made = await json('accounts', 'create', '--email', 'Op@Example.org', '--plan', 'pro', '--operator')
  expect(made.account).toMatchObject({ email: 'op@example.org', plan: 'pro', role: 'operator' })
  const again = await frames('accounts', 'create', '--email', 'op@example.org')
  expect([again.code, again.out, again.err.trim().split('\n').length]).toEqual([1, '', 1])

  const key = await json(
    'keys',
    'create',
    '--account',
    'op@example.org',
    '--scopes',
    'saves:read,events:read',
    '--name',
    'ci',
    '--expires-days',
    '3',
  )
  const caller = (await authenticate(stores.db, key.key)) as Caller
  expect(caller).toMatchObject({ account: { id: made.account.id }, key: { scopes: ['saves:read', 'events:read'] } })
  expect((await frames('keys', 'create', '--account', 'op@example.org')).out).toMatch(/^flk_live_[0-9A-Za-z]{38}\n$/)
  expect(await frames('keys', 'create', '--account', 'op@example.org', '--scopes', 'all')).toMatchObject({
    code: 2,
    out: '',
  })
  expect(await frames('keys', 'create', '--account', 'nobody@example.org')).toMatchObject({
    code: 1,
    err: 'No such account. frames accounts lists those there are.\n',
  })

  const rotated = await json('keys', 'rotate', key.id, '--account', 'op@example.org', '--grace-hours', '0')
  expect(await authenticate(stores.db, key.key)).toBeUndefined()
  expect(await authenticate(stores.db, rotated.key)).toBeDefined()
  await json('keys', 'revoke', rotated.id, '--account', 'op@example.org')
  expect(await authenticate(stores.db, rotated.key)).toBeUndefined()
  const { keys } = await json('keys', 'list', '--account', 'op@example.org')
  expect(keys).toHaveLength(3)
  expect(JSON.stringify(keys)).not.toContain(key.key.slice(9, 30))

  const { url } = await json('accounts', 'link', 'new@example.org')
  expect(url).toMatch(/^https:\/\/frames\.example\/sign-in\/confirm#fll_/)
  // An invitation: it makes the account whether or not strangers may sign up, and works once.
  expect(await redeemSignInCode(stores.db, { code: url.split('#')[1] })).toBeDefined()
  expect(await redeemSignInCode(stores.db, { code: url.split('#')[1] })).toBeUndefined()
  expect(await findAccountByEmail(stores.db, 'new@example.org')).toMatchObject({ plan: 'pro', role: 'member' })
  await json('accounts', 'set-plan', 'new@example.org', 'free')
  expect((await json('accounts', 'set-plan', 'new@example.org', 'pro')).account).toMatchObject({ plan: 'pro' })
  expect((await frames('accounts', 'set-plan', 'new@example.org', 'gold')).code).toBe(2)

  expect((await json('accounts', 'disable', 'new@example.org')).account.disabled_at).toMatch(/^2/)
  expect((await frames('accounts')).out).toContain('new@example.org (disabled)')
  expect((await frames('accounts', 'enable', 'new@example.org')).out).toBe('enabled new@example.org\n')
  expect((await frames('accounts', 'disable', 'nobody@example.org')).code).toBe(1)
  expect((await frames('accounts', 'unshare', 'https://frames.example/shared/flb_x')).code).toBe(1)

  const { frameIds } = await seedFrames(stores.db, { count: 2 })
  for (const frameId of frameIds) await saveFrame(stores.db, { accountId: made.account.id, frameId })
  await untilReadable(stores.db)
  const first = await json('events', '--types', 'frame.saved', '--limit', '1')
  const rest = await json('events', '--types', 'frame.saved', '--after', first.next)
  expect([...first.events, ...rest.events].map((event: { subject: string }) => event.subject)).toEqual(frameIds)
  expect((await frames('events', '--after', 'x')).code).toBe(2)

  expect(await frames('accounts', 'delete', 'op@example.org')).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringMatching(
      /^This permanently deletes the account op@example\.org with \d keys?, .* Add --yes to confirm\.\n$/,
    ),
  })
  await json('accounts', 'delete', 'op@example.org', '--yes')
  const { accounts } = await json('accounts')
  expect(accounts.map((account: { email: string }) => account.email)).toEqual(['new@example.org'])
})
