import fc from 'fast-check'
import type { Operation } from '../../src/http/endpoint.ts'
import { STATUS } from '../../src/http/problem.ts'
import { OPERATIONS } from '../../src/server/build-app.ts'

/** Hostile requests from the tables by which the service reads its requests: valid, almost valid and absurd ones. */

export interface HostileRequest {
  method: string
  /** Path and query, already as bytes on the wire. */
  target: string
  headers: Record<string, string>
  body?: string
}

/** Signs, then what other languages would run, numbers, and words that mean something to the service. */
const NASTY = [
  ...['', ' ', '\0', '\u202e', '\ud83d\ude00', 'e\u0301', '\ufeff', '\u2028', '\x7f', '\t\r\n', 'ﬃ', 'İ', 'ß', '½'],
  ...["'", '"', '\\', '`', '%', '_', '*', '?', '[', ']', '(', ')', ':*', '& | !', '<->', "a' & 'b:*"],
  ...["' OR 1=1 --", "'; drop table frames; --", 'author = "x" OR tone EXISTS', 'NOT (', '_geoRadius(1,2,3)'],
  ...['${7*7}', '{{7*7}}', '<script>alert(1)</script>', '../../etc/passwd', 'constructor', '__proto__', 'toString'],
  ...['-1', '0', '00', '1e309', '-0', '+1', '0x10', '1.5', '9007199254740993', '99999999999999999999', 'NaN', 'null'],
  ...[
    'a,b',
    ',',
    ',,,',
    'ui,terminal',
    'ui,',
    'dark',
    'UI',
    '#fff',
    'zzz',
    'https://',
    'http://[::1',
    'https://youtu.be/',
  ],
] as const

const text = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...NASTY) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 60 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 400 }) },
  { weight: 1, arbitrary: fc.integer({ min: 200, max: 3_000 }).map((length) => '𝕏"\' '.repeat(length / 4)) },
  { weight: 1, arbitrary: fc.array(fc.constantFrom(...NASTY), { maxLength: 12 }).map((parts) => parts.join(' ')) },
)
/** As encodeURIComponent, which throws on half a surrogate pair. Here it becomes bytes as careless clients send. */
const encode = (value: string) =>
  [...Buffer.from(value, 'utf8')].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
const written = fc.oneof(
  { weight: 8, arbitrary: text.map(encode) },
  { weight: 1, arbitrary: fc.constantFrom('%', '%zz', '%ff', '%C0%80', '%ED%A0%80', '%E2%82', '+', '%00', '&&=', '=') },
)

const json: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.stringify(value)) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '',
      '{',
      '[',
      'null',
      '"',
      '{"a":1}{',
      '\u0000',
      '[1,]',
      'NaN',
      '{"__proto__":{"x":1}}',
      '{"constructor":{"prototype":{"x":1}}}',
    ),
  },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 20_000 }).map((depth) => '['.repeat(depth) + ']'.repeat(depth)) },
)

function bodyOf({ example }: Operation): fc.Arbitrary<string> {
  if (typeof example !== 'object' || example === null) return json
  const value = fc.oneof(text, fc.jsonValue({ maxDepth: 2 }), fc.constant(undefined), fc.double(), fc.maxSafeInteger())
  const mutated = fc
    .record(Object.fromEntries([...Object.keys(example), 'extra', '__proto__x'].map((key) => [key, value])), {
      requiredKeys: [],
    })
    .map((fields) => JSON.stringify({ ...example, ...(fields as object) }))
  return fc.oneof({ weight: 3, arbitrary: mutated }, { weight: 1, arbitrary: json })
}

const NAMES = [
  '__proto__',
  'constructor',
  'toString',
  'q[]',
  'q[a]',
  'limit ',
  'LIMIT',
  '',
  'a'.repeat(200),
  '\0',
  'page%00',
]

