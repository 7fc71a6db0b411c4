import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Wire } from '../../outbound/checked-connection.ts'
import type { DeliveryError } from '../../webhooks/receiver.ts'
import { openSigner } from '../../webhooks/secrets.ts'

const TIMEOUT_MS = 10_000

/** Why a subscription's address failed last, in the protocol's words. */
const FAULTS = ['connection_refused', 'timeout', 'tls_error', 'http_4xx', 'http_5xx', 'challenge_failed'] as const
export type Fault = (typeof FAULTS)[number]

/** The protocol has fewer words than we tell apart. */
export function faultOf(error: DeliveryError, status: number | null): Fault {
  if (error === 'timeout') return 'timeout'
  if (error === 'tls') return 'tls_error'
  if (status !== null) return status >= 500 ? 'http_5xx' : 'http_4xx'
  return 'connection_refused'
}

/** The headers of a message by Standard Webhooks 1.0.0, with the id of its subscription. */
export function headersOf(given: {
  id: string
  body: string
  secrets: readonly string[]
  subscriptionId: string
  at: Date
}): Record<string, string> {
  const { id, body, secrets, subscriptionId, at } = given
  const timestamp = Math.floor(at.getTime() / 1_000)
  return {
    'content-type': 'application/json; charset=utf-8',
    'user-agent': 'frame-library/1',
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': openSigner(secrets)({ id, timestamp, body }),
    'x-mcp-subscription-id': subscriptionId,
  }
}

/**
 * Asks an address whether it wants these messages: it must send the challenge back. Undefined when it did.
 * Holds no lock and no transaction.
 */
export async function challengeAddress(
  { url, secret, subscriptionId, now }: { url: string; secret: string; subscriptionId: string; now: Date },
  { allowPrivate, wire = {} }: { allowPrivate: boolean; wire?: Wire | undefined },
): Promise<Fault | undefined> {
  const { openReceiver } = await import('../../webhooks/receiver.ts')
  const receiver = openReceiver({ ...wire, allowPrivate, inFlight: 1, timeoutMs: TIMEOUT_MS })
  const challenge = randomBytes(32).toString('base64url')
  const id = `msg_verification_${randomBytes(12).toString('hex')}`
  const body = JSON.stringify({ type: 'verification', challenge })
  try {
    const headers = headersOf({ id, body, secrets: [secret], subscriptionId, at: now })
    const { error, status, answer } = await receiver.post(url, headers, body)
    if (error !== null) return faultOf(error, status)
    return isEcho(answer ?? '', challenge) ? undefined : 'challenge_failed'
  } finally {
    await receiver.close()
  }
}

function isEcho(answer: string, challenge: string): boolean {
  try {
    const given = Buffer.from(String((JSON.parse(answer) as { challenge?: unknown } | null)?.challenge))
    const wanted = Buffer.from(challenge)
    return given.length === wanted.length && timingSafeEqual(given, wanted)
  } catch {
    return false
  }
}
