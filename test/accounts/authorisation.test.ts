import { describe, expect, test, vi } from 'vitest'
import type { Operation } from '../../src/http/endpoint.ts'
import { listRoutes } from '../../src/http/routes.ts'
import { deleteAccount } from '../../src/library/accounts/accounts.ts'
import { MEMBER_SCOPES, OPERATOR_SCOPES, SCOPES, type Scope } from '../../src/library/accounts/key-checks.ts'
import { createKey, revokeKey, rotateKey } from '../../src/library/accounts/keys.ts'
import { formToken } from '../../src/library/accounts/sessions.ts'
import { shareBoard } from '../../src/library/collections/board-settings.ts'
import { createBoard } from '../../src/library/collections/boards.ts'
import { OPERATIONS } from '../../src/server/build-app.ts'
import { useService } from '../support/service.ts'
import { sessionOf } from '../support/session.ts'
import { form } from './page-visitor.ts'
import { type Access, PAGES } from './routes-of-pages.ts'
import { seedAccount, seedFrames } from './seed-frames.ts'

const routeOf = ({ method, path }: Operation) => `${method.toUpperCase()} ${path}`
const accessOf = ({ scope, keyOptional }: Operation): Access =>
  scope ?? (keyOptional ? 'open, or a working key' : 'open')

const ACCESS: Record<string, Access> = {
  ...Object.fromEntries(OPERATIONS.map((operation) => [routeOf(operation), accessOf(operation)])),
  ...PAGES,
}

const BODIES: Record<string, (place: Place) => unknown> = {
  'POST /api/favourites': ({ frameId }) => ({ frameId }),
  'POST /api/boards': () => ({ name: 'mine' }),
  'PATCH /api/boards/:id': () => ({ name: 'renamed' }),
  'POST /api/boards/:id/frames': ({ frameId }) => ({ frameIds: [frameId] }),
}

interface Place {
  boardId: string
  frameId: string
}

/** What takes back, and every export: they stay open when a plan has lapsed. */
const ON_EVERY_PLAN = [
  'DELETE /api/boards/:id',
  'DELETE /api/boards/:id/frames/:frameId',
  'DELETE /api/boards/:id/share',
  'DELETE /api/favourites/:frameId',
  'GET /api/boards/:id/brief.md',
  'GET /api/boards/:id/export',
  'GET /api/boards/:id/timeline.:format',
  'GET /api/boards/export',
  'GET /api/favourites/export',
]

const isMembers = (scope: Scope) => (MEMBER_SCOPES as readonly Scope[]).includes(scope)
const isScope = (access: Access): access is Scope => (SCOPES as readonly string[]).includes(access)
const service = useService({ worker: false, env: { PUBLIC_URL: 'http://127.0.0.1' } })

const declaredRoutes = () =>
  listRoutes(service.api.app.routers).map(({ path, methods, who }) => ({ route: `${methods[0]} ${path}`, who }))
const routesOf = () => declaredRoutes().map(({ route }) => route)
const personal = () => declaredRoutes().filter(({ who }) => who !== undefined)
const sessionRoutes = () => [
  ...personal().map(({ route }) => route),
  ...Object.keys(PAGES).filter((route) => PAGES[route] === 'session'),
]

