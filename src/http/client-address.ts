import type { IncomingMessage } from 'node:http'
import ipaddr from 'ipaddr.js'
import { LRUCache } from 'lru-cache'
import proxyaddr from 'proxy-addr'

/** A request, or a connection that has not sent one. */
type Connected = Pick<IncomingMessage, 'socket'>

/** The client's IP address behind `trustProxy` proxies, as Express's `trust proxy` reads X-Forwarded-For. */
export function clientIp(req: Connected, trustProxy: number): string {
  // Without a trusted proxy anyone may write the header, so it is not parsed.
  if (trustProxy === 0) return req.socket.remoteAddress ?? ''
  return proxyaddr(req as IncomingMessage, (_address, hop) => hop < trustProxy) ?? ''
}

/** The address an anonymous request is counted under: an IPv4 address, or the /64 of an IPv6 address. */
function toAddress(ip: string): string {
  if (!ipaddr.isValid(ip)) return 'unknown'
  const address = ipaddr.process(ip)
  if (address.kind() === 'ipv4') return address.toString()
  const network = (address as ipaddr.IPv6).parts.slice(0, 4).map((part) => part.toString(16))
  return `${network.join(':')}::/64`
}

/** `toAddress(clientIp(req))`, with a bounded memory of the addresses seen. */
export function addressReader(trustProxy: number): (req: Connected) => string {
  const addresses = new LRUCache<string, string>({ max: 10_000 })
  return (req) => {
    const ip = clientIp(req, trustProxy)
    let address = addresses.get(ip)
    if (address === undefined) {
      address = toAddress(ip)
      // Behind a proxy the IP is a header's text of any length.
      if (ip.length <= 64) addresses.set(ip, address)
    }
    return address
  }
}
