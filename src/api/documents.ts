import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Config } from '../config.ts'
import { notFound } from '../errors.ts'
import { DATA_VERSION, EVENTS, type SentType, TEST_EVENT } from '../events/catalogue.ts'
import { schemaPath } from '../events/cloud-event.ts'
import { endpoint, type Operation } from '../http/endpoint.ts'
import { describeApi } from '../http/openapi.ts'
import { CompressibleBody, isNoneMatchMet, preferredEncoding, sendBody } from '../http/response-body.ts'
import type { Parameter } from '../parameters.ts'
import { filterParameters } from '../views/parameters.ts'
import type { App, Documents, TextSender } from './app.ts'

export function openDocuments(options: {
  operations: readonly Operation[]
  tools: ToolNames
  publicUrl: string
  reads: Config['reads']
  version: string
}): Documents {
  const { operations, tools, publicUrl, reads, version } = options
  const description = `A searchable library of video frames. ${READING[reads]} Saves and boards need the key of a Pro \
account. AI agents use the same library through MCP at \`POST /api/mcp\`.`
  const info = { ...INFO, version, description }
  const api = (tag?: string) =>
    describeApi({
      info,
      servers: [{ url: publicUrl }],
      tags: TAGS.filter(({ name }) => isPart(name, tag)),
      operations: operations.filter((operation) => isPart(operation.tag, tag)),
    })
  const parts = new Map<string | undefined, TextSender>(
    [undefined, ...TAG_NAMES].map((tag) => {
      return [tag, textSender('application/json; charset=utf-8', () => JSON.stringify(api(tag)))]
    }),
  )
  /** Of the versions there are, so it is bounded. */
  const schemas = new Map<string, TextSender>()
  return {
    api,
    dataSchema(type, dataVersion) {
      const key = `${type}/${dataVersion}`
      const known = schemas.get(key)
      if (known) return known
      const schema = describeData(type, dataVersion, publicUrl)
      if (!schema) return undefined
      const sender = textSender('application/schema+json', () => JSON.stringify(schema))
      schemas.set(key, sender)
      return sender
    },
    openapi: (tag) => parts.get(tag)!,
    llms: textSender('text/plain; charset=utf-8', () => describeForModels({ operations, tools, publicUrl, reads })),
  }
}

const SENT_TYPES = Object.keys({ ...EVENTS, ...TEST_EVENT }) as SentType[]

/** The JSON schema of a version of a type's data; undefined when there is none. */
function describeData(type: string, version: string, publicUrl: string): object | undefined {
  const known = SENT_TYPES.find((one) => one === type)
  if (!known || version !== String(DATA_VERSION)) return undefined
  const { $schema, ...schema } = z.toJSONSchema({ ...EVENTS, ...TEST_EVENT }[known]) as Record<string, unknown>
  return { $schema, $id: publicUrl + schemaPath(type, DATA_VERSION), title: type, ...schema }
}

const INFO = { title: 'Frame Library', license: { name: 'MIT', identifier: 'MIT' } }
const TAGS = [
  {
    name: 'Library',
    description: 'Reads. The order of parameters does not matter. Send the `ETag` back to get a 304.',
  },
  { name: 'Films', description: 'How films are built, and how they compare.' },
  { name: 'Tool server', description: 'The same library for AI agents (MCP).' },
  { name: 'Account', description: 'Saves and boards of the calling account.' },
  { name: 'Operators', description: 'Queueing videos, corrections, the vocabulary, plans and events.' },
  { name: 'Webhooks', description: 'Receivers of events, and what was sent to them. Signed by Standard Webhooks.' },
  { name: 'Service', description: 'Health and documents.' },
]
const TAG_NAMES = TAGS.map(({ name }) => name)
const isPart = (tag: string, part: string | undefined) => part === undefined || tag === part

/** A document that needs no store and stays the same until the next release. */
const fixed = { method: 'get', tag: 'Service', parameters: {}, plain: true, cached: true } as const

export const documentEndpoints = [
  endpoint(
    {
      ...fixed,
      id: 'getOpenApiDocument',
      path: '/openapi.json',
      summary: 'This document, or a part of it',
      parameters: {
        tag: { schema: z.enum(TAG_NAMES), description: 'The operations of this tag alone.', example: 'Films' },
      },
      answer: z.looseObject({ openapi: z.string() }),
      errors: [400],
    },
    async ({ documents }: App, { query: { tag }, req, res }) => {
      await documents.openapi(tag)(req, res)
      return undefined
    },
  ),

  endpoint(
    {
      ...fixed,
      id: 'getEventSchema',
      path: '/schemas/events/:type/:version',
      summary: 'The JSON schema of the data of an event: what `dataschema` names',
      answer: 'application/schema+json',
      errors: [400, 404],
    },
    async ({ documents }: App, { params, req, res }) => {
      const send = documents.dataSchema(params.type, params.version)
      if (!send) throw notFound('version of an event')
      await send(req, res)
      return undefined
    },
  ),

  endpoint(
    {
      ...fixed,
      id: 'getLlmsText',
      path: '/llms.txt',
      summary: 'What a language model needs to know to use this service',
      answer: 'text/plain',
      errors: [400],
    },
    async ({ documents }: App, { req, res }) => {
      await documents.llms(req, res)
      return undefined
    },
  ),
]

