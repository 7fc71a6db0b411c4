import { randomUUID } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { shareBoard } from '../../src/library/collections/board-settings.ts'
import { deleteBoard } from '../../src/library/collections/boards.ts'
import { unpinFrames } from '../../src/library/collections/pins.ts'
import { ANNOTATED } from '../../src/vocabulary.ts'
import { ARGUMENTS_OF_TOOLS, METHODS, rpc, words, year } from './dearest-tools.ts'
import { SIGN_IN_REQUESTS } from './sign-in-requests.ts'
import {
  anotherAccount,
  anotherKey,
  codeFor,
  commonTechnique,
  deadEvents,
  fullBoard,
  keyed,
  MOST,
  newPerson,
  newSlug,
  type World,
} from './world.ts'

/** The dearest allowed request of every route and tool, on the largest data that one account may own. */
export type Dearest = (world: World, n: number) => Promise<Sent> | Sent
interface Sent extends RequestInit {
  path: string
}

/** A sign of life that is free, and files, which `bench reads` measures. */
export const NOT_MEASURED = new Set(['GET /livez', 'GET /media/:name', 'GET /assets/:name'])

/** @throws where a route or tool has no request here that the defaults do not make */
export function dearestOf(name: string): Dearest {
  const signIn = SIGN_IN_REQUESTS[name]
  if (signIn) return signIn
  const method = METHODS[name]
  if (method) return (world, n) => rpc(world, n, name, method(world))
  const special = DEAREST[name]
  if (special) return async (world, n) => withDefaults(name, world, n, await special(world, n))
  if (!name.includes('/'))
    throw new Error(`bench/support/dearest.ts has no call of the tool ${name}. Add its dearest one.`)
  if (!/^(GET|PUT|DELETE) /.test(name) && !BODILESS.test(name))
    throw new Error(`bench/support/dearest.ts has no body for ${name}. Add its dearest one.`)
  return (world, n) => withDefaults(name, world, n, {})
}

/** Actions and endpoints whose only content is their path. */
const BODILESS = /\/(share|unshare|cancel|finish|test|retry|dismiss|restore|rotate|revoke|secret|pause|resume)$/

/** Fields of a form, some of them several times. */
type Form = Record<string, string | string[]>

interface Asked {
  /** Instead of those that the name of a parameter stands for. */
  params?: Record<string, string>
  query?: Record<string, string>
  json?: unknown
  form?: Form
  tool?: object
  /** Instead of the owner of everything. */
  as?: Pick<World, 'cookie' | 'form'>
  init?: RequestInit
}

function withDefaults(name: string, owner: World, n: number, asked: Asked): Sent {
  const world = { ...owner, ...asked.as }
  if (asked.tool) {
    return rpc(world, n, 'tools/call', { name, arguments: asked.tool })
  }
  const [method, pattern] = name.split(' ') as [string, string]
  const path = pattern.replace(/[:*](\w+)/g, (_, param: string) =>
    encodeURIComponent(asked.params?.[param] ?? standsFor(pattern, param, world, n)),
  )
  const query = asked.query ? `?${new URLSearchParams(asked.query)}` : ''
  const isForm = method === 'POST' && pattern.startsWith('/web/')
  const headers: Record<string, string> = /^\/(?:api\/|mcp$)/.test(pattern)
    ? keyed(world, asked.json !== undefined)
    : { cookie: world.cookie, ...(isForm ? { 'content-type': 'application/x-www-form-urlencoded' } : {}) }
  const json = asked.json === undefined ? undefined : JSON.stringify(asked.json)
  const form = new URLSearchParams(
    Object.entries({ form: world.form, ...asked.form }).flatMap(([name, given]) =>
      [given].flat().map((value) => [name, value]),
    ),
  )
  const body = isForm ? form.toString() : json
  const { headers: more, ...init } = asked.init ?? {}
  if (init.body instanceof FormData) delete headers['content-type']
  Object.assign(headers, more)
  return { path: path + query, method, headers, ...(body === undefined ? {} : { body }), ...init }
}

function standsFor(pattern: string, param: string, world: World, n: number): string {
  const { frames, videos, slugs, board, shareToken } = world
  if (param === 'slug') return pattern.includes('/suggestions/') ? newSlug() : slugs[n]!
  if (param === 'file') return 'build-a-moodboard.zip'
  if (param === 'format') return 'otio'
  if (param === 'token') return shareToken
  if (param === 'frameId') return frames[n]!
  if (pattern.includes('/boards/:id/timeline')) return world.film
  if (/\/boards\/:id/.test(pattern)) return board
  if (pattern.includes('/webhooks/:id')) return world.webhooks[n]!
  if (param === 'eventId') return randomUUID()
  if (/\/videos\/:id/.test(pattern)) return videos[n]!
  if (/\/(frames|review)\/:id/.test(pattern)) return frames[6_000 + n]!
  throw new Error(`bench/support/dearest.ts does not know what ${param} of ${pattern} stands for.`)
}

