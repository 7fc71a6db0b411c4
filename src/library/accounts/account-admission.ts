import { eq } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { accounts, sessions, signInLinks } from '../../db/schema/accounts.ts'
import { AppError, notFound } from '../../errors.ts'
import { appendEvent } from '../../events/append.ts'
import { type Account, hasAddress } from './accounts.ts'

/**
 * Disables an account or enables it again. From the next request on a disabled account's keys and sessions are refused,
 * it cannot sign in, and its share links show nothing. All of it works again once the account is enabled. A repeat
 * changes nothing. `by`: the operator who asks. @throws AppError not_found; conflict for the operator's own account.
 */
export async function setDisabled(
  db: Db,
  { accountId, disabled, by }: { accountId: string; disabled: boolean; by?: string },
): Promise<Account> {
  if (disabled && accountId === by) throw new AppError('conflict', 'You cannot disable the account that you use now.')
  return db.transaction(async (tx) => {
    const [account] = await tx.select().from(accounts).where(eq(accounts.id, accountId)).for('no key update')
    if (!hasAddress(account)) throw notFound('account')
    if ((account.disabledAt !== null) === disabled) return account
    const disabledAt = disabled ? new Date() : null
    await tx.update(accounts).set({ disabledAt }).where(eq(accounts.id, accountId))
    if (disabled) {
      await tx.delete(sessions).where(eq(sessions.accountId, accountId))
      await tx.delete(signInLinks).where(eq(signInLinks.email, account.email))
    }
    const type = disabled ? 'account.disabled' : 'account.enabled'
    await appendEvent(tx, { type, subject: accountId, accountId, data: {} })
    return { ...account, disabledAt }
  })
}
