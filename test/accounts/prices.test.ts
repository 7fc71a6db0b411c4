import { beforeAll, expect, test } from 'vitest'
import { priceOf } from '../../src/http/endpoint.ts'
import { PRICES, type Price } from '../../src/http/rate-limit/budgets.ts'
import { listRoutes } from '../../src/http/routes.ts'
import { SCOPES } from '../../src/library/accounts/key-checks.ts'
import { createKey } from '../../src/library/accounts/keys.ts'
import { OPERATIONS } from '../../src/server/build-app.ts'
import type { TestApi } from './app.ts'
import { form, type Person, usePageVisitor } from './page-visitor.ts'

/** What everything costs: one table, and the points that each request really takes. */

/** What is not a read of a GET or of a tool that reads, and not a write of all else. */
const DEAR: Record<Exclude<Price, 'read'>, string[]> = {
  search: [
    ...['searchLibrary', 'listFrames', 'getFilm', 'listSimilarFilms', 'listFilms', 'compareFilms', 'getVideoTimeline'],
    ...['browse_frames', 'describe_film', 'find_films'],
    ...['listShots', 'listVideoFrames', 'get_video_frames', 'listSavedFrames', 'list_saves', 'frame_pictures'],
    ...['getBoard', 'getSharedBoard', 'GET /saves', 'GET /boards/:id', 'GET /operator/techniques/:slug'],
  ],
  write: [
    ...['findSimilarFrames', 'findSequences', 'listEvents', 'listDeadEvents', 'getVideoBrief', 'film_brief'],
    ...[
      'search_library',
      'search_frames',
      'find_similar_frames',
      'find_sequences',
      'save_frame',
      'pin_frame',
      'remove',
    ],
    ...['edit_board', 'GET /operator', 'GET /operator/techniques'],
  ],
  heavy: [
    ...['exportSavedFrames', 'exportBoard', 'exportBoards', 'getBoardTimeline', 'deleteBoard', 'submitVideo'],
    ...['getBoardBrief'],
    ...['deleteVideo', 'mergeBrands', 'updateTechnique', 'mergeTechnique', 'listEventConsumers', 'listWebhooks'],
    ...[
      'getAnalyticsActivity',
      'getAnalyticsSaves',
      'getAnalyticsSearches',
      'getAnalyticsVideos',
      'getAnalyticsStages',
      'getAnalyticsModel',
    ],
    ...['export_board', 'usage_report', 'add_video'],
    ...['GET /saves/export', 'GET /boards/:id/export', 'GET /boards/:id/timeline.:format'],
    ...['POST /web/boards/copy', 'POST /web/boards/:id/delete', 'POST /web/boards/:id/delete/undo'],
    ...['GET /operator/review', 'GET /operator/analytics', 'GET /operator/system', 'POST /web/operator/videos'],
    ...['POST /web/operator/videos/:id/edit', 'POST /web/videos', 'POST /web/videos/check', 'POST /web/videos/file'],
    ...['edit', 'rename', 'retire', 'merge'].map((act) => `POST /web/techniques/:slug/${act}`),
  ],
}

const visitor = usePageVisitor({
  limits: (limits) => ({
    ...limits,
    consume: (budget, subject, points) => {
      taken += points
      return limits.consume(budget, subject, points)
    },
    consumeLocally: (budget, subject, points) => {
      taken += points
      return limits.consumeLocally(budget, subject, points)
    },
  }),
})
const { api } = visitor
let taken = 0
let person: Person
let key: string
beforeAll(async () => {
  person = await visitor.signIn('operator@example.org', { role: 'operator', plan: 'pro' })
  ;({ key } = await createKey(api.db, { accountId: person.account.id, name: 'k', scopes: [...SCOPES] }))
})

async function pointsOf(path: string, call: Parameters<TestApi['call']>[1] = {}) {
  const before = taken
  const { status } = await api.call(path, call)
  expect([path, status]).not.toEqual([path, 429])
  return taken - before
}

const named = (path: string) =>
  path
    .replace('/frames/:id', '/frames/k3v9x0aq7m2d-1a4c')
    .replace('/videos/:id', '/videos/k3v9x0aq7m2d')
    .replace(':format', 'csv')
    .replace(/[:*]\w+/g, 'x')

