import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { CallToolResultSchema, ListToolsResultSchema } from '@modelcontextprotocol/core'
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { beforeAll, expect, test } from 'vitest'
import { useOpened } from '../support/closing.ts'
import { openToolService, seedLaunches } from './service.ts'
import { LISTED } from './tool-library.ts'

/** An agent's job over HTTP with the clients that agents are built on: no look at a schema, no second try. */

const service = useOpened(() => openToolService())
beforeAll(async () => {
  await seedLaunches(service, 12)
})

type Connect = (url: string, headers: Record<string, string>) => Promise<{ client: Client | FirstClient; at?: string }>

const second =
  (mode: 'legacy' | 'auto' | { pin: string }): Connect =>
  async (url, headers) => {
    const client = new Client({ name: 'agent', version: '1' }, { versionNegotiation: { mode } })
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
    return { client, at: client.getNegotiatedProtocolVersion() }
  }

const first: Connect = async (url, headers) => {
  const client = new FirstClient({ name: 'agent', version: '1' })
  const transport = new FirstTransport(new URL(url), { requestInit: { headers } })
  await client.connect(transport as Parameters<FirstClient['connect']>[0])
  return { client, at: transport.protocolVersion }
}

test.each<[string, Connect, string]>([
  ['the SDK 2 client at revision 2026-07-28', second({ pin: '2026-07-28' }), '2026-07-28'],
  ['the SDK 2 client choosing by itself', second('auto'), '2026-07-28'],
  ['the SDK 2 client of the initialize era', second('legacy'), '2025-11-25'],
  ['the SDK 1 client', first, '2025-11-25'],
])('%s finds dark text-card intros, follows a video, and reads without a key', async (_, connect, version) => {
  const { bearer } = await service.keyOf('pro')
  const { client, at } = await connect(service.mcp, bearer)
  expect(at).toBe(version)
  // Output schemas are learned from the list.
  expect(ListToolsResultSchema.parse(await client.listTools()).tools).toHaveLength(LISTED.length)
  const call = async (name: string, args: Record<string, unknown>) =>
    CallToolResultSchema.parse(await client.callTool({ name, arguments: args }))
  const asked = { query: 'headline', subject: ['text-card'], tone: ['dark'], kind: ['intro'] }
  const intros = await call('search_frames', asked)
  // biome-ignore lint/suspicious/noExplicitAny: answers are asserted field by field
  const { frames } = intros.structuredContent as any
  expect(frames).toHaveLength(12)
  for (const frame of frames) expect(frame.subject).toBe('text-card')
  expect(intros.content.slice(0, 2)).toMatchObject([
    { type: 'text' },
    { type: 'resource_link', uri: frames[0].image_url },
  ])
  const flow = await call('get_video_frames', { video: frames[0].id })
  expect(flow.structuredContent).toMatchObject({ videos: [{ id: frames[0].id.split('-')[0] }], total: 8 })
  const refused = await call('search_frames', { query: 'x', tone: ['purple'] })
  expect(refused).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('must be one of dark, bright') }],
  })
  await expect(client.callTool({ name: 'no_such_tool', arguments: {} })).rejects.toThrow()
  await client.close()

  const { client: anyone } = await connect(service.mcp, {})
  expect(ListToolsResultSchema.parse(await anyone.listTools()).tools).toHaveLength(6)
  await anyone.close()
})
