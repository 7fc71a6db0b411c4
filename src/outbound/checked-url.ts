import ipaddr from 'ipaddr.js'
import { MediaError } from '../errors.ts'

/** Separate from the connections, whose HTTP client takes 10 MB: the API checks addresses but opens no connection. */

/** Names that have a meaning only inside a network. */
const PRIVATE_NAME =
  /(^|\.)(localhost|local|internal|intranet|lan|home|corp|private|localdomain|home\.arpa|test|invalid|example|onion)$/i

/**
 * Checks an address before any name is looked up.
 * @throws MediaError refused_address
 */
export function checkUrl(address: string): URL {
  if (!URL.canParse(address)) throw refused('The address is not valid. Use one that begins with https://.')
  const url = new URL(address)
  if (url.protocol !== 'https:') throw refused('The address does not use https. Use one that begins with https://.')
  if (url.username !== '' || url.password !== '')
    throw refused('The address contains a name or password. Remove them from the address.')
  if (url.port !== '') throw refused('The address names a port. Only port 443 is allowed.')
  const host = url.hostname.replace(/\.$/, '')
  const isPublic = isAddressLiteral(host) ? isPublicAddress(host) : host.includes('.') && !PRIVATE_NAME.test(host)
  if (!isPublic) throw privateNetwork()
  return url
}

export function refused(message: string): MediaError {
  return new MediaError('refused_address', message)
}

export function privateNetwork(): MediaError {
  return refused('The address belongs to a private network. Use a public address.')
}

/** A public address that answers only inside a cloud: Azure's host agent. */
const METADATA = ['168.63.129.16']
/** Reserved blocks that ipaddr.js classifies as ordinary addresses. */
const RESERVED_V6: Array<[string, number]> = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]
const RESERVED_V4: Array<[string, number]> = [
  ['0.0.0.0', 8],
  ['192.0.0.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
]

/**
 * Whether an IP address literal is global unicast: no private, loopback, link-local, shared, reserved, documentation,
 * multicast or metadata address. An IPv6 address that embeds an IPv4 address (mapped, NAT64, 6to4, Teredo) is not
 * public, nor is text that is no address.
 */
export function isPublicAddress(text: string): boolean {
  const bare = text.replace(/^\[|\]$/g, '')
  if (!ipaddr.isValid(bare) || bare.includes('%')) return false
  const address = ipaddr.parse(bare)
  if (address.kind() === 'ipv6') {
    const v6 = address as ipaddr.IPv6
    if (v6.isIPv4MappedAddress()) return false
    // Global unicast addresses come from 2000::/3 only.
    return (
      v6.range() === 'unicast' &&
      (v6.parts[0]! & 0xe000) === 0x2000 &&
      !RESERVED_V6.some(([base, bits]) => v6.match(ipaddr.IPv6.parse(base), bits))
    )
  }
  const v4 = address as ipaddr.IPv4
  return (
    v4.range() === 'unicast' &&
    !METADATA.includes(v4.toString()) &&
    !RESERVED_V4.some(([base, bits]) => v4.match(ipaddr.IPv4.parse(base), bits))
  )
}

/** Whether a URL's host is an IP literal. The WHATWG parser has already turned numbers and hex forms into dots. */
export function isAddressLiteral(hostname: string): boolean {
  return ipaddr.isValid(hostname.replace(/^\[|\]$/g, ''))
}
