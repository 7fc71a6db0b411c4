import { cleanText } from '../clean-text.ts'
import type { Db, DbOrTx, Tx } from '../db/client.ts'
import { webhookEndpoints } from '../db/schema/webhooks.ts'
import { AppError, invalid, MediaError, notFound } from '../errors.ts'
import type { EventType } from '../events/catalogue.ts'
import { findEnd } from '../events/read.ts'
import { isId, randomId } from '../library/ids.ts'
import { checkUrl } from '../outbound/checked-url.ts'
import { desc, eq, sql } from '../sql/orm.ts'
import { passOtherTypes } from './leases.ts'
import { createSecret, openCipher, type SecretCipher, type SecretsKeys, UndecryptableSecret } from './secrets.ts'

export type EndpointRow = typeof webhookEndpoints.$inferSelect

/** The limit exists because one process may lease and send for all of them. */
const MAX_ENDPOINTS = 100
const MAX_URL = 2_000
const MAX_DESCRIPTION = 200
/** Default time for which a rotated secret signs beside its successor. */
export const OVERLAP_HOURS = 24
export const MAX_OVERLAP_HOURS = 30 * 24

export interface EndpointFields {
  url: string
  /** Null: every type, those of later versions too. */
  types: readonly EventType[] | null
  description?: string | undefined
}

/** Registers a receiver of all events from now on. The secret is returned here and never again. */
export async function createEndpoint(
  tx: Tx,
  given: EndpointFields,
  { allowPrivate, secretsKeys }: { allowPrivate: boolean; secretsKeys: SecretsKeys },
): Promise<{ endpoint: EndpointRow; secret: string }> {
  const cipher = openCipher(secretsKeys)
  await requireKey(tx, cipher)
  const { rows } = await tx.execute<{ n: number }>(sql`select count(*)::int as n from webhook_endpoints`)
  if (rows[0]!.n >= MAX_ENDPOINTS)
    throw new AppError('conflict', `There are ${MAX_ENDPOINTS} webhooks, which is the most. Delete one first.`)
  const id = randomId()
  const secret = createSecret()
  const [endpoint] = await tx
    .insert(webhookEndpoints)
    .values({
      id,
      ...toColumns(given, allowPrivate),
      url: checkReceiver(given.url, allowPrivate),
      secret: cipher.encrypt(secret, id),
      ...(await findEnd(tx)),
    })
    .returning()
  return { endpoint: endpoint!, secret }
}

export async function listEndpoints(db: DbOrTx): Promise<EndpointRow[]> {
  return db.select().from(webhookEndpoints).orderBy(desc(webhookEndpoints.createdAt), webhookEndpoints.id)
}

/** @throws AppError not_found */
export async function loadEndpoint(db: DbOrTx, id: string): Promise<EndpointRow> {
  const [row] = isId(id) ? await db.select().from(webhookEndpoints).where(eq(webhookEndpoints.id, id)) : []
  if (!row) throw notFound('webhook')
  return row
}

/** As `loadEndpoint`, locked until the transaction ends. Every change of an endpoint takes this lock first. */
export async function lockEndpoint(tx: Tx, id: string): Promise<EndpointRow> {
  const [row] = isId(id)
    ? await tx.select().from(webhookEndpoints).where(eq(webhookEndpoints.id, id)).for('update')
    : []
  if (!row) throw notFound('webhook')
  return row
}

/** Changes the given fields. What waits goes to the new address; new types apply to events that were not read yet. */
export async function updateEndpoint(
  db: Db,
  id: string,
  given: Partial<EndpointFields>,
  { allowPrivate }: { allowPrivate: boolean },
): Promise<EndpointRow> {
  const columns = toColumns(given, allowPrivate)
  return db.transaction(async (tx) => {
    await lockEndpoint(tx, id)
    if (columns.types !== undefined) await passOtherTypes(tx, id)
    return setColumns(tx, id, columns)
  })
}

/** Deletes the endpoint with its deliveries and their log. */
export async function deleteEndpoint(db: Db, id: string): Promise<void> {
  await db.transaction(async (tx) => {
    await lockEndpoint(tx, id)
    await tx.delete(webhookEndpoints).where(eq(webhookEndpoints.id, id))
  })
}

/**
 * Replaces the secret. The previous one also signs during the overlap; an older one ends now. A previous secret that
 * cannot be decrypted ends now too: it could sign nothing.
 */
export async function rotateSecret(
  tx: Tx,
  id: string,
  { overlapHours, secretsKeys }: { overlapHours: number; secretsKeys: SecretsKeys },
): Promise<{ endpoint: EndpointRow; secret: string }> {
  const cipher = openCipher(secretsKeys)
  await requireKey(tx, cipher)
  const old = await lockEndpoint(tx, id)
  const secret = createSecret()
  const oldSecret = overlapHours > 0 ? encryptAgain(old.secret, id, cipher) : null
  const endpoint = await setColumns(tx, id, {
    secret: cipher.encrypt(secret, id),
    oldSecret,
    oldSecretUntil: oldSecret === null ? null : new Date(Date.now() + overlapHours * 3_600_000),
  })
  return { endpoint, secret }
}

