import { generateKeyPair } from 'node:crypto'
import type { EventEmitter } from 'node:events'
import { promisify } from 'node:util'
import Provider, { type Adapter, type AdapterPayload, errors, type KoaContextWithOIDC } from 'oidc-provider'
import { type Dispatcher, fetch as fetchChecked } from 'undici'
import type { Db } from '../db/client.ts'
import { accounts } from '../db/schema/accounts.ts'
import { AppError, invalid } from '../errors.ts'
import { holdUntilSent, type RateLimits } from '../http/rate-limit/rate-limits.ts'
import {
  consumeRecord,
  deleteRecord,
  findRecord,
  loadServerKeys,
  putRecord,
  revokeGrant,
  type ServerKey,
} from '../library/accounts/grants.ts'
import { MEMBER_SCOPES, SCOPES } from '../library/accounts/key-checks.ts'
import type { Logger } from '../logger.ts'
import { openCheckedAgent, type Wire } from '../outbound/checked-connection.ts'
import { checkUrl } from '../outbound/checked-url.ts'
import { eq } from '../sql/orm.ts'
import { type Metadata, toPublicClient } from './clients.ts'
import { consentPath, ROUTES } from './routes.ts'

export interface ProviderOptions {
  db: Db
  publicUrl: string
  /** The address that tokens are issued for. */
  resource: string
  /** Set by tests: the two ends of the wire to clients' documents. */
  wire?: Wire | undefined
  logger: Logger
  limits: RateLimits
  /** Shows a person why a request for access cannot go on. */
  showError(ctx: KoaContextWithOIDC, error: Error): void
}

const HOUR = 60 * 60
const DAY = 24 * HOUR

/**
 * The authorization server: `oidc-provider` with the code flow and PKCE only, public clients, opaque tokens for one
 * resource. Access tokens last an hour; refresh tokens 30 days, each for one use.
 */
export async function createProvider(options: ProviderOptions): Promise<Provider> {
  const { db, publicUrl, resource, wire, logger, showError } = options
  const keys = await loadServerKeys(db, makeKey)
  const isResource = (indicator: string) => indicator.replace(/\/$/, '') === resource
  const provider = new Provider(publicUrl, {
    adapter: storage(db),
    jwks: { keys: keys.map(({ jwk }) => jwk) },
    cookies: { keys: keys.map(({ cookie }) => cookie) },
    routes: { ...ROUTES },
    // No `openid`: nobody signs in elsewhere with an account of this library.
    scopes: ['offline_access', ...MEMBER_SCOPES],
    responseTypes: ['code'],
    clientAuthMethods: ['none'],
    clientDefaults: { token_endpoint_auth_method: 'none', grant_types: ['authorization_code', 'refresh_token'] },
    pkce: { required: () => true },
    rotateRefreshToken: true,
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    expiresWithSession: async () => false,
    revokeGrantPolicy: () => true,
    ttl: {
      AccessToken: HOUR,
      AuthorizationCode: 60,
      RefreshToken: 30 * DAY,
      Grant: 365 * DAY,
      Interaction: HOUR,
      Session: HOUR,
    },
    interactions: { url: (_ctx, { uid }) => consentPath(uid) },
    findAccount: async (_ctx, accountId) => {
      const [account] = await db.select().from(accounts).where(eq(accounts.id, accountId))
      if (!account || account.disabledAt || account.email === null) return undefined
      return { accountId, claims: async () => ({ sub: accountId }) }
    },
    renderError: (ctx, { error, error_description: why = error }, thrown) => {
      const shown = invalid('request', `The app cannot connect: ${why}. ${AGAIN}`)
      if (error === 'server_error') showError(ctx, thrown)
      else showError(ctx, thrown.cause instanceof AppError ? thrown.cause : shown)
    },
    fetch: documentFetcher(openCheckedAgent({ ...wire, connections: 4 })) as typeof fetch,
    features: {
      devInteractions: { enabled: false },
      userinfo: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      revocation: { enabled: true, allowedPolicy: (_ctx, client, token) => client.clientId === token.clientId },
      // Only its address in the metadata: `registerClient` answers.
      registration: { enabled: true },
      clientIdMetadataDocument: { enabled: true, ack: 'draft-02', allowFetch: fetchesOf(options) },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => resource,
        useGrantedResource: () => true,
        getResourceServerInfo: (_ctx, indicator) => {
          if (!isResource(indicator)) throw new errors.InvalidTarget()
          return { scope: SCOPES.join(' '), audience: indicator, accessTokenFormat: 'opaque', accessTokenTTL: HOUR }
        },
      },
    },
  })
  // Its addresses are made from the headers that `atPublicUrl` sets.
  provider.proxy = true
  const note = (error: Error) => logger.error({ err: error }, 'sign-in by an app failed')
  provider.on('server_error', (_ctx, error) => note(error))
  ;(provider as EventEmitter).on('error', note)
  return provider
}

