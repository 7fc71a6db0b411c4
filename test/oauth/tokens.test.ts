import { beforeAll, describe, expect, test } from 'vitest'
import { deleteAccount, deleteExpired, setDisabled, setPlan } from '../../src/library/accounts/accounts.ts'
import { listGrants, revokeGrant } from '../../src/library/accounts/grants.ts'
import { sql } from '../../src/sql/orm.ts'
import { LISTED } from '../mcp/tool-library.ts'
import { useOpened } from '../support/closing.ts'
import { asking, callTool, letIn, openSignInService, type Person, post } from './support.ts'

/** What codes and tokens open, and when they stop. */

const service = useOpened(() => openSignInService())
let person: Person
beforeAll(async () => {
  person = await service.person('designer@example.com')
})

const tokenEndpoint = (fields: Record<string, string>) => post(`${service.url}/oauth/token`, fields)
const refresh = (clientId: string, token: string) =>
  tokenEndpoint({ grant_type: 'refresh_token', client_id: clientId, refresh_token: token })
const works = async (token: string) => (await callTool(service, token)).status

/** As if some seconds had passed since everything happened. */
const pass = (seconds: number) =>
  service.stores.db.execute(sql`
    update oauth_records set consumed_at = consumed_at - make_interval(secs => ${seconds}),
                             expires_at = expires_at - make_interval(secs => ${seconds})`)

async function eventsOf(accountId: string): Promise<string[]> {
  const { rows } = await service.stores.db.execute<{ type: string }>(
    sql`select type from events where account_id = ${accountId} and type like 'grant.%' order by seq`,
  )
  return rows.map(({ type }) => type)
}

describe('a code', () => {
  test('is exchanged once: a second use ends what the first one got', async () => {
    const { exchange, tokens } = await letIn(service, person)
    expect(await works(tokens.access_token)).toBe(200)
    expect(await tokenEndpoint(exchange)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } })
    expect(await works(tokens.access_token)).toBe(401)
  })

  test.each([1, 2, 3, 4, 5])('gets tokens for one of four exchanges at once at most (%i)', async () => {
    const { address, exchange } = await asking(service)
    const sent = exchange(await person.decide(address))
    const answers = await Promise.all([1, 2, 3, 4].map(() => tokenEndpoint(sent)))
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1)
    expect(answers.every(({ status }) => status === 200 || status === 400)).toBe(true)
  })

  test.each([
    ['another verifier', { code_verifier: 'x'.repeat(43) }],
    ['no verifier', { code_verifier: '' }],
    ['another address', { redirect_uri: 'https://app.example.com/other' }],
    ['another resource', { resource: 'https://elsewhere.example.com/mcp' }],
  ])('is worth nothing with %s', async (_what, changed) => {
    const { address, exchange } = await asking(service)
    const { status, json } = await tokenEndpoint({ ...exchange(await person.decide(address)), ...changed })
    expect([status, json.access_token]).toEqual([400, undefined])
  })

  test.each<Record<string, string>>([
    { code_challenge: '', code_challenge_method: '' },
    { code_challenge_method: 'plain' },
    { response_type: 'token' },
    { response_type: 'id_token' },
    { resource: 'https://elsewhere.example.com/mcp' },
  ])('is not given without PKCE, for another resource, or by another flow: %o', async (extra) => {
    const { url } = await person.open((await asking(service, { extra })).address)
    expect(new URL(url).searchParams.get('error') ?? new URL(url).hash).toMatch(/\w/)
    expect(url).not.toMatch(/[?&#]code=/)
  })

  test('names its issuer, and the resource may end with a slash', async () => {
    const { address, exchange } = await asking(service, { resource: `${service.mcp}/` })
    const back = await person.decide(address)
    expect(back.searchParams.get('iss')).toBe(service.url)
    expect(await works((await tokenEndpoint(exchange(back))).json.access_token)).toBe(200)
  })
})

describe('a refresh token', () => {
  test('is replaced at each use; two tabs may use it at once', async () => {
    const { clientId, tokens } = await letIn(service, person)
    const [one, two] = await Promise.all([
      refresh(clientId, tokens.refresh_token),
      refresh(clientId, tokens.refresh_token),
    ])
    expect([one.status, two.status]).toEqual([200, 200])
    expect(one.json.refresh_token).not.toBe(tokens.refresh_token)
    expect(await works(one.json.access_token)).toBe(200)
    expect(await works(two.json.access_token)).toBe(200)
  })

  test('that is used again later was stolen: everything of its app ends, and the log says so', async () => {
    const victim = await service.person('victim@example.com')
    const { clientId, tokens } = await letIn(service, victim)
    const { json } = await refresh(clientId, tokens.refresh_token)
    await pass(60)
    expect(await refresh(clientId, tokens.refresh_token)).toMatchObject({
      status: 400,
      json: { error: 'invalid_grant' },
    })
    expect(await works(json.access_token)).toBe(401)
    expect((await refresh(clientId, json.refresh_token)).status).toBe(400)
    expect(await eventsOf(victim.accountId)).toEqual(['grant.created', 'grant.revoked'])
  })

  test('is worth nothing to another client', async () => {
    const { tokens } = await letIn(service, person)
    const other = await letIn(service, person)
    expect((await refresh(other.clientId, tokens.refresh_token)).status).toBe(400)
  })

  test('gives no more than was allowed', async () => {
    const { clientId, tokens } = await letIn(service, person, { scopes: ['boards:read'] })
    const answer = await tokenEndpoint({
      grant_type: 'refresh_token',
      client_id: clientId,
      refresh_token: tokens.refresh_token,
      scope: 'boards:read saves:write',
    })
    const token = answer.json.access_token ?? (await refresh(clientId, tokens.refresh_token)).json.access_token
    expect((await callTool(service, token, 'save_frame', { frame_id: 'x-1' })).status).toBe(403)
  })
})

