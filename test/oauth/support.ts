import { createHash, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { ensureAccount, setPlan } from '../../src/library/accounts/accounts.ts'
import { listenOn } from '../support/listening.ts'
import { readAnswer } from '../support/openapi.ts'
import { openService, type Service } from '../support/service.ts'
import { sessionOf } from '../support/session.ts'

/** The service with pages, and a web on which apps publish documents about themselves. */
export interface SignInService extends Service {
  mcp: string
  /** What each address of the test's web answers. */
  web: Map<string, { status?: number; headers?: Record<string, string>; body: string }>
  /** How names of hosts resolve; a public address unless set. */
  names: Map<string, string>
  person(email: string, plan?: 'free' | 'pro'): Promise<Person>
}

/** Somebody with a browser: cookies, and redirects followed within the service only. */
export interface Person {
  accountId: string
  /** Opens an address. Ends at the first page, at the first address outside, or with `redirect: manual` at once. */
  open(address: string, init?: RequestInit): Promise<{ status: number; url: string; text: string; headers: Headers }>
  /** Opens a request for access and answers its form. The address that the app is sent. */
  decide(address: string, answer?: { scopes?: readonly string[]; decision?: string }): Promise<URL>
}

export async function openSignInService(env: Record<string, string> = {}): Promise<SignInService> {
  const web: SignInService['web'] = new Map()
  const names: SignInService['names'] = new Map()
  const documents = createServer((req, res) => {
    const found = web.get(`https://${req.headers.host}${req.url}`)
    res.writeHead(found?.status ?? (found ? 200 : 404), { 'content-type': 'application/json', ...found?.headers })
    res.end(found?.body)
  })
  const listening = await listenOn(documents)
  const service = await openService({
    pages: true,
    worker: false,
    env,
    overrides: {
      wire: {
        resolve: async (host) => [{ address: names.get(host) ?? '93.184.216.34', family: 4 }],
        dial: async () => connect(listening.port, '127.0.0.1'),
      },
    },
  })
  const close = service[Symbol.asyncDispose].bind(service)
  return {
    ...service,
    mcp: `${service.url}/mcp`,
    web,
    names,
    person: (email, plan = 'pro') => personOf(service, email, plan),
    async [Symbol.asyncDispose]() {
      await close()
      await listening[Symbol.asyncDispose]()
    },
  }
}

async function personOf({ stores, url: home }: Service, email: string, plan: 'free' | 'pro'): Promise<Person> {
  const { account } = await ensureAccount(stores.db, { email })
  await setPlan(stores.db, { accountId: account.id, plan })
  const session = await sessionOf(stores.db, home, email)
  const cookies = new Map([[session.name, session.value]])
  const person: Person = {
    accountId: account.id,
    async open(address, init = {}) {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
      const headers = { accept: 'text/html', ...(init.headers as Record<string, string>), cookie }
      const answer = await fetch(address, { ...init, headers, redirect: 'manual' })
      for (const line of answer.headers.getSetCookie()) {
        const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!
        if (value) cookies.set(name!, value)
        else cookies.delete(name!)
      }
      const to = answer.headers.get('location')
      const text = await answer.text()
      if (to === null || init.redirect === 'manual')
        return { status: answer.status, url: address, text, headers: answer.headers }
      const next = new URL(to, address)
      if (next.origin !== home) return { status: answer.status, url: next.href, text, headers: answer.headers }
      return person.open(next.href)
    },
    async decide(address, { scopes, decision = 'allow' } = {}) {
      const page = await person.open(address)
      const action = /<form method="post" action="(\/oauth\/consent\/[^"]+)"/.exec(page.text)?.[1]
      if (action === undefined) throw new Error(`no consent is asked at ${page.url}: ${page.status} ${page.text}`)
      const fields = new URLSearchParams({ form: /name="form" value="([^"]+)"/.exec(page.text)![1]!, decision })
      const offered = [...page.text.matchAll(/name="scope" value="([^"]+)"/g)].map(([, scope]) => scope!)
      for (const scope of scopes ?? offered) fields.append('scope', scope)
      const sent = await person.open(home + action, {
        method: 'POST',
        body: fields.toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      })
      return new URL(sent.url)
    },
  }
  return person
}

export interface Asked {
  clientId: string
  redirectUri: string
  scope?: string | undefined
  resource?: string | undefined
  extra?: Record<string, string>
}

/** A request for access with its secret, as an app makes it. */
export function askForAccess({ url }: Service, { clientId, redirectUri, scope, resource, extra }: Asked) {
  const verifier = randomBytes(32).toString('base64url')
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    state: 'here',
    resource: resource ?? `${url}/mcp`,
    ...(scope === undefined ? {} : { scope }),
    ...extra,
  })
  return { address: `${url}/oauth/authorize?${query}`, verifier }
}

// biome-ignore lint/suspicious/noExplicitAny: answers are asserted field by field
type Json = any

export async function post(address: string, fields: Record<string, string>): Promise<{ status: number; json: Json }> {
  const answer = await fetch(address, { method: 'POST', body: new URLSearchParams(fields) })
  const text = await answer.text()
  return { status: answer.status, json: text === '' ? undefined : JSON.parse(text) }
}

export async function register(
  { url }: Service,
  metadata: Record<string, unknown>,
): Promise<{ status: number; json: Json }> {
  const answer = await fetch(`${url}/oauth/register`, {
    method: 'POST',
    body: JSON.stringify(metadata),
    headers: { 'content-type': 'application/json' },
  })
  return { status: answer.status, json: await answer.json() }
}

/** An app that registers itself and asks for access. `exchange` is what it sends for its tokens. */
export async function asking(service: Service, given: Partial<Asked> = {}) {
  const { redirectUri = 'https://app.example.com/back' } = given
  const { json } = await register(service, { client_name: 'An app', redirect_uris: [redirectUri] })
  const clientId: string = json.client_id
  const { address, verifier } = askForAccess(service, { ...given, clientId, redirectUri })
  const exchange = (back: URL) => ({
    grant_type: 'authorization_code',
    client_id: clientId,
    redirect_uri: redirectUri,
    code: back.searchParams.get('code')!,
    code_verifier: verifier,
  })
  return { clientId, redirectUri, address, exchange }
}

/** An app that has been let in, with its first tokens. */
export async function letIn(service: SignInService, person: Person, options: { scopes?: readonly string[] } = {}) {
  const { clientId, redirectUri, address, exchange: toExchange } = await asking(service)
  const exchange = { ...toExchange(await person.decide(address, options)), resource: service.mcp }
  const tokens = await post(`${service.url}/oauth/token`, exchange)
  return { clientId, redirectUri, exchange, tokens: tokens.json }
}

/** The status of a tool call with this token, its body, and its challenge. */
export async function callTool(
  service: SignInService,
  token: string | undefined,
  name = 'get_board',
  args: object = {},
) {
  return callMethod(service, token, 'tools/call', { name, arguments: args })
}

export async function callMethod({ mcp }: SignInService, token: string | undefined, method: string, params: object) {
  const answer = await fetch(mcp, {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
  })
  const { status, headers, json } = await readAnswer('POST', new URL(mcp).pathname, answer, { method, params })
  return { status, json, challenge: headers.get('www-authenticate') }
}
