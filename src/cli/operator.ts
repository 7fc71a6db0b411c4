import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Db } from '../db/client.ts'
import { ensureAccount } from '../library/accounts/accounts.ts'
import { createKey } from '../library/accounts/keys.ts'

export const OPERATOR_EMAIL = 'operator@localhost'

/**
 * On the first start: the operator's account, and a key of every scope in `$DATA_DIR/operator-key`. The file is there before the rows are committed, so that no key can
 * exist that nobody holds.
 */
export async function ensureOperator(db: Db, dataDir: string): Promise<void> {
  await db.transaction(async (tx) => {
    const { account, created } = await ensureAccount(tx, { email: OPERATOR_EMAIL, plan: 'pro', role: 'operator' })
    if (!created) return
    const { key } = await createKey(tx, { accountId: account.id, name: 'first start' })
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    const file = join(dataDir, 'operator-key')
    writeFileSync(`${file}.new`, `${key}\n`, { mode: 0o600 })
    renameSync(`${file}.new`, file)
  })
}
