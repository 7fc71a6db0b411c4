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

/**
 * Whether an IP address literal is global unicast: no private, loopback, link-local, shared, reserved, documentation,
 * multicast or metadata address. An IPv6 address that embeds an IPv4 address (mapped, NAT64, 6to4, Teredo) is not
 * public, nor is text that is no address.
 */
export function isPublicAddress(text: string): boolean {
  const bare = text.replace(/^\[|\]$/g, '')
  if (!ipaddr.isValid(bare) || bare.includes('%')) return false
  const address = ipaddr.parse(bare)
  if (address.range() !== 'unicast') return false
  // Global unicast addresses come from 2000::/3 only.
  if (address instanceof ipaddr.IPv6) return (address.parts[0]! & 0xe000) === 0x2000
  return !METADATA.includes(address.toString())
}

/** Whether a URL's host is an IP literal. The WHATWG parser has already turned numbers and hex forms into dots. */
export function isAddressLiteral(hostname: string): boolean {
  return ipaddr.isValid(hostname.replace(/^\[|\]$/g, ''))
}
