import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Config, isLoopback } from '../config.ts'
import type { Db } from '../db/client.ts'
import { ensureAccount, findAccountByEmail } from '../library/accounts/accounts.ts'
import { createKey } from '../library/accounts/keys.ts'
import { createSignInCode } from '../library/accounts/sessions.ts'
import { signInUrl } from '../web/sign-in.ts'

export const OPERATOR_EMAIL = 'operator@localhost'

/** How long the link that `frames start` prints may wait for its one use. */
const START_LINK_SEC = 12 * 60 * 60

/**
 * A one-time link that signs the person at this terminal in as the operator. Undefined where others could read the
 * terminal's output or reach the service: unless it listens on loopback and PUBLIC_URL names this machine.
 */
export async function operatorLink(
  db: Db,
  { config, host }: { config: Pick<Config, 'publicUrl' | 'production' | 'trustProxy'>; host: string | undefined },
): Promise<string | undefined> {
  const { publicUrl, production, trustProxy } = config
  if (production || trustProxy > 0 || !isLoopback(host) || !isLoopback(new URL(publicUrl).hostname)) return undefined
  const account = await findAccountByEmail(db, OPERATOR_EMAIL)
  if (account?.role !== 'operator') return undefined
  const made = await createSignInCode(db, { email: OPERATOR_EMAIL, newPlan: null, lifetimeSec: START_LINK_SEC })
  return made && signInUrl(publicUrl, made.code)
}

/**
 * Creates the operator's account on the first start, and a key with every scope in `$DATA_DIR/operator-key`.
 * The file is written before the rows are committed, so every key that exists can be read. `created`: this was the
 * first start.
 */
export async function ensureOperator(db: Db, dataDir: string): Promise<{ created: boolean }> {
  return db.transaction(async (tx) => {
    const { account, created } = await ensureAccount(tx, { email: OPERATOR_EMAIL, plan: 'pro', role: 'operator' })
    if (!created) return { created }
    const { key } = await createKey(tx, { accountId: account.id, name: 'first start' })
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    const file = join(dataDir, 'operator-key')
    writeFileSync(`${file}.new`, `${key}\n`, { mode: 0o600 })
    renameSync(`${file}.new`, file)
    return { created }
  })
}
