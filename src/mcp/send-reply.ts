import type { ServerResponse } from 'node:http'
import type { McpReply } from './replies.ts'

/** Sends a reply of the dispatcher. The pieces of its body are written one by one, without copying a long one. */
export function sendReply(res: ServerResponse, { status, headers, body }: McpReply): void {
  if (res.destroyed) return
  res.statusCode = status
  res.setHeader('Cache-Control', 'no-store')
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
  if (body === undefined) {
    res.end()
    return
  }
  let length = 0
  for (const piece of body) length += typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length
  res.setHeader('Content-Type', 'application/json; charset=utf-8')
  res.setHeader('Content-Length', length)
  res.cork()
  for (let at = 0; at < body.length - 1; at++) res.write(body[at])
  res.end(body.at(-1))
}
