import { type Dispatcher, fetch as fetchChecked } from 'undici'
import { checkUrl } from '../outbound/checked-url.ts'
import { type Metadata, toPublicClient } from './clients.ts'

const MAX_BYTES = 64 * 1024
const TIMEOUT_MS = 5_000

/**
 * Fetches the document that a client's id is the address of: by https from a public address, without redirects, at most
 * 64 kB within 5 seconds. `dispatcher` connects to public addresses only. @throws for everything else
 */
export function documentFetcher(dispatcher: Dispatcher) {
  return async (address: string | URL): Promise<Response> => {
    const url = checkUrl(String(address))
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const headers = { accept: 'application/json' }
    const answer = await fetchChecked(url, { dispatcher, redirect: 'manual', signal, headers })
    if (answer.status !== 200 || !answer.body) {
      await answer.body?.cancel()
      return new Response(null, { status: answer.status === 200 ? 502 : 424 })
    }
    const document: unknown = JSON.parse(await readText(answer.body))
    const client = toPublicClient(document, { secrets: 'refused' })
    if (!client) return new Response(null, { status: 424 })
    const { client_id } = document as Metadata
    const cache = answer.headers.get('cache-control')
    return Response.json({ ...client, client_id }, { headers: cache === null ? {} : { 'cache-control': cache } })
  }
}

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of body) {
    bytes += piece.length
    if (bytes > MAX_BYTES) throw new Error(`the document is larger than ${MAX_BYTES} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}
