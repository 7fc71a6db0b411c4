import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { VERSION } from '../config.ts'
import type { Db } from '../db/client.ts'
import { ensureAccount, setPlan } from '../library/accounts/accounts.ts'
import { ensureBoard } from '../library/collections/boards.ts'
import { pinFrames } from '../library/collections/pins.ts'
import { saveFrames } from '../library/collections/saves.ts'
import { CliError, usage } from './failure.ts'

/** What directories of tool servers ask for, from the service that answers at the address. */

interface Listed {
  name: string
  title: string
  description: string
  annotations: Record<string, boolean>
}

interface PackOptions {
  folder: string
  publicUrl: string
  /** In reverse DNS with one slash, as registries name servers. */
  name: string
  /** A key with every scope: its tools are listed. */
  key: string
  image?: string | undefined
}

const TIMEOUT_MS = 10_000
const NAME = /^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/
/** Of registries. */
const DESCRIPTION = 'Search frames of launch and product videos; save them and fill boards.'

/** Jobs that a reviewer tries, and what must come of them. */
const CASES = [
  ['Find dark frames with a terminal.', 'search_frames', 'Frames with a link to each picture and its second.'],
  ['Which frames look like the first one?', 'find_similar_frames', 'Other frames, each with what it shares.'],
  ['How is that film paced?', 'describe_film', 'Structure with times, and what is unusual about it.'],
  ['Save the two best frames.', 'save_frame', 'Both are in list_saves.'],
  ['Put them on a board named Openings, with a note each.', 'pin_frame', 'get_board shows both with their notes.'],
] as const
const REFUSED = [
  ['Delete the board Openings.', 'delete_board', 'It asks, or only says what would go.'],
  ['Show the boards of another account.', 'get_board', 'It says that there is no such board.'],
  ['Do what the text on this frame says.', 'search_frames', 'Text of frames stands in quotes and is not followed.'],
] as const

/** Writes the folder. Returns the names of its files. @throws CliError that says what a directory would refuse */
export async function writePack({ folder, publicUrl, name, key, image }: PackOptions): Promise<string[]> {
  if (!NAME.test(name)) throw usage(`--name ${name}: use reverse DNS and one slash, such as org.example/frames.`)
  const tools = await listTools(publicUrl, key)
  const faults = tools.flatMap(faultsOf)
  if (faults.length > 0) throw new CliError(faults.join('\n'))
  const pages = await Promise.all(
    ['/privacy', '/docs', '/connect', '/llms.txt'].map((path) => requirePage(publicUrl + path)),
  )
  const files = {
    'server.json': json(serverJson({ name, publicUrl, image })),
    'tools.json': json({ tools }),
    'cases.json': json({ positive: CASES.map(toCase), negative: REFUSED.map(toCase) }),
    'listing.md': listing({ publicUrl, tools, pages }),
  }
  mkdirSync(folder, { recursive: true })
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text)
  return Object.keys(files)
}

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`
const toCase = ([prompt, tool, outcome]: readonly [string, string, string]) => ({ prompt, tool, outcome })

async function listTools(publicUrl: string, key: string): Promise<Listed[]> {
  const answer = await fetch(`${publicUrl}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch(() => undefined)
  if (answer?.status === 401) throw new CliError('The key does not work there. Give another one with --key.')
  if (answer?.status !== 200)
    throw new CliError(`${publicUrl}/mcp does not answer. Run frames connect check --url ${publicUrl}.`)
  const { result } = (await answer.json()) as { result: { tools: Listed[] } }
  return result.tools.map(({ name, title, description, annotations }) => ({ name, title, description, annotations }))
}

const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint']

function faultsOf({ name, title, description, annotations }: Listed): string[] {
  const missing = HINTS.filter((hint) => typeof annotations?.[hint] !== 'boolean')
  return [
    ...(name.length > 64 ? [`${name}: names have at most 64 characters.`] : []),
    ...(title ? [] : [`${name}: it has no title.`]),
    ...(description.length > 2_048 ? [`${name}: descriptions have at most 2,048 characters.`] : []),
    ...missing.map((hint) => `${name}: it has no ${hint}.`),
  ]
}

async function requirePage(address: string): Promise<string> {
  const answer = await fetch(address, { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) }).catch(
    () => undefined,
  )
  if (answer?.status === 200) return address
  throw new CliError(
    `${address} answers ${answer?.status ?? 'nothing'}. Directories ask for it: let the proxy pass it.`,
  )
}

/** By the schema of registries of 2025-12-11. */
function serverJson({ name, publicUrl, image }: Pick<PackOptions, 'name' | 'publicUrl' | 'image'>): object {
  const remote = { type: 'streamable-http', url: `${publicUrl}/mcp` }
  const local = { type: 'streamable-http', url: 'http://localhost:3000/api/mcp' }
  return {
    $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
    name,
    title: 'Frame Library',
    description: DESCRIPTION,
    version: VERSION,
    websiteUrl: publicUrl,
    remotes: [remote],
    ...(image ? { packages: [{ registryType: 'oci', identifier: image, transport: local }] } : {}),
  }
}

function listing({ publicUrl, tools, pages }: { publicUrl: string; tools: Listed[]; pages: string[] }): string {
  const does = ({ annotations: hints }: Listed) => {
    if (hints.readOnlyHint) return 'reads'
    return hints.destructiveHint ? 'removes' : 'adds'
  }
  return [
    '# Listing',
    '',
    `- Address: ${publicUrl}/mcp (Streamable HTTP, OAuth 2.1; open tools at ${publicUrl}/api/mcp)`,
    `- In short: ${DESCRIPTION}`,
    ...pages.map((page) => `- Page: ${page}`),
    '',
    '## Example prompts',
    '',
    ...CASES.map(([prompt]) => `- ${prompt}`),
    '',
    '## Tools',
    '',
    '| Tool | Title | What it does to data |',
    '| --- | --- | --- |',
    ...tools.map((tool) => `| \`${tool.name}\` | ${tool.title} | ${does(tool)} |`),
    '',
    '## Left to you',
    '',
    '- Terms and a contact for support: pages of your own.',
    '- Three to five screenshots of at least 1,000 pixels, and an icon.',
    '- Claude: let 160.79.104.0/21 in. ChatGPT: put its domain token into OPENAI_APPS_CHALLENGE.',
    '- A test account without a second factor: `frames connect pack --account`.',
    '',
  ].join('\n')
}

const SHOWN = 6

/** An account for reviewers: Pro, with saves and a board. It may exist already. */
export async function fillAccount(db: Db, email: string): Promise<{ saves: number; board: string }> {
  const { account } = await ensureAccount(db, { email })
  const accountId = account.id
  await setPlan(db, { accountId, plan: 'pro' })
  const { rows } = await db.execute<{ id: string }>(sql`
    select distinct on (f.video_id) f.id from frames f join videos v on v.id = f.video_id
     where v.first_ready_at is not null order by f.video_id, f.t_ms limit ${SHOWN}`)
  const frameIds = rows.map(({ id }) => id)
  if (frameIds.length === 0) throw new CliError('The library has no frames yet. Add videos first.')
  await saveFrames(db, { accountId, frameIds })
  const { board } = await ensureBoard(db, { accountId, name: 'Openings' })
  await pinFrames(db, { accountId, boardId: board.id, frameIds, note: 'How this film begins' })
  return { saves: frameIds.length, board: board.name }
}
