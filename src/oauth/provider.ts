import { generateKeyPair } from 'node:crypto'
import type { EventEmitter } from 'node:events'
import { promisify } from 'node:util'
import { eq } from 'drizzle-orm'
import Provider, { errors, type KoaContextWithOIDC } from 'oidc-provider'
import type { Db } from '../db/client.ts'
import { accounts } from '../db/schema/accounts.ts'
import { invalid } from '../errors.ts'
import { MEMBER_SCOPES, SCOPES } from '../library/accounts/keys.ts'
import { loadServerKeys, type ServerKey } from '../library/accounts/oauth-records.ts'
import type { Logger } from '../logger.ts'
import { openCheckedAgent, type Wire } from '../outbound/checked-connection.ts'
import { documentFetcher } from './client-documents.ts'
import { consentPath, ROUTES } from './routes.ts'
import { storage } from './storage.ts'

export interface ProviderOptions {
  db: Db
  publicUrl: string
  /** The address that tokens are issued for. */
  resource: string
  /** Clients may register themselves. */
  registration: boolean
  /** Set by tests: the two ends of the wire to clients' documents. */
  wire?: Wire | undefined
  logger: Logger
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
  const { db, publicUrl, resource, registration, wire, logger, showError } = options
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
      showError(ctx, error === 'server_error' ? thrown : invalid('request', `The app cannot connect: ${why}. ${AGAIN}`))
    },
    fetch: documentFetcher(openCheckedAgent({ ...wire, connections: 4 })) as typeof fetch,
    features: {
      devInteractions: { enabled: false },
      userinfo: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      revocation: { enabled: true, allowedPolicy: (_ctx, client, token) => client.clientId === token.clientId },
      // Only its address in the metadata: `registerClient` answers.
      registration: { enabled: registration },
      clientIdMetadataDocument: { enabled: true, ack: 'draft-02' },
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