describe('an access token', () => {
  test('opens the signed-in door only', async () => {
    const { tokens } = await letIn(service, person)
    const authorization = `Bearer ${tokens.access_token}`
    expect((await fetch(`${service.url}/api/boards`, { headers: { authorization } })).status).toBe(401)
    const open = await fetch(`${service.url}/api/mcp`, {
      method: 'POST',
      body: '{}',
      headers: { authorization, 'content-type': 'application/json' },
    })
    expect(open.status).toBe(401)
  })

  test('ends after an hour', async () => {
    const { clientId, tokens } = await letIn(service, person)
    await pass(3_601)
    expect(await works(tokens.access_token)).toBe(401)
    expect((await refresh(clientId, tokens.refresh_token)).status).toBe(200)
  })

  test('is not stored as it is, nor is any other secret', async () => {
    const { clientId, exchange, tokens } = await letIn(service, person)
    const { rows } = await service.stores.db.execute<{ all: string }>(
      sql`select string_agg(r::text, '') as all from oauth_records r`,
    )
    for (const secret of [tokens.access_token, tokens.refresh_token, exchange.code, exchange.code_verifier])
      expect(rows[0]!.all).not.toContain(secret)
    expect(rows[0]!.all).toContain(clientId)
  })

  test('asks for nothing new of a free account: it is told its plan', async () => {
    const free = await service.person('free@example.com', 'free')
    const { tokens } = await letIn(service, free)
    const { status, json } = await callTool(service, tokens.access_token)
    expect([status, json.result.isError, json.result._meta.code]).toEqual([200, true, 'plan_required'])
    await setPlan(service.stores.db, { accountId: free.accountId, plan: 'pro' })
    expect((await callTool(service, tokens.access_token)).json.result.isError).toBeFalsy()
    await setPlan(service.stores.db, { accountId: free.accountId, plan: 'free' })
    expect((await callTool(service, tokens.access_token)).json.result._meta.code).toBe('plan_required')
  })

  test('stops with its account, and works again once a disabled account is enabled', async () => {
    const { db } = service.stores
    const gone = await service.person('gone@example.com')
    const { clientId, tokens } = await letIn(service, gone)
    await setDisabled(db, { accountId: gone.accountId, disabled: true })
    expect(await works(tokens.access_token)).toBe(401)
    expect((await refresh(clientId, tokens.refresh_token)).status).toBe(400)
    await setDisabled(db, { accountId: gone.accountId, disabled: false })
    expect(await works(tokens.access_token)).toBe(200)
    await deleteAccount(db, gone.accountId)
    expect(await works(tokens.access_token)).toBe(401)
    expect((await refresh(clientId, tokens.refresh_token)).status).toBe(400)
  })

  test('is revoked by the app, and its grant with it', async () => {
    const owner = await service.person('owner@example.com')
    const { clientId, tokens } = await letIn(service, owner)
    const revoked = await post(`${service.url}/oauth/revoke`, { client_id: clientId, token: tokens.refresh_token })
    expect(revoked.status).toBe(200)
    expect(await works(tokens.access_token)).toBe(401)
    expect(await eventsOf(owner.accountId)).toEqual(['grant.created', 'grant.revoked'])
  })
})

describe('the signed-in door', () => {
  test('tells strangers where they sign in, and takes keys', async () => {
    const { status, challenge } = await callTool(service, undefined)
    expect(status).toBe(401)
    expect(challenge).toBe(
      'Bearer realm="frame-library", ' +
        `resource_metadata="${service.url}/.well-known/oauth-protected-resource/mcp", ` +
        'scope="saves:read saves:write boards:read boards:write"',
    )
    for (const token of ['x', 'x'.repeat(43), 'flk_live_nonsense', '\u00e9'])
      expect((await callTool(service, encodeURI(token))).status).toBe(401)
    expect((await callTool(service, service.operatorKey, 'list_techniques')).status).toBe(200)
  })

  test('lists what its person may come to use, with the scope of each tool, on one page', async () => {
    const { tokens } = await letIn(service, person, { scopes: ['boards:read'] })
    const answer = await fetch(service.mcp, {
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
      headers: { 'content-type': 'application/json', authorization: `Bearer ${tokens.access_token}` },
    })
    const { result } = (await answer.json()) as {
      result: { nextCursor?: string; tools: { name: string; description: string; securitySchemes: unknown }[] }
    }
    expect(result.nextCursor).toBeUndefined()
    expect(result.tools).toHaveLength(LISTED.length)
    expect(result.tools.every(({ description }) => description.length <= 2_048)).toBe(true)
    expect(result.tools.find(({ name }) => name === 'save_frame')?.securitySchemes ?? []).toEqual([
      { type: 'oauth2', scopes: ['saves:write'] },
    ])
  })
})

