import { lookup } from 'node:dns/promises'
import type { Duplex } from 'node:stream'
import { Agent, buildConnector } from 'undici'
import { isAddressLiteral, isPublicAddress, privateNetwork, refused } from './checked-url.ts'

export interface Address {
  address: string
  family: number
}

/** The two ends of the wire that a test may replace. */
export interface Wire {
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
const IDLE_TIMEOUT_MS = 30_000

/** An agent that connects to public addresses only, and only to an address that it has checked itself. */
export function openCheckedAgent(options: ConnectionOptions): Agent {
  const resolve = options.resolve ?? ((hostname: string) => lookup(hostname, { all: true, verbatim: true }))
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
