import { randomBytes, randomUUID } from 'node:crypto'
import { unpinFrames } from '../../src/library/collections/pins.ts'
import { MEANING_PHRASES } from './judged-meaning.ts'
import { SEED_WORDS } from './library.ts'
import { commonTechnique, fullBoard, MOST, type World } from './world.ts'

/*
 * The dearest of all requests and tools, on the largest data that one account may own: those that took most CPU time a
 * point or the longest transactions when every one was measured (27 November 2026), and the plain read beside them.
 */

interface Sent extends RequestInit {
  path: string
}
export type Dearest = (world: World, n: number) => Promise<Sent> | Sent

/** The parameters of a path are numbered, so that nothing comes from memory. */
type Path = string | ((world: World, n: number) => string)
const pathOf = (path: Path, world: World, n: number) => (typeof path === 'string' ? path : path(world, n))

const read =
  (path: Path): Dearest =>
  (world, n) => ({ path: pathOf(path, world, n), headers: { authorization: `Bearer ${world.key}` } })

const page =
  (path: Path): Dearest =>
  (world, n) => ({
    path: pathOf(path, world, n),
    headers: { cookie: world.cookie, accept: path === suggestions ? 'application/json' : 'text/html' },
  })

const sendJson = ({ key }: World, path: string, body: object): Sent => ({
  path,
  method: 'POST',
  headers: {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  },
  body: JSON.stringify(body),
})

const sendForm = ({ cookie, form }: World, path: string, fields: Record<string, string>): Sent => ({
  path,
  method: 'POST',
  headers: { cookie, 'content-type': 'application/x-www-form-urlencoded' },
  body: new URLSearchParams({ form, ...fields }).toString(),
})

const tool =
  (name: string, make: (world: World, n: number) => object | Promise<object>): Dearest =>
  async (world, n) => {
    const params = { name, arguments: await make(world, n) }
    return sendJson(world, '/api/mcp', { jsonrpc: '2.0', id: n, method: 'tools/call', params })
  }

/** Words that most frames have, and none together: no answer is in memory. */
function words(n: number, count = 3): string {
  const { adjectives, things, screen } = SEED_WORDS
  return [adjectives, things, screen]
    .slice(0, count)
    .map((list) => list[n % list.length])
    .join(' ')
}

const suggestions: Path = (_, n) => `/web/suggest?${new URLSearchParams({ q: words(n, 2).slice(0, -1) })}`

const UPLOAD_BYTES = 16 * 1024 * 1024

/** Those of which an account may hold a few at a time only. */
export const LONG = new Set([
  'GET /api/boards/:id/export',
  'GET /api/boards/:id/timeline.:format',
  'GET /api/boards/export',
  'POST /api/videos',
])

export const DEAREST: Record<string, Dearest> = {
  'GET /api/frames/:id': read(({ frames }, n) => `/api/frames/${frames[6_000 + n]}`),
  'GET /api/search': read((_, n) => `/api/search?${new URLSearchParams({ q: words(n), limit: '20' })}`),
  'GET /api/search with a tail': read((_, n) => `/api/search?q=${encodeURIComponent(MEANING_PHRASES.wanted[n]!.q)}`),
  'GET /api/frames': read((_, n) => `/api/frames?q=${words(n, 1)}&facets=1&page=2&sort=relevance`),
  'GET /api/frames/:id/similar': read(({ frames }, n) => `/api/frames/${frames[6_000 + n]}/similar?limit=120`),
  'GET /api/videos/:id/shots': read(({ videos }, n) => `/api/videos/${videos[n]}/shots`),
  'GET /api/videos/:id/film': read(({ videos }, n) => `/api/videos/${videos[n]}/film`),
  'GET /api/videos/:id/brief.md': read(({ videos }, n) => `/api/videos/${videos[n]}/brief.md`),
  'GET /api/boards/:id/brief.md': read(({ board }) => `/api/boards/${board}/brief.md`),
  'GET /api/boards/:id/export': read(({ board }) => `/api/boards/${board}/export`),
  'GET /api/boards/:id/timeline.:format': read(({ board }) => `/api/boards/${board}/timeline.otio`),
  'GET /api/boards/export': read('/api/boards/export'),
  'POST /api/videos': ({ key }) => ({
    path: '/api/videos',
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'video/mp4' },
    body: randomBytes(UPLOAD_BYTES),
  }),
  'POST /api/boards/:id/frames': async (world, n) => {
    const { db, accountId, board, frames } = world
    const frameIds = frames.slice(n * 120, n * 120 + 120)
    await unpinFrames(db, { accountId, boardId: board, frameIds })
    return sendJson(world, `/api/boards/${board}/frames`, { frameIds, note: MOST.note, position: 0 })
  },

  'GET /': page((_, n) => `/?${new URLSearchParams({ q: words(n, 2) })}`),
  'GET /web/suggest': page(suggestions),
  'GET /frames/:id': page(({ frames }, n) => `/frames/${frames[6_000 + n]}`),
  'GET /videos/:id': page(({ videos }, n) => `/videos/${videos[n]}`),
  'GET /brands/:name': page(({ brands }, n) => `/brands/${encodeURIComponent(brands[n]!)}`),
  'GET /techniques/:slug': page(({ slugs }, n) => `/techniques/${slugs[n]}`),
  'GET /boards/:id': page(({ board }) => `/boards/${board}`),
  'GET /operator': page('/operator'),
  'GET /operator/accounts': page('/operator/accounts'),
  'GET /operator/review': page('/operator/review'),
  'GET /operator/techniques': page('/operator/techniques'),
  'POST /web/boards/:id/delete': async (world) =>
    sendForm(world, `/web/boards/${await fullBoard(world.db, world.accountId, world.frames)}/delete`, {}),
  'POST /web/techniques/:slug/rename': async (world) =>
    sendForm(world, `/web/techniques/${await commonTechnique(world.db)}/rename`, { slug: `t-${randomUUID()}` }),
  'POST /web/techniques/:slug/merge': async (world) =>
    sendForm(world, `/web/techniques/${await commonTechnique(world.db)}/merge`, { into: world.slugs[0]!, sure: '1' }),

  search_frames: tool('search_frames', (_, n) => ({ query: words(n), limit: 100, detail: 'full' })),
  browse_frames: tool('browse_frames', (_, n) => ({ page: 20 + n, limit: 100, detail: 'full' })),
  search_library: tool('search_library', (_, n) => ({ query: words(n) })),
  find_similar_frames: tool('find_similar_frames', ({ frames }, n) => ({
    frame_id: frames[n],
    limit: 100,
    detail: 'full',
  })),
  find_sequences: tool('find_sequences', (_, n) => ({
    steps: [{ subject: 'text-card' }, { surface: 'screen-recording' }, { tone: 'dark' }],
    limit: 50 + n,
  })),
  describe_film: tool('describe_film', ({ videos }, n) => ({ video_id: videos[n] })),
  usage_report: tool('usage_report', (_, n) => ({ of: 'searches', by: 'term', limit: 100 - n })),
  list_saves: tool('list_saves', () => ({ limit: 100 })),
  get_board: tool('get_board', ({ board }) => ({ board_id: board, limit: 100 })),
  remove: tool('remove', async ({ db, accountId, frames }) => ({
    board_id: await fullBoard(db, accountId, frames),
    confirm: true,
  })),
}
