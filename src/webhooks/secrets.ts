import { createHmac, createPrivateKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto'

/*
 * Keys and signatures of Standard Webhooks 1.0.0 (standardwebhooks.com, "Signature scheme"): `v1` is HMAC-SHA256 over
 * `id.timestamp.body`, `v1a` is ed25519 over the same.
 */

export const SIGNING = ['v1', 'v1a'] as const
export type Signing = (typeof SIGNING)[number]

/** The specification asks for 24 to 64. */
const SECRET_BYTES = 32

/** `whsec_` + base64 for `v1`; for `v1a` `whsk_` + base64 of the ed25519 seed and public key. */
export function createSecret(signing: Signing): string {
  if (signing === 'v1') return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`
  const { d, x } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
  return `whsk_${Buffer.concat([bytesOf(d!), bytesOf(x!)]).toString('base64')}`
}

export function signingOf(secret: string): Signing {
  return secret.startsWith('whsk_') ? 'v1a' : 'v1'
}

/** `whpk_` + base64, by which receivers check `v1a`. Null for `v1`, whose secret must not be shown. */
export function publicKeyOf(secret: string): string | null {
  if (signingOf(secret) === 'v1') return null
  return `whpk_${Buffer.from(secret.slice('whsk_'.length), 'base64').subarray(32).toString('base64')}`
}

/** The value of `webhook-signature`. The timestamp is in whole seconds. */
export type Signer = (message: { id: string; timestamp: number; body: string }) => string

/** Signs with every secret: receivers accept a message when one signature fits. */
export function openSigner(secrets: readonly string[]): Signer {
  const signers = secrets.map(toSigner)
  return ({ id, timestamp, body }) => {
    // A full stop in the id would let one signature fit two messages.
    if (id.includes('.')) throw new Error('the id of a webhook must not hold a full stop')
    const content = `${id}.${timestamp}.${body}`
    return signers.map((one) => one(content)).join(' ')
  }
}

function toSigner(secret: string): (content: string) => string {
  const bytes = Buffer.from(secret.slice(secret.indexOf('_') + 1), 'base64')
  if (signingOf(secret) === 'v1')
    return (content) => `v1,${createHmac('sha256', bytes).update(content).digest('base64')}`
  const [d, x] = [bytes.subarray(0, 32), bytes.subarray(32)].map((part) => part.toString('base64url'))
  const key = createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', d: d!, x: x! }, format: 'jwk' })
  return (content) => `v1a,${sign(null, Buffer.from(content), key).toString('base64')}`
}

const bytesOf = (base64url: string) => Buffer.from(base64url, 'base64url')
