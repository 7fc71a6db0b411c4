import type { Scope } from '../library/accounts/keys.ts'

export interface ClientConfiguration {
  id: string
  name: string
  /** Where the text goes. */
  where: string
  text: string
}

/** A line for the shell that shows that the key works, by something it may do. */
export function curlLine(publicUrl: string, key: string, scopes: readonly Scope[]): string {
  const path = scopes.includes('saves:read')
    ? '/api/favourites'
    : scopes.includes('boards:read')
      ? '/api/boards'
      : scopes.includes('events:read')
        ? '/api/events'
        : undefined
  if (path) return `curl -s ${publicUrl}${path} -H 'Authorization: Bearer ${key}'`
  return `curl -s ${publicUrl}/api/mcp -H 'Authorization: Bearer ${key}' -H 'content-type: application/json' -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'`
}

/** Ready configurations for MCP clients; without a key they have the six open tools. */
export function clientConfigurations(publicUrl: string, key?: string): ClientConfiguration[] {
  const url = `${publicUrl}/api/mcp`
  const bearer = key === undefined ? undefined : `Bearer ${key}`
  const authorized = bearer === undefined ? {} : { headers: { Authorization: bearer } }
  const pretty = (value: unknown) => JSON.stringify(value, null, 2)
  return [
    {
      id: 'claude-code',
      name: 'Claude Code',
      where: 'In a terminal.',
      text: `claude mcp add --transport http frame-library ${url}${bearer === undefined ? '' : ` --header "Authorization: ${bearer}"`}`,
    },
    {
      id: 'claude-desktop',
      name: 'Claude Desktop and other stdio clients (mcp-remote)',
      where:
        'claude_desktop_config.json (Settings → Developer → Edit Config), or wherever the client keeps its servers. Needs Node.js.',
      text: pretty({
        mcpServers: {
          'frame-library': {
            command: 'npx',
            args: [
              '-y',
              'mcp-remote',
              url,
              // biome-ignore lint/suspicious/noTemplateCurlyInString: mcp-remote fills it in from env
              ...(bearer === undefined ? [] : ['--header', 'Authorization:${AUTH_HEADER}']),
            ],
            ...(bearer === undefined ? {} : { env: { AUTH_HEADER: bearer } }),
          },
        },
      }),
    },
    {
      id: 'chatgpt',
      name: 'ChatGPT and the OpenAI API',
      where:
        'A tool of the Responses API. In ChatGPT itself (Settings → Connectors), give the address and no authentication for the six open tools.',
      text: pretty({
        type: 'mcp',
        server_label: 'frame-library',
        server_url: url,
        ...authorized,
        require_approval: 'never',
      }),
    },
    {
      id: 'cursor',
      name: 'Cursor',
      where: '.cursor/mcp.json in the project, or ~/.cursor/mcp.json.',
      text: pretty({ mcpServers: { 'frame-library': { url, ...authorized } } }),
    },
    {
      id: 'vs-code',
      name: 'VS Code',
      where: '.vscode/mcp.json in the workspace.',
      text: pretty({ servers: { 'frame-library': { type: 'http', url, ...authorized } } }),
    },
  ]
}
