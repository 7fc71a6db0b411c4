import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { CallToolResultSchema, ListToolsResultSchema } from '@modelcontextprotocol/core'
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openToolService, seedLaunches, type ToolService } from './service.ts'

/**
 * An agent's whole job over HTTP with the clients that agents are built on: no look at a schema, no second try.
 */

let service: ToolService
beforeAll(async () => {
  service = await openToolService()
  await seedLaunches(service, 12)
})
afterAll(() => service[Symbol.asyncDispose]())

interface Agent {
  version: string | undefined
  list(): Promise<unknown>
  call(name: string, args: Record<string, unknown>): Promise<unknown>
  close(): Promise<void>
}

/** A call that must succeed at the first try, with its text first. */
function succeeding(agent: Agent) {
  return async (name: string, args: Record<string, unknown> = {}) => {
    const result = CallToolResultSchema.parse(await agent.call(name, args))
    const [text] = result.content
    if (text?.type !== 'text') throw new Error('text does not come first')
    expect(result.isError, `${name} ${JSON.stringify(args)}: ${text.text}`).toBeFalsy()
    // biome-ignore lint/suspicious/noExplicitAny: answers are asserted field by field
    return { text: text.text, links: result.content.slice(1), data: result.structuredContent as any }
  }
}

type Connect = (url: string, headers: Record<string, string>) => Promise<Agent>

const second =
  (mode: 'legacy' | 'auto' | { pin: string }): Connect =>
  async (url, headers) => {
    const client = new Client({ name: 'agent', version: '1' }, { versionNegotiation: { mode } })
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
    return {
      version: client.getNegotiatedProtocolVersion(),
      list: () => client.listTools(),
      call: (name, args) => client.callTool({ name, arguments: args }),
      close: () => client.close(),
    }
  }

const first: Connect = async (url, headers) => {
  const client = new FirstClient({ name: 'agent', version: '1' })
  const transport = new FirstTransport(new URL(url), { requestInit: { headers } })
  await client.connect(transport as Parameters<FirstClient['connect']>[0])
  // Output schemas are learned from the list.
  await client.listTools()
  return {
    version: transport.protocolVersion,
    list: () => client.listTools(),
    call: (name, args) => client.callTool({ name, arguments: args }),
    close: () => client.close(),
  }
}

describe.each<[string, Connect, string]>([
  ['the SDK 2 client at revision 2026-07-28', second({ pin: '2026-07-28' }), '2026-07-28'],
  ['the SDK 2 client choosing by itself', second('auto'), '2026-07-28'],
  ['the SDK 2 client of the initialize era', second('legacy'), '2025-11-25'],
  ['the SDK 1 client', first, '2025-11-25'],
])('%s', (_, connect, version) => {
  test('finds dark text-card intros, follows a video, and finds like ones', async () => {
    const { bearer } = await service.keyOf('pro')
    const agent = await connect(service.mcp, bearer)
    expect(agent.version).toBe(version)
    const { tools } = ListToolsResultSchema.parse(await agent.list())
    expect(tools).toHaveLength(22)

    const call = succeeding(agent)
    const intros = await call('search_frames', {
      query: 'headline',
      subject: ['text-card'],
      tone: ['dark'],
      kind: ['intro'],
    })
    expect(intros.data.frames).toHaveLength(12)
    for (const frame of intros.data.frames) expect(frame.subject).toBe('text-card')
    expect(intros.links[0]).toMatchObject({ type: 'resource_link', uri: intros.data.frames[0].image_url })

    const flow = await call('get_video_frames', { video: intros.data.frames[0].id })
    const times = flow.data.frames.map((frame: { t_sec: number }) => frame.t_sec)
    expect(times).toEqual([...times].sort((a, b) => a - b))
    expect(flow.data.frames[0].id).toBe(intros.data.frames[0].id)

    const similar = await call('find_similar_frames', { frame_id: intros.data.frames[0].id, limit: 10 })
    expect(similar.data.frames).toHaveLength(10)

    const refused = CallToolResultSchema.parse(await agent.call('search_frames', { query: 'x', tone: ['purple'] }))
    expect([refused.isError, JSON.stringify(refused.content)]).toEqual([
      true,
      expect.stringContaining('must be one of dark, bright'),
    ])
    await expect(agent.call('no_such_tool', {})).rejects.toThrow()
    await agent.close()
  })

  test('reads without a key', async () => {
    const agent = await connect(service.mcp, {})
    expect(ListToolsResultSchema.parse(await agent.list()).tools).toHaveLength(6)
    const found = CallToolResultSchema.parse(await agent.call('browse_frames', { limit: 3 }))
    expect(found.content).toHaveLength(4)
    await agent.close()
  })
})
