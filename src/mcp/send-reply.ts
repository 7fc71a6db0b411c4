import type { ServerResponse } from 'node:http'
import type { McpReply } from './replies.ts'

/** Sends a reply of the dispatcher. */
export function sendReply(res: ServerResponse, { status, headers, body }: McpReply): void {
  if (res.destroyed) return
  res.statusCode = status
  res.setHeader('Cache-Control', 'no-store')
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
  if (body === undefined) {
    res.end()
    return
  }
  res.setHeader('Content-Type', 'application/json; charset=utf-8')
  res.setHeader('Content-Length', Buffer.byteLength(body))
  res.end(body)
}