/** Acts on a full board that nothing else needs. */
const onFullBoard = async ({ db, accountId, frames }: World): Promise<Asked> => ({
  params: { id: await fullBoard(db, accountId, frames) },
})
/** Acts on a technique that many frames have. */
const onTechnique =
  (asked: (world: World) => Asked) =>
  async (world: World): Promise<Asked> => ({ params: { slug: await commonTechnique(world.db) }, ...asked(world) })
/** Acts on an account that nothing else needs. */
const onAccount =
  (asked: Asked) =>
  async ({ db }: World) => ({ params: { id: await anotherAccount(db) }, ...asked })

const framesNamed = ({ frames }: World, from: number): Form => ({ frame: frames.slice(from, from + MOST.frames) })

const texts = (slug: string) => ({
  name: slug,
  description: 'd'.repeat(300),
  recognise: 'r'.repeat(300),
  aliases: Array.from({ length: 20 }, () => newSlug()).join('\n'),
})

const FILM_BYTES = 16 * 1024 * 1024
const sentFilm = (n: number): Asked => ({
  init: { body: new Uint8Array(FILM_BYTES).fill(n), headers: { 'content-type': 'video/mp4' } },
})
const filmOfForm = (n: number, { form }: World): Asked => {
  const body = new FormData()
  body.set('form', form)
  body.set('file', new Blob([new Uint8Array(FILM_BYTES).fill(100 + n)]), 'f.mp4')
  return { init: { body } }
}

/** Every figure of the log for a year, the most rows. */
const figure = (by: string) => () => ({ query: { ...year, by, limit: '1000' } })

