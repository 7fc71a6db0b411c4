import { keyed, type World } from './world.ts'

/** What the tool server has besides tools. */
export const METHODS: Record<string, (world: World, n: number) => object> = {
  'resources/list': () => ({}),
  'resources/read': ({ board }) => ({ uri: `board://${board}` }),
  'prompts/get': () => ({ name: 'moodboard', arguments: { brief: 'b'.repeat(1_000) } }),
  'completion/complete': (_, n) => ({
    ref: { type: 'ref/prompt', name: 'launch_openings' },
    argument: { name: 'brand', value: 'abcdefgh'[n % 8] },
  }),
}

export function rpc(world: World, id: number, method: string, params: object) {
  const body = JSON.stringify({ jsonrpc: '2.0', id, method, params })
  return { path: '/api/mcp', method: 'POST', headers: keyed(world, true), body }
}
