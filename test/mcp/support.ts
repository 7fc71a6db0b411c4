import { once } from 'node:events'
import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
} from 'node:http'
import { text as textOf } from 'node:stream/consumers'
import { pino } from 'pino'
import type { ReadModelVersion } from '../../src/http/cached-reads.ts'
import { type Charging, openLocalWindows } from '../../src/http/rate-limit/rate-limits.ts'
import type { Routes } from '../../src/http/routes.ts'
import { createApp } from '../../src/http/server.ts'
import type { Logger } from '../../src/logger.ts'
import { listenOn } from '../support/listening.ts'
import { holdAnswer, holdToolResult } from '../support/openapi.ts'

export const silent = pino({ level: 'silent' })

/** A read model that never changes. */
export const STILL: ReadModelVersion = () => '1'

/** Counts as production does, without an end. */
const count = openLocalWindows(Number.POSITIVE_INFINITY, 60)
const UNLIMITED: Charging = {
  consume: async (_budget, subject, points) => count(subject, points),
  consumeLocally: (_budget, subject, points) => count(subject, points),
}

export interface Listening {
  url: string
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * The real application on a free loopback port. `wire` gets the address first, because addresses are in the
 * answers.
 */
export async function listen(wire: (url: string) => Routes[], logger: Logger = silent): Promise<Listening> {
  // As in the service: a starved test must not meet a connection that the server has just let go.
  const server: Server = createServer({ keepAliveTimeout: 65_000 })
  const listening = await listenOn(server)
  server.on(
    'request',
    createApp({
      logger,
      trustProxy: 0,
      countRequest: () => undefined,
      limits: UNLIMITED,
      routers: wire(listening.url),
    }),
  )
  return listening
}

export interface Answer {
  status: number
  headers: IncomingHttpHeaders
  text: string
  /** The body as JSON; undefined for an empty one. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  json: any
}

/** A request exactly as given: no header is added but Host and Content-Length. The answer is held to its document. */
export async function send(
  url: string,
  options: { method?: string; headers?: Record<string, string>; body?: string | Buffer },
): Promise<Answer> {
  const { method = 'POST', headers = {}, body } = options
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  const request = httpRequest(url, { method, headers: { ...headers, ...length } })
  request.end(body)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const status = response.statusCode!
  const text = await textOf(response)
  const json = text === '' ? undefined : JSON.parse(text)
  const { pathname, search } = new URL(url)
  const named = Object.entries(response.headers).map(([name, value]): [string, string] => [name, String(value)])
  holdAnswer(method, pathname + search, { status, headers: new Headers(named), text, json })
  return { status, headers: response.headers, text, json }
}

/** Posts a JSON body with nothing but the content type, as the plainest client does. */
export async function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const answer = await send(url, {
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
  })
  holdToolResult(body, answer.json)
  return answer
}

export const MODERN_META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** A request of revision 2026-07-28 with its headers; `headers` replaces or (undefined) removes some. */
export function postModern(
  url: string,
  request: { id?: unknown; method: string; params?: Record<string, unknown> },
  headers: Record<string, string | undefined> = {},
): Promise<Answer> {
  const { id = 1, method, params = {} } = request
  const all: Record<string, string | undefined> = {
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(typeof params.name === 'string' ? { 'mcp-name': params.name } : {}),
    ...(method === 'resources/read' ? { 'mcp-name': String(params.uri) } : {}),
    ...headers,
  }
  const given = Object.fromEntries(
    Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
  return post(url, { jsonrpc: '2.0', id, method, params: { _meta: MODERN_META, ...params } }, given)
}
