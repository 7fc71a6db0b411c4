import { makeZip } from 'client-zip'
import { notFound } from '../errors.ts'
import { priced } from '../http/rate-limit/rate-limits.ts'
import { openRoutes, type Routes } from '../http/routes.ts'
import type { Scope } from '../library/accounts/key-checks.ts'
import { readPageParameters } from '../parameters.ts'
import { loadSkills, type Skill } from '../views/skills.ts'
import { type Html, html } from './html.ts'
import { setPageCache } from './layout.ts'
import type { PageDeps } from './page-deps.ts'

/** `/connect`: how each assistant reaches the library, with what to copy, and the skills as files. */
export function connectRouter({ pages, viewerOf, limits, publicUrl, oauth, config }: PageDeps): Routes {
  const router = openRoutes()
  const skills = loadSkills()
  router.get('/connect', priced(limits), (req, res) => {
    const body = connectPage(publicUrl, { signIn: oauth !== undefined, isOpen: config.reads === 'open', skills })
    return pages.sendFixed(req, res, { title: 'Connect an assistant', current: 'keys', modules: ['core.js'], body })
  })
  router.get('/connect/skills/:file', priced(limits), async (req, res) => {
    readPageParameters(req.originalUrl)
    const skill = skills.find(({ frontmatter }) => `${frontmatter.name}.zip` === req.params.file)
    if (!skill) throw notFound('skill. The page /connect has them all')
    setPageCache(res, await viewerOf(req), 300)
    res.attachment(`${skill.frontmatter.name}.zip`).send(await zipOf(skill))
  })
  return router
}

/** The first day that a ZIP file can tell, so that equal skills are equal files. */
const EARLIEST = new Date('1980-01-01T00:00:00Z')

/** The folder that hosts take. */
async function zipOf({ frontmatter, text }: Skill): Promise<Buffer> {
  const zip = makeZip([{ name: `${frontmatter.name}/SKILL.md`, lastModified: EARLIEST, input: text }])
  return Buffer.from(await new Response(zip).arrayBuffer())
}

interface Connecting {
  signIn: boolean
  isOpen: boolean
  skills: readonly Skill[]
}

function connectPage(publicUrl: string, { signIn, isOpen, skills }: Connecting): Html {
  return html`<h1>Connect an assistant</h1>
<p class="lead">Assistants search the library by themselves. With your sign-in or a key they also save frames and fill
  boards.</p>
${signIn && section('chats', 'Chats', chatConnectors(publicUrl), 'You sign in here, and decide what the app may do.')}
<section aria-labelledby="editors-heading">
  <h2 id="editors-heading">Editors</h2>
  <p class="row">${editorLinks(publicUrl, signIn).map(
    ({ name, href }) => html`<a class="button" href="${href}">${name}</a> `,
  )}</p>
  <p class="hint">The button opens the program, which asks before it adds the server.</p>
</section>
${section(
  'open',
  isOpen ? 'Without a sign-in' : 'With a key',
  clientConfigurations(publicUrl, isOpen ? undefined : 'flk_live_…'),
  isOpen
    ? html`These search only. <a href="/keys">A key</a> in them adds your saves and boards.`
    : html`This library is for its members: put <a href="/keys">your key</a> into them.`,
)}
<section aria-labelledby="skills-heading">
  <h2 id="skills-heading">Skills</h2>
  <p class="hint">A skill tells an assistant how to do a whole job with the library. Some assistants find them by
    themselves; add the file to the others.</p>
  <ul>${skills.map(
    ({ frontmatter: { name, description } }) =>
      html`<li><a href="/connect/skills/${name}.zip" download>${name}.zip</a>: ${description}</li>`,
  )}</ul>
</section>`
}

function section(id: string, title: string, shown: readonly ClientConfiguration[], hint: Html | string): Html {
  return html`<section aria-labelledby="${id}-heading">
  <h2 id="${id}-heading">${title}</h2>
  <p class="hint">${hint}</p>
  ${foldedTexts(shown)}
</section>`
}

/** A text to copy for each client, behind its name. */
export function foldedTexts(shown: readonly ClientConfiguration[]): Html {
  return html`${shown.map(
    ({ id, name, where, text }) => html`<details>
    <summary>${name}</summary>
    <p class="hint">${where}</p>
    ${textToCopy(name, text, html`Copy<span class="visually-hidden"> for ${name}</span>`, id)}
  </details>`,
  )}`
}

/** A text that is selected as a whole by hand, and copied by its button with a script. */
export function textToCopy(
  what: string,
  text: string,
  label: Html | string = `Copy ${what.toLowerCase()}`,
  id?: string,
): Html {
  return html`<p class="copy-text"${id !== undefined && html` id="${id}"`}>${text}</p>
<button type="button" class="quiet needs-script" data-copies="${what}">${label}</button>`
}

interface ClientConfiguration {
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
function chatConnectors(publicUrl: string): ClientConfiguration[] {
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
function editorLinks(publicUrl: string, signIn: boolean): { name: string; href: string }[] {
  const url = `${publicUrl}${signIn ? '/mcp' : '/api/mcp'}`
  const config = Buffer.from(JSON.stringify({ url })).toString('base64')
  const server = encodeURIComponent(JSON.stringify({ name: 'frame-library', type: 'http', url }))
  return [
    {
      name: 'Add to Cursor',
      href: `cursor://anysphere.cursor-deeplink/mcp/install?name=frame-library&config=${encodeURIComponent(config)}`,
    },
    { name: 'Add to VS Code', href: `vscode:mcp/install?${server}` },
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
        'A tool of the Responses API.' +
        (key === undefined
          ? ' In ChatGPT itself (Settings → Connectors), enter the address without authentication: it has six tools.'
          : ''),
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
