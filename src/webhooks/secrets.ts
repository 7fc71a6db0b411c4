import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto'

/*
 * Keys and signatures of Standard Webhooks 1.0.0 (standardwebhooks.com, "Signature scheme"): `v1` is HMAC-SHA256 over
 * `id.timestamp.body`.
 */

const SECRET_PREFIX = 'whsec_'
/** The specification asks for 24 to 64. */
const SECRET_BYTES = 32

export function createSecret(): string {
  return SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64')
}

/** The value of `webhook-signature`. The timestamp is in whole seconds. */
export type Signer = (message: { id: string; timestamp: number; body: string }) => string

/** Signs with every secret: receivers accept a message when one signature fits. */
export function openSigner(secrets: readonly string[]): Signer {
  const keys = secrets.map((secret) => Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64'))
  return ({ id, timestamp, body }) => {
    // A full stop in the id would let one signature fit two messages.
    if (id.includes('.')) throw new Error('the id of a webhook must not hold a full stop')
    const content = `${id}.${timestamp}.${body}`
    return keys.map((key) => `v1,${createHmac('sha256', key).update(content).digest('base64')}`).join(' ')
  }
}

/*
 * Encryption of webhook secrets at rest: AES-256-GCM (NIST SP 800-38D) with a random nonce of 96 bits. The stored text
 * is `aes256gcm.<key id>.<base64url of nonce, tag, ciphertext>`. The id of the endpoint and the parts before the
 * ciphertext are authenticated, so a secret cannot be moved to another row.
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
      const head = `${PREFIX}.${current.id}`
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
          .setAAD(Buffer.from(`${endpointId}.${PREFIX}.${parts.keyId}`))
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

/** The id of the key that encrypts a stored secret, or null. Needs no key. */
export function keyIdOfStored(stored: string): string | null {
  return partsOf(stored)?.keyId ?? null
}

/** Eight hexadecimal digits that name a key and do not reveal it. */
export function keyIdOf(key: Buffer): string {
  return createHash('sha256').update('frame-library secrets key ').update(key).digest('hex').slice(0, 8)
}

function partsOf(stored: string) {
  const [prefix, keyId = '', payload = ''] = stored.split('.')
  return prefix === PREFIX ? { keyId, payload } : undefined
}
