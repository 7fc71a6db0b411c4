import { type Command, InvalidArgumentError } from 'commander'
import { loadAccountByEmail } from '../library/accounts/accounts.ts'
import { SCOPES, type Scope } from '../library/accounts/key-checks.ts'
import {
  createKey,
  isLive,
  type KeyRecord,
  listKeys,
  ROTATION_GRACE_SEC,
  revokeKey,
  rotateKey,
} from '../library/accounts/keys.ts'
import { answers, listParser, type Result } from './context.ts'
import { linesOf } from './lines.ts'
import { addExamples } from './terminal.ts'

interface OfAccount {
  account: string
}

interface CreateOptions extends OfAccount {
  name: string
  scopes?: Scope[]
  expiresDays?: number
}

/** `frames keys …`: what the page /keys does. */
export function defineKeys(group: Command): void {
  const part = (name: string, description: string) =>
    group.command(name).description(description).requiredOption('--account <email>', 'email of the account (required)')
  const partOfKey = (name: string, description: string) => part(name, description).argument('<key>', 'key id')

  answers(
    part('create', 'create a key and show it once')
      .option('--name <text>', 'what the key is for', 'command line')
      .option(
        '--scopes <list>',
        `comma-separated list of ${SCOPES.join(', ')} (default: all that the account may give)`,
        parseScopes,
      )
      .option('--expires-days <n>', 'expire after this many days (default: never)', parseWhole),
    async ({ db }, { account, name, scopes, expiresDays }: CreateOptions) => {
      const { id: accountId } = await loadAccountByEmail(db, account)
      const expiresAt = expiresDays === undefined ? undefined : new Date(Date.now() + expiresDays * 86_400_000)
      return shown(await createKey(db, { accountId, name, scopes, expiresAt }))
    },
  )

  answers(
    part('list', 'list the keys of an account, with the newest that ended within 30 days'),
    async ({ db }, { account }: OfAccount) => {
      const keys = (await listKeys(db, (await loadAccountByEmail(db, account)).id)).map(toEntry)
      return [{ keys }, () => linesOf({ keys }, COLUMNS)]
    },
  )

  answers(
    partOfKey(
      'rotate',
      'replace a key and show the new one once (the old key works until the grace period ends)',
    ).option('--grace-hours <n>', 'how long the old key keeps working', parseWhole, ROTATION_GRACE_SEC / 3600),
    async ({ db }, keyId: string, { account, graceHours }: OfAccount & { graceHours: number }) => {
      const { id: accountId } = await loadAccountByEmail(db, account)
      return shown(await rotateKey(db, { accountId, keyId, graceSec: graceHours * 3600 }))
    },
  )

  answers(partOfKey('revoke', 'revoke a key at once'), async ({ db }, keyId: string, { account }: OfAccount) => {
    await revokeKey(db, { accountId: (await loadAccountByEmail(db, account)).id, keyId })
    return [{ revoked: keyId }, () => `revoked ${keyId}`]
  })
  addExamples(group, ...EXAMPLES)
}

const EXAMPLES = [
  'keys create --account ann@example.org --name ci --scopes saves:read --expires-days 90',
  'keys list --account ann@example.org',
  'keys rotate <key> --account ann@example.org --grace-hours 1',
  'keys revoke <key> --account ann@example.org',
]

const parseScopes = listParser('a scope', SCOPES)

function parseWhole(text: string): number {
  if (!/^\d{1,5}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}

const shown = ({ key, record }: { key: string; record: KeyRecord }): Result => [{ key, ...toEntry(record) }, () => key]

function toEntry(key: KeyRecord) {
  return {
    id: key.id,
    name: key.name,
    hint: key.hint,
    state: stateOf(key),
    scopes: key.scopes,
    created_at: key.createdAt.toISOString(),
    expires_at: key.expiresAt?.toISOString() ?? null,
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
    revoked_at: key.revokedAt?.toISOString() ?? null,
    replaced_by: key.replacedBy,
  }
}

const COLUMNS = ['id', 'hint', 'state', 'created_at', 'last_used_at', 'name', 'scopes']

function stateOf(key: KeyRecord): string {
  if (!isLive(key)) return 'dead'
  return key.revokedAt ? `stops ${key.revokedAt.toISOString()}` : 'active'
}