const dearOf = (name: string, usual: Price): Price =>
  (Object.keys(DEAR) as (keyof typeof DEAR)[]).find((price) => DEAR[price].includes(name)) ?? usual

const operations = OPERATIONS.filter(({ free, path }) => !free && path !== '/api/mcp')

test.each(operations)('$id', async (operation) => {
  const { id, method, path, scope } = operation
  const price = dearOf(id, method === 'get' ? 'read' : 'write')
  expect(priceOf(operation)).toBe(price)
  const asked = id === 'findSequences' ? `${path}?seq=subject.ui~surface.ui` : named(path)
  const body = method === 'get' || method === 'delete' ? {} : { body: {} }
  const own = scope ? { key } : {}
  expect(await pointsOf(asked, { method: method.toUpperCase(), ...own, ...body })).toBe(PRICES[price])
})

const callOf = (name: string, args: object = {}) => ({
  method: 'POST',
  key,
  body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } },
})

test('each tool costs what its operation does', async () => {
  for (const { name, price } of visitor.tools) {
    expect([name, price]).toEqual([name, dearOf(name, 'read')])
    expect([name, await pointsOf('/api/mcp', callOf(name))]).toEqual([name, PRICES[price]])
  }
})

test('each page and action of a person has its price, which its account pays once', async () => {
  const { cookie, token } = person
  const own = listRoutes(visitor.routers).filter(({ who, path }) => who && !path.startsWith('/oauth/'))
  expect(own.length).toBeGreaterThan(40)
  // The last of them deletes the account.
  for (const { path, methods, price } of own.filter((route) => !route.path.endsWith('/account/delete'))) {
    const [method] = methods as [string]
    const name = `${method} ${path}`
    const lookUp = name === 'POST /web/saved'
    expect([name, price]).toEqual([name, lookUp ? 'read' : dearOf(name, method === 'GET' ? 'read' : 'write')])
    const call = method === 'GET' ? { headers: { cookie } } : form({ form: token }, { cookie })
    expect([name, await pointsOf(named(path), call)]).toEqual([name, PRICES[price!]])
  }
})

test('counts, no look-alikes and deep pages cost a write, kept or not; no price depends on the data', async () => {
  for (const query of ['facets=1', 'variety=on', 'page=100', 'facets=1'])
    expect([query, await pointsOf(`/api/frames?${query}`)]).toEqual([query, 5])
  const told = { jsonrpc: '2.0', method: 'notifications/initialized' }
  expect(await pointsOf('/api/mcp', { method: 'POST', key, body: told })).toBe(1)
  const raised = [
    ['browse_frames', { counts: true }],
    ['browse_frames', { counts: true }],
    ['browse_frames', { page: 100 }],
    ['search_frames', { query: 'dark', page: 100 }],
    ['get_video_frames', { video_id: ['a', 'b'] }],
  ] as const
  for (const [name, args] of raised) expect([name, await pointsOf('/api/mcp', callOf(name, args))]).toEqual([name, 5])
  // As the operations that they stand for: reading a board, and deleting one.
  expect(await pointsOf('/api/mcp', callOf('get_board', { board_id: 'x' }))).toBe(2)
  expect(await pointsOf('/api/mcp', callOf('remove', { board_id: 'x' }))).toBe(20)
  expect(await pointsOf('/api/mcp', callOf('remove', { board_id: 'x', frame_ids: 'y' }))).toBe(5)
})

test('a shared page costs the same with a session and without one, and so do refusals', async () => {
  const { cookie } = person
  const prices = {
    '/': 5,
    '/frames/k3v9x0aq7m2d-1a4c': 5,
    '/videos/k3v9x0aq7m2d': 5,
    '/films': 2,
    '/privacy': 1,
    '/x': 1,
  }
  for (const [path, points] of Object.entries(prices))
    for (const headers of [{ accept: 'text/html' }, { accept: 'text/html', cookie }] as Record<string, string>[])
      expect([path, await pointsOf(path, { headers })]).toEqual([path, points])
  expect(await pointsOf('/web/saves', form({ frame: 'x', form: 'forged' }, { cookie }))).toBe(1)
  expect(await pointsOf('/keys')).toBe(1)
})
