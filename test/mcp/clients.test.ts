import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { expect, test } from 'vitest'
import { clientConfigurations } from '../../src/web/connect-page.ts'
import { useOpened } from '../support/closing.ts'
import { openToolService } from './service.ts'
import { LISTED } from './tool-library.ts'

/** The address and header that each ready configuration gives its client, used as the client would use them. */

const service = useOpened(() => openToolService())

// biome-ignore lint/suspicious/noExplicitAny: every client has a shape of its own
type Json = any
const READ: Record<string, (text: string) => { url: string; authorization: string | undefined }> = {
  'claude-code'(text) {
    const [, url, authorization] =
      /^claude mcp add --transport http frame-library (\S+)(?: --header "Authorization: ([^"]+)")?$/.exec(text)!
    return { url: url!, authorization }
  },
  'claude-desktop'(text) {
    const { command, args, env } = (JSON.parse(text) as Json).mcpServers['frame-library']
    expect([command, ...args.slice(0, 2)]).toEqual(['npx', '-y', 'mcp-remote'])
    // No blank after the colon: some clients cut arguments at blanks. mcp-remote fills in the variable.
    const header = args[3] === '--header' ? /^Authorization:\$\{(\w+)\}$/.exec(args[4]) : undefined
    return { url: args[2], authorization: header ? env[header[1]!] : undefined }
  },
  chatgpt(text) {
    const { type, server_url, headers } = JSON.parse(text) as Json
    expect(type).toBe('mcp')
    return { url: server_url, authorization: headers?.Authorization }
  },
  cursor(text) {
    const { url, headers } = (JSON.parse(text) as Json).mcpServers['frame-library']
    return { url, authorization: headers?.Authorization }
  },
  'vs-code'(text) {
    const { type, url, headers } = (JSON.parse(text) as Json).servers['frame-library']
    expect(type).toBe('http')
    return { url, authorization: headers?.Authorization }
  },
}

test('every ready configuration reaches the tools, with a key and without', async () => {
  const { bearer } = await service.keyOf('pro')
  const key = bearer.authorization.replace('Bearer ', '')
  for (const [given, tools] of [
    [key, LISTED.length],
    [undefined, 6],
  ] as const) {
    const configurations = clientConfigurations(service.url, given)
    expect(configurations.map((configuration) => configuration.id).sort()).toEqual(Object.keys(READ).sort())
    for (const { id, text } of configurations) {
      const { url, authorization } = READ[id]!(text)
      const client = new Client({ name: id, version: '1' })
      const headers: Record<string, string> = authorization ? { authorization } : {}
      await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
      expect((await client.listTools()).tools, id).toHaveLength(tools)
      await client.close()
    }
  }
})
