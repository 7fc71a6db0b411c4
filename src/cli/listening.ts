import { existsSync } from 'node:fs'
import { type Config, isLoopback } from '../config.ts'

/**
 * The address that `frames start` listens on: `HOST`, else loopback, else every interface (undefined) when
 * `PUBLIC_URL` names another host.
 */
export function hostToListenOn({ host, publicUrl }: Pick<Config, 'host' | 'publicUrl'>): string | undefined {
  return host ?? (isLoopback(new URL(publicUrl).hostname) ? '127.0.0.1' : undefined)
}

/** Whether others reach it: on an interface of this machine, or through a proxy. */
export function isReachable({
  host,
  publicUrl,
  trustProxy,
}: Pick<Config, 'host' | 'publicUrl' | 'trustProxy'>): boolean {
  return !isLoopback(host) || trustProxy > 0 || !isLoopback(new URL(publicUrl).hostname)
}

/**
 * Whether every interface is listened on without a setting that says so. The interfaces of a container are its own:
 * who reaches it is settled where its port is published.
 */
export function isUnknowinglyPublic(
  { host, publicUrl }: Pick<Config, 'host' | 'publicUrl'>,
  { container = inContainer() } = {},
): boolean {
  return host === undefined && !container && isLoopback(new URL(publicUrl).hostname)
}

/** Docker, Podman and Kubernetes each leave a mark of their own. */
export function inContainer(): boolean {
  const marked = existsSync('/.dockerenv') || existsSync('/run/.containerenv')
  return marked || process.env.KUBERNETES_SERVICE_HOST !== undefined
}

/** The URL for programs on this machine. */
export function localUrl(host: string | undefined, port: number): string {
  const answersOnLocalhost = [undefined, '0.0.0.0', '::', '127.0.0.1', '::1'].includes(host)
  if (answersOnLocalhost) return `http://localhost:${port}`
  return `http://${host!.includes(':') ? `[${host}]` : host}:${port}`
}
