import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Config, isLoopback, type MetricsConfig } from '../config.ts'
import { portTrouble } from '../local/processes.ts'
import type { Logger } from '../logger.ts'
import { CliError } from './failure.ts'

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
function inContainer(): boolean {
  const marked = existsSync('/.dockerenv') || existsSync('/run/.containerenv')
  return marked || process.env.KUBERNETES_SERVICE_HOST !== undefined
}

/** What leads a command into a container of the API, by the examples of Compose and Kubernetes. */
export function intoApi(): string {
  if (process.env.KUBERNETES_SERVICE_HOST !== undefined) return 'kubectl -n frames exec deploy/frames-api -- '
  return inContainer() ? 'docker compose exec api ' : ''
}

/** The URL for programs on this machine. */
export function localUrl(host: string | undefined, port: number): string {
  const answersOnLocalhost = [undefined, '0.0.0.0', '::', '127.0.0.1', '::1'].includes(host)
  if (answersOnLocalhost) return `http://localhost:${port}`
  return `http://${host!.includes(':') ? `[${host}]` : host}:${port}`
}

/**
 * Serves metrics, unless they are turned off. When the default port is in use by another service, the process continues
 * without metrics.
 * @throws CliError where the chosen port cannot be used.
 */
export async function openMetricsPort(
  { host, port, given }: MetricsConfig,
  { text, logger }: { text: () => Promise<string>; logger: Logger },
) {
  if (port === 0) return undefined
  try {
    return await serveMetrics({ host, port, text })
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (given) throw refusal(port, host, code)
    logger.warn({ port, code }, 'metrics are not served: their port cannot be used')
    return undefined
  }
}

/** Call it before anything is started. @throws CliError when a chosen port cannot be used. */
export async function refuseMetricsPort({ host, port, given }: MetricsConfig): Promise<void> {
  const trouble = given && port !== 0 ? await portTrouble(port, host) : undefined
  if (trouble) throw refusal(port, host, trouble)
}

function refusal(port: number, host: string, code: string | undefined): CliError {
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return new CliError(`METRICS_HOST: ${host} is no address of this machine. Set it to one, or leave it unset.`)
  return new CliError(
    `METRICS_PORT: port ${port} ${code === 'EADDRINUSE' ? 'is in use' : `cannot be used (${code})`}. ` +
      'Set METRICS_PORT to another port (the worker takes the one above it), or to 0 for none.',
  )
}

/** Serves the text at `/metrics`, on an address of its own, to Prometheus. It opens nothing else. */
export async function serveMetrics({
  host,
  port,
  text,
}: Pick<MetricsConfig, 'host' | 'port'> & { text: () => Promise<string> }) {
  const server = createServer({ requestTimeout: 10_000, headersTimeout: 10_000 }, (req, res) => {
    req.resume()
    const path = req.url?.split('?')[0]
    if (path !== '/metrics' || (req.method !== 'GET' && req.method !== 'HEAD')) {
      res.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('Metrics are at GET /metrics.\n')
      return
    }
    text().then(
      (body) => res.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(body),
      () => res.writeHead(500).end(),
    )
  })
  server.maxConnections = 32
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, host, resolve)
  })
  // A connection that cannot be accepted. The service's own log says so.
  server.on('error', () => undefined)
  server.unref()
  return {
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
