import { z } from 'zod'
import {
  createDocument,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
  type ZodOpenApiResponseObject,
} from 'zod-openapi'
import type { OperationEntry } from '../api/operations.ts'
import { VideoSubmissionBody } from '../api/videos.ts'
import type { Parameter } from '../parameters.ts'
import { Problem, Unauthenticated } from '../views/schemas.ts'

const ERRORS: Record<number, string> = {
  400: 'A value is not allowed; `details` says what is',
  401: 'No key, or one that does not work',
  403: 'The plan or the key’s scopes do not include this',
  404: 'No such thing',
  409: 'Not possible in this state',
  413: 'Too large',
  415: 'Another content type is needed',
  422: 'This Idempotency-Key came with another body',
  429: 'Too many requests; see Retry-After',
  500: 'Something went wrong here',
  503: 'A store is away; see Retry-After',
}

export type ApiDocument = ReturnType<typeof describeApi>

/** The OpenAPI 3.1 document, from the same schemas and tables that read the requests. */
export function describeApi({
  publicUrl,
  version,
  operations,
}: {
  publicUrl: string
  version: string
  operations: readonly OperationEntry[]
}) {
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {}
  for (const entry of operations) {
    const path = entry.path.replace(/:(\w+)/g, '{$1}')
    paths[path] ??= {}
    paths[path][entry.method] = toOperation(entry)
  }
  return createDocument({
    openapi: '3.1.1',
    info: {
      title: 'Frame Library',
      version,
      license: { name: 'MIT', identifier: 'MIT' },
      description:
        'A searchable library of video frames. Reads are open and cached for five minutes; saves and boards need the key of a Pro account. The same library is a tool server at `POST /api/mcp`.',
    },
    servers: [{ url: publicUrl }],
    tags: [
      {
        name: 'Library',
        description: 'Open reads. Equal questions in any order share one answer; ETag and 304 save the rest.',
      },
      { name: 'Tool server', description: 'The same library for language models.' },
      { name: 'Account', description: 'Saves and boards of the calling account.' },
      { name: 'Operators', description: 'Queueing videos, corrections, the vocabulary, plans and events.' },
      { name: 'Service', description: 'Health and documents.' },
    ],
    components: {
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'An API key, `flk_live_…`, from the page /keys.' },
      },
    },
    paths: paths as ZodOpenApiPathsObject,
  })
}

function toOperation(entry: OperationEntry): ZodOpenApiOperationObject {
  const {
    method,
    path,
    tag,
    scope,
    summary,
    body,
    answer,
    problem = Problem,
    parameters = {},
    cached,
    idempotent,
    plain,
  } = entry
  const errors = new Set([...(entry.errors ?? []), ...(plain ? [] : [400, 429, 500, 503])])
  if (scope) for (const status of [401, 403]) errors.add(status)
  if (body) for (const status of [413, 415]) errors.add(status)
  if (idempotent) for (const status of [409, 422]) errors.add(status)
  const names = [...path.matchAll(/:(\w+)/g)].map((match) => match[1]!)
  const description = [entry.description, scope && `Needs a key with the scope \`${scope}\`.`].filter(Boolean).join(' ')
  const responses: Record<string, ZodOpenApiResponseObject> = {
    [String(entry.status ?? 200)]: {
      description: summary,
      ...(cached
        ? {
            headers: {
              ETag: header('Names this answer; send it back as If-None-Match.'),
              'Cache-Control': header('Who may keep it, and how long.'),
            },
          }
        : {}),
      content: Object.fromEntries([
        typeof answer === 'string' ? [answer, {}] : ['application/json', { schema: answer }],
        ...(entry.alternatives ?? []).map((type) => [type, { schema: { type: 'string' as const } }]),
      ]),
    },
    ...(cached ? { '304': { description: 'What you hold is still right' } } : {}),
  }
  for (const status of [...errors].sort((a, b) => a - b))
    responses[String(status)] = {
      description: ERRORS[status]!,
      ...(status === 429 || status === 503 ? { headers: { 'Retry-After': header('Seconds.') } } : {}),
      content: { 'application/json': { schema: status === 401 ? Unauthenticated : problem } },
    }
  return {
    operationId: `${method}${path.replace(/^\/api/, '').replace(/[/:.-]+(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
    tags: [tag],
    summary,
    ...(description ? { description } : {}),
    // The tool server is open, and a key adds to it.
    security: scope ? [{ key: [] }] : tag === 'Tool server' ? [{}, { key: [] }] : [],
    parameters: [
      ...names.map((name) => ({ name, in: 'path' as const, required: true, schema: { type: 'string' as const } })),
      ...Object.entries(parameters).map(([name, parameter]) => toQueryParameter(name, parameter)),
      ...(cached ? [headerParameter('If-None-Match', 'The ETag of an answer you hold.')] : []),
      ...(idempotent
        ? [
            headerParameter(
              'Idempotency-Key',
              'The same key and body again are answered as the first time, for 24 hours.',
            ),
          ]
        : []),
    ] as NonNullable<ZodOpenApiOperationObject['parameters']>,
    ...(body ? { requestBody: toBody(body, entry.example) } : {}),
    responses: responses as ZodOpenApiOperationObject['responses'],
  }
}

const header = (description: string) => ({ description, schema: { type: 'string' as const } })
const headerParameter = (name: string, description: string) => ({
  name,
  in: 'header',
  description,
  schema: { type: 'string' },
})

function toQueryParameter(name: string, { schema: given, description, example, many, fallback }: Parameter) {
  const { $schema: _, ...schema } = z.toJSONSchema(given, { io: 'input' }) as Record<string, unknown>
  // How a number is written tells nobody who reads that it is one.
  if (schema.type === 'integer') delete schema.pattern
  if (fallback !== undefined) schema.default = fallback
  const shown = schema.type === 'integer' && example !== undefined ? Number(example) : example
  return {
    name,
    in: 'query',
    description,
    ...(example === undefined ? {} : { example: many ? example.split(',') : shown }),
    ...(many ? { style: 'form', explode: true, schema: { type: 'array', items: schema } } : { schema }),
  }
}

function toBody(body: z.ZodType | 'upload', example: unknown) {
  if (body !== 'upload') return { required: true, content: { 'application/json': { schema: body, example } } }
  const text = { type: 'string' as const }
  return {
    required: true,
    content: {
      'application/json': {
        schema: VideoSubmissionBody,
        example: { url: 'https://www.youtube.com/watch?v=dQw4w9WgXcQ' },
      },
      'multipart/form-data': {
        schema: {
          type: 'object' as const,
          required: ['file'],
          properties: {
            file: { type: 'string' as const, format: 'binary' },
            title: text,
            author: text,
            platform: text,
            backfill: text,
          },
        },
      },
      'application/octet-stream': {},
      'video/*': {},
    },
  }
}
