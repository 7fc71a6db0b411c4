import { Ajv2020, type AnySchema, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { openDocuments } from '../../src/api/documents.ts'
import type { ApiDocument } from '../../src/http/openapi.ts'
import { createTools } from '../../src/mcp/server.ts'
import { describeTool } from '../../src/mcp/tool.ts'
import { OPERATIONS } from '../../src/server/build-app.ts'

export function makeDocument(): ApiDocument {
  const tools = { open: [], key: [], pro: [], operator: [] }
  const about = { publicUrl: 'http://frames.test', reads: 'open', version: '0.0.0' } as const
  return openDocuments({ ...about, operations: OPERATIONS, tools }).api()
}

export interface Answer {
  status: number
  headers: Headers
  text: string
  /** Undefined where the answer is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: answers are asserted field by field
  json: any
}

/** Reads an answer of the service, and holds it against what the service documents. */
export async function readAnswer(method: string, path: string, response: Response, sent?: unknown): Promise<Answer> {
  const { status, headers } = response
  const text = await response.text()
  const isJson = text !== '' && /^application\/([a-z]+\+)?json/.test(headers.get('content-type') ?? '')
  const answer = { status, headers, text, json: isJson ? JSON.parse(text) : undefined }
  holdAnswer(method, path, answer)
  holdToolResult(sent, answer.json)
  return answer
}

/**
 * Holds an answer against the OpenAPI document: its status, media type, headers and body. What is no operation is not
 * looked at. @throws with the operation and the path
 */
export function holdAnswer(method: string, path: string, { status, headers, text, json }: Answer): void {
  const template = templates().find(({ pattern }) => pattern.test(path.split('?')[0]!))?.template
  const verb = method === 'HEAD' ? 'get' : method.toLowerCase()
  const operation = template === undefined ? undefined : paths()[template]![verb]
  if (template === undefined || !operation) return
  const fail = (what: string) => {
    throw new Error(`${method} ${template}: ${what}\n${method} ${path} → ${status} ${text.slice(0, 300)}`)
  }
  const response = operation.responses[status]
  if (!response) fail(`does not document ${status}`)
  if (!response) return
  for (const name of status < 300 ? ['ETag', 'Location', 'Link', 'RateLimit', 'Retry-After'] : ['Retry-After'])
    if (headers.has(name) && !response.headers?.[name]) fail(`does not document ${name} of ${status}`)
  if (text === '') return
  const [type = ''] = (headers.get('content-type') ?? '').split(';')
  if (!response.content?.[type]) fail(`does not document ${type} of ${status}`)
  if (type !== 'application/json') return
  const pointer = ['paths', template, verb, 'responses', `${status}`, 'content', type, 'schema']
  const validate = documented().getSchema(`api#/${pointer.map(escaped).join('/')}`)!
  if (!validate(json)) fail(documented().errorsText(validate.errors).slice(0, 600))
}

/** Holds the result of a tool of the product against its output schema. @throws with the name of the tool */
export function holdToolResult(sent: unknown, json: unknown): void {
  const { method, params } = (sent ?? {}) as { method?: string; params?: { name: string; arguments?: object } }
  const { result } = (json ?? {}) as { result?: Record<'isError' | 'resultType' | 'structuredContent', unknown> }
  if (method !== 'tools/call' || !params || !result || result.isError) return
  // The text alone was asked for.
  if ((params.arguments as { format?: string } | undefined)?.format === 'text') return
  const validate = outputOf(params.name)
  // A task holds the result later.
  if (validate && result.resultType !== 'task' && !validate(result.structuredContent))
    throw new Error(`the result of ${params.name}: ${documented().errorsText(validate.errors).slice(0, 600)}`)
}

const escaped = (part: string) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))

/** Made when it is first asked for, and then kept: schemas are compiled once. */
function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

const theDocument = once(makeDocument)

/** The schemas of the document, by `api#/` and their JSON pointer. */
export const documented = once(() => {
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false })
  addFormats.default(ajv)
  return ajv.addSchema({ ...theDocument(), $id: 'api' } as AnySchema)
})

type Responses = Record<string, { headers?: Record<string, unknown>; content?: Record<string, unknown> }>
const paths = () => theDocument().paths as Record<string, Record<string, { responses: Responses }>>

const templates = once(() =>
  Object.keys(paths())
    .map((template) => ({
      template,
      pattern: new RegExp(`^${template.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
    }))
    // A literal path before one with a parameter in its place.
    .sort((a, b) => a.template.split('{').length - b.template.split('{').length),
)

const tools = once(() => createTools({} as Parameters<typeof createTools>[0]))
const outputs = new Map<string, ValidateFunction>()

function outputOf(name: string): ValidateFunction | undefined {
  const tool = tools().find((one) => one.name === name)
  if (tool && !outputs.has(name))
    outputs.set(name, documented().compile(describeTool(tool, { output: true }).outputSchema!))
  return outputs.get(name)
}
