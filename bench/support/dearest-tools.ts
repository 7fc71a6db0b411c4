import { SEED_WORDS } from './library.ts'
import { keyed, MOST, type World } from './world.ts'

/** What the tool server has besides tools. */
export const METHODS: Record<string, (world: World) => object> = {
  'resources/list': () => ({}),
  'resources/read': ({ board }) => ({ uri: `board://${board}` }),
}

export function rpc(world: World, id: number, method: string, params: object) {
  const body = JSON.stringify({ jsonrpc: '2.0', id, method, params })
  return { path: '/api/mcp', method: 'POST', headers: keyed(world, true), body }
}

/** Words that most frames have, and none together: no answer is in memory. */
export function words(n: number, count = 3): string {
  const { adjectives, things, screen } = SEED_WORDS
  return [adjectives, things, screen]
    .slice(0, count)
    .map((list) => list[n % list.length])
    .join(' ')
}

/** The most rows of a figure. */
export const year = { from: '2026-01-01', to: '2026-12-31' }

/** The dearest arguments of each tool. */
export const ARGUMENTS_OF_TOOLS: Record<string, (world: World, n: number) => object> = {
  search_frames: (_, n) => ({ query: words(n), limit: 100, detail: 'full' }),
  browse_frames: (_, n) => ({ page: 20 + n, limit: 100, detail: 'full' }),
  search_library: (_, n) => ({ query: words(n) }),
  find_similar_frames: ({ frames }, n) => ({ frame_id: frames[n], limit: 100, detail: 'full' }),
  list_techniques: (_, n) => ({ query: 'e'.repeat(n + 1) }),
  get_video_frames: ({ videos }, n) => ({ video_id: videos.slice(n * 10, n * 10 + 10), limit: 100, detail: 'full' }),
  list_boards: () => ({ limit: 100 }),
  get_board: ({ board }) => ({ board_id: board, limit: 100 }),
  export_board: ({ film }) => ({ board_id: film }),
  list_saves: () => ({ limit: 100 }),
  report: () => ({ of: 'saves', by: 'frame', ...year, limit: 100 }),
  describe_film: ({ videos }, n) => ({ video_id: videos[n] }),
  compare_films: ({ videos }, n) => ({ video_id: videos.slice(n, n + 6) }),
  find_films: (_, n) => ({ limit: 60, min: `shots_a_minute:${n}` }),
  video_status: ({ videos }, n) => ({ video_id: videos.slice(n, n + 20) }),
  add_video: (_, n) => ({ url: Array.from({ length: 20 }, (__, at) => `https://a.example.com/${n}-${at}.mp4`) }),
  find_sequences: (_, n) => ({
    steps: [{ subject: 'text-card' }, { surface: 'screen-recording' }, { tone: 'dark' }],
    limit: 50 + n,
  }),
  frame_pictures: ({ frames }, n) => ({ frame_ids: frames.slice(n * 20, n * 20 + 20) }),
  create_board: (_, n) => ({ name: `made ${n}` }),
  update_board: ({ boards }, n) => ({ board_id: boards[n], description: `${n}${MOST.note}`.slice(0, 2_000) }),
  pin_frame: ({ board, frames }, n) => ({
    board_id: board,
    frame_ids: frames.slice(n * 100, n * 100 + 100),
    note: `${n}${MOST.note}`.slice(0, 2_000),
    position: 0,
  }),
  save_frame: ({ frames }, n) => ({ frame_ids: frames.slice(5_100 + n * 100, 5_200 + n * 100) }),
  unsave_frame: ({ frames }, n) => ({ frame_ids: frames.slice(n * 100, n * 100 + 100) }),
  unpin_frame: ({ board, frames }, n) => ({
    board_id: board,
    frame_ids: frames.slice(4_000 + n * 100, 4_100 + n * 100),
  }),
}
