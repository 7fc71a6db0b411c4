import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Family, openHistogram, type Series } from '../metrics.ts'
import { findContext } from './edge.ts'

export interface RequestTimes {
  /**
   * Counts the requests of an application when their answers end. It patches the prototype of the responses, not each
   * response, and costs 0.1 µs a request.
   */
  watch(prototype: Pick<ServerResponse, 'end'>): void
  family(): Family
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
/** Classes of status codes: 1xx to 5xx. */
const CLASSES = 6
/** An event stream that took longer is not counted. */
const LONGEST_SEC = 10

/** Times of requests by the pattern of their route, never by their path: a label must not be what callers choose. */
export function openRequestTimes(): RequestTimes {
  const histogram = openHistogram({
    name: 'frames_http_request_duration_seconds',
    help: 'Time until an answer was sent, by route, method and class of status.',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
  })
  /** Route → series by method and class, so that nothing is put together for a request. */
  const routes = new Map<string, (Series | undefined)[]>()

  function seriesOf(route: string, method: string, statusClass: number): Series {
    let series = routes.get(route)
    if (!series) {
      series = new Array<Series | undefined>((METHODS.length + 1) * CLASSES)
      routes.set(route, series)
    }
    const row = METHODS.indexOf(method)
    const at = (row < 0 ? METHODS.length : row) * CLASSES + statusClass
    const one = series[at] ?? histogram.series({ route, method: METHODS[row] ?? 'other', status: `${statusClass}xx` })
    series[at] = one
    return one
  }

  function count(res: ServerResponse): void {
    const req = res.req as IncomingMessage & { route?: { path: string } }
    // An error here would end the process: answers end in callbacks that nothing guards.
    const context = findContext(req)
    if (context?.startedAt === undefined) return
    const seconds = (performance.now() - context.startedAt) / 1_000
    context.startedAt = undefined
    // The length of a stream is the time for which its client listens.
    if (seconds > LONGEST_SEC && String(res.getHeader('content-type')).startsWith('text/event-stream')) return
    histogram.observe(seriesOf(req.route?.path ?? 'other', req.method!, Math.floor(res.statusCode / 100)), seconds)
  }

  return {
    watch(prototype) {
      const { end } = prototype
      prototype.end = function (this: ServerResponse, ...given: Parameters<typeof end>) {
        const ended = end.apply(this, given)
        count(this)
        return ended
      } as typeof end
    },
    family: histogram.family,
  }
}