describe('a consent', () => {
  /** The page of a request for access, and its button. */
  async function asked(by: Person) {
    const { text } = await by.open((await asking(service)).address)
    const form = /name="form" value="([^"]+)"/.exec(text)![1]!
    const action = service.url + /action="(\/oauth\/consent\/[^"]+)"/.exec(text)![1]!
    const body = new URLSearchParams({ form, decision: 'allow', scope: 'boards:read' }).toString()
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    return () => by.open(action, { method: 'POST', body, headers, redirect: 'manual' })
  }
  const grantsOf = async ({ accountId }: Person) => (await listGrants(service.stores.db, accountId)).length

  test('that is given twice is one', async () => {
    const hasty = await service.person('hasty@example.com')
    const press = await asked(hasty)
    await press()
    const again = await press()
    expect(again.status).toBe(303)
    const back = new URL((await hasty.open(again.headers.get('location')!)).url)
    expect(back.searchParams.get('code')).toMatch(/^[\w-]{20,}$/)
    expect([await grantsOf(hasty), await eventsOf(hasty.accountId)]).toEqual([1, ['grant.created']])
  })

  test('whose app never came for a token ends after a day', async () => {
    const lost = await service.person('lost@example.com')
    await letIn(service, lost)
    await (await asked(lost))()
    const { db } = service.stores
    await deleteExpired(db)
    expect(await grantsOf(lost)).toBe(2)
    await db.execute(
      sql`update grants set created_at = created_at - interval '2 days' where account_id = ${lost.accountId}`,
    )
    await deleteExpired(db)
    expect(await grantsOf(lost)).toBe(1)
    expect(await eventsOf(lost.accountId)).toEqual(['grant.created', 'grant.created', 'grant.revoked'])
  })

  test('that was used ends with its last token', async () => {
    const once = await service.person('once@example.com')
    const { tokens } = await letIn(service, once)
    expect(await works(tokens.access_token)).toBe(200)
    const { db } = service.stores
    await db.execute(sql`
      update grants set created_at = created_at - interval '31 days', last_used_at = created_at
       where account_id = ${once.accountId}`)
    await db.execute(sql`
      update oauth_records set expires_at = expires_at - interval '31 days'
       where grant_id in (select id from grants where account_id = ${once.accountId})`)
    await deleteExpired(db)
    expect(await grantsOf(once)).toBe(0)
  })
})

test('a client is forgotten a day after nobody let it in, and 30 days after its last grant', async () => {
  const { db } = service.stores
  const own = await service.person('disconnects@example.com')
  const used = await letIn(service, own)
  const { clientId: unused } = await asking(service)
  const knownAfter = async (hours: number) => {
    await db.execute(sql`
      update oauth_records set expires_at = expires_at - make_interval(hours => ${hours}) where kind = 'Client'`)
    await deleteExpired(db)
    const { rows } = await db.execute<{ id: string }>(
      sql`select payload ->> 'client_id' as id from oauth_records where kind = 'Client'`,
    )
    return [used.clientId, unused].map((id) => rows.some((row) => row.id === id))
  }
  expect(await knownAfter(25)).toEqual([true, false])
  expect((await refresh(used.clientId, used.tokens.refresh_token)).status).toBe(200)
  const [grant] = await listGrants(db, own.accountId)
  await revokeGrant(db, { id: grant!.id, accountId: own.accountId, by: 'owner' })
  expect(await knownAfter(29 * 24)).toEqual([true, false])
  expect(await knownAfter(2 * 24)).toEqual([false, false])
})

test('in a library for its members an app is let in as everywhere', async () => {
  await using members = await openSignInService({ READS: 'members' })
  const { tokens } = await letIn(members, await members.person('member@example.com'))
  expect((await callTool(members, tokens.access_token, 'search_frames', { query: 'dark' })).status).toBe(200)
  expect((await callTool(members, undefined, 'search_frames', { query: 'dark' })).status).toBe(401)
})

test('sign-in by apps is off where it is set so; keys still open the door', async () => {
  await using off = await openSignInService({ OAUTH: 'off' })
  expect((await callTool(off, undefined)).challenge).not.toContain('resource_metadata')
  expect((await callTool(off, off.operatorKey, 'list_techniques')).status).toBe(200)
  for (const path of ['/.well-known/oauth-authorization-server', '/.well-known/oauth-protected-resource/mcp'])
    expect((await fetch(off.url + path)).status).toBe(404)
})
