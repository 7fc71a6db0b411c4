import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface MetricsServer {
  port: number
  stop(): Promise<void>
}

/** Serves the text at `/metrics`, on an address of its own, to Prometheus. It opens nothing else. */
export async function serveMetrics({
  host,
  port,
  text,
}: {
  host: string
  port: number
  text: () => Promise<string>
}): Promise<MetricsServer> {
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
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
