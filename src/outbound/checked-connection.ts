import { Resolver } from 'node:dns/promises'
import type { Duplex } from 'node:stream'
import { Agent, buildConnector } from 'undici'
import { isAddressLiteral, isPublicAddress, privateNetwork, refused } from './checked-url.ts'

export interface Address {
  address: string
  family: number
}

/** The ends of the wire that a test may replace. */
export interface Wire {
  /** Name servers; those of the system if absent. */
  nameServers?: readonly string[]
  /** Every address of a name. */
  resolve?: (hostname: string) => Promise<Address[]>
  /** Opens a TLS connection to an address that has been checked. The name is for SNI and the certificate. */
  dial?: (target: { address: string; port: number; servername: string }) => Promise<Duplex>
}

export interface ConnectionOptions extends Wire {
  /** Connections at once to one origin; 1 if absent. */
  connections?: number
  connectTimeoutMs?: number
  idleTimeoutMs?: number
}

const CONNECT_TIMEOUT_MS = 10_000
const RESOLVE_TIMEOUT_MS = 4_000
const IDLE_TIMEOUT_MS = 30_000

/** An agent that connects to public addresses only, and only to an address that it has checked itself. */
export function openCheckedAgent(options: ConnectionOptions): Agent {
  const resolve = options.resolve ?? ((hostname: string) => resolveName(hostname, options.nameServers))
  const dial = options.dial ?? dialTls(options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS)
  const idleTimeoutMs = options.idleTimeoutMs ?? IDLE_TIMEOUT_MS
  return new Agent({
    connections: options.connections ?? 1,
    pipelining: 1,
    headersTimeout: idleTimeoutMs,
    bodyTimeout: idleTimeoutMs,
    maxHeaderSize: 32_768,
    // Not `connect.lookup`: it is skipped for IP literals, and it would not see a second answer.
    connect: (target, callback) => {
      connectChecked(target.hostname, target.port, resolve, dial).then(
        (socket) => callback(null, socket as never),
        (error) => callback(error as Error, null),
      )
    },
  })
}

/**
 * Every address of a name that a stranger gave. It reads no hosts file, and holds none of the few threads that
 * `dns.lookup` needs for the names of PostgreSQL and Redis. @throws ENOTFOUND within four seconds
 */
async function resolveName(hostname: string, servers: readonly string[] | undefined): Promise<Address[]> {
  const resolver = new Resolver({ timeout: 1_000, tries: 2 })
  if (servers) resolver.setServers(servers)
  const deadline = setTimeout(() => resolver.cancel(), RESOLVE_TIMEOUT_MS)
  const [four, six] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
  clearTimeout(deadline)
  if (four.status === 'rejected' && six.status === 'rejected')
    throw Object.assign(new Error('the name cannot be resolved', { cause: four.reason }), { code: 'ENOTFOUND' })
  const addressesOf = (found: PromiseSettledResult<string[]>, family: number) =>
    found.status === 'fulfilled' ? found.value.map((address) => ({ address, family })) : []
  const [first, second, ...more] = addressesOf(four, 4)
  // The few that are tried are of both families.
  return [first, second, ...addressesOf(six, 6), ...more].filter((address) => address !== undefined)
}

async function connectChecked(
  hostname: string,
  port: string,
  resolve: NonNullable<Wire['resolve']>,
  dial: NonNullable<Wire['dial']>,
): Promise<Duplex> {
  if (port !== '' && port !== '443') throw refused('The address names a port. Only port 443 is allowed.')
  const host = hostname.replace(/^\[|\]$/g, '')
  const addresses = isAddressLiteral(host)
    ? [{ address: host, family: host.includes(':') ? 6 : 4 }]
    : await resolve(host)
  // A private address among public ones is a rebinding attempt or a mistake. Either way the name is refused.
  if (addresses.length === 0 || !addresses.every(({ address }) => isPublicAddress(address))) throw privateNetwork()
  let failure: unknown
  for (const { address } of addresses.slice(0, 4)) {
    try {
      return await dial({ address, port: 443, servername: host })
    } catch (error) {
      failure = error
    }
  }
  throw failure
}

function dialTls(timeout: number): NonNullable<Wire['dial']> {
  const connect = buildConnector({ timeout, allowH2: false })
  return ({ address, port, servername }) =>
    new Promise((done, fail) => {
      connect(
        {
          hostname: address,
          host: servername,
          protocol: 'https:',
          port: String(port),
          servername: isAddressLiteral(servername) ? '' : servername,
        },
        (error, socket) => (error ? fail(error) : done(socket!)),
      )
    })
}
