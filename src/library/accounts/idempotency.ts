import { sql } from 'drizzle-orm'
import type { Db, Tx } from '../../db/client.ts'
import { AppError } from '../../errors.ts'
import { sha256 } from '../ids.ts'

export interface StoredResponse {
  status: number
  body: unknown
  /** The body holds a secret: it is told once and not stored. */
  secret?: boolean
}

/**
 * Runs a write once per account and key: its answer is stored in the write's own transaction and given again for 24 hours. A failed write stores nothing, so it
 * may be sent again.
 * @throws AppError idempotency_key_reused for another request under the key; conflict while the first is still running, or when its answer was a secret.
 */
export async function runIdempotently(
  db: Db,
  { accountId, key, request }: { accountId: string; key: string; request: string },
  act: (tx: Tx) => Promise<StoredResponse>,
): Promise<StoredResponse & { replayed: boolean }> {
  const keyHash = sha256(key)
  const fingerprint = sha256(request)
  return db.transaction(async (tx) => {
    // The lock falls with the transaction, after its rows are visible: whoever gets it sees the stored answer or none was made.
    const { rows: locks } = await tx.execute<{ taken: boolean }>(
      sql`select pg_try_advisory_xact_lock(hashtextextended(${`idempotency:${accountId}:${keyHash}`}, 0)) as taken`,
    )
    if (!locks[0]!.taken)
      throw new AppError('conflict', 'The first request with this Idempotency-Key is still running.', {
        retryAfterSec: 1,
      })
    // Before anything the write locks (see frame-facts.ts): the answer's row refers to the account.
    const { rowCount } = await tx.execute(sql`select 1 from accounts where id = ${accountId} for key share`)
    if (rowCount === 0) throw new AppError('unauthenticated', 'The account is gone.')
    const { rows } = await tx.execute<{ fingerprint: string; status: number; body: unknown }>(
      sql`select fingerprint, status, body from idempotency_keys
           where account_id = ${accountId} and key_hash = ${keyHash} and created_at > now() - interval '24 hours'`,
    )
    const stored = rows[0]
    if (stored) {
      if (stored.fingerprint !== fingerprint)
        throw new AppError('idempotency_key_reused', 'This Idempotency-Key came with another request before.')
      if (stored.body === null)
        throw new AppError(
          'conflict',
          'This was done, and its answer was told once. Send a new Idempotency-Key to do it anew.',
        )
      return { status: stored.status, body: stored.body, replayed: true }
    }
    const answer = await act(tx)
    await tx.execute(sql`
      insert into idempotency_keys (account_id, key_hash, fingerprint, status, body)
      values (${accountId}, ${keyHash}, ${fingerprint}, ${answer.status}, ${answer.secret ? null : JSON.stringify(answer.body)}::json)
      on conflict (account_id, key_hash) do update
        set fingerprint = excluded.fingerprint, status = excluded.status, body = excluded.body, created_at = now()`)
    return { ...answer, replayed: false }
  })
}
