import { randomBytes } from 'node:crypto'
import { and, desc, eq, sql } from 'drizzle-orm'
import type { Db, DbOrTx } from '../../db/client.ts'
import { oauthRecords } from '../../db/schema/oauth.ts'
import { notFound } from '../../errors.ts'
import { sha256 } from '../ids.ts'

type Payload = Record<string, unknown>

/** A refresh token that was used may be used once more within this time: two tabs of an app refresh at once. */
const REFRESH_OVERLAP_SEC = 30
/** A client that registered itself and was never let in is forgotten. */
const UNUSED_CLIENT_DAYS = 30

/**
 * Stores a record. The id is a secret, so that only its hash is kept. `lifetimeSec` absent: it does not expire.
 * @throws AppError not_found where its grant has ended
 */
export async function putRecord(
  db: DbOrTx,
  {
    kind,
    id,
    payload,
    lifetimeSec,
    permanent = false,
  }: { kind: string; id: string; payload: Payload; lifetimeSec?: number | undefined; permanent?: boolean },
): Promise<void> {
  const { jti: _, ...kept } = payload
  const values = {
    kind,
    hash: sha256(id),
    payload: kept,
    grantId: kind === 'Grant' ? id : ((kept.grantId as string | undefined) ?? null),
    expiresAt: lifetimeSec === undefined ? null : new Date(Date.now() + lifetimeSec * 1000),
    permanent,
  }
  try {
    await db
      .insert(oauthRecords)
      .values(values)
      .onConflictDoUpdate({ target: [oauthRecords.kind, oauthRecords.hash], set: values })
  } catch (error) {
    throw hasNoGrant(error) ? notFound('grant') : error
  }
}

/** With its id, and `consumed` where it was used up. Undefined for an unknown and for an expired one. */
export async function findRecord(db: DbOrTx, kind: string, id: string): Promise<Payload | undefined> {
  const [row] = await db
    .select()
    .from(oauthRecords)
    .where(and(isRecord(kind, id), sql`coalesce(expires_at, 'infinity') > now()`))
  if (!row) return undefined
  const overlapMs = kind === 'RefreshToken' ? REFRESH_OVERLAP_SEC * 1000 : 0
  const isUsedUp = row.consumedAt !== null && row.consumedAt.getTime() + overlapMs <= Date.now()
  return { ...row.payload, jti: id, ...(isUsedUp ? { consumed: Math.floor(row.consumedAt!.getTime() / 1000) } : {}) }
}

/** True for the one of many concurrent uses that came first. */
export async function consumeRecord(db: DbOrTx, kind: string, id: string): Promise<boolean> {
  const { rowCount } = await db
    .update(oauthRecords)
    .set({ consumedAt: new Date() })
    .where(and(isRecord(kind, id), sql`consumed_at is null`))
  return rowCount === 1
}

export async function deleteRecord(db: DbOrTx, kind: string, id: string): Promise<void> {
  await db.delete(oauthRecords).where(isRecord(kind, id))
}

/** Clients that operators registered, the newest first. */
export async function listPermanentClients(db: DbOrTx): Promise<Payload[]> {
  const rows = await db
    .select({ payload: oauthRecords.payload })
    .from(oauthRecords)
    .where(and(eq(oauthRecords.kind, 'Client'), oauthRecords.permanent))
    .orderBy(desc(oauthRecords.createdAt))
  return rows.map(({ payload }) => payload)
}

/** Deletes what has expired, and clients that nobody let in. Safe at any time, in any process. */
export async function deleteExpiredRecords(db: Db): Promise<void> {
  await db.execute(sql`delete from oauth_records where expires_at < now()`)
  await db.execute(sql`
    delete from oauth_records r
     where kind = 'Client' and not permanent and created_at < now() - make_interval(days => ${UNUSED_CLIENT_DAYS})
       and not exists (select from grants where client_id = r.payload ->> 'client_id')`)
}

/** A foreign key that finds nothing (SQLSTATE 23503). */
const hasNoGrant = (error: unknown) => (error as { cause?: { code?: string } } | undefined)?.cause?.code === '23503'

const isRecord = (kind: string, id: string) => and(eq(oauthRecords.kind, kind), eq(oauthRecords.hash, sha256(id)))

const ROTATE_AFTER_DAYS = 90

/** A key that the authorization server signs with, and a secret for its cookies. */
export interface ServerKey {
  jwk: Record<string, unknown>
  cookie: string
}

/**
 * The keys of the authorization server, the newest first. All processes use the same. A new one is made when the newest
 * is 90 days old; the one before it stays valid. `make`: a private key as a JWK.
 */
export async function loadServerKeys(db: Db, make: () => Promise<ServerKey['jwk']>): Promise<ServerKey[]> {
  const jwk = await make()
  const made = { jwk, cookie: randomBytes(32).toString('base64url'), at: new Date().toISOString() }
  return db.transaction(async (tx) => {
    await tx.execute(sql`
      insert into settings (name, value) values ('oauth-keys', ${JSON.stringify([made])}::jsonb)
      on conflict do nothing`)
    const { rows } = await tx.execute<{ value: (ServerKey & { at: string })[] }>(
      sql`select value from settings where name = 'oauth-keys' for update`,
    )
    const kept = rows[0]!.value
    if (Date.now() - Date.parse(kept[0]!.at) < ROTATE_AFTER_DAYS * 86_400_000) return kept
    const rotated = [made, kept[0]!]
    await tx.execute(sql`
      update settings set value = ${JSON.stringify(rotated)}::jsonb, updated_at = now() where name = 'oauth-keys'`)
    return rotated
  })
}
