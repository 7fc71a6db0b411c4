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
import { withContext } from './context.ts'
import { addExamples, ageOf, type Column, print, table } from './terminal.ts'

interface CreateOptions {
  account: string
  name: string
  scopes?: Scope[]
  expiresDays?: number
  json?: boolean
}

/** `frames keys …`: what the page /keys does. */
export function defineKeys(group: Command): void {
  group
    .command('create')
    .description('create a key and show it once')
    .requiredOption('--account <email>', 'email of the account (required)')
    .option('--name <text>', 'what the key is for', 'command line')
    .option(
      '--scopes <list>',
      `comma-separated list of ${SCOPES.join(', ')} (default: all that the account may give)`,
      parseScopes,
    )
    .option('--expires-days <n>', 'expire after this many days (default: never)', parseWhole)
    .action((options: CreateOptions) =>
      withContext(async ({ db }) => {
        const { name, scopes, expiresDays } = options
        const { id: accountId } = await loadAccountByEmail(db, options.account)
        const expiresAt = expiresDays === undefined ? undefined : new Date(Date.now() + expiresDays * 86_400_000)
        const made = await createKey(db, { accountId, name, scopes, expiresAt })
        print(options.json, { key: made.key, ...toEntry(made.record) }, () => made.key)
      }),
    )

  group
    .command('list')
    .description('list the keys of an account, with the newest that ended within 30 days')
    .requiredOption('--account <email>', 'email of the account (required)')
    .action(({ account: email, json }: { account: string; json?: boolean }) =>
      withContext(async ({ db }) => {
        const keys = await listKeys(db, (await loadAccountByEmail(db, email)).id)
        print(json, { keys: keys.map(toEntry) }, () => (keys.length > 0 ? table(keys, COLUMNS) : 'no keys'))
      }),
    )

  group
    .command('rotate')
    .description('replace a key and show the new one once (the old key works until the grace period ends)')
    .argument('<key>', 'key id')
    .requiredOption('--account <email>', 'email of the account (required)')
    .option('--grace-hours <n>', 'how long the old key keeps working', parseWhole, ROTATION_GRACE_SEC / 3600)
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
    .description('revoke a key at once')
    .argument('<key>', 'key id')
    .requiredOption('--account <email>', 'email of the account (required)')
    .action((keyId: string, { account: email, json }: { account: string; json?: boolean }) =>
      withContext(async ({ db }) => {
        await revokeKey(db, { accountId: (await loadAccountByEmail(db, email)).id, keyId })
        print(json, { revoked: keyId }, () => `revoked ${keyId}`)
      }),
    )
  addExamples(group, ...EXAMPLES)
}

const EXAMPLES = [
  'keys create --account ann@example.org --name ci --scopes saves:read --expires-days 90',
  'keys list --account ann@example.org',
  'keys rotate <key> --account ann@example.org --grace-hours 1',
  'keys revoke <key> --account ann@example.org',
]

function parseScopes(text: string): Scope[] {
  return text.split(',').map((part) => {
    const scope = SCOPES.find((one) => one === part.trim())
    if (!scope) throw new InvalidArgumentError(`"${part}" is not a scope. Use ${SCOPES.join(', ')}.`)
    return scope
  })
}

function parseWhole(text: string): number {
  if (!/^\d{1,5}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
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

const COLUMNS: Column<KeyRecord>[] = [
  { heading: 'ID', cell: ({ id }) => id },
  { heading: 'KEY', cell: ({ hint }) => `…${hint}` },
  { heading: 'STATE', cell: (key) => ({ text: stateOf(key), style: isLive(key) ? 'green' : 'dim' }) },
  { heading: 'AGE', cell: ({ createdAt }) => ageOf(createdAt), align: 'right', terminalOnly: true },
  {
    heading: 'USED',
    cell: ({ lastUsedAt }) => (lastUsedAt ? `${ageOf(lastUsedAt)} ago` : 'never'),
    terminalOnly: true,
  },
  { heading: 'NAME', cell: ({ name }) => name },
  { heading: 'SCOPES', cell: ({ scopes }) => `(${scopes.join(' ')})` },
]

function stateOf(key: KeyRecord): string {
  if (!isLive(key)) return 'dead'
  return key.revokedAt ? `stops ${key.revokedAt.toISOString()}` : 'active'
}
