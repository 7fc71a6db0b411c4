import type { VisionServer } from '../../config.ts'
import { plainText } from '../plain-text.ts'
import { tryParse } from './answer.ts'

/** A model behind a server. */
export interface ServerOptions {
  server: VisionServer
  /** Up to and without the path of a call. */
  baseUrl: string
  model: string
  apiKey: string
  fetch?: typeof fetch | undefined
  /** Longest reply body read. */
  maxBytes: number
}

interface HttpAsked {
  headers: Record<string, string>
  /** Sent as JSON by POST; without it the request is a GET. */
  body?: object
  signal: AbortSignal
}

/** The code of a page where JSON was asked for. */
export const PAGE = 'page'

/** A status that is no success, with what the body says of it. */
export class HttpFailure extends Error {
  readonly status: number
  readonly code: unknown
  /** The member of the request that is refused, where it is named. */
  readonly param: string
  readonly headers: Headers
  /** The error of the body. */
  // biome-ignore lint/suspicious/noExplicitAny: a foreign body, read field by field
  readonly error: any

  constructor(status: number, body: unknown, headers: Headers) {
    // Gemini wraps an error into a list. Ollama sends a text, some send the members without a wrapping.
    const outer = Array.isArray(body) ? body[0] : body
    const error = outer?.error ?? outer
    super(toText(error?.message ?? error?.detail ?? error))
    this.status = status
    this.code = error?.code
    this.param = toText(error?.param ?? '')
    this.headers = headers
    this.error = error
  }
}

const toText = (said: unknown): string => (typeof said === 'string' ? said : JSON.stringify(said))

/**
 * The JSON of a reply; undefined for a body that is none. Redirects are refused, and a body without end.
 * @throws HttpFailure, also for a page
 */
export async function requestJson(
  url: string,
  asked: HttpAsked,
  { fetch: send = fetch, maxBytes }: Pick<ServerOptions, 'fetch' | 'maxBytes'>,
): Promise<unknown> {
  const { headers, body, signal } = asked
  const response = await send(url, {
    headers: body ? { ...headers, 'content-type': 'application/json' } : headers,
    ...(body ? { method: 'POST', body: JSON.stringify(body) } : {}),
    redirect: 'error',
    signal,
  })
  const text = await readBody(response, maxBytes)
  const { status } = response
  // A proxy sends pages too: the server behind it is away, or the request is too large.
  if ((response.ok || status === 404 || status === 405) && /^\s*<(!doctype|html)/i.test(text))
    throw new HttpFailure(status, { code: PAGE, message: 'a page' }, response.headers)
  const json = tryParse(text)
  if (!response.ok) throw new HttpFailure(status, json ?? plainText(text, 200), response.headers)
  return json
}

/** Reads the whole body inside the call, so that its deadline covers the body too. */
async function readBody(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    // Leaving the loop cancels the stream.
    if (size > maxBytes) throw new Error(`the answer is larger than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
