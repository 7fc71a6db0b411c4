import { Agent, request } from 'undici'
import { cleanLines } from '../clean-text.ts'
import { MediaError } from '../errors.ts'
import { openCheckedAgent, type Wire } from '../outbound/checked-connection.ts'
import { checkUrl } from '../outbound/checked-url.ts'

export interface Outcome {
  /** The HTTP status; null when no answer came. */
  status: number | null
  /** Null: delivered. */
  error: DeliveryError | null
  /** The first kilobyte of the answer, as text. */
  answer: string | null
  /** Milliseconds to the head of the answer, or to the failure. */
  latencyMs: number
  retryAfter: string | undefined
}

export interface ReceiverOptions extends Wire {
  /** Allows http, every port and private addresses: for receivers in the same network, and for tests. */
  allowPrivate: boolean
  /** Requests at once. */
  inFlight: number
  timeoutMs?: number
}

export interface Receiver {
  /** Sends one message. Never throws, never follows a redirect, and takes nothing in the answer for an instruction. */
  post(url: string, headers: Record<string, string>, body: string): Promise<Outcome>
  /** Ends its connections at once. */
  close(): Promise<void>
}

const TIMEOUT_MS = 15_000
const MAX_READ = 64 * 1024
const KEPT = 1024

/** The connections to one endpoint. They are not shared, so that a receiver that hangs holds up only itself. */
export function openReceiver(options: ReceiverOptions): Receiver {
  const { allowPrivate, inFlight, timeoutMs = TIMEOUT_MS } = options
  const limits = { connections: inFlight, connectTimeoutMs: timeoutMs, idleTimeoutMs: timeoutMs }
  const agent = allowPrivate
    ? new Agent({ connections: inFlight, pipelining: 1, connect: { timeout: timeoutMs }, maxHeaderSize: 32_768 })
    : openCheckedAgent({ ...options, ...limits })
  return {
    post: (url, headers, body) => post(agent, { url, headers, body, allowPrivate, timeoutMs }),
    close: () => agent.destroy(),
  }
}

interface Message {
  url: string
  headers: Record<string, string>
  body: string
  allowPrivate: boolean
  timeoutMs: number
}

async function post(agent: Agent, { url, headers, body, allowPrivate, timeoutMs }: Message): Promise<Outcome> {
  const started = performance.now()
  const latency = () => Math.round(performance.now() - started)
  const deadline = new AbortController()
  const timer = setTimeout(() => deadline.abort(), timeoutMs)
  try {
    const response = await request(allowPrivate ? url : checkUrl(url), {
      method: 'POST',
      dispatcher: agent,
      headers,
      body,
      signal: deadline.signal,
      // One deadline holds for all: connection, head and body.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    const latencyMs = latency()
    const status = response.statusCode
    const answer = await readAnswer(response.body)
    const retryAfter = response.headers['retry-after']
    return {
      status,
      error: errorOfStatus(status),
      answer,
      latencyMs,
      retryAfter: Array.isArray(retryAfter) ? retryAfter[0] : retryAfter,
    }
  } catch (error) {
    const found = deadline.signal.aborted ? 'timeout' : errorOf(error)
    return { status: null, error: found, answer: null, latencyMs: latency(), retryAfter: undefined }
  } finally {
    clearTimeout(timer)
  }
}

/** The status decides, so a body that never ends or breaks off changes nothing. */
async function readAnswer(body: AsyncIterable<Buffer>): Promise<string> {
  const kept: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of body) {
      if (size < KEPT) kept.push(chunk.subarray(0, KEPT - size))
      size += chunk.length
      if (size >= MAX_READ) break
    }
  } catch {}
  return cleanLines(Buffer.concat(kept).toString('utf8')).slice(0, KEPT)
}

function errorOfStatus(status: number): DeliveryError | null {
  if (status >= 200 && status < 300) return null
  if (status === 410) return 'gone'
  return status >= 300 && status < 400 ? 'redirect' : 'status'
}

const BY_CODE: [RegExp, DeliveryError][] = [
  [/^(UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT|ETIMEDOUT)$/, 'timeout'],
  [/^(ENOTFOUND|EAI_\w+)$/, 'name_not_found'],
  [/^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|EACCES|EPERM)$/, 'connection_failed'],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET|UND_ERR_CLOSED|UND_ERR_DESTROYED)$/, 'connection_closed'],
  [/^(HPE_|UND_ERR_)/, 'bad_answer'],
  [/^(ERR_TLS|ERR_SSL|CERT_|DEPTH_|UNABLE_TO|SELF_SIGNED|EPROTO|HOSTNAME_)/, 'tls'],
]

function errorOf(error: unknown): DeliveryError {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof MediaError) return 'refused_address'
    if (cause.name === 'HTTPParserError') return 'bad_answer'
    const { code } = cause as { code?: unknown }
    const found = typeof code === 'string' && BY_CODE.find(([pattern]) => pattern.test(code))
    if (found) return found[1]
    if (cause instanceof AggregateError && cause.errors.length > 0) return errorOf(cause.errors[0])
  }
  return 'connection_failed'
}

/** Why an attempt failed. The list is closed: metrics and the delivery log name these. */
export const ERRORS = [
  'timeout',
  'refused_address',
  'name_not_found',
  'connection_failed',
  'connection_closed',
  'tls',
  'bad_answer',
  'redirect',
  'status',
  'gone',
] as const
export type DeliveryError = (typeof ERRORS)[number]
