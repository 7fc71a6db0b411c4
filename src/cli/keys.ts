import { type Command, InvalidArgumentError } from 'commander'
import { loadAccountByEmail } from '../library/accounts/accounts.ts'
import {
  createKey,
  isLive,
  type KeyRecord,
  listKeys,
  ROTATION_GRACE_SEC,
  revokeKey,
  rotateKey,
  SCOPES,
  type Scope,
} from '../library/accounts/keys.ts'
import { print, withContext } from './context.ts'

/** `frames keys …`: what the API page does. */
export function addKeyCommands(program: Command): void {
  const group = program.command('keys').description('API keys: create, list, rotate, revoke')

  group
    .command('create')
    .description('a new key, shown once')
    .requiredOption('--account <email>', 'whose key')
    .option('--name <text>', 'what it is for', 'command line')
    .option(
      '--scopes <list>',
      `comma-separated, of ${SCOPES.join(', ')}; without it every scope the account may give`,
      parseScopes,
    )
    .option('--expires-days <n>', 'dies after so many days', parseWhole)
    .option('--json', 'one JSON object')
    .action(
      ({
        account: email,
        name,
        scopes,
        expiresDays,
        json,
      }: {
        account: string
        name: string
        scopes?: Scope[]
        expiresDays?: number
        json?: boolean
      }) =>
        withContext(async ({ db }) => {
          const { id: accountId } = await loadAccountByEmail(db, email)
          const expiresAt = expiresDays === undefined ? undefined : new Date(Date.now() + expiresDays * 86_400_000)
          const made = await createKey(db, { accountId, name, scopes, expiresAt })
          print(json, { key: made.key, ...toEntry(made.record) }, () => made.key)
        }),
    )

  group
    .command('list')
    .description('an account’s keys, dead ones included')
    .requiredOption('--account <email>', 'whose keys')
    .option('--json', 'one JSON object')
    .action(({ account: email, json }: { account: string; json?: boolean }) =>
      withContext(async ({ db }) => {
        const keys = await listKeys(db, (await loadAccountByEmail(db, email)).id)
        print(json, { keys: keys.map(toEntry) }, () => (keys.length > 0 ? keys.map(toLine) : 'no keys'))
      }),
    )

  group
    .command('rotate')
    .description('a successor, shown once; the old key goes on for the grace period, the one before it ends')
    .argument('<key>', 'key id')
    .requiredOption('--account <email>', 'whose key')
    .option('--grace-hours <n>', 'how long the old one goes on', parseWhole, ROTATION_GRACE_SEC / 3600)
    .option('--json', 'one JSON object')
    .action(
      (keyId: string, { account: email, graceHours, json }: { account: string; graceHours: number; json?: boolean }) =>
        withContext(async ({ db }) => {
          const { id: accountId } = await loadAccountByEmail(db, email)
          const made = await rotateKey(db, { accountId, keyId, graceSec: graceHours * 3600 })
          print(json, { key: made.key, ...toEntry(made.record) }, () => made.key)
        }),
    )

  group
    .command('revoke')
    .description('dead at its next request')
    .argument('<key>', 'key id')
    .requiredOption('--account <email>', 'whose key')
    .option('--json', 'one JSON object')
    .action((keyId: string, { account: email, json }: { account: string; json?: boolean }) =>
      withContext(async ({ db }) => {
        await revokeKey(db, { accountId: (await loadAccountByEmail(db, email)).id, keyId })
        print(json, { revoked: keyId }, () => `revoked ${keyId}`)
      }),
    )
}

function parseScopes(text: string): Scope[] {
  return text.split(',').map((part) => {
    const scope = SCOPES.find((one) => one === part.trim())
    if (!scope) throw new InvalidArgumentError(`"${part}" is no scope; there are ${SCOPES.join(', ')}`)
    return scope
  })
}

function parseWhole(text: string): number {
  if (!/^\d{1,5}$/.test(text)) throw new InvalidArgumentError('must be a whole number')
  return Number(text)
}

function toEntry(key: KeyRecord) {
  return {
    id: key.id,
    name: key.name,
    hint: key.hint,
    scopes: key.scopes,
    created_at: key.createdAt.toISOString(),
    expires_at: key.expiresAt?.toISOString() ?? null,
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
    revoked_at: key.revokedAt?.toISOString() ?? null,
    replaced_by: key.replacedBy,
  }
}

function toLine(key: KeyRecord): string {
  const state = isLive(key) ? (key.revokedAt ? `stops ${key.revokedAt.toISOString()}` : 'active') : 'dead'
  return `${key.id}  …${key.hint}  ${state}  ${key.name}  (${key.scopes.join(' ')})`
}