/** Who may read, and how long an image's address lasts. */
const READING: Readonly<Record<Config['reads'], string>> = {
  open:
    'Reads need no key and no sign-up, and are cached for five minutes. ' +
    'Image addresses in the answers never change: cite them.',
  members:
    'It is for its members: reading needs a key (`Authorization: Bearer flk_live_…`) or a session of the pages. ' +
    'Image addresses in the answers open without one, for up to an hour.',
}

/** Sends one text, compressed once, with an ETag. */
function textSender(type: string, make: () => string): TextSender {
  let kept: { body: CompressibleBody; etag: string } | undefined
  return async (req, res) => {
    kept ??= withTag(new CompressibleBody(make()))
    const { body, etag } = kept
    res.set({
      ETag: etag,
      'Cache-Control': 'public, max-age=300',
      Vary: 'Accept-Encoding',
      'Access-Control-Allow-Origin': '*',
    })
    if (isNoneMatchMet(req.headers['if-none-match'], etag)) res.status(304).end()
    else await sendBody(req, res, body, { type, encoding: preferredEncoding(req) })
  }
}

function withTag(body: CompressibleBody) {
  const digest = createHash('sha256').update(body.bytes).digest('base64url')
  return { body, etag: `W/"${digest.slice(0, 22)}"` }
}

/** The tools of the tool server: for everyone, for any key, for that of a Pro account, and for operators. */
type ToolNames = Record<'open' | 'key' | 'pro' | 'operator', readonly string[]>

/** `/llms.txt` in the form of llmstxt.org: a title, a summary, and what to read next. */
function describeForModels(options: Omit<Parameters<typeof openDocuments>[0], 'version'>): string {
  const { operations, tools, publicUrl, reads: who } = options
  const linesOf = (of: string) =>
    operations.filter(({ tag, path }) => tag === of && path.startsWith('/api/')).map((one) => readLine(one, publicUrl))
  const own = operations
    .filter(({ tag }) => tag === 'Account')
    .map(({ method, path, summary }) => {
      return `- \`${method.toUpperCase()} ${toAddress(path)}\`: ${summary}`
    })
  const figures = operations.filter(({ path }) => path.startsWith('/api/analytics/'))
  return `# Frame Library

> A searchable library of video frames. Every frame is annotated with what it shows, how it was made and what is \
worth taking from it. ${READING[who]}

Answers are JSON. Errors are \`{ code, message, details? }\` with the allowed values in \`details\`. Send the ETag \
back as If-None-Match. \`q\` finds words. Where few frames have them, frames close in meaning follow \
(\`matched.meaning\`); \`sort=meaning\` has the nearest alone.

## Tools

- [MCP server](${publicUrl}/api/mcp): POST, JSON-RPC 2.0. For every reader: ${tools.open.join(', ')}. \
Any key (\`Authorization: Bearer flk_live_…\`) adds ${tools.key.join(', ')}; that of a Pro account \
${tools.pro.join(', ')}; that of an operator ${tools.operator.join(', ')}. \
Apps with a sign-in (OAuth) use ${publicUrl}/mcp. Both addresses have resources and skills too.

## Reads

${linesOf('Library').join('\n')}

## Films

${linesOf('Films').join('\n')}

## Saves and boards

With the key of a Pro account:

${own.join('\n')}

## Filters of the wall

Filters combine: AND across, OR within one: repeat it, or for ${namesWithCommas()} separate values by commas.

${Object.entries(filterParameters)
  .map(([name, parameter]) => `- ${name}: ${valuesOf(parameter)}`)
  .join('\n')}

## Events and figures

Every save, board change and step of a video is a CloudEvent. Figures are counted from the events. Both need the key \
of an operator with the scope \`events:read\`.

- [Events](${publicUrl}/api/events): from a cursor on, or live with \`Accept: text/event-stream\`. \
\`dataschema\` names the JSON schema of its data. Webhooks send them.
${figures.map((read) => readLine(read, publicUrl)).join('\n')}

## Reference

- [OpenAPI 3.1](${publicUrl}/openapi.json): every operation with its schemas, more than 100,000 tokens. In parts: \
${TAG_NAMES.map((tag) => `[${tag}](${publicUrl}/openapi.json?tag=${encodeURIComponent(tag)})`).join(', ')}
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
  const address = toAddress(path)
  const name = path.includes(':') ? `\`${address}\`` : `[${summary}](${publicUrl}${address}${exampleQuery(parameters)})`
  const said = path.includes(':') ? `${summary}. ${about}`.trim() : about
  return said === '' ? `- ${name}` : `- ${name}: ${said}`
}

const toAddress = (path: string) => path.replace(/:(\w+)/g, '{$1}')

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
