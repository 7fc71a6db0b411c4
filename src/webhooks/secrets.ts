import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createPrivateKey,
  generateKeyPairSync,
  randomBytes,
  sign,
} from 'node:crypto'

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

function signingOf(secret: string): Signing {
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

/*
 * Encryption of webhook secrets at rest: AES-256-GCM (NIST SP 800-38D) with a random nonce of 96 bits. The stored text
 * is `aes256gcm.<key id>.<public part>.<base64url of nonce, tag, ciphertext>`. The public part is `v1` or the public
 * key (`whpk_…`), so endpoints can be listed without a key. The id of the endpoint and the parts before the ciphertext
 * are authenticated, so a secret cannot be moved to another row.
 */

const PREFIX = 'aes256gcm'
const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Keys of 32 bytes: the first encrypts, all decrypt. Empty: secrets are stored as they are. */
export type SecretsKeys = readonly Buffer[]

/** A stored secret cannot be decrypted: its key is not set, or its text was changed. */
export class UndecryptableSecret extends Error {}

export interface SecretCipher {
  /** Whether `encrypt` encrypts. Without keys it returns the secret as it is. */
  readonly encrypts: boolean
  /** The text to store for the endpoint: encrypted with the first key. */
  encrypt(secret: string, endpointId: string): string
  /** The secret of a stored text, encrypted or not. @throws UndecryptableSecret */
  decrypt(stored: string, endpointId: string): string
  /** Whether the text is stored as `encrypt` would store it now. */
  isCurrent(stored: string): boolean
}

export function openCipher(keys: SecretsKeys): SecretCipher {
  const byId = new Map(keys.map((key) => [keyIdOf(key), key]))
  const current = keys[0] && { id: keyIdOf(keys[0]), key: keys[0] }
  return {
    encrypts: current !== undefined,
    encrypt(secret, endpointId) {
      if (!current) return secret
      const head = [PREFIX, current.id, publicKeyOf(secret) ?? signingOf(secret)].join('.')
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(ALGORITHM, current.key, nonce).setAAD(Buffer.from(`${endpointId}.${head}`))
      const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
      return `${head}.${Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64url')}`
    },
    decrypt(stored, endpointId) {
      const parts = partsOf(stored)
      if (!parts) return stored
      const key = byId.get(parts.keyId)
      if (!key)
        throw new UndecryptableSecret(
          `The secret is encrypted with the key ${parts.keyId}, which SECRETS_KEY does not hold. Add that key to it.`,
        )
      try {
        const bytes = Buffer.from(parts.payload, 'base64url')
        const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
          .setAAD(Buffer.from(`${endpointId}.${parts.head}`))
          .setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
        return decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
      } catch (cause) {
        throw new UndecryptableSecret('The stored secret was changed. Rotate it: frames webhooks rotate <id>.', {
          cause,
        })
      }
    },
    isCurrent: (stored) => partsOf(stored)?.keyId === current?.id,
  }
}

/** What may be shown of a stored secret. Needs no key. `keyId`: the key that encrypts it, or null. */
export function describeStored(stored: string): { signing: Signing; publicKey: string | null; keyId: string | null } {
  const parts = partsOf(stored)
  if (!parts) return { signing: signingOf(stored), publicKey: publicKeyOf(stored), keyId: null }
  const { shown, keyId } = parts
  return shown === 'v1' ? { signing: 'v1', publicKey: null, keyId } : { signing: 'v1a', publicKey: shown, keyId }
}

/** Eight hexadecimal digits that name a key and do not reveal it. */
export function keyIdOf(key: Buffer): string {
  return createHash('sha256').update('frame-library secrets key ').update(key).digest('hex').slice(0, 8)
}

function partsOf(stored: string) {
  const [prefix, keyId = '', shown = '', payload = ''] = stored.split('.')
  return prefix === PREFIX ? { head: [prefix, keyId, shown].join('.'), keyId, shown, payload } : undefined
}
