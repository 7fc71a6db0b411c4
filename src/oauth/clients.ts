import { cleanText, UNSTORABLE } from '../clean-text.ts'
import type { DbOrTx } from '../db/client.ts'
import { putRecord } from '../library/accounts/grants.ts'
import { randomId } from '../library/ids.ts'

/* Clients name the address of a document about them (client ID metadata document), or register (RFC 7591). */

/** Addresses of programs that are no web addresses, and belong to one program each. */
const PRIVATE_RETURNS = new Set(['cursor://anysphere.cursor-mcp/oauth/callback'])

/** As the authorization server's package has them. */
const LOOPBACK = /^(?:localhost|127\.0\.0\.1|\[::1\])$/

/** Whether codes may be sent there: https, a program on the person's own machine, or a known program's address. */
function isReturnAddress(address: unknown): address is string {
  if (typeof address !== 'string' || UNSTORABLE.test(address) || !URL.canParse(address)) return false
  const { protocol, username, hash } = new URL(address)
  if (username !== '' || hash !== '' || address.length > 2_000) return false
  return protocol === 'https:' || isLoopbackReturn(address) || PRIVATE_RETURNS.has(address)
}

/** Any program on that machine can receive what is sent there. */
export function isLoopbackReturn(address: string): boolean {
  const { protocol, hostname } = new URL(address)
  return protocol === 'http:' && LOOPBACK.test(hostname)
}

export type Metadata = Record<string, unknown>

/**
 * A description as this server takes it: a name and addresses. Every client is a public one: it proves itself by PKCE
 * and holds no secret. Undefined for one that names an address where no code may go, and, with `secrets: refused`, for
 * one that insists on a secret or a key.
 */
export function toPublicClient(given: unknown, { secrets }: { secrets: 'replaced' | 'refused' }): Metadata | undefined {
  if (typeof given !== 'object' || given === null) return undefined
  const {
    client_name: name,
    redirect_uris: returns,
    token_endpoint_auth_method: method = 'none',
    token_endpoint_auth_methods_supported: supported,
  } = given as Metadata
  const isPublic = method === 'none' || (Array.isArray(supported) && supported.includes('none'))
  if (secrets === 'refused' && !isPublic) return undefined
  if (!Array.isArray(returns) || returns.length === 0 || returns.length > MAX_RETURNS) return undefined
  if (!returns.every(isReturnAddress)) return undefined
  const shownName = typeof name === 'string' ? cleanText(name, MAX_NAME) : ''
  return {
    client_name: shownName || 'An app without a name',
    redirect_uris: returns,
    application_type: returns.every((address) => address.startsWith('https:')) ? 'web' : 'native',
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  }
}

const MAX_NAME = 80
const MAX_RETURNS = 20
/** A client that is never let in is forgotten after a day. */
const UNUSED_SEC = 24 * 60 * 60

/** Registers a client. What it asked for beyond a name and addresses is not kept, as RFC 7591 allows. */
export async function registerClient(db: DbOrTx, client: Metadata): Promise<Metadata> {
  const id = randomId()
  const payload = { ...client, client_id: id, client_id_issued_at: Math.floor(Date.now() / 1000) }
  await putRecord(db, { kind: 'Client', id, payload, lifetimeSec: UNUSED_SEC })
  return payload
}
