import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client'
import { UnauthorizedError as OldUnauthorized } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { beforeAll, describe, expect, test } from 'vitest'
import { useOpened } from '../support/closing.ts'
import {
  askForAccess,
  asking,
  callMethod,
  callTool,
  letIn,
  openSignInService,
  type Person,
  register,
} from './support.ts'

/** An app that a person lets in: the whole way of the protocol's own clients, and the registrations of hosts. */

const service = useOpened(() => openSignInService())
let person: Person
beforeAll(async () => {
  person = await service.person('designer@example.com')
})

/** What an app keeps between its steps. Both of the protocol's clients take it. */
function appMemory(redirectUrl: string, clientMetadataUrl?: string) {
  // biome-ignore lint/suspicious/noExplicitAny: each client has its own types of the same objects
  const kept: Record<string, any> = {}
  return {
    redirectUrl,
    ...(clientMetadataUrl === undefined ? {} : { clientMetadataUrl }),
    clientMetadata: {
      client_name: 'Studio assistant',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    clientInformation: () => kept.client,
    saveClientInformation: (given: unknown) => void Object.assign(kept, { client: given }),
    tokens: () => kept.tokens,
    saveTokens: (given: unknown) => void Object.assign(kept, { tokens: given }),
    redirectToAuthorization: (url: URL) => void Object.assign(kept, { address: url.href }),
    saveCodeVerifier: (given: string) => void Object.assign(kept, { verifier: given }),
    codeVerifier: () => kept.verifier as string,
    kept,
  }
}

test('the protocol’s client signs a person in, saves to a board, and finds it again', async () => {
  const app = appMemory('https://studio.example.com/callback')
  const transport = new StreamableHTTPClientTransport(new URL(service.mcp), { authProvider: app })
  const client = new Client({ name: 'studio', version: '1' })
  await expect(client.connect(transport)).rejects.toBeInstanceOf(UnauthorizedError)
  const back = await person.decide(app.kept.address)
  expect([back.origin, back.searchParams.get('iss')]).toEqual(['https://studio.example.com', service.url])
  await transport.finishAuth(back.searchParams)
  const signedIn = new Client({ name: 'studio', version: '1' })
  await signedIn.connect(new StreamableHTTPClientTransport(new URL(service.mcp), { authProvider: app }))
  const made = await signedIn.callTool({ name: 'edit_board', arguments: { name: 'Openings' } })
  expect(made.isError).toBeFalsy()
  const boards = await signedIn.callTool({ name: 'get_board', arguments: {} })
  expect(JSON.stringify(boards.content)).toContain('Openings')
  await signedIn.close()
})

test('the protocol’s older client signs in too', async () => {
  const app = appMemory('http://localhost:33418/callback')
  const transport = new OldTransport(new URL(service.mcp), { authProvider: app })
  const client = new OldClient({ name: 'old', version: '1' })
  await expect(client.connect(transport)).rejects.toBeInstanceOf(OldUnauthorized)
  const back = await person.decide(app.kept.address)
  await transport.finishAuth(back.searchParams.get('code')!)
  const signedIn = new OldClient({ name: 'old', version: '1' })
  await signedIn.connect(new OldTransport(new URL(service.mcp), { authProvider: app }))
  expect((await signedIn.callTool({ name: 'list_saves', arguments: {} })).isError).toBeFalsy()
  await signedIn.close()
})

describe('the metadata', () => {
  test('every address answers at the public address, and none redirects', async () => {
    const resource = await (await fetch(`${service.url}/.well-known/oauth-protected-resource/mcp`)).json()
    expect(resource).toMatchObject({ resource: service.mcp, authorization_servers: [service.url] })
    for (const document of ['oauth-authorization-server', 'openid-configuration']) {
      const answer = await fetch(`${service.url}/.well-known/${document}`, { headers: { host: 'elsewhere.example' } })
      const metadata = await answer.json()
      expect(metadata).toMatchObject({
        issuer: service.url,
        code_challenge_methods_supported: ['S256'],
        authorization_response_iss_parameter_supported: true,
        client_id_metadata_document_supported: true,
        token_endpoint_auth_methods_supported: ['none'],
        response_types_supported: ['code'],
      })
      const addresses = Object.entries(metadata).filter(([name]) => /_(?:endpoint|uri)$/.test(name))
      expect(addresses.map(([name]) => name).sort()).toEqual([
        'authorization_endpoint',
        'jwks_uri',
        'registration_endpoint',
        'revocation_endpoint',
        'token_endpoint',
      ])
      for (const [name, address] of addresses) {
        expect(String(address).startsWith(`${service.url}/oauth/`), name).toBe(true)
        const got = await fetch(String(address), {
          method: /^(?:authorization|jwks)/.test(name) ? 'GET' : 'POST',
          redirect: 'manual',
        })
        expect([200, 400, 401], `${name} ${got.status}`).toContain(got.status)
        await got.arrayBuffer()
      }
    }
  })

  test('the open door names no resource metadata, and never asks for a sign-in', async () => {
    for (const path of ['oauth-protected-resource', 'oauth-protected-resource/api/mcp']) {
      expect((await fetch(`${service.url}/.well-known/${path}`)).status).toBe(404)
    }
    const open = await fetch(`${service.url}/api/mcp`, {
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
      headers: { 'content-type': 'application/json' },
    })
    expect(open.status).toBe(200)
  })
})

describe('a client', () => {
  const REGISTRATIONS: [string, Record<string, unknown>, string][] = [
    [
      'claude.ai, with a scope that is not ours',
      {
        client_name: 'Claude',
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'client_secret_post',
        scope: 'claudeai',
        redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
      },
      'https://claude.ai/api/mcp/auth_callback',
    ],
    [
      'Claude Code',
      {
        client_name: 'Claude Code',
        application_type: 'native',
        token_endpoint_auth_method: 'none',
        redirect_uris: ['http://localhost:54212/callback'],
      },
      'http://localhost:61001/callback',
    ],
    [
      'ChatGPT',
      { client_name: 'ChatGPT', redirect_uris: ['https://chatgpt.com/connector/oauth/abc123'] },
      'https://chatgpt.com/connector/oauth/abc123',
    ],
    [
      'VS Code',
      {
        client_name: 'Visual Studio Code',
        application_type: 'native',
        redirect_uris: ['https://vscode.dev/redirect', 'http://127.0.0.1:33418', 'http://127.0.0.1:33418/'],
      },
      'http://127.0.0.1:33418/',
    ],
    [
      'Cursor, without a type',
      {
        client_name: 'Cursor',
        redirect_uris: ['cursor://anysphere.cursor-mcp/oauth/callback'],
        token_endpoint_auth_method: 'none',
      },
      'cursor://anysphere.cursor-mcp/oauth/callback',
    ],
    [
      'OpenCode, on loopback without a type',
      { client_name: 'OpenCode', redirect_uris: ['http://127.0.0.1:19876/mcp/oauth/callback'] },
      'http://127.0.0.1:19876/mcp/oauth/callback',
    ],
  ]
  test.each(REGISTRATIONS)('registers itself and is let in: %s', async (_host, metadata, redirectUri) => {
    const { status, json } = await register(service, metadata)
    expect([status, json.token_endpoint_auth_method]).toEqual([201, 'none'])
    expect(json.client_secret).toBeUndefined()
    const back = await person.decide(askForAccess(service, { clientId: json.client_id, redirectUri }).address)
    expect(back.searchParams.get('code')).toMatch(/./)
    expect(back.href.startsWith(redirectUri)).toBe(true)
  })

  test.each([
    ['http of another machine', ['http://app.example.com/back']],
    ['an unknown program', ['evil://anysphere.cursor-mcp/oauth/callback']],
    ['a script', ['javascript:alert(1)']],
    ['none', []],
    ['no list', 'https://app.example.com'],
    ['a number', [7]],
    ['a bad one beside a good one', ['https://app.example.com/back', 'http://app.example.com/back']],
    ['half a sign', ['https://app.example.com/\ud83d']],
    ['NUL', ['https://app.example.com/\0']],
  ])('is refused with an address where no code may go: %s', async (_what, redirect_uris) => {
    const { status, json } = await register(service, { client_name: 'x', redirect_uris })
    expect([status, json.error]).toEqual([400, 'invalid_redirect_uri'])
  })

  test('registers under a long name, which is cut before a sign that does not fit', async () => {
    const redirect_uris = ['https://app.example.com/back']
    const { status, json } = await register(service, { client_name: `${'a'.repeat(79)}😀`, redirect_uris })
    expect([status, json.client_name]).toEqual([201, 'a'.repeat(79)])
  })

  test('a request for access costs a write, and a long one is not stored', async () => {
    const { clientId, redirectUri } = await asking(service)
    const stored = async () => {
      const { rows } = await service.stores.db.$client.query(
        "select count(*)::int as n, sum(length(payload::text)) as held from oauth_records where kind = 'Interaction'",
      )
      return rows[0]
    }
    const ask = (state: string) => {
      const { address } = askForAccess(service, { clientId, redirectUri, extra: { state } })
      return fetch(address, { redirect: 'manual' })
    }
    const left: number[] = []
    for (const state of ['a', 'b', 'c']) {
      const answer = await ask(state)
      expect(answer.status).toBe(303)
      left.push(Number(/r=(\d+)/.exec(answer.headers.get('ratelimit') ?? '')?.[1]))
    }
    // A new minute may begin between two of them.
    expect([left[0]! - left[1]!, left[1]! - left[2]!]).toContain(5)
    const before = await stored()
    expect((await ask('x'.repeat(12_000))).status).toBe(400)
    expect(await stored()).toEqual(before)
    expect((await ask('x'.repeat(3_000))).status).toBe(303)
  })

  test('is told why its request cannot go on, on our page, without being sent anywhere', async () => {
    const { clientId } = await asking(service)
    const { address } = askForAccess(service, { clientId, redirectUri: 'https://evil.example.com/back' })
    const page = await person.open(address)
    expect([page.status, page.url]).toEqual([400, address])
    expect(page.text).toContain('The app cannot connect')
    const ended = await person.open(`${service.url}/oauth/authorize/ended`)
    for (const { text } of [page, ended]) expect(text).toContain('<h1>That did not work</h1>')
  })
})

describe('a client that publishes a document', () => {
  const id = 'https://studio.example.com/oauth/client.json'
  const redirectUri = 'https://studio.example.com/callback'
  const document = { client_id: id, client_name: 'Studio', redirect_uris: [redirectUri] }
  const publish = (at: string, body: unknown, more: object = {}) =>
    service.web.set(at, { body: typeof body === 'string' ? body : JSON.stringify(body), ...more })

  test('is let in under the name of its site', async () => {
    publish(id, {
      ...document,
      token_endpoint_auth_method: 'private_key_jwt',
      token_endpoint_auth_methods_supported: ['private_key_jwt', 'none'],
      jwks_uri: 'https://studio.example.com/jwks.json',
    })
    const { address } = askForAccess(service, { clientId: id, redirectUri })
    const page = await person.open(address)
    expect(page.text).toContain('<strong>studio.example.com</strong> publishes this name')
    expect(page.headers.get('content-security-policy')).toContain("form-action 'self' https://studio.example.com;")
    expect((await person.decide(address)).searchParams.get('code')).toMatch(/./)
  })

  test.each([
    ['redirects', 'https://a1.example.com/c', { status: 302, headers: { location: id } }, {}],
    ['names another id', 'https://a2.example.com/c', {}, { client_id: id }],
    ['weighs 5 MB', 'https://a3.example.com/c', {}, { filler: 'x'.repeat(5_000_000) }],
    ['insists on a secret', 'https://a4.example.com/c', {}, { token_endpoint_auth_method: 'client_secret_post' }],
    ['is no JSON', 'https://a5.example.com/c', { body: 'hello' }, {}],
    ['is a list', 'https://a6.example.com/c', { body: '[]' }, {}],
    ['is missing', 'https://a7.example.com/c', { status: 404 }, {}],
  ])('is refused where it %s', async (_what, at, more, fields) => {
    publish(at, { ...document, client_id: at, ...fields }, more)
    const page = await person.open(askForAccess(service, { clientId: at, redirectUri }).address)
    expect(page.status).toBe(400)
    expect(page.text).not.toContain('name="scope"')
  })

  test.each([
    ['loopback', '127.0.0.1'],
    ['a private network', '10.0.0.7'],
    ['the metadata of a cloud', '169.254.169.254'],
  ])('is refused where its host resolves to %s', async (_what, address) => {
    const at = `https://${address.replaceAll('.', '-')}.example.com/c`
    service.names.set(new URL(at).hostname, address)
    publish(at, { ...document, client_id: at })
    const page = await person.open(askForAccess(service, { clientId: at, redirectUri }).address)
    expect(page.status).toBe(400)
  })
})

describe('a person', () => {
  test('decides what the app may do; it is told the scope that is missing', async () => {
    const { tokens } = await letIn(service, person, { scopes: ['boards:read'] })
    expect((await callTool(service, tokens.access_token)).status).toBe(200)
    // Of a tool with two scopes the arguments say which.
    const { tokens: boards } = await letIn(service, person, { scopes: ['boards:write'] })
    const unsave = await callTool(service, boards.access_token, 'remove', { frame_ids: ['x'] })
    expect([unsave.status, unsave.challenge]).toEqual([403, expect.stringContaining('scope="saves:write"')])
    expect((await callTool(service, boards.access_token, 'remove', { board_id: 'x' })).status).toBe(200)
    const refused = await callTool(service, tokens.access_token, 'list_saves')
    expect(refused.status).toBe(403)
    expect(refused.challenge).toMatch(/error="insufficient_scope", scope="saves:read", resource_metadata="http/)
    expect(refused.json.result).toMatchObject({
      isError: true,
      _meta: { 'mcp/www_authenticate': [refused.challenge] },
    })
  })

  test('is told the scope that a board as a resource needs', async () => {
    const { tokens } = await letIn(service, person, { scopes: ['saves:read'] })
    const refused = await callMethod(service, tokens.access_token, 'resources/read', { uri: 'board://any' })
    expect(refused.status).toBe(403)
    expect(refused.challenge).toContain('error="insufficient_scope", scope="boards:read"')
    expect(refused.json.error).toMatchObject({ message: expect.stringContaining('boards:read') })
    const { json } = await callMethod(service, tokens.access_token, 'resources/list', {})
    expect(JSON.stringify(json.result.resources)).not.toContain('board://')
  })

  const ASKED = ['boards:read videos:write offline_access unheard:of', 'offline_access', 'unheard:of', 'videos:write']
  test.each(ASKED)('is not offered what only operators may do, and is asked once: %s', async (scope) => {
    const { address } = await asking(service, { scope })
    const { text } = await person.open(address)
    expect(text).not.toContain('videos:write')
    if (scope === 'videos:write') expect(text).toContain('asks only for what operators may allow')
    else expect((await person.decide(address)).searchParams.get('code')).toMatch(/./)
  })

  test('refuses, and the app learns it', async () => {
    const { address } = await asking(service)
    const back = await person.decide(address, { decision: 'refuse' })
    expect([back.searchParams.get('error'), back.searchParams.get('code')]).toEqual(['access_denied', null])
  })

  test('signs in first, and comes back to the question', async () => {
    const to = await fetch((await asking(service)).address, { redirect: 'manual' })
    const consent = await fetch(new URL(to.headers.get('location')!, service.url), { redirect: 'manual' })
    expect([consent.status, consent.headers.get('location')]).toEqual([303, '/sign-in'])
    expect(consent.headers.get('set-cookie')).toContain('back=%2Foauth%2Fconsent%2F')
  })

  test('cannot answer a request of another browser', async () => {
    const mine = await fetch((await asking(service)).address, { redirect: 'manual' })
    const page = await person.open(new URL(mine.headers.get('location')!, service.url).href)
    expect(page.status).toBe(404)
  })
})
