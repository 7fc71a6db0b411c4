import type { IncomingMessage, ServerResponse } from 'node:http'
import { Histogram, type Registry } from 'prom-client'

/** Counts one request, `startedAt` by `performance.now()`, once its answer was sent. */
export type CountRequest = (req: IncomingMessage, res: ServerResponse, startedAt: number) => void

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
/** An event stream that took longer is not counted. */
const LONGEST_SEC = 10

/** Times of requests by the pattern of their route, never by their path: a label must not be what callers choose. */
export function openRequestTimes(registry: Registry): CountRequest {
  const histogram = new Histogram({
    name: 'frames_http_request_duration_seconds',
    help: 'Time until a response was sent, by route, method and class of status.',
    labelNames: ['route', 'method', 'status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers: [registry],
  })
  return (req, res, startedAt) => {
    const seconds = (performance.now() - startedAt) / 1_000
    // The length of a stream is the time for which its client listens.
    if (seconds > LONGEST_SEC && String(res.getHeader('content-type')).startsWith('text/event-stream')) return
    const route = (req as IncomingMessage & { route?: { path: string } }).route?.path ?? 'other'
    const method = METHODS.has(req.method!) ? req.method! : 'other'
    histogram.observe({ route, method, status: `${Math.floor(res.statusCode / 100)}xx` }, seconds)
  }
}
