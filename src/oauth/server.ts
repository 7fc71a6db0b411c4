import express, { type NextFunction, type Request, type Response } from 'express'
import type Provider from 'oidc-provider'
import type { Db } from '../db/client.ts'
import { AppError, invalid } from '../errors.ts'
import { contextOf } from '../http/edge.ts'
import { priced } from '../http/rate-limit/rate-limits.ts'
import { openRoutes, type Routes } from '../http/routes.ts'
import { createGrant, grantIdOf } from '../library/accounts/grants.ts'
import { MEMBER_SCOPES, OPERATOR_SCOPES, SCOPES, type Scope } from '../library/accounts/key-checks.ts'
import { isLoopbackReturn, registerClient, toPublicClient } from './clients.ts'
import type { ProviderOptions } from './provider.ts'
import { protectedResource, ROUTES } from './routes.ts'

/** A request for access that waits for its person. */
export interface AccessRequest {
  clientName: string
  /** The host that vouches for the name: the one that the client's document comes from. Null: nobody does. */
  vouchedBy: string | null
  /** Where the codes go: a host, or the scheme of a program's own address. */
  returnsTo: string
  /** Any program on the person's machine can receive the code. */
  toLoopback: boolean
  /** For the page's content security policy: the last of its redirects leads there. */
  returnOrigin: string
  scopes: readonly Scope[]
}

export interface AuthorizationServer {
  routes: Routes
  /** The request behind a consent page. @throws AppError not_found where it has ended or is another browser's */
  requested(req: Request, res: Response, role: 'member' | 'operator'): Promise<AccessRequest>
  /** Lets the client in and sends the browser on. */
  approve(
    req: Request,
    res: Response,
    given: { account: { id: string; role: 'member' | 'operator' }; scopes: readonly string[] },
  ): Promise<void>
  deny(req: Request, res: Response): Promise<void>
}

export type AuthorizationServerOptions = Omit<ProviderOptions, 'resource' | 'showError'>

/** Less than the days after which a new key signs. */
const READ_KEYS_EVERY_MS = 24 * 60 * 60 * 1_000

/** Opens the authorization server. Its keys are looked up at the first request, and again every day. */
export function openAuthorizationServer(options: AuthorizationServerOptions): AuthorizationServer {
  const { publicUrl } = options
  const { resource } = protectedResource(publicUrl)
  let opened: Promise<Provider> | undefined
  let openedAt = 0
  const providerOf = () => {
    if (Date.now() - openedAt > READ_KEYS_EVERY_MS) {
      opened = undefined
      openedAt = Date.now()
    }
    // Its packages are loaded with the first request.
    opened ??= import('./provider.ts')
      .then(({ createProvider }) => createProvider({ ...options, resource, showError }))
      .catch((error: unknown) => {
        opened = undefined
        throw error
      })
    return opened
  }
  const answer: Answer = async (req, res, next) => {
    const provider = await providerOf()
    atPublicUrl(publicUrl, req)
    errorsOf.set(req, next)
    await provider.callback()(req, res)
  }
  return {
    routes: routesOf(options, answer),
    async requested(req, res, role) {
      const provider = await providerOf()
      return describeRequest(provider, await interactionOf(provider, publicUrl, req, res), role)
    },
    async approve(req, res, { account, scopes: chosen }) {
      const provider = await providerOf()
      const interaction = await interactionOf(provider, publicUrl, req, res)
      const request = await describeRequest(provider, interaction, account.role)
      const scopes = request.scopes.filter((scope) => chosen.includes(scope))
      if (scopes.length === 0) throw invalid('scope', 'Choose at least one thing that the app may do, or refuse it.')
      const { clientName, returnsTo } = request
      const clientId = String(interaction.params.client_id)
      const accountId = account.id
      const id = grantIdOf(accountId, interaction.uid)
      await createGrant(options.db, { id, accountId, clientId, clientName, returnsTo, scopes })
      const grant = new provider.Grant({ accountId, clientId, jti: id } as never)
      // What is neither granted nor rejected would be asked again.
      const rejected = SCOPES.filter((scope) => !scopes.includes(scope))
      for (const indicator of [interaction.params.resource ?? resource].flat().map(String)) {
        grant.addResourceScope(indicator, scopes.join(' '))
        grant.rejectResourceScope(indicator, rejected.join(' '))
      }
      const asked = String(interaction.params.scope ?? '').split(' ')
      grant.addOIDCScope(asked.includes('offline_access') ? 'offline_access' : '')
      grant.rejectOIDCScope(MEMBER_SCOPES.join(' '))
      await grant.save()
      const result = { login: { accountId, remember: false }, consent: { grantId: id } }
      await provider.interactionFinished(req, res, result, { mergeWithLastSubmission: false })
    },
    async deny(req, res) {
      const provider = await providerOf()
      await interactionOf(provider, publicUrl, req, res)
      const result = { error: 'access_denied', error_description: 'The person refused.' }
      await provider.interactionFinished(req, res, result, { mergeWithLastSubmission: false })
    },
  }
}

type Answer = (req: Request, res: Response, next: NextFunction) => Promise<void>

