import { z } from 'zod'
import {
  createDocument,
  type ZodOpenApiObject,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
  type ZodOpenApiResponseObject,
} from 'zod-openapi'
import type { ErrorCode } from '../errors.ts'
import type { Parameter } from '../parameters.ts'
import { IDEMPOTENCY_KEY, type Operation, priceOf } from './endpoint.ts'
import { PATH_VALUES } from './path-values.ts'
import { STATUS } from './problem.ts'
import { PRICES } from './rate-limit/budgets.ts'

const Problem = z
  .strictObject({
    code: z.enum((Object.keys(STATUS) as ErrorCode[]).filter((code) => code !== 'unauthenticated')),
    message: z.string(),
    details: z
      .array(z.strictObject({ path: z.string(), message: z.string(), allowed: z.array(z.string()).optional() }))
      .optional(),
  })
  .meta({
    id: 'Problem',
    description: 'Every error but 401. The request id is in `X-Request-Id`.',
    examples: [
      {
        code: 'invalid_request',
        message: 'tone: "dim" is not allowed; must be one of dark, bright',
        details: [
          { path: 'tone', message: '"dim" is not allowed; must be one of dark, bright', allowed: ['dark', 'bright'] },
        ],
      },
    ],
  })
const Unauthenticated = z
  .strictObject({ code: z.literal('unauthenticated') })
  .meta({ id: 'Unauthenticated', examples: [{ code: 'unauthenticated' }] })

const ERRORS: Record<number, string> = {
  400: 'A value is not allowed; `details` says what is',
  401: 'No key, or one that does not work',
  403: 'The plan or the key’s scopes do not include this',
  404: 'No such thing',
  408: 'The request took too long to arrive',
  409: 'Not possible in this state',
  413: 'Too large',
  415: 'Another content type is needed',
  416: 'The range lies outside of the image; Content-Range says its size',
  422: 'This Idempotency-Key came with another body',
  429: 'Too many requests; see Retry-After',
  431: 'Address and headers are longer than 16 KiB together',
  500: 'Something went wrong here',
  503: 'Unavailable for now; see Retry-After',
}

export type ApiDocument = ReturnType<typeof describeApi>

/** The OpenAPI 3.1 document, from the same schemas and tables that read the requests. */
export function describeApi({
  operations,
  ...head
}: Pick<ZodOpenApiObject, 'info' | 'servers' | 'tags'> & { operations: readonly Operation[] }) {
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {}
  for (const operation of operations) {
    const path = operation.path.replace(/:(\w+)/g, '{$1}')
    paths[path] ??= {}
    paths[path][operation.method] = toOperationObject(operation)
  }
  return createDocument({
    openapi: '3.1.1',
    ...head,
    components: {
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'An API key, `flk_live_…`, from the page /keys.' },
      },
    },
    paths: paths as ZodOpenApiPathsObject,
  })
}

function toOperationObject(operation: Operation): ZodOpenApiOperationObject {
  const { id, tag, scope, summary, anyKey, keyOptional, cached, free, bodyOptional = false } = operation
  const points = PRICES[priceOf(operation)]
  const sentences = [
    operation.description,
    scope && `Needs a key with the scope \`${scope}\`${operation.allowLapsedPlan ? ', on any plan' : ''}.`,
    anyKey && 'Needs a key.',
    !scope && !anyKey && !keyOptional && 'Needs no key.',
    cached && 'The response has an ETag.',
    !free && `Costs ${points === 1 ? 'one point' : `${points} points`}.`,
  ]
  const content = toBody(operation)
  return {
    operationId: id,
    tags: [tag],
    summary,
    description: sentences.filter(Boolean).join(' '),
    security: toSecurity(operation),
    parameters: toParameters(operation) as NonNullable<ZodOpenApiOperationObject['parameters']>,
    ...(content ? { requestBody: { required: !bodyOptional, content } } : {}),
    responses: toResponses(operation) as ZodOpenApiOperationObject['responses'],
  }
}

function toSecurity({ scope, anyKey, keyOptional }: Operation): Record<string, string[]>[] {
  if (scope || anyKey) return [{ key: [] }]
  return keyOptional ? [{}, { key: [] }] : []
}

function toParameters({ path, parameters = {}, cached, ranges, idempotent, alternatives }: Operation): object[] {
  const names = [...path.matchAll(/:(\w+)/g)].map((match) => match[1]!)
  const all: object[] = names.map((name) => ({ name, in: 'path', required: true, ...PATH_VALUES[name] }))
  for (const [name, parameter] of Object.entries(parameters)) all.push(toQueryParameter(name, parameter))
  if (cached) all.push(headerParameter('If-None-Match', 'The ETag of your copy.'))
  if (ranges)
    all.push(
      headerParameter('Range', 'The part that is wanted, such as `bytes=0-1023`. Several parts bring the whole image.'),
      headerParameter('If-Range', 'The ETag of your copy: another image is sent whole.'),
    )
  if (alternatives?.includes('text/event-stream'))
    all.push(
      headerParameter('Last-Event-ID', 'Of a stream: the `id` of the last event that was seen. It wins over `after`.'),
    )
  if (idempotent)
    all.push(
      headerParameter(
        'Idempotency-Key',
        'Repeating key and body returns the first response, for 24 hours.',
        IDEMPOTENCY_KEY,
      ),
    )
  return all
}

