import { readFileSync } from 'node:fs'
import { argumentReader } from '../../src/mcp/arguments.ts'
import { createTools, INSTRUCTIONS } from '../../src/mcp/server.ts'
import { describeTool, type Tool } from '../../src/mcp/tool.ts'

/** Whether a question of a person leads to the right tool with the right arguments. Nothing is called. */

export interface Choice {
  tool: string
  args: Record<string, unknown>
}

export interface Question {
  ask: string
  /** Each is right. Further arguments are allowed (filters narrow, a limit spares), but none that is null here. */
  right: Choice[]
  /** The recorded one. */
  chosen: Choice
}

const choiceOf = (line: string): Choice => {
  const [, tool, args] = /^. (\w+) (.+)$/.exec(line)!
  return { tool: tool!, args: JSON.parse(args!) }
}

const TABLE = readFileSync(new URL('agent-questions.txt', import.meta.url), 'utf8')
export const QUESTIONS: readonly Question[] = TABLE.split(/^\? /m)
  .slice(1)
  .map((text) => {
    const [ask, ...lines] = text.trim().split('\n')
    const right = lines.filter((line) => line.startsWith('=')).map(choiceOf)
    const [chosen = right[0]!] = lines.filter((line) => line.startsWith('>')).map(choiceOf)
    return { ask: ask!, right, chosen }
  })

/** What is offered: every tool but the gallery's own. */
export const TOOLS: readonly Tool[] = createTools({} as Parameters<typeof createTools>[0]).filter(
  (tool) => !tool.visibleTo,
)

export type Verdict = 'right' | 'wrong arguments' | 'wrong tool'

export function judge(right: readonly Choice[], chosen: Choice | undefined): Verdict {
  const same = right.filter(({ tool }) => tool === chosen?.tool)
  if (!chosen || same.length === 0) return 'wrong tool'
  const taken = argumentsAsRead(chosen)
  const isRight = (one: Choice) =>
    holds(argumentsAsRead(one), taken) && Object.keys(one.args).every((key) => one.args[key] !== null || !taken?.[key])
  return taken && same.some(isRight) ? 'right' : 'wrong arguments'
}

/** As the tool reads them; undefined where it refuses them. */
function argumentsAsRead({ tool: name, args }: Choice): Record<string, unknown> | undefined {
  const tool = TOOLS.find((one) => one.name === name)
  const parsed = tool?.input.safeParse(argumentReader(tool)(args).args)
  if (!parsed?.success) return undefined
  const given = parsed.data as Record<string, unknown>
  return Object.fromEntries(Object.keys(argumentReader(tool!)(args).args).map((key) => [key, given[key]]))
}

/** Whether all that is wanted was chosen: of a query its words, of a list its items. */
function holds(wanted: unknown, chosen: unknown): boolean {
  if (typeof wanted === 'string' && typeof chosen === 'string')
    return wordsOf(wanted).every((word) => wordsOf(chosen).includes(word))
  if (Array.isArray(wanted)) return Array.isArray(chosen) && wanted.every((one) => chosen.some((it) => holds(one, it)))
  if (typeof wanted !== 'object' || wanted === null) return wanted === chosen
  const given = (typeof chosen === 'object' && chosen !== null ? chosen : {}) as Record<string, unknown>
  return Object.entries(wanted).every(([key, value]) => holds(value, given[key]))
}

const wordsOf = (text: string) => text.toLowerCase().split(/\s+/)

interface ToolCall {
  function: { name: string; arguments: string }
}

/** The first tool that a model of an OpenAI-compatible endpoint calls; undefined where it calls none. */
export async function askModel(
  { baseUrl, model, apiKey = 'none' }: { baseUrl: string; model: string; apiKey?: string | undefined },
  ask: string,
): Promise<Choice | undefined> {
  const tools = TOOLS.map((tool) => {
    const { name, description, inputSchema: parameters } = describeTool(tool)
    return { type: 'function' as const, function: { name, description, parameters } }
  })
  const messages = [
    { role: 'system' as const, content: INSTRUCTIONS },
    { role: 'user' as const, content: ask },
  ]
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ model, messages, tools }),
  })
  if (!response.ok) throw new Error(`The model's endpoint answered ${response.status}.`)
  const { choices } = (await response.json()) as { choices: { message: { tool_calls?: ToolCall[] } }[] }
  const call = choices[0]?.message.tool_calls?.[0]
  if (!call) return undefined
  try {
    return { tool: call.function.name, args: JSON.parse(call.function.arguments || '{}') as Choice['args'] }
  } catch {
    return { tool: call.function.name, args: { unreadable: call.function.arguments } }
  }
}