function routesOf({ db, publicUrl, limits }: AuthorizationServerOptions, answer: Answer): Routes {
  const { resource, path } = protectedResource(publicUrl)
  const router = openRoutes()
  const paid = priced(limits)
  router.get(path, paid, (_req, res) => {
    res.set('Access-Control-Allow-Origin', '*').set('Cache-Control', 'public, max-age=300')
    res.json({
      resource,
      authorization_servers: [publicUrl],
      scopes_supported: MEMBER_SCOPES,
      bearer_methods_supported: ['header'],
      resource_name: 'Frame Library',
      resource_documentation: `${publicUrl}/docs`,
    })
  })
  router.get('/.well-known/oauth-authorization-server', paid, answer)
  router.get('/.well-known/openid-configuration', paid, answer)
  router.get(ROUTES.jwks, paid, answer)
  router.get(ROUTES.authorization, priced(limits, { price: 'write', noStore: true }), boundRequest, askForAll, answer)
  router.get(`${ROUTES.authorization}/:uid`, paid, withoutQuery, answer)
  router.post(ROUTES.token, paid, answer)
  router.post(ROUTES.revocation, paid, answer)
  router.post(
    ROUTES.registration,
    paid,
    async (req, _res, next) => {
      await limits.consume('links', contextOf(req).address, 1)
      next()
    },
    express.json({ limit: '32kb' }),
    takeClient(db),
  )
  return router
}

const MAX_REQUEST = 4_000

/** A request for access is stored with all its parameters while its person decides, by a caller without an account. */
function boundRequest(req: Request, _res: Response, next: NextFunction): void {
  if (req.url.length > MAX_REQUEST)
    throw invalid('request', `The app cannot connect: its request has more than ${MAX_REQUEST} characters.`)
  next()
}

/** A client that names no scope of ours asks for all that members have. */
function askForAll(req: Request, _res: Response, next: NextFunction): void {
  const url = new URL(req.url, 'http://localhost')
  const asked = (url.searchParams.get('scope') ?? '').split(' ')
  if (!SCOPES.some((scope) => asked.includes(scope))) {
    url.searchParams.set('scope', [...asked, ...MEMBER_SCOPES].join(' ').trim())
    req.url = url.pathname + url.search
  }
  next()
}

/** The way on after consent is known by a cookie alone. With a client in the query the provider fails without one. */
function withoutQuery(req: Request, _res: Response, next: NextFunction): void {
  req.url = contextOf(req).path
  next()
}

/** Answers a client that registers itself (RFC 7591). */
function takeClient(db: Db) {
  return async (req: Request, res: Response) => {
    res.set('Cache-Control', 'no-store')
    const client = toPublicClient(req.body, { secrets: 'replaced' })
    if (client) res.status(201).json(await registerClient(db, client))
    else res.status(400).json({ error: 'invalid_redirect_uri', error_description: RETURNS })
  }
}

const RETURNS = 'redirect_uris must be 1 to 20 https addresses, or http addresses of localhost, 127.0.0.1 or [::1].'

/** The provider makes its addresses from the request, and they must be ours whatever the proxy in front sends. */
function atPublicUrl(publicUrl: string, req: Request): void {
  const { host, protocol } = new URL(publicUrl)
  req.headers['x-forwarded-host'] = host
  req.headers['x-forwarded-proto'] = protocol.slice(0, -1)
}

const errorsOf = new WeakMap<object, NextFunction>()

const showError: ProviderOptions['showError'] = (ctx, error) => {
  // The answer is that of our other pages.
  ctx.respond = false
  errorsOf.get(ctx.req)?.(error)
}

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>

async function interactionOf(provider: Provider, publicUrl: string, req: Request, res: Response): Promise<Interaction> {
  atPublicUrl(publicUrl, req)
  const found = await provider.interactionDetails(req, res).catch(() => undefined)
  if (!found || found.uid !== req.params.uid)
    throw new AppError('not_found', 'This request has ended. Start again from the app.')
  return found
}

async function describeRequest(
  provider: Provider,
  { params }: Interaction,
  role: 'member' | 'operator',
): Promise<AccessRequest> {
  const clientId = String(params.client_id)
  const client = await provider.Client.find(clientId)
  if (!client) throw new AppError('not_found', 'This app is no longer registered. Start again from the app.')
  const to = new URL(String(params.redirect_uri))
  const offered: readonly Scope[] = role === 'operator' ? [...MEMBER_SCOPES, ...OPERATOR_SCOPES] : MEMBER_SCOPES
  const asked = String(params.scope ?? '').split(' ')
  const scopes = offered.filter((scope) => asked.includes(scope))
  if (scopes.length === 0)
    throw new AppError('forbidden', 'The app asks only for what operators may allow. Ask one of them to connect it.')
  const isWeb = /^https?:$/.test(to.protocol)
  return {
    clientName: client.clientName ?? 'An app without a name',
    vouchedBy: clientId.startsWith('https://') ? new URL(clientId).hostname : null,
    returnsTo: isWeb ? to.host : to.protocol,
    toLoopback: isLoopbackReturn(to.href),
    returnOrigin: isWeb ? to.origin : to.protocol,
    scopes,
  }
}