const RATE_LIMIT = {
  RateLimit: 'What is left of the budget, and the seconds until it is whole again.',
  'RateLimit-Policy': 'The budget: points and seconds.',
}

/** Headers of a success, each with its meaning. */
function headersOf({ cached, plain, answerHeaders }: Operation): Record<string, string> {
  if (cached)
    return {
      ETag: 'The version of this response; send it back as If-None-Match.',
      'Cache-Control': 'Which caches may keep it, and how long.',
      ...answerHeaders,
    }
  return { ...answerHeaders, ...(plain ? {} : RATE_LIMIT) }
}

function toHeaders(headers: Readonly<Record<string, string>>) {
  const entries = Object.entries(headers)
  if (entries.length === 0) return {}
  return { headers: Object.fromEntries(entries.map(([name, description]) => [name, header(description)])) }
}

function errorHeaders(status: number, { idempotent }: Operation): Record<string, string> {
  if (status === 429) return { 'Retry-After': 'Seconds.', ...RATE_LIMIT }
  if (status === 409 && idempotent)
    return { 'Retry-After': 'Seconds, while the first request with this Idempotency-Key is running.' }
  return status === 503 ? { 'Retry-After': 'Seconds.' } : {}
}

function toResponses(operation: Operation): Record<string, ZodOpenApiResponseObject> {
  const { summary, answer, alternatives = [], cached, emptyAnswers = {} } = operation
  const content = Object.fromEntries([
    typeof answer === 'string' ? [answer, {}] : ['application/json', { schema: answer }],
    ...alternatives.map((type) => [type, { schema: { type: 'string' as const } }]),
  ])
  const responses: Record<string, ZodOpenApiResponseObject> = {
    [String(operation.status ?? 200)]: { description: summary, ...toHeaders(headersOf(operation)), content },
  }
  if (cached) responses['304'] = { description: 'Your copy is current' }
  if (operation.ranges)
    responses['206'] = {
      description: 'The part that Range asks for',
      ...toHeaders({ ...headersOf(operation), 'Content-Range': 'Which bytes these are, and of how many.' }),
      content,
    }
  for (const [status, description] of Object.entries(emptyAnswers))
    responses[status] = { description, ...toHeaders(headersOf(operation)) }
  for (const status of errorsOf(operation))
    responses[String(status)] = {
      description: ERRORS[status]!,
      ...toHeaders(errorHeaders(status, operation)),
      content: { 'application/json': { schema: schemaOf(status, operation) } },
    }
  return responses
}

function schemaOf(status: number, { problem = Problem, plain }: Operation): z.ZodType {
  if (status === 401) return Unauthenticated
  // A plain operation has a shape of its own for what it reports, not for a refusal, and no route answers a fault.
  return [408, 431, 500].includes(status) || (plain && status === 429) ? Problem : problem
}

function errorsOf({ errors = [], ranges, plain, free, scope, body, otherBody, idempotent }: Operation): number[] {
  // The connection refuses requests that are too long or too slow before any route runs.
  const all = new Set([408, 431, ...errors])
  const add = (...statuses: number[]) => {
    for (const status of statuses) all.add(status)
  }
  if (ranges) add(416)
  if (!free) add(429)
  if (!plain) add(400, 500, 503)
  if (scope) add(401, 403)
  if (body || otherBody) add(413, 415)
  if (idempotent) add(409, 422)
  return [...all].sort((a, b) => a - b)
}

function toBody({ body, otherBody, example }: Operation) {
  return body ? { 'application/json': { schema: body, example } } : otherBody
}

const header = (description: string) => ({ description, schema: { type: 'string' as const } })
const headerParameter = (name: string, description: string, pattern?: RegExp) => ({
  name,
  in: 'header',
  description,
  schema: { type: 'string', ...(pattern ? { pattern: pattern.source } : {}) },
})

function toQueryParameter(name: string, { schema: given, description, example, many, fallback }: Parameter) {
  const { $schema: _, ...schema } = z.toJSONSchema(given, { io: 'input' }) as Record<string, unknown>
  // An integer needs no pattern for its digits.
  if (schema.type === 'integer') delete schema.pattern
  // The wire takes 0 and 1 as well.
  if (schema.type === 'boolean') delete schema.enum
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