/**
 * Encrypts every stored secret with the first key, whether it was encrypted before or not. `failed`: endpoints with a
 * secret whose key is not set; those stay as they are.
 * @throws AppError conflict without a key
 */
export async function encryptSecrets(
  db: Db,
  secretsKeys: SecretsKeys,
): Promise<{ encrypted: number; unchanged: number; failed: string[] }> {
  const cipher = openCipher(secretsKeys)
  if (!cipher.encrypts)
    throw new AppError('conflict', 'SECRETS_KEY is not set. Set it to 64 hexadecimal digits (openssl rand -hex 32).')
  return db.transaction(async (tx) => {
    const done = { encrypted: 0, unchanged: 0, failed: [] as string[] }
    const { rows } = await tx.execute<{ id: string; secret: string; old: string | null; signs: boolean }>(sql`
      select id, secret, old_secret as old, old_secret_until > now() as signs
        from webhook_endpoints order by id for update`)
    for (const { id, secret, old, signs } of rows) {
      const before = old !== null && signs ? [secret, old] : [secret]
      const after = before.map((one) => (cipher.isCurrent(one) ? one : encryptAgain(one, id, cipher)))
      if (after.includes(null)) done.failed.push(id)
      else if (after.every((one, n) => one === before[n]) && before.length === (old === null ? 1 : 2)) done.unchanged++
      else {
        // A secret whose overlap has ended is not kept.
        await tx.execute(sql`
          update webhook_endpoints set secret = ${after[0]}, old_secret = ${after[1] ?? null} where id = ${id}`)
        done.encrypted++
      }
    }
    return done
  })
}

/** Null when the key of the stored secret is not set. */
function encryptAgain(stored: string, id: string, cipher: SecretCipher): string | null {
  try {
    return cipher.encrypt(cipher.decrypt(stored, id), id)
  } catch (error) {
    if (error instanceof UndecryptableSecret) return null
    throw error
  }
}

/** A process without the key must not store plain secrets beside encrypted ones. */
async function requireKey(tx: Tx, cipher: SecretCipher): Promise<void> {
  if (cipher.encrypts) return
  const stored = await tx.select({ secret: webhookEndpoints.secret }).from(webhookEndpoints)
  if (stored.some(({ secret }) => !cipher.isCurrent(secret)))
    throw new AppError(
      'conflict',
      'The other webhook secrets are encrypted, and SECRETS_KEY is not set. Set it on the API, workers and commands.',
    )
}

export async function setColumns(
  tx: Tx,
  id: string,
  columns: Partial<typeof webhookEndpoints.$inferInsert>,
): Promise<EndpointRow> {
  const [row] = await tx
    .update(webhookEndpoints)
    .set({ ...columns, updatedAt: sql`now()` as never })
    .where(eq(webhookEndpoints.id, id))
    .returning()
  return row!
}

function toColumns({ url, types, description }: Partial<EndpointFields>, allowPrivate: boolean) {
  return {
    ...(url === undefined ? {} : { url: checkReceiver(url, allowPrivate) }),
    ...(types === undefined ? {} : { types: toTypes(types) }),
    ...(description === undefined ? {} : { description: cleanText(description, MAX_DESCRIPTION) }),
  }
}

function toTypes(types: readonly EventType[] | null): string[] | null {
  if (types?.length === 0) throw invalid('types', 'types: name at least one event type, or leave it out for all.')
  return types && [...new Set(types)].sort()
}

/** The address as it is stored. @throws AppError invalid_request that says what is allowed */
function checkReceiver(address: string, allowPrivate: boolean): string {
  if (address.length > MAX_URL) throw invalid('url', `url: at most ${MAX_URL} characters are allowed.`)
  try {
    const url = allowPrivate ? checkAnyUrl(address) : checkUrl(address)
    url.hash = ''
    return url.href
  } catch (error) {
    if (!(error instanceof MediaError)) throw error
    throw invalid('url', `url: ${error.message}${!allowPrivate && isReceiver(address) ? ` ${ALLOW_PRIVATE}` : ''}`)
  }
}

/** For a receiver in one's own network. */
export const ALLOW_PRIVATE =
  'For a receiver in your own network, set WEBHOOK_ALLOW_PRIVATE=1 and restart the service: it reads it at its start.'

function isReceiver(address: string): boolean {
  try {
    return checkAnyUrl(address) instanceof URL
  } catch {
    return false
  }
}

function checkAnyUrl(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw new MediaError('refused_address', 'The address is not valid. Use one that begins with https:// or http://.')
  if (url.username !== '' || url.password !== '')
    throw new MediaError('refused_address', 'The address contains a name or password. Remove them from the address.')
  return url
}
