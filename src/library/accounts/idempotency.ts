import type { Db, Tx } from '../../db/client.ts'
import { AppError } from '../../errors.ts'
import { sql } from '../../sql/orm.ts'
import { sha256 } from '../ids.ts'

export interface StoredResponse {
  status: number
  body: unknown
  /** The body contains a secret: it is sent once and not stored. */
  secret?: boolean
}

/**
 * Runs a write once per account and key. Its response is stored in the write's transaction and replayed for 24 hours.
 * A failed write stores nothing, so it may be retried.
 * @throws AppError idempotency_key_reused for another request under the key; conflict while the first is still running,
 * or when its response contained a secret.
 */
export async function runIdempotently(
  db: Db,
  { accountId, key, request }: { accountId: string; key: string; request: string },
  act: (tx: Tx) => Promise<StoredResponse>,
): Promise<StoredResponse & { replayed: boolean }> {
  const keyHash = sha256(key)
  const fingerprint = sha256(request)
  return db.transactionOf(accountId, async (tx) => {
    // The lock is released after the transaction's rows are visible, so the next holder sees a stored response.
    const { rows: locks } = await tx.execute<{ taken: boolean }>(
      sql`select pg_try_advisory_xact_lock(hashtextextended(${`idempotency:${accountId}:${keyHash}`}, 0)) as taken`,
    )
    if (!locks[0]!.taken)
      throw new AppError(
        'conflict',
        'The first request with this Idempotency-Key is still running. Retry in a second.',
        {
          retryAfterSec: 1,
        },
      )
    // Locked before anything the write locks (frames/frames.ts), because the response's row refers to the account.
    const { rowCount } = await tx.execute(sql`select 1 from accounts where id = ${accountId} for key share`)
    if (rowCount === 0) throw new AppError('unauthenticated', 'The account no longer exists.')
    const { rows } = await tx.execute<{ fingerprint: string; status: number; body: unknown }>(
      sql`select fingerprint, status, body from idempotency_keys
           where account_id = ${accountId} and key_hash = ${keyHash} and created_at > now() - interval '24 hours'`,
    )
    const stored = rows[0]
    if (stored) {
      if (stored.fingerprint !== fingerprint)
        throw new AppError(
          'idempotency_key_reused',
          'This Idempotency-Key was used for a different request. Use a new one.',
        )
      if (stored.body === null)
        throw new AppError(
          'conflict',
          'This request succeeded and its response contained a secret that is shown only once. ' +
            'Use a new Idempotency-Key to repeat it.',
        )
      return { status: stored.status, body: stored.body, replayed: true }
    }
    const response = await act(tx)
    const body = response.secret ? null : JSON.stringify(response.body)
    await tx.execute(sql`
      insert into idempotency_keys (account_id, key_hash, fingerprint, status, body)
      values (${accountId}, ${keyHash}, ${fingerprint}, ${response.status}, ${body}::json)
      on conflict (account_id, key_hash) do update
        set fingerprint = excluded.fingerprint, status = excluded.status, body = excluded.body, created_at = now()`)
    return { ...response, replayed: false }
  })
}
