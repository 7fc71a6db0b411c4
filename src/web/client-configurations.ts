import type { Scope } from '../library/accounts/keys.ts'

export interface ClientConfiguration {
  id: string
  name: string
  /** Where to put the text. */
  where: string
  text: string
}

/** A shell line that tries the key on something it may do. */
export function curlLine(publicUrl: string, key: string, scopes: readonly Scope[]): string {
  const authorization = `-H 'Authorization: Bearer ${key}'`
  const path = PATHS.find(([scope]) => scopes.includes(scope))?.[1]
  if (path) return `curl -s ${publicUrl}${path} ${authorization}`
  const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
  return `curl -s ${publicUrl}/api/mcp ${authorization} -H 'content-type: application/json' -d '${list}'`
}

/** What a key with this scope may read; the first that fits is shown. */
const PATHS: readonly [Scope, string][] = [
  ['saves:read', '/api/favourites'],
  ['boards:read', '/api/boards'],
  ['events:read', '/api/events'],
]

/** Chats whose apps sign their people in. They take an address and no key. */
export function chatConnectors(publicUrl: string): ClientConfiguration[] {
  const text = `${publicUrl}/mcp`
  return [
    {
      id: 'claude-ai',
      name: 'claude.ai and the Claude apps',
      where: 'Settings → Connectors → Add custom connector. Enter this address.',
      text,
    },
    {
      id: 'chatgpt-app',
      name: 'ChatGPT',
      where: 'Settings → Connectors (in developer mode) → Create. Enter this address and choose OAuth.',
      text,
    },
    {
      id: 'claude-code-sign-in',
      name: 'Claude Code, with a sign-in',
      where: 'In a terminal; then /mcp in a session.',
      text: `claude mcp add --transport http frame-library ${text}`,
    },
  ]
}

/** Addresses that editors open to add a server. */
export function editorLinks(publicUrl: string, signIn: boolean): { id: string; name: string; href: string }[] {
  const url = `${publicUrl}${signIn ? '/mcp' : '/api/mcp'}`
  const config = Buffer.from(JSON.stringify({ url })).toString('base64')
  const server = encodeURIComponent(JSON.stringify({ name: 'frame-library', type: 'http', url }))
  return [
    {
      id: 'cursor-link',
      name: 'Add to Cursor',
      href: `cursor://anysphere.cursor-deeplink/mcp/install?name=frame-library&config=${encodeURIComponent(config)}`,
    },
    { id: 'vs-code-link', name: 'Add to VS Code', href: `vscode:mcp/install?${server}` },
  ]
}

/** Ready configurations for MCP clients. Without a key they offer the six open tools. */
export function clientConfigurations(publicUrl: string, key?: string): ClientConfiguration[] {
  const url = `${publicUrl}/api/mcp`
  const bearer = key === undefined ? undefined : `Bearer ${key}`
  const authorized = bearer === undefined ? {} : { headers: { Authorization: bearer } }
  const header = bearer === undefined ? '' : ` --header "Authorization: ${bearer}"`
  const pretty = (value: unknown) => JSON.stringify(value, null, 2)
  return [
    {
      id: 'claude-code',
      name: 'Claude Code',
      where: 'In a terminal.',
      text: `claude mcp add --transport http frame-library ${url}${header}`,
    },
    {
      id: 'claude-desktop',
      name: 'Claude Desktop and other stdio clients (mcp-remote)',
      where:
        'claude_desktop_config.json (Settings → Developer → Edit Config), or the server list of another client. ' +
        'Needs Node.js.',
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
        'A tool of the Responses API. In ChatGPT itself (Settings → Connectors), enter the address ' +
        'without authentication for the six open tools.',
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