async function send(
  route: string,
  { key, place, body, headers = {} }: { key?: string; place?: Place; body?: unknown; headers?: object } = {},
) {
  const [method, path] = route.split(' ') as [string, string]
  const at = path
    .replace(/^\/api\/boards\/:id/, `/api/boards/${place?.boardId ?? 'none'}`)
    .replace(':frameId', place?.frameId ?? 'none')
    .replace(':format', 'csv')
    .replace(/:\w+/g, 'none')
  const response = await fetch(service.url + at, {
    method,
    redirect: 'manual',
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  return {
    status: response.status,
    location: response.headers.get('location'),
    cache: response.headers.get('cache-control'),
    challenge: response.headers.get('www-authenticate'),
    vary: response.headers.get('vary'),
    text: await response.text(),
  }
}
const codeOf = (text: string) => (JSON.parse(text) as { code?: string }).code

test('every route says who may use it', () => {
  const routes = routesOf()
  expect(declaredRoutes().filter(({ route, who }) => !(route in ACCESS) === !who)).toEqual([])
  // What is listed and gone would hide a typing error.
  expect(Object.keys(ACCESS).filter((route) => !routes.includes(route))).toEqual([])
})

test('the account’s endpoints need members’ scopes, operators’ theirs, and nothing else writes', () => {
  for (const scope of OPERATOR_SCOPES) expect(isMembers(scope)).toBe(false)
  for (const operation of OPERATIONS) {
    const { tag, scope, method } = operation
    const route = routeOf(operation)
    // A share link is the key to its board.
    if (route === 'GET /api/shared/:token') expect(scope).toBeUndefined()
    else if (tag === 'Account')
      expect(
        [MEMBER_SCOPES.includes(scope as never), scope?.endsWith(method === 'get' ? ':read' : ':write')],
        route,
      ).toEqual([true, true])
    else if (tag === 'Operators' || tag === 'Webhooks') expect(OPERATOR_SCOPES, route).toContain(scope)
    else expect([scope, method === 'get' || tag === 'Tool server'], route).toEqual([undefined, true])
  }
})

describe('guarded routes', () => {
  const expectRefused = ({ status, text, cache, challenge }: Awaited<ReturnType<typeof send>>) => {
    expect([status, text, cache]).toEqual([401, '{"code":"unauthenticated"}', 'no-store'])
    expect(challenge).toMatch(/^Bearer .*\/keys/)
  }

  test('a key that is revoked, expired or of nobody is none', async () => {
    const { db } = service.stores
    const accountId = (await seedAccount(db)).account.id
    const revoked = await createKey(db, { accountId, name: 'revoked' })
    await revokeKey(db, { accountId, keyId: revoked.record.id })
    const expired = await createKey(db, { accountId, name: 'expired' })
    await db.$client.query(`update api_keys set expires_at = now() where id = $1`, [expired.record.id])
    const gone = await seedAccount(db)
    await deleteAccount(db, gone.account.id)
    const dead = ['bad', revoked.key, expired.key, gone.key].map((key) => `Bearer ${key}`)
    for (const authorization of ['Bearer', 'Basic abc', ...dead])
      expectRefused(await send('GET /api/boards', { headers: { authorization } }))
  })

  const guarded = Object.entries(ACCESS).flatMap(([route, access]) =>
    isScope(access) ? [[route, access] as const] : [],
  )

  test.each(guarded)('%s needs %s', async (route, scope) => {
    const { db } = service.stores
    const role = isMembers(scope) ? 'member' : 'operator'
    const owner = await seedAccount(db, { role, plan: isMembers(scope) ? 'pro' : 'free', scopes: [scope] })
    const accountId = owner.account.id
    const { frameIds } = await seedFrames(db, { count: 1 })
    const board = await createBoard(db, { accountId, name: 'mine' })
    const place = { boardId: board.id, frameId: frameIds[0]! }
    const broken = route.startsWith('GET') ? undefined : '{broken'

    for (const headers of [{}, { authorization: `Bearer flk_live_${'0'.repeat(38)}` }])
      expectRefused(await send(route, { headers, place, body: broken }))

    const others = await createKey(db, {
      accountId,
      name: 'other scopes',
      scopes: (role === 'operator' ? SCOPES : MEMBER_SCOPES).filter((one) => one !== scope),
    })
    const lacking = await send(route, { key: others.key, place, body: broken })
    expect([lacking.status, codeOf(lacking.text), lacking.cache]).toEqual([403, 'forbidden', 'no-store'])

    if (isMembers(scope)) {
      const free = await seedAccount(db, { plan: 'free', scopes: [scope] })
      if (ON_EVERY_PLAN.includes(route)) {
        const own = await createBoard(db, { accountId: free.account.id, name: 'kept' })
        const answer = await send(route, { key: free.key, place: { ...place, boardId: own.id } })
        expect([route, answer.status]).toEqual([route, 200])
      } else {
        // Before scope and body are looked at.
        const other = await createKey(db, { accountId: free.account.id, name: 'other', scopes: others.record.scopes })
        for (const { key } of [free, other]) {
          const refused = await send(route, { key, place, body: broken })
          expect([refused.status, codeOf(refused.text)]).toEqual([403, 'plan_required'])
        }
      }
    } else {
      // A key made while its account was an operator's.
      const former = await seedAccount(db, { role: 'operator', plan: 'pro', scopes: [scope] })
      await db.$client.query(`update accounts set role = 'member' where id = $1`, [former.account.id])
      const refused = await send(route, { key: former.key, place, body: broken })
      expect([refused.status, codeOf(refused.text)]).toEqual([403, 'forbidden'])
    }

    // 400 comes before 404, and both after every refusal.
    if (broken && BODIES[route]) expect((await send(route, { key: owner.key, body: broken })).status).toBe(400)

    const body = BODIES[route]?.(place)
    const own = await send(route, { key: owner.key, place, body })
    if (isMembers(scope)) expect([200, 201, 202]).toContain(own.status)
    else expect([401, 403, 429, 500]).not.toContain(own.status)
    expect(own.cache).toBe('no-store')
  })
})

test('every route that takes back or exports, and no other, is open on every plan', () => {
  const marked = OPERATIONS.filter((operation) => operation.allowLapsedPlan).map(routeOf)
  expect(marked.sort()).toEqual(ON_EVERY_PLAN)
  const members = OPERATIONS.filter(({ tag, scope }) => tag === 'Account' && scope).map(routeOf)
  expect(members.filter((route) => /^DELETE |\/export$|\/timeline\.|\/brief\./.test(route)).sort()).toEqual(
    ON_EVERY_PLAN,
  )
})

test('a plan that an operator changes holds at the next call, and a share link outlives it', async () => {
  const { account, key } = await seedAccount(service.stores.db, { plan: 'pro' })
  const create = () => service.call('POST', '/api/boards', { name: 'kept' }, { authorization: `Bearer ${key}` })
  const at = { accountId: account.id, boardId: (await create()).json.board.id }
  const { token } = await shareBoard(service.stores.db, at)
  const changed = await service.call('PATCH', `/api/accounts/${account.id}`, { plan: 'free' })
  expect(changed.json.account).toMatchObject({ id: account.id, plan: 'free' })
  expect((await create()).json.code).toBe('plan_required')
  expect((await service.get(`/api/shared/${token}`)).status).toBe(200)
})

test('a key with a scope that is no longer offered works for its other scopes and loses it when rotated', async () => {
  const { db } = service.stores
  const { account, key, record } = await seedAccount(db, { role: 'operator', scopes: ['events:read'] })
  await db.$client.query(`update api_keys set scopes = '{plans:write,events:read}' where id = $1`, [record.id])
  expect((await send('GET /api/events', { key })).status).toBe(200)
  expect((await send('PATCH /api/accounts/:id', { key, body: { plan: 'pro' } })).status).toBe(403)
  const rotated = await rotateKey(db, { accountId: account.id, keyId: record.id })
  expect(rotated.record.scopes).toEqual(['events:read'])
  expect((await send('GET /api/events', { key: rotated.key })).status).toBe(200)
  const scopes = ['plans:write' as never]
  const making = createKey(db, { accountId: account.id, name: 'new', scopes })
  await expect(making).rejects.toMatchObject({ code: 'invalid_request' })
})

test('open routes answer alike whatever key or cookie comes along', async () => {
  for (const [route, access] of Object.entries(ACCESS)) {
    if (access !== 'open') continue
    const compare = async () => {
      const without = await send(route)
      expect([route, without.status]).not.toEqual([route, 401])
      for (const authorization of ['Bearer bad', 'Basic dTpw', `Bearer ${service.operatorKey}`]) {
        const answer = await send(route, { headers: { authorization, cookie: 'session=fls_nothing; theme=dark' } })
        expect([route, answer.status, answer.text]).toEqual([route, without.status, without.text])
        if (route.startsWith('GET /api/')) expect(answer.vary).toBe(without.vary)
      }
    }
    // Whether the stores answer in time may change from one request to the next on a busy machine.
    await (route === 'GET /readyz' ? vi.waitFor(compare, { timeout: 240_000 }) : compare())
  }
})

test('pages of a person lead to the sign-in, with no session, a made-up one, and with an API key', async () => {
  for (const route of sessionRoutes()) {
    for (const key of [undefined, service.operatorKey]) {
      const answer = await send(route, { key })
      expect([route, answer.status, answer.location]).toEqual([route, 303, '/sign-in'])
    }
    const [method, path] = route.split(' ') as [string, string]
    const made = await fetch(service.url + path.replace(':id', 'x'), {
      method,
      redirect: 'manual',
      headers: { cookie: `session=fls_${'0'.repeat(43)}` },
    })
    expect([route, made.status, made.headers.get('location')]).toEqual([route, 303, '/sign-in'])
  }
})

/** A signed-in person who sends forms with the token of their session. */
async function signedIn(who: { role: 'member' | 'operator'; plan: 'free' | 'pro' }) {
  const { account } = await seedAccount(service.stores.db, who)
  const { name, value } = await sessionOf(service.stores.db, service.url, account.email)
  return async (route: string, { query = '', fields = {} }: Sent = {}) => {
    const [method, path] = route.split(' ') as [string, string]
    const headers = { cookie: `${name}=${value}`, accept: 'application/json' }
    const sent = method === 'POST' ? form({ form: formToken(value), ...fields }, headers) : { method, headers }
    const response = await fetch(service.url + path.replace(/[:*]\w+/g, 'none') + query, {
      ...sent,
      redirect: 'manual',
    })
    return { status: response.status, text: await response.text() }
  }
}
interface Sent {
  query?: string
  fields?: Record<string, string>
}

test('what a person may not do is told before anything that they sent is looked at', async () => {
  const member = await signedIn({ role: 'member', plan: 'pro' })
  const free = await signedIn({ role: 'member', plan: 'free' })
  const told: string[] = []
  for (const { route, who } of personal()) {
    const sent = { query: '?unknown=1', fields: { plan: 'gold', act: 'fly', place: 'x' } }
    if (who === 'operator') {
      const { status, text } = await member(route, sent)
      expect([route, status, codeOf(text)]).toEqual([route, 404, 'not_found'])
    }
    if (who === 'pro') expect([route, codeOf((await free(route, sent)).text)]).toEqual([route, 'plan_required'])
    told.push(who!)
  }
  expect(new Set(told)).toEqual(new Set(['person', 'pro', 'operator']))
})

test('every page refuses a parameter that it does not know, and no form ends in an error of ours', async () => {
  const operator = await signedIn({ role: 'operator', plan: 'pro' })
  for (const { route } of personal()) {
    if (route.startsWith('GET') && !route.includes('*'))
      expect([route, (await operator(route, { query: '?unknown=1' })).status]).toEqual([route, 400])
    else if (route !== 'POST /web/account/delete') {
      const { status } = await operator(route)
      expect([route, status, status < 500]).toEqual([route, status, true])
    }
  }
})