const AGAIN = 'Start again from the app.'

const pair = promisify(generateKeyPair)

async function makeKey(): Promise<ServerKey['jwk']> {
  const { privateKey } = await pair('rsa', { modulusLength: 2048 })
  return { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256' }
}

/**
 * Whether a request may fetch a client's document: once, because the provider asks for it again while it answers an
 * error, and few of one address at a time. The page of a consent is asked without a context.
 */
function fetchesOf({ limits }: Pick<ProviderOptions, 'limits'>) {
  const asked = new WeakSet<object>()
  return (ctx: KoaContextWithOIDC | undefined): boolean => {
    if (!ctx) return true
    if (asked.has(ctx.req)) return false
    asked.add(ctx.req)
    try {
      holdUntilSent(limits, ctx, 'documents')
    } catch (cause) {
      throw new errors.TemporarilyUnavailable('too many documents of apps are being fetched', { cause })
    }
    return true
  }
}

const MAX_BYTES = 64 * 1024
const TIMEOUT_MS = 5_000

/**
 * Fetches the document that a client's id is the address of: by https from a public address, without redirects, at most
 * 64 kB within 5 seconds. `dispatcher` connects to public addresses only. @throws for everything else
 */
function documentFetcher(dispatcher: Dispatcher) {
  return async (address: string | URL): Promise<Response> => {
    const url = checkUrl(String(address))
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const headers = { accept: 'application/json' }
    const answer = await fetchChecked(url, { dispatcher, redirect: 'manual', signal, headers })
    if (answer.status !== 200 || !answer.body) {
      await answer.body?.cancel()
      return new Response(null, { status: answer.status === 200 ? 502 : 424 })
    }
    const document: unknown = JSON.parse(await readText(answer.body))
    const client = toPublicClient(document, { secrets: 'refused' })
    if (!client) return new Response(null, { status: 424 })
    const { client_id } = document as Metadata
    const cache = answer.headers.get('cache-control')
    return Response.json({ ...client, client_id }, { headers: cache === null ? {} : { 'cache-control': cache } })
  }
}

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of body) {
    bytes += piece.length
    if (bytes > MAX_BYTES) throw new Error(`the document is larger than ${MAX_BYTES} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

/** Where the authorization server keeps its records. */
export function storage(db: Db): (kind: string) => Adapter {
  return (kind) => {
    // Who is signed in is known by our own session alone, so that every request for access asks the person.
    if (kind === 'Session') return FORGETFUL
    return {
      async upsert(id, given, lifetimeSec) {
        const payload = given as Record<string, unknown>
        await orGone(putRecord(db, { kind, id, payload, lifetimeSec }), () => {
          throw new errors.InvalidGrant('the grant has ended')
        })
      },
      find: async (id) => (await findRecord(db, kind, id)) as AdapterPayload | undefined,
      async consume(id) {
        const isFirst = await consumeRecord(db, kind, id)
        if (!isFirst && kind === 'AuthorizationCode') throw new errors.InvalidGrant('authorization code already used')
      },
      destroy: (id) => (kind === 'Grant' ? orGone(revokeGrant(db, { id, by: 'server' })) : deleteRecord(db, kind, id)),
      // The tokens of a grant end with it.
      revokeByGrantId: async () => undefined,
      findByUid: async () => undefined,
      findByUserCode: async () => undefined,
    }
  }
}

/** Grants end at any moment: by their person, or because a token was used twice. */
async function orGone(work: Promise<void>, gone: () => void = () => undefined): Promise<void> {
  try {
    await work
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'not_found') throw error
    gone()
  }
}

const FORGETFUL: Adapter = {
  upsert: async () => undefined,
  find: async () => undefined,
  findByUid: async () => undefined,
  findByUserCode: async () => undefined,
  consume: async () => undefined,
  destroy: async () => undefined,
  revokeByGrantId: async () => undefined,
}
