import { cleanLines } from '../clean-text.ts'
import type { DeliveryError } from '../db/schema/webhooks.ts'
import { MediaError } from '../errors.ts'
import type { Wire } from '../outbound/checked-connection.ts'
import { checkUrl } from '../outbound/checked-url.ts'
import type { Signer } from './secrets.ts'

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
  timeoutMs?: number | undefined
}

/** A message by Standard Webhooks 1.0.0. */
interface Message {
  id: string
  body: string
  sign: Signer
  /** The time of the attempt: receivers refuse messages older than five minutes. */
  at: Date
}

export interface Receiver {
  /** Sends one message. Never throws, never follows a redirect, and takes nothing in the answer for an instruction. */
  post(url: string, message: Message): Promise<Outcome>
  /** Ends its connections at once. */
  close(): Promise<void>
}

const TIMEOUT_MS = 15_000
const MAX_READ = 64 * 1024
const KEPT = 1024

/**
 * The connections to one endpoint. They are not shared, so that a receiver that hangs holds up only itself.
 * The HTTP client takes 8 MB, so it is loaded for the first endpoint with a delivery.
 */
export async function openReceiver(options: ReceiverOptions): Promise<Receiver> {
  const { Agent, request } = await import('undici')
  const { openCheckedAgent } = await import('../outbound/checked-connection.ts')
  const { allowPrivate, inFlight, timeoutMs = TIMEOUT_MS } = options
  const limits = { connections: inFlight, connectTimeoutMs: timeoutMs, idleTimeoutMs: timeoutMs }
  const agent = allowPrivate
    ? new Agent({ connections: inFlight, pipelining: 1, connect: { timeout: timeoutMs }, maxHeaderSize: 32_768 })
    : openCheckedAgent({ ...options, ...limits })

  async function post(url: string, message: Message): Promise<Outcome> {
    const headers = headersOf(message)
    const started = performance.now()
    const latency = () => Math.round(performance.now() - started)
    const deadline = AbortSignal.timeout(timeoutMs)
    try {
      const response = await request(allowPrivate ? url : checkUrl(url), {
        method: 'POST',
        dispatcher: agent,
        headers,
        body: message.body,
        signal: deadline,
        // One deadline holds for all: connection, head and body.
        headersTimeout: 0,
        bodyTimeout: 0,
      })
      const latencyMs = latency()
      const status = response.statusCode
      const answer = await readAnswer(response.body)
      const retryAfter = [response.headers['retry-after']].flat()[0]
      return { status, error: errorOfStatus(status), answer, latencyMs, retryAfter }
    } catch (error) {
      const found = deadline.aborted ? 'timeout' : errorOf(error)
      return { status: null, error: found, answer: null, latencyMs: latency(), retryAfter: undefined }
    }
  }
  return { post, close: () => agent.destroy() }
}

function headersOf({ id, body, sign, at }: Message): Record<string, string> {
  const timestamp = Math.floor(at.getTime() / 1_000)
  return {
    'content-type': 'application/cloudevents+json; charset=utf-8',
    'user-agent': 'frame-library/1',
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': sign({ id, timestamp, body }),
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
  return cleanLines(Buffer.concat(kept).toString('utf8')).slice(0, KEPT).toWellFormed()
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
