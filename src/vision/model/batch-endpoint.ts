import OpenAI, { toFile } from 'openai'
import { boundedFetch } from './bounded-fetch.ts'

/** What a provider says about a batch. */
type BatchState =
  | { ended: false }
  /** `files` hold one line of JSON per request that was worked on: answers and errors. */
  | { ended: true; status: string; files: string[] }

/** Half-price batches in OpenAI's form: a file of requests, a batch, files of answers. */
export interface BatchEndpoint {
  /** Uploads the requests, one JSON object a line, and returns the file's id. */
  upload(lines: readonly string[]): Promise<string>
  /** Starts a batch of an uploaded file. It may be paid for from here on. */
  create(fileId: string): Promise<string>
  /** The batch that was made of this file; undefined without one. */
  find(fileId: string): Promise<string | undefined>
  state(batchId: string): Promise<BatchState>
  download(fileId: string): Promise<string>
}

const ENDED = new Set(['completed', 'failed', 'expired', 'cancelled'])
const MAX_ANSWER_BYTES = 64 * 1024 * 1024
const TIMEOUT_MS = 5 * 60_000
const LISTED = 100

export function openBatchEndpoint({
  baseUrl,
  apiKey,
  fetch: given = fetch,
}: {
  baseUrl: string
  apiKey: string
  fetch?: typeof fetch
}): BatchEndpoint {
  const client = new OpenAI({
    baseURL: baseUrl,
    apiKey,
    maxRetries: 0,
    timeout: TIMEOUT_MS,
    fetch: boundedFetch(given, MAX_ANSWER_BYTES),
    logLevel: 'off',
  })
  return {
    async upload(lines) {
      const file = await toFile(Buffer.from(`${lines.join('\n')}\n`), 'frames.jsonl')
      return (await client.files.create({ file, purpose: 'batch' })).id
    },
    async create(fileId) {
      const batch = await client.batches.create({
        input_file_id: fileId,
        endpoint: '/v1/chat/completions',
        completion_window: '24h',
      })
      return batch.id
    },
    async find(fileId) {
      const { data } = await client.batches.list({ limit: LISTED })
      return data.find((batch) => batch.input_file_id === fileId)?.id
    },
    async state(batchId) {
      const batch = await client.batches.retrieve(batchId)
      // Some providers write it in capitals, and an empty text for a file that is not there.
      const status = String(batch.status).toLowerCase()
      if (!ENDED.has(status)) return { ended: false }
      const files = [batch.output_file_id, batch.error_file_id].filter((id) => typeof id === 'string' && id !== '')
      return { ended: true, status, files: files as string[] }
    },
    async download(fileId) {
      return (await client.files.content(fileId)).text()
    },
  }
}
