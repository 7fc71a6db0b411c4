import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { listenOn } from './listening.ts'

export interface Received {
  path: string
  headers: Record<string, string>
  /** As it came, unparsed. */
  body: string
  at: number
}

/** What the receiver does with one request. It has the body already. */
export type Answer = (request: Received, response: ServerResponse, n: number) => void

export interface WebhookReceiver {
  url: string
  received: Received[]
  /** The most requests that were open at once. */
  mostAtOnce(): number
  /** From now on; 204 without it. */
  answer(by: Answer): void
  [Symbol.asyncDispose](): Promise<void>
}

export const status =
  (code: number, headers: Record<string, string> = {}, body = ''): Answer =>
  (_, response) =>
    response.writeHead(code, headers).end(body)

/** A receiver of webhooks on loopback. */
export async function openWebhookReceiver(first: Answer = status(204)): Promise<WebhookReceiver> {
  let by = first
  let open = 0
  let most = 0
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    most = Math.max(most, ++open)
    response.once('close', () => {
      open--
    })
    const one = await read(request)
    received.push(one)
    by(one, response, received.length)
  })
  const listening = await listenOn(server)
  return {
    ...listening,
    url: `${listening.url}/hook`,
    received,
    mostAtOnce: () => most,
    answer(next) {
      by = next
    },
  }
}

async function read(request: IncomingMessage): Promise<Received> {
  const at = Date.now()
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks).toString('utf8')
  return { path: request.url ?? '', headers: request.headers as Record<string, string>, body, at }
}
