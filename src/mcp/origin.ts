import type { RequestHandler } from 'express'
import { isLoopback } from '../config.ts'
import { AppError } from '../errors.ts'
import type { LocalLimits } from '../http/rate-limit/rate-limits.ts'
import { refusalReply, refuse } from './replies.ts'

const ALLOWED_HEADERS = [
  'Authorization',
  'Content-Type',
  'Accept',
  'Idempotency-Key',
  'MCP-Protocol-Version',
  'Mcp-Method',
  'Mcp-Name',
  'Mcp-Session-Id',
  'Last-Event-ID',
  'X-Request-Id',
].join(', ')
const EXPOSED_HEADERS = 'WWW-Authenticate, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id'

/**
 * Lets only our own pages call from a browser, which names the page's origin. Else any site could use a server in
 * its visitors' private network (DNS rebinding). A service on loopback belongs to one person, so any page of that
 * machine may call it. Programs send no Origin.
 */
export function originGuard(publicUrl: string, limits: LocalLimits): RequestHandler {
  const own = new URL(publicUrl)
  return (req, res, next) => {
    const { origin } = req.headers
    res.setHeader('Vary', 'Origin')
    if (origin === undefined) return next()
    if (origin !== own.origin && !(isLoopback(own.hostname) && isLoopback(toUrl(origin)?.hostname))) {
      refuse(limits, req, res, refusalReply(403, 'Forbidden: this origin may not call the tool server'))
      return
    }
    res.setHeader('Access-Control-Allow-Origin', origin)
    res.setHeader('Access-Control-Expose-Headers', EXPOSED_HEADERS)
    next()
  }
}

function toUrl(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined
}

/** Refuses all methods but POST: there is no stream to GET and no session to DELETE. */
export const postOnly: RequestHandler = (req, res, next) => {
  if (req.method === 'POST') return next()
  res.setHeader('Allow', 'POST')
  if (req.method !== 'OPTIONS') throw new AppError('method_not_allowed', `${req.method} is not allowed here. Use POST.`)
  res.writeHead(204, {
    'Access-Control-Allow-Methods': 'POST',
    'Access-Control-Allow-Headers': ALLOWED_HEADERS,
    'Access-Control-Max-Age': '86400',
  })
  res.end()
}