function requestOf(entry: Operation, tokens: readonly string[]): fc.Arbitrary<HostileRequest> {
  const { method, path, parameters = {}, body } = entry
  const names = Object.keys(parameters)
  const name = fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...(names.length > 0 ? names : ['q'])) },
    { weight: 1, arbitrary: fc.constantFrom(...NAMES) },
  )
  const pair = fc.tuple(name, written).map(([key, value]) => `${encode(key)}=${value}`)
  const query = fc.oneof(
    { weight: 6, arbitrary: fc.array(pair, { maxLength: 4 }) },
    { weight: 1, arbitrary: fc.array(pair, { minLength: 10, maxLength: 60 }) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(pair, fc.integer({ min: 2, max: 80 }))
        .map(([one, n]) => Array.from({ length: n }, () => one)),
    },
  )
  const segment = fc.oneof(
    { weight: 1, arbitrary: fc.constantFrom('abcdefgh2345', 'abcdefgh2345-0', ...tokens) },
    { weight: 2, arbitrary: written },
  )
  const segments = fc.array(segment, { minLength: 3, maxLength: 3 })
  const header = fc.constantFrom<Record<string, string>>(
    {},
    {},
    { accept: 'text/html' },
    { authorization: 'Bearer flk_live_' },
    { 'if-none-match': '*' },
    { 'if-none-match': '"'.repeat(500) },
    { 'accept-encoding': 'br;q=9, gzip;q=x, ,' },
    { 'x-request-id': 'a b\tc' },
    { 'x-forwarded-for': "1.2.3.4', 5" },
    { range: 'bytes=0-1' },
    { cookie: `session=${'x'.repeat(3_000)}` },
    { origin: 'null' },
    { 'idempotency-key': 'é'.repeat(3) },
    { 'content-type': 'application/json; charset=utf-7' },
    { 'content-type': 'multipart/form-data' },
    { 'content-type': 'multipart/form-data; boundary=' },
    { 'content-encoding': 'gzip' },
    { expect: '200-ok' },
  )
  const verb = fc.oneof(
    { weight: 9, arbitrary: fc.constant(method.toUpperCase()) },
    { weight: 1, arbitrary: fc.constantFrom('HEAD', 'OPTIONS', 'POST', 'DELETE', 'PATCH', 'PUT', 'TRACE') },
  )
  return fc
    .record({ verb, segments, query, header, body: body ? bodyOf(entry) : fc.constant(undefined) })
    .map(({ verb: asked, segments: parts, query: pairs, header: headers, body: sent }) => {
      let at = 0
      const target = path.replace(/:\w+/g, () => parts[at++ % parts.length]!.replaceAll('/', '%2f') || 'x')
      const hasBody = sent !== undefined && !['GET', 'HEAD', 'TRACE'].includes(asked)
      return {
        method: asked,
        target: pairs.length > 0 ? `${target}?${pairs.join('&')}` : target,
        headers: { ...(hasBody ? { 'content-type': 'application/json' } : {}), ...latin1(headers) },
        ...(hasBody ? { body: sent } : {}),
      }
    })
}

const latin1 = (headers: Record<string, string>) =>
  Object.fromEntries(Object.entries(headers).map(([key, value]) => [key, Buffer.from(value).toString('latin1')]))

/**
 * Requests to every documented operation, most of them to the open reads. `tokens` are real ids, so that some requests
 * find something.
 */
export function hostileRequests(
  tokens: readonly string[],
  only: (entry: Operation) => boolean = () => true,
): fc.Arbitrary<HostileRequest> {
  return fc.oneof(
    ...OPERATIONS.filter(only).map((entry) => ({
      weight: entry.cached && entry.tag === 'Library' ? 6 : 1,
      arbitrary: requestOf(entry, tokens),
    })),
    { weight: 1, arbitrary: written.map((path) => ({ method: 'GET', target: `/${path}`, headers: {} })) },
  )
}

/** What is wrong with an answer, undefined when nothing is. */
export function faultOf(
  request: HostileRequest,
  status: number,
  contentType: string | null,
  body: string,
): string | undefined {
  if (status >= 500) return `answered ${status}: ${body.slice(0, 200)}`
  if (status < 400) return undefined
  if (request.method === 'HEAD' || status === 304) return undefined
  // Pages for people have pages for errors.
  if (!/^\/(api|media|openapi\.json|llms\.txt|livez|readyz)/.test(request.target)) return undefined
  if (!contentType?.startsWith('application/json')) return `error ${status} as ${contentType}`
  let problem: { code?: unknown; message?: unknown; jsonrpc?: unknown; details?: unknown }
  try {
    problem = JSON.parse(body)
  } catch {
    return `error ${status} is not JSON: ${body.slice(0, 100)}`
  }
  if (problem.jsonrpc === '2.0' && request.target.startsWith('/api/mcp')) return undefined
  if (status === 401) return body === '{"code":"unauthenticated"}' ? undefined : `401 is ${body}`
  // Longer than Node reads.
  if (status === 431) return problem.code === 'invalid_request' ? undefined : body
  if (STATUS[problem.code as keyof typeof STATUS] !== status || typeof problem.message !== 'string')
    return `error ${status} is ${body.slice(0, 200)}`
  if (Object.keys(problem).some((key) => !['code', 'message', 'details'].includes(key)))
    return `error ${status} holds more: ${body.slice(0, 200)}`
  if (/node_modules|\bat \w+ \(|failed query/i.test(String(problem.message)))
    return `error ${status} leaks: ${body.slice(0, 200)}`
  return undefined
}
