import { createHash } from 'node:crypto'
import { createGrant } from '../../src/library/accounts/grants.ts'
import type { World } from './world.ts'

/*
 * The requests of a sign-in by an app (OAuth), each after the ones before it: asked for access, shown to the person,
 * allowed, sent back with a code, and exchanged for tokens.
 */

const STEPS = ['ask', 'look', 'allow', 'goOn', 'exchange'] as const
type Step = (typeof STEPS)[number]
export const APP_ADDRESS = 'http://localhost'
const RETURN = 'https://app.example.com/back'
const VERIFIER = 'v'.repeat(64)

const client = {
  client_name: 'An app'.padEnd(100, '.'),
  redirect_uris: Array.from({ length: 10 }, (_, n) => (n === 0 ? RETURN : `https://app.example.com/${n}`)),
}

const registration = () => ({
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(client),
})

async function register({ url }: World): Promise<string> {
  const answer = await fetch(`${url}/oauth/register`, { method: 'POST', ...registration() })
  return ((await answer.json()) as { client_id: string }).client_id
}

interface Sent extends RequestInit {
  path: string
}

/** Goes through a new sign-in up to `wanted`, which is left to the caller to send. */
async function signInRequest(world: World, wanted: Step): Promise<Sent> {
  const clientId = await register(world)
  const cookies = new Map([world.cookie.split('=', 2) as [string, string]])
  const withCookies = () => ({ cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') })
  const asForm = (fields: URLSearchParams) => ({
    method: 'POST',
    body: fields.toString(),
    headers: { ...withCookies(), 'content-type': 'application/x-www-form-urlencoded' },
  })
  let back = ''
  const requests: Record<Step, () => Sent> = {
    ask: () => ({ path: `/oauth/authorize?${asked(clientId)}`, headers: withCookies() }),
    look: () => ({ path: back, headers: withCookies() }),
    allow: () => ({
      path: back,
      ...asForm(new URLSearchParams({ form: world.form, decision: 'allow', scope: 'saves:read' })),
    }),
    goOn: () => ({ path: back, headers: withCookies() }),
    exchange: () => ({ path: '/oauth/token', ...asForm(exchange(clientId, back)) }),
  }
  for (const step of STEPS) {
    const request = requests[step]()
    if (step === wanted) return request
    const answer = await fetch(`${world.url}${request.path}`, { ...request, redirect: 'manual' })
    await answer.arrayBuffer()
    for (const line of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!
      cookies.set(name!, value!)
    }
    const to = answer.headers.get('location')
    if (to) back = to.startsWith(RETURN) ? to : new URL(to, APP_ADDRESS).pathname
  }
  throw new Error(`The sign-in has no step ${wanted}.`)
}

const asked = (clientId: string) =>
  new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: RETURN,
    code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
    code_challenge_method: 'S256',
    state: 's'.repeat(200),
    resource: `${APP_ADDRESS}/mcp`,
  })

const exchange = (clientId: string, back: string) =>
  new URLSearchParams({
    grant_type: 'authorization_code',
    client_id: clientId,
    redirect_uri: RETURN,
    code: new URL(back).searchParams.get('code') ?? '',
    code_verifier: VERIFIER,
    resource: `${APP_ADDRESS}/mcp`,
  })

/** A token that can be revoked. */
async function revocation(world: World): Promise<Sent> {
  const { path, ...request } = await signInRequest(world, 'exchange')
  const answer = await fetch(`${world.url}${path}`, request)
  const { refresh_token } = (await answer.json()) as { refresh_token: string }
  const body = new URLSearchParams({
    token: refresh_token,
    client_id: new URLSearchParams(String(request.body)).get('client_id')!,
  })
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  return { path: '/oauth/revoke', method: 'POST', body: body.toString(), headers }
}

/** Disconnecting an app that was connected just now. */
async function disconnection({ db, accountId, cookie, form }: World): Promise<Sent> {
  const app = { clientId: 'bench', clientName: 'An app', returnsTo: RETURN, scopes: [] }
  const id = await createGrant(db, { accountId, ...app })
  const headers = { cookie, 'content-type': 'application/x-www-form-urlencoded' }
  const body = new URLSearchParams({ form }).toString()
  return { path: `/web/apps/${id}/revoke`, method: 'POST', headers, body }
}

export const SIGN_IN_REQUESTS: Record<string, (world: World) => Promise<Sent>> = {
  'POST /oauth/register': async () => ({ path: '/oauth/register', method: 'POST', ...registration() }),
  'GET /oauth/authorize': (world) => signInRequest(world, 'ask'),
  'GET /oauth/consent/:uid': (world) => signInRequest(world, 'look'),
  'POST /oauth/consent/:uid': (world) => signInRequest(world, 'allow'),
  'GET /oauth/authorize/:uid': (world) => signInRequest(world, 'goOn'),
  'POST /oauth/token': (world) => signInRequest(world, 'exchange'),
  'POST /oauth/revoke': revocation,
  'POST /web/apps/:id/revoke': disconnection,
}
