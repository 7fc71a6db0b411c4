import { afterAll, beforeAll, expect, test } from 'vitest'
import { postModern } from './support.ts'
import { openToolLibrary, type ToolLibrary } from './tool-library.ts'

/** The ends of lists, and wrong places in them. */

let library: ToolLibrary
beforeAll(async () => {
  library = await openToolLibrary()
})
afterAll(() => library[Symbol.asyncDispose]())

const errorOf = async (method: string, params: Record<string, unknown>) =>
  (await postModern(library.service.mcp, { method, params })).json.error

test('a list of the protocol has one page: a cursor is unknown to each', async () => {
  const lists = ['tools', 'resources', 'resources/templates', 'skills'].map((of) => `${of}/list`)
  for (const method of lists) {
    const code = async (cursor: unknown) => (await errorOf(method, { cursor }))?.code
    expect([method, await code('x'), await code(null)]).toEqual([method, -32602, undefined])
  }
})

test('a page behind the last one says that there is no more', async () => {
  const flow = await library.call('get_video_frames', { video_id: library.videoIds[3], limit: 2, page: 900 })
  expect([flow.structuredContent.frames, flow.text]).toEqual([[], expect.stringContaining('no more frames')])
  const moves = await library.call('list_techniques', { limit: 5, page: 900 })
  expect([moves.structuredContent.techniques, moves.text]).toEqual([[], expect.stringContaining('no more')])
})
