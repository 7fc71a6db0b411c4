import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { findAccountByEmail } from '../../src/library/accounts/accounts.ts'
import type { Caller } from '../../src/library/accounts/key-checks.ts'
import { redeemSignInCode } from '../../src/library/accounts/sessions.ts'
import { saveFrame } from '../../src/library/collections/saves.ts'
import { runHere } from '../support/command-line.ts'
import { useFolder } from '../support/folder.ts'
import { untilReadable, useStores } from '../support/stores.ts'
import { authenticate } from './authenticate.ts'
import { seedFrames } from './seed-frames.ts'

const stores = useStores()
const dataDir = useFolder()
beforeAll(() => {
  const settings = {
    DATA_DIR: dataDir,
    DATABASE_URL: stores.databaseUrl,
    REDIS_URL: stores.redisUrl,
    PUBLIC_URL: 'https://frames.example',
  }
  for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value)
})
afterAll(() => void vi.unstubAllEnvs())

const json = async (...args: string[]) => JSON.parse((await runHere(...args, '--json')).out)

test('an operator makes accounts, keys, links and plans, and reads the log', async () => {
  const made = await json('accounts', 'create', '--email', 'Op@Example.org', '--plan', 'pro', '--operator')
  expect(made.account).toMatchObject({ email: 'op@example.org', plan: 'pro', role: 'operator' })
  const again = await runHere('accounts', 'create', '--email', 'op@example.org')
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
  expect((await runHere('keys', 'create', '--account', 'op@example.org')).out).toMatch(/^flk_live_[0-9A-Za-z]{38}\n$/)

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

  expect((await json('accounts', 'disable', 'new@example.org')).account.disabled_at).toMatch(/^2/)
  expect((await runHere('accounts')).out).toContain('new@example.org (disabled)')
  expect((await runHere('accounts', 'enable', 'new@example.org')).out).toBe('enabled new@example.org\n')

  const { frameIds } = await seedFrames(stores.db, { count: 2 })
  for (const frameId of frameIds) await saveFrame(stores.db, { accountId: made.account.id, frameId })
  await untilReadable(stores.db)
  const first = await json('events', '--types', 'frame.saved', '--limit', '1')
  const rest = await json('events', '--types', 'frame.saved', '--after', first.next)
  expect([...first.events, ...rest.events].map((event: { subject: string }) => event.subject)).toEqual(frameIds)

  expect(await runHere('accounts', 'delete', 'op@example.org')).toMatchObject({
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

const NOBODY = 'No such account. frames accounts lists those there are.'
const NO_VIDEO = 'No such video. frames status lists those there are.'

test.each<[command: string, code: number, says: string]>([
  ['accounts set-plan new@example.org gold', 2, 'free, pro'],
  ['accounts disable nobody@example.org', 1, NOBODY],
  ['accounts unshare https://frames.example/shared/flb_x', 1, 'No such'],
  ['keys create --account nobody@example.org', 1, NOBODY],
  ['keys create --account new@example.org --scopes all', 2, 'saves:read'],
  ['events --after x', 2, 'cursor'],
  ['events --follow --limit 3', 2, '--follow has no end'],
  ['events export --from 2026-11-04 --to 2026-11-01', 2, '--from lies after --to'],
  ['events export --from yesterday', 2, 'give a cursor of the log, or a date such as 2026-'],
  ['events export --from 99999999.9', 2, 'the log does not hold this event. Go on from '],
  ['events export --types frame.eaten', 2, 'is not an event type. Use frame.saved,'],
  ['events replay nobody --from 0.0', 2, 'there is no nobody. Use one of'],
  ['events dead retry', 2, 'Name the events, or give --all'],
  ['events dead show x', 1, 'No such dead event. frames events dead lists those'],
  ['add', 2, 'Name at least one file or URL'],
  ['add film.mp4 --platform tv', 2, 'Allowed choices are youtube, '],
  ['add film.mp4 --priority -1', 2, '--priority'],
  ['add one.mp4 two.mp4 --title x', 2, '--title'],
  ['status nosuchvideo', 1, 'No such video'],
  ['status --status lost', 2, "argument 'lost' is invalid. Allowed choices are queued, fetching, extracting, "],
  ['status --limit x', 2, '--limit must be a whole number from 1 to 1000.'],
  ['retry nosuchvideo', 1, 'No such video'],
  ['reannotate --video nosuchvideo', 1, NO_VIDEO],
  ['reannotate --where tone=missing', 2, 'tone'],
  ['pause nope', 2, "'nope' is invalid for argument 'queue'. Allowed choices are ingest, "],
  ['techniques retire nope', 1, 'nope'],
  ['webhooks show none', 1, 'No such webhook'],
  ['webhooks create ftp://x/', 2, 'https://'],
  ['webhooks create https://x.example/ --types frame.stolen', 2, 'frame.saved'],
  ['webhooks edit none', 2, '--url'],
  ['webhooks edit none --types=', 2, '--types'],
  ['techniques add Bad_Slug', 2, '<slug>: must have lower-case'],
  ['webhooks resend none', 2, '--event-id'],
  ['webhooks rotate none --overlap-hours 1000', 2, '720'],
])('a fault is one line that says what to do: %s', async (command, code, says) => {
  const { out, err, ...ended } = await runHere(...command.split(' '))
  expect([ended.code, out, err]).toEqual([code, '', expect.stringContaining(says)])
  expect(err.trim().split('\n').length).toBeLessThanOrEqual(2)
})
