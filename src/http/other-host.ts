import type { IncomingMessage, Server } from 'node:http'
import type { Logger } from '../logger.ts'

/** Health checks use addresses of their own. */
const PROBES = new Set(['/livez', '/readyz'])
const ENOUGH = 3

/**
 * Warns once when the first requests all name another host than PUBLIC_URL. The addresses of images and sign-in links
 * then lead to the wrong host.
 */
export function warnOfOtherHost(
  server: Server,
  { publicUrl, trustProxy, logger }: { publicUrl: string; trustProxy: number; logger: Logger },
): void {
  const expected = new URL(publicUrl)
  let others = 0
  const look = (req: IncomingMessage) => {
    const host = hostOf(req, trustProxy)
    if (host === undefined || PROBES.has(req.url ?? '')) return
    const matches = withoutPort(host, expected.protocol) === expected.host
    if (!matches && ++others < ENOUGH) return
    server.off('request', look)
    if (!matches) logger.warn({ host: host.slice(0, 100), publicUrl }, 'requests name another host than PUBLIC_URL')
  }
  server.on('request', look)
}

function hostOf(req: IncomingMessage, trustProxy: number): string | undefined {
  const forwarded = trustProxy > 0 ? req.headers['x-forwarded-host'] : undefined
  return String(forwarded ?? req.headers.host ?? '').toLowerCase() || undefined
}

/** As `URL.host` writes it: without the protocol's own port. */
function withoutPort(host: string, protocol: string): string {
  return host.replace(protocol === 'https:' ? /:443$/ : /:80$/, '')
}
