import ipaddr from 'ipaddr.js'

/** Reachable by everyone, and so by an attacker, from inside a cloud only: Azure's host agent answers on a public address. */
const METADATA = ['168.63.129.16']
/** Reserved blocks that ipaddr.js takes for ordinary addresses. */
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
 * Whether an IP address literal is global unicast: no private, loopback, link-local, shared, reserved, documentation, multicast or metadata address, and none
 * that hides an IPv4 address inside IPv6 (mapped, NAT64, 6to4, Teredo). Text that is no address is not public.
 */
export function isPublicAddress(text: string): boolean {
  const bare = text.replace(/^\[|\]$/g, '')
  if (!ipaddr.isValid(bare) || bare.includes('%')) return false
  const address = ipaddr.parse(bare)
  if (address.kind() === 'ipv6') {
    const v6 = address as ipaddr.IPv6
    if (v6.isIPv4MappedAddress()) return false
    // 2000::/3 is all that is handed out for global unicast.
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

/** Whether the host part of a URL is an IP literal, as the WHATWG parser leaves it (numbers and hex forms are already dotted then). */
export function isAddressLiteral(hostname: string): boolean {
  return ipaddr.isValid(hostname.replace(/^\[|\]$/g, ''))
}
