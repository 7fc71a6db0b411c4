import express from 'express'
import type { Db } from '../src/db/client.ts'
import { ensureAccount } from '../src/library/accounts/accounts.ts'
import { createGrant, putRecord } from '../src/library/accounts/grants.ts'
import { MEMBER_SCOPES } from '../src/library/accounts/key-checks.ts'
import { createKey } from '../src/library/accounts/keys.ts'
import { protectedResource } from '../src/oauth/routes.ts'
import type { OpenApi } from '../src/server/main.ts'
import { type About, optionsOf } from './support/bench.ts'
import { threeWords, unheardOf } from './support/cold-questions.ts'
import { compareLoads, type Loads, openBare, type Request, type Side } from './support/http-load.ts'
import { openServed, openStores, serveApi } from './support/service.ts'
import { round } from './support/stats.ts'

/** `--only` measures the pairs whose name holds a text. */
export const about: About = {
  measures: 'Requests per second of the tool server, warm, and of cold searches that are asked once each.',
  against:
    'for each `tools/call` the HTTP route that reads the same rows. For `tools/list` a bare Express route that sends ' +
    'the same bytes. For a cold search the same question to `/api/frames`. The servers run in one child process and ' +
    'take many short turns. The median ratio counts.',
  figures: [
    { what: 'slowest `tools/call` ÷ HTTP read', at: ['ratio'], atLeast: 0.5 },
    { what: '`tools/list` ÷ bare Express', at: ['list_ratio'], atLeast: 0.8 },
    { what: '`get_board` at `/mcp` with a token ÷ `GET /api/boards` with a key', at: ['signed_in'], atLeast: 0.5 },
    { what: 'cost of a cold `search_frames` ÷ HTTP, frames found', at: ['cold', 'found'], atMost: 1.2 },
    { what: 'the same, nothing found', at: ['cold', 'nothing'], atMost: 1.2 },
  ],
}

const PUBLIC_URL = 'http://localhost:3000'

export async function run(args: string[]): Promise<object | undefined> {
  if (args[0] === 'serve') return serveApi(args[1], serveList)
  const values = optionsOf(args, { frames: 10_000, rounds: 15, connections: 20, only: '' })
  await using stores = await openStores('mcp', values)
  await using served = await openServed<string>('mcp', { ...stores.settings, publicUrl: PUBLIC_URL }, stores.db)
  const pairs = pairsOf(served.url, served.told, await openAccess(stores.db))
  const rows: Record<string, Loads> = {}
  for (const [name, sides] of Object.entries(pairs))
    if (name.includes(values.only)) rows[name] = await compareLoads(served, sides, { ...values, seconds: 1 })
  console.table(rows)
  const ratioOf = (start: string) => Object.entries(rows).find(([name]) => name.startsWith(start))?.[1].ratio
  const costOf = (what: string) => {
    const ratio = ratioOf(`cold search_frames / GET /api/frames, ${what}`)
    return ratio && round(1 / ratio)
  }
  const calls = Object.entries(rows).filter(([name]) => !/^(?:cold|tools\/list|\/mcp)/.test(name))
  return {
    bench: 'mcp',
    ratio: Math.min(...calls.map(([, { ratio }]) => ratio)),
    ratio_of: 'requests per second of tools/call to the HTTP route that reads the same rows, the least of the pairs',
    list_ratio: ratioOf('tools/list'),
    signed_in: ratioOf('/mcp'),
    cold: { found: costOf('found'), nothing: costOf('nothing') },
    cold_of: 'requests per second of the HTTP route to those of tools/call: every question is asked once',
    pairs: rows,
  }
}

interface Access {
  frameId: string
  videoId: string
  key: string
  token: string
}

function pairsOf(api: string, bare: string, { frameId, videoId, key, token }: Access) {
  const rpc = (message: object): Request => ({
    method: 'POST',
    path: '/api/mcp',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
  })
  const at = (ask: Side['ask'], url = api): Side => ({ url, ask })
  const call = (name: string, given: object) => rpc({ method: 'tools/call', params: { name, arguments: given } })
  const list = rpc({ method: 'tools/list' })
  const boards = call('get_board', {})
  const withToken = { ...boards.headers, authorization: `Bearer ${token}` }
  const cold = (question: (n: number) => string) => {
    let asked = 0
    return {
      ours: at(() => call('search_frames', { query: question(asked++) })),
      bare: at(() => ({ path: `/api/frames?q=${encodeURIComponent(question(asked++))}` })),
    }
  }
  return {
    'find_similar_frames / GET …/similar (20 frames)': {
      ours: at(call('find_similar_frames', { frame_id: frameId, limit: 20 })),
      bare: at({ path: `/api/frames/${frameId}/similar?limit=20` }),
    },
    'search_library / GET /api/search (5 of each)': {
      ours: at(call('search_library', { query: 'dark', limit: 5 })),
      bare: at({ path: '/api/search?q=dark&limit=5' }),
    },
    'get_video_frames / GET …/frames (one video)': {
      ours: at(call('get_video_frames', { video_id: videoId, limit: 120 })),
      bare: at({ path: `/api/videos/${videoId}/frames` }),
    },
    '/mcp get_board with a token / GET /api/boards with a key': {
      ours: at({ ...boards, path: '/mcp', headers: withToken }),
      bare: at({ path: '/api/boards', headers: { authorization: `Bearer ${key}` } }),
    },
    'tools/list / bare Express, same bytes': { ours: at(list), bare: at({ ...list, path: '/' }, bare) },
    'cold search_frames / GET /api/frames, found': cold(threeWords),
    'cold search_frames / GET /api/frames, nothing': cold(unheardOf),
  }
}

/** A bare route that sends the list of tools. */
async function serveList({ port }: OpenApi) {
  const list = await fetch(`http://127.0.0.1:${port}/api/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  }).then((response) => response.text())
  const app = express()
  app.post('/', express.json(), (_req, res) => {
    res.type('application/json').send(list)
  })
  const bare = await openBare(app)
  return { told: bare.url, close: bare.close }
}

/** A frame to ask about, a member's key and an app's token. */
async function openAccess(db: Db): Promise<Access> {
  const { account } = await ensureAccount(db, { email: 'member@example.com', plan: 'pro' })
  const { key } = await createKey(db, { accountId: account.id, name: 'bench' })
  const { resource } = protectedResource(PUBLIC_URL)
  const app = { clientId: 'bench', clientName: 'Bench', returnsTo: 'app.example.com', scopes: MEMBER_SCOPES }
  const grantId = await createGrant(db, { accountId: account.id, ...app })
  const token = 't'.repeat(43)
  const payload = { grantId, aud: resource, scope: MEMBER_SCOPES.join(' ') }
  await putRecord(db, { kind: 'AccessToken', id: token, payload, lifetimeSec: 3_600 })
  await db.$client.query('analyze oauth_records, grants, accounts, api_keys')
  const { rows } = await db.$client.query<{ id: string; video_id: string }>(
    'select id, video_id from library_search.frames order by added_ms desc limit 1',
  )
  return { frameId: rows[0]!.id, videoId: rows[0]!.video_id, key, token }
}