const DEAREST: Record<string, (world: World, n: number) => Promise<Asked> | Asked> = {
  ...Object.fromEntries(
    Object.entries(ARGUMENTS_OF_TOOLS).map(([name, make]) => [name, (world, n) => ({ tool: make(world, n) })]),
  ),
  delete_board: async ({ db, accountId, frames }) => ({
    tool: { board_id: await fullBoard(db, accountId, frames), confirm: true },
  }),

  'GET /api/search': (_, n) => ({ query: { q: words(n), limit: '20' } }),
  'GET /api/frames': (_, n) => ({ query: { q: words(n, 1), facets: '1', page: '2', sort: 'relevance' } }),
  'GET /api/frames/:id/similar': () => ({ query: { limit: '120' } }),
  'PATCH /api/frames/:id/annotation': (_, n) => ({ json: { caption: `c${n}` } }),
  'GET /api/videos': (_, n) => ({ query: { limit: String(100 + n) } }),
  'GET /api/videos/:id/frames': () => ({ query: { provenance: '1' } }),
  'GET /api/videos/:id/status': () => ({ query: { explain: '0' } }),
  'POST /api/videos/:id/retry': async ({ db, spare }, n) => {
    await db.execute(sql`update videos set status = 'failed', failure_code = 'x' where id = ${spare[n]}`)
    return { params: { id: spare[n]! } }
  },
  'POST /api/videos/:id/cancel': async ({ db, spare }, n) => {
    await db.execute(sql`update videos set status = 'queued' where id = ${spare[10 + n]}`)
    return { params: { id: spare[10 + n]! } }
  },
  'DELETE /api/videos/:id': ({ spare }, n) => ({ params: { id: spare[20 + n]! } }),
  'POST /api/techniques': () => {
    const slug = newSlug()
    return { json: { slug, name: slug, description: 'd'.repeat(300), aliases: [newSlug(), newSlug()] } }
  },
  'PATCH /api/techniques/:slug': onTechnique(() => ({ json: { slug: newSlug() } })),
  'POST /api/techniques/:slug/merge': onTechnique(({ slugs }) => ({ json: { into: slugs[0] } })),
  'DELETE /api/technique-suggestions/:slug': () => ({ params: { slug: newSlug() } }),
  'GET /api/brands': (_, n) => ({ query: { limit: String(100 + n) } }),
  'GET /api/favourites': () => ({ query: { limit: '120' } }),
  'POST /api/favourites': ({ frames }, n) => ({ json: { frameId: frames[5_900 + n] } }),
  'GET /api/boards': () => ({ query: { limit: '100' } }),
  'POST /api/boards': (_, n) => ({ json: { name: `b${n}` } }),
  'PATCH /api/boards/:id': (_, n) => ({ json: { description: `${n}${MOST.note}`.slice(0, 2_000) } }),
  'DELETE /api/boards/:id': onFullBoard,
  'POST /api/boards/:id/frames': async ({ db, accountId, board, frames }, n) => {
    const frameIds = frames.slice(n * 500, n * 500 + 500)
    await unpinFrames(db, { accountId, boardId: board, frameIds })
    return { json: { frameIds, note: MOST.note, position: 0 } }
  },
  'PUT /api/boards/:id/frames/:frameId': (_, n) => ({
    json: { note: `${n}${MOST.note}`.slice(0, 2_000), position: n * 3 },
  }),
  'DELETE /api/boards/:id/frames/:frameId': ({ frames }, n) => ({ params: { frameId: frames[3_900 + n]! } }),
  'DELETE /api/boards/:id/share': ({ boards }, n) => ({ params: { id: boards[n]! } }),
  'DELETE /api/shared/:token': async ({ db, accountId, boards }, n) => {
    const { token } = await shareBoard(db, { accountId, boardId: boards[n]! })
    return { params: { token } }
  },
  'POST /api/boards/:id/share': ({ boards }, n) => ({ params: { id: boards[n]! } }),
  'POST /api/videos': (_, n) => sentFilm(n),
  'PATCH /api/accounts/:id': onAccount({ json: { plan: 'pro' } }),
  'GET /api/events': () => ({ query: { limit: '1000' } }),
  'GET /api/events/dead': () => ({ query: { limit: '1000' } }),
  'GET /api/events/dead/:eventId': async ({ db }) => ({ params: { eventId: (await deadEvents(db))[0]! } }),
  'POST /api/events/dead/retry': async ({ db }) => ({ json: { event_ids: await deadEvents(db) } }),
  'POST /api/events/consumers/:consumer/replay': () => ({ params: { consumer: 'search' }, json: { from: '0.0' } }),
  'GET /schemas/events/:type/:version': () => ({ params: { type: 'frame.saved', version: '1' } }),
  'POST /api/mcp': () => ({ json: { jsonrpc: '2.0', id: 1, method: 'tools/list' } }),
  'POST /mcp': () => ({ json: { jsonrpc: '2.0', id: 1, method: 'tools/list' } }),
  'GET /api/analytics/saves': figure('frame'),
  'GET /api/analytics/activity': figure('day'),
  'GET /api/analytics/videos': figure('day'),
  'GET /api/analytics/stages': figure('stage'),
  'GET /api/analytics/model': figure('day'),
  'GET /api/analytics/searches': figure('term'),
  'POST /api/webhooks': (_, n) => ({ json: { url: `https://example.org/${n}` } }),
  'GET /api/webhooks/:id/deliveries/:eventId': async ({ db }) => {
    const query = 'select endpoint_id as id, event_id from webhook_deliveries limit 1'
    const { rows } = await db.$client.query<{ id: string; event_id: string }>(query)
    return { params: { id: rows[0]!.id, eventId: rows[0]!.event_id } }
  },
  'PATCH /api/webhooks/:id': (_, n) => ({ json: { description: `d${n}` } }),
  'DELETE /api/webhooks/:id': ({ webhooks }, n) => ({ params: { id: webhooks[10 + n]! } }),
  'POST /api/webhooks/:id/resend': async ({ db }) => ({ json: { event_id: (await deadEvents(db))[0]! } }),
  'GET /api/compare': ({ videos }) => ({ query: { videos: videos.slice(0, 6).join(',') } }),
  'GET /api/sequences': (_, n) => ({
    query: { seq: 'subject.text-card~10s~surface.screen-recording~10s~tone.dark', limit: String(30 + n) },
  }),
  'GET /': (_, n) => ({ query: { q: words(n, 2) } }),
  'GET /web/suggest': (_, n) => ({
    query: { q: words(n, 2).slice(0, -1) },
    init: { headers: { accept: 'application/json' } },
  }),
  'GET /saves/export': () => ({ query: { format: 'csv' } }),
  'GET /boards/:id/export': () => ({ query: { format: 'csv' } }),
  'GET /brands/:name': ({ brands }, n) => ({ params: { name: brands[n]! } }),
  'GET /web/*rest': () => ({ params: { rest: 'nothing' } }),
  'GET /operator/analytics': () => ({ query: year }),
  'GET /compare': ({ videos }) => ({ query: { videos: videos.slice(0, 6).join(',') } }),
  'POST /web/saves': (world, n) => ({ form: framesNamed(world, n * 500) }),
  'POST /web/unsaves': (world, n) => ({ form: framesNamed(world, n * 500) }),
  'POST /web/saved': (world, n) => ({ form: framesNamed(world, n * 500) }),
  'POST /web/pins': (world, n) => ({ form: { board: world.board, note: MOST.note, ...framesNamed(world, n * 500) } }),
  'POST /web/unpins': (world, n) => ({ form: { board: world.board, ...framesNamed(world, n * 500) } }),
  'POST /web/unsaves/undo': (world, n) => ({ form: framesNamed(world, n * 500) }),
  'POST /web/unpins/undo': async ({ db, accountId, frames }) => {
    const board = await fullBoard(db, accountId, frames)
    const { unpinned } = await unpinFrames(db, { accountId, boardId: board, frameIds: frames.slice(0, 100) })
    return { form: { board, pins: JSON.stringify(unpinned) } }
  },
  'POST /web/boards': (_, n) => ({ form: { name: `w${n}` } }),
  'POST /web/boards/:id/rename': (_, n) => ({ form: { name: `r${n}` } }),
  'POST /web/boards/:id/cover': ({ board, frames }) => ({ params: { id: board }, form: { cover: frames[4_999]! } }),
  'POST /web/boards/:id/delete': onFullBoard,
  'POST /web/boards/:id/delete/undo': async (world) => {
    const id = await fullBoard(world.db, world.accountId, world.frames)
    await deleteBoard(world.db, { accountId: world.accountId, boardId: id })
    return { params: { id } }
  },
  'POST /web/boards/:id/note': ({ frames }, n) => ({ form: { frame: frames[4_990 + n]!, note: MOST.note } }),
  'POST /web/boards/:id/move': ({ frames }, n) => ({ form: { move: `${frames[4_990 + n]}:${n}` } }),
  'POST /web/boards/:id/share': ({ boards }, n) => ({ params: { id: boards[n]! } }),
  'POST /web/boards/:id/unshare': ({ boards }, n) => ({ params: { id: boards[n]! } }),
  'POST /web/keys': (_, n) => ({ form: { name: `k${n}`, scope: 'saves:read', expires: '7' } }),
  'POST /web/keys/:id/rotate': async (world) => ({ params: { id: await anotherKey(world) }, form: { grace: '0' } }),
  'POST /web/keys/:id/revoke': async (world) => ({ params: { id: await anotherKey(world) } }),
  'POST /web/account/delete': async ({ db }) => {
    const as = await newPerson(db)
    return { form: { email: as.email }, as }
  },
  'POST /web/sign-in': (_, n) => ({ form: { email: `a${n}@example.org` } }),
  'POST /web/sign-in/confirm': async ({ db }) => ({
    form: { code: await codeFor(db, (await newPerson(db)).email) },
    as: { cookie: '', form: '' },
  }),
  'POST /web/sign-out': async ({ db }) => ({ as: await newPerson(db) }),
  'POST /web/sign-out-everywhere': async ({ db }) => ({ as: await newPerson(db) }),
  'POST /web/accounts/invite': () => ({ form: { email: `${randomUUID()}@example.org` } }),
  'POST /web/accounts/:id/plan': onAccount({ form: { plan: 'pro' } }),
  'POST /web/accounts/:id/disable': onAccount({ form: { disabled: '1' } }),
  'POST /web/shares/end': async ({ db, accountId, boards }, n) => {
    const { token } = await shareBoard(db, { accountId, boardId: boards[n]! })
    return { form: { link: `/shared/${token}` } }
  },
  'POST /web/techniques': () => {
    const slug = newSlug()
    return { form: { slug, ...texts(slug) } }
  },
  'POST /web/techniques/:slug/edit': onTechnique(() => ({ form: texts(newSlug()) })),
  'POST /web/techniques/:slug/rename': onTechnique(() => ({ form: { slug: newSlug() } })),
  'POST /web/techniques/:slug/retire': onTechnique(() => ({ form: { retired: '1' } })),
  'POST /web/techniques/:slug/merge': onTechnique(({ slugs }) => ({ form: { into: slugs[0]!, sure: '1' } })),
  'POST /web/suggestions/:slug/alias': ({ slugs }) => ({ params: { slug: newSlug() }, form: { of: slugs[0]! } }),
  'POST /web/review/:id': () => ({ form: { subject: 'presenter' } }),
  'POST /web/review/:id/undo': () => ({ form: { attributes: 'subject' } }),
  'POST /web/frames/:id/correct': (_, n) => ({ form: { [ANNOTATED[0]!]: ['presenter', 'ui'][n % 2]! } }),
  'POST /web/operator/videos': ({ spare }, n) => ({
    form: { act: 'delete', sure: '1', video: spare.slice(30 + n * 5, 35 + n * 5) },
  }),
  'POST /web/videos/file': (world, n) => filmOfForm(n, world),
  'POST /web/videos/check': (_, n) => ({ form: { addresses: addressesOf(n) } }),
  'POST /web/videos': (_, n) => ({ form: { addresses: addressesOf(n) } }),
}

const addressesOf = (n: number) =>
  Array.from({ length: 500 }, (_, at) => `https://example.org/v/${n}-${at}-${'x'.repeat(60)}.mp4`).join('\n')
