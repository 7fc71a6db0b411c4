import { z } from 'zod'
import type { Operation } from '../http/endpoint.ts'
import type { Parameter } from '../parameters.ts'
import { filterParameters } from '../views/frame-query.ts'

/** The tools of the tool server: those for everyone and those that need a key. */
export interface ToolNames {
  open: readonly string[]
  account: readonly string[]
}

/** `/llms.txt` in the form of llmstxt.org: a title, a summary, and what to read next. */
export function describeForModels(options: {
  operations: readonly Operation[]
  tools: ToolNames
  publicUrl: string
}): string {
  const { operations, tools, publicUrl } = options
  const reads = operations.filter(({ tag, path }) => tag === 'Library' && path.startsWith('/api/'))
  const figures = operations.filter(({ path }) => path.startsWith('/api/analytics/'))
  return `# Frame Library

> A searchable library of video frames. Every frame is annotated with what it shows, how it was made and what is \
worth taking from it. Reads are open: no key, no sign-up.

Answers are JSON. Errors are \`{ code, message, details? }\` with the allowed values in \`details\`. Reads are \
cached for five minutes; send the ETag back as If-None-Match. Image addresses in the answers never change: cite them.

## Tools

- [MCP server](${publicUrl}/api/mcp): POST, JSON-RPC 2.0. Open tools: ${tools.open.join(', ')}. \
A Pro key (\`Authorization: Bearer flk_live_…\`) adds ${tools.account.join(', ')}. \
Apps with a sign-in (OAuth) use ${publicUrl}/mcp. Both addresses have resources, prompts and skills too.

## Reads

${reads.map((read) => readLine(read, publicUrl)).join('\n')}

## Filters of the wall

Filters combine: AND across, OR within one: repeat it, or for ${namesWithCommas()} separate values by commas.

${Object.entries(filterParameters)
  .map(([name, parameter]) => `- ${name}: ${valuesOf(parameter)}`)
  .join('\n')}

## Events and figures

Every save, board change and step of a video is a CloudEvent. Figures are counted from the events. Both need the key \
of an operator with the scope \`events:read\`.

- [Events](${publicUrl}/api/events): from a cursor on, or live with \`Accept: text/event-stream\`. \
[AsyncAPI](${publicUrl}/asyncapi.json) describes each type; webhooks send them.
${figures.map((read) => readLine(read, publicUrl)).join('\n')}

## Reference

- [OpenAPI 3.1](${publicUrl}/openapi.json): every operation with its schemas
- [Reference for people](${publicUrl}/docs)
- [Keys](${publicUrl}/keys): for saves and boards
`
}

function namesWithCommas(): string {
  const all: [string, Parameter][] = Object.entries(filterParameters)
  return all.flatMap(([name, { commas }]) => (commas ? [name] : [])).join(', ')
}

function readLine({ path, summary, description, parameters = {} }: Operation, publicUrl: string): string {
  const about = [description, parameterList(parameters)].filter(Boolean).join(' ')
  const address = path.replace(/:(\w+)/g, '{$1}')
  const name = path.includes(':') ? `\`${address}\`` : `[${summary}](${publicUrl}${address}${exampleQuery(parameters)})`
  const said = path.includes(':') ? `${summary}. ${about}`.trim() : about
  return said === '' ? `- ${name}` : `- ${name}: ${said}`
}

function parameterList(parameters: Record<string, Parameter>): string {
  const names = Object.keys(parameters).map((name) => `\`${name}\``)
  return names.length === 0 ? '' : `Parameters: ${names.join(', ')}.`
}

function exampleQuery(parameters: Record<string, Parameter>): string {
  const example = Object.entries(parameters).find(([, parameter]) => parameter.example !== undefined)
  return example ? `?${example[0]}=${encodeURIComponent(example[1].example!)}` : ''
}

/** The closed list, or what a value means. */
function valuesOf({ schema, description, example }: Parameter): string {
  if (schema instanceof z.ZodEnum) return schema.options.join(', ')
  return example === undefined ? description : `${description} For example ${example}.`
}
