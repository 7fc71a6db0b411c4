import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Db } from '../db/client.ts'
import { ensureAccount } from '../library/accounts/accounts.ts'
import { createKey } from '../library/accounts/keys.ts'

const OPERATOR_EMAIL = 'operator@localhost'

/**
 * Creates the operator's account on the first start, and a key with every scope in `$DATA_DIR/operator-key`.
 * The file is written before the rows are committed, so every key that exists can be read.
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
