import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Wire } from '../../outbound/checked-connection.ts'
import { type DeliveryError, type Message, openReceiver } from '../../webhooks/receiver.ts'
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

/** What every message of a subscription has beside its id, its body and its time. */
export function messageOf(subscriptionId: string, secrets: readonly string[]): Omit<Message, 'id' | 'body' | 'at'> {
  const headers = { 'x-mcp-subscription-id': subscriptionId }
  return { contentType: 'application/json', sign: openSigner(secrets), headers }
}

/**
 * Asks an address whether it wants these messages: it must send the challenge back. Undefined when it did.
 * Holds no lock and no transaction.
 */
export async function challengeAddress(
  { url, secret, subscriptionId, now }: { url: string; secret: string; subscriptionId: string; now: Date },
  { allowPrivate, wire = {} }: { allowPrivate: boolean; wire?: Wire | undefined },
): Promise<Fault | undefined> {
  const receiver = await openReceiver({ ...wire, allowPrivate, inFlight: 1, timeoutMs: TIMEOUT_MS })
  const challenge = randomBytes(32).toString('base64url')
  const id = `msg_verification_${randomBytes(12).toString('hex')}`
  const body = JSON.stringify({ type: 'verification', challenge })
  try {
    const message = { ...messageOf(subscriptionId, [secret]), id, body, at: now }
    const { error, status, answer } = await receiver.post(url, message)
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
