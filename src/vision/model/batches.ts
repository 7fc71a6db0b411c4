import OpenAI, { toFile } from 'openai'
import { z } from 'zod'
import type {
  AnnotatorUnavailable,
  FrameAnnotation,
  FrameToAnnotate,
  TechniqueTerm,
  VideoContext,
} from '../annotator.ts'
import { parseAnswer, toAnnotation, tryParse } from './answer.ts'
import { boundedFetch, toParameters, toReply } from './endpoint.ts'
import { classify, misconfigured, shortMessage } from './endpoint-error.ts'
import { nameOf, stripOf, toRequest } from './frame-batch.ts'
import { toModelImage } from './images.ts'
import { BATCH_PRICE, type ModelPrice, type Usage } from './usage.ts'

export interface BatchRequest {
  /** Comes back with the answer. */
  id: string
  video: VideoContext
  frames: readonly FrameToAnnotate[]
}

/** One line of a batch's file: the same question as a call asks. Pictures that cannot be read fail the request. */
export async function writeBatchLine(
  { id, video, frames }: BatchRequest,
  techniques: readonly TechniqueTerm[],
  options: { model: string; reasoningEffort: string | undefined; builds: boolean },
): Promise<string> {
  const asked = await Promise.all(
    frames.map(async (frame, i) => ({
      frame,
      name: nameOf(i),
      image: await toModelImage(frame.image),
      strip: await stripOf(frame, options),
    })),
  )
  const { model, reasoningEffort } = options
  const body = toParameters(
    toRequest({ video, techniques }, asked, 1),
    {
      mode: 'json_schema',
      tokenParameter: 'max_completion_tokens',
      // Models that reason take no temperature.
      temperature: reasoningEffort === undefined,
      reasoningEffort: reasoningEffort !== undefined,
    },
    { model, ...(reasoningEffort === undefined ? {} : { reasoningEffort }) },
  )
  return JSON.stringify({ custom_id: id, method: 'POST', url: '/v1/chat/completions', body })
}

const Line = z.object({
  custom_id: z.string(),
  response: z.object({ status_code: z.number(), body: z.unknown() }).nullish(),
})

export interface BatchAnswer {
  id: string
  usage: Usage
  outcome: 'ok' | 'refused' | 'failed'
  /** The annotations of the frames that the answer names. `frameIds` are those asked about, in their order. */
  annotationsOf(frameIds: readonly string[], techniques: readonly TechniqueTerm[]): FrameAnnotation[]
}

/** One line of a batch's answers, at the price of batches; undefined for a request that brought no answer. */
export function readBatchLine(text: string, price: ModelPrice | undefined): BatchAnswer | undefined {
  const line = Line.safeParse(tryParse(text)).data
  if (line?.response?.status_code !== 200) return undefined
  const reply = toReply((line.response.body ?? {}) as OpenAI.ChatCompletion, price)
  const { frames } = parseAnswer(reply.kind === 'text' ? reply.text : '')
  const { costUsd } = reply.usage
  const failure = reply.kind === 'refused' ? 'refused' : 'failed'
  return {
    id: line.custom_id,
    usage: { ...reply.usage, costUsd: costUsd === null ? null : costUsd * BATCH_PRICE },
    outcome: frames.length > 0 ? 'ok' : failure,
    annotationsOf: (frameIds, techniques) =>
      frameIds.flatMap((frameId, i) => {
        const found = frames.find(({ frame }) => frame.trim() === nameOf(i))
        return found ? [toAnnotation(frameId, found, techniques)] : []
      }),
  }
}

/** What a provider says about a batch. */
type BatchState =
  | { ended: false }
  /** `files` hold one line of JSON per request that was worked on: answers and errors. */
  | { ended: true; status: string; files: string[] }

const ENDED = new Set(['completed', 'failed', 'expired', 'cancelled'])
const MAX_ANSWER_BYTES = 64 * 1024 * 1024
const TIMEOUT_MS = 5 * 60_000
/** Batches of a page, and pages, that are searched for one that we created. */
const LISTED = 100
const MAX_PAGES = 50
/** The provider's clock may be behind ours. */
const CLOCK_MS = 60 * 60_000

/**
 * What a failed step means for its batch: it is refused later too, or it may succeed. An endpoint without batches
 * answers 404 or 501. Undefined: it did not fail at the endpoint.
 * @throws AnnotatorUnavailable when the key, the credit or the connection is the cause, not the batch
 */
export function failureOf(error: unknown): 'refused' | 'failed' | undefined {
  if (!(error instanceof OpenAI.APIError)) return undefined
  if (error.status === 404 || error.status === 501) return 'refused'
  return classify(error).kind === 'failed' ? 'failed' : 'refused'
}

/** The endpoint refuses to tell about a batch that was sent. A key of another project has this effect. */
export function unknownBatch(error: unknown): AnnotatorUnavailable {
  return misconfigured(
    `The vision endpoint does not know a batch that it was sent (${shortMessage(error)}). Set the ` +
      'VISION_BASE_URL and VISION_API_KEY that sent it. Two days after it was made its frames go into another batch.',
  )
}

export type BatchEndpoint = ReturnType<typeof openBatchEndpoint>

/** Half-price batches in OpenAI's form: a file of requests, a batch, files of answers. */
export function openBatchEndpoint({
  baseUrl,
  apiKey,
  fetch: given = fetch,
}: {
  baseUrl: string
  apiKey: string
  fetch?: typeof fetch
}) {
  const client = new OpenAI({
    baseURL: baseUrl,
    apiKey,
    maxRetries: 0,
    timeout: TIMEOUT_MS,
    fetch: boundedFetch(given, MAX_ANSWER_BYTES),
    logLevel: 'off',
  })
  return {
    /** Uploads the requests, one JSON object a line, and returns the file's id. */
    async upload(lines: readonly string[]): Promise<string> {
      const file = await toFile(Buffer.from(`${lines.join('\n')}\n`), 'frames.jsonl')
      return (await client.files.create({ file, purpose: 'batch' })).id
    },
    /** Starts a batch of an uploaded file. It may be paid for from here on. */
    async create(fileId: string): Promise<string> {
      const batch = await client.batches.create({
        input_file_id: fileId,
        endpoint: '/v1/chat/completions',
        completion_window: '24h',
      })
      return batch.id
    },
    /** The batch that was made of this file, which is younger than `since`; undefined without one. Newest first. */
    async find(fileId: string, since: Date): Promise<string | undefined> {
      const oldest = (since.getTime() - CLOCK_MS) / 1000
      let page = await client.batches.list({ limit: LISTED })
      for (let n = 1; ; n++) {
        const found = page.data.find((batch) => batch.input_file_id === fileId)
        if (found) return found.id
        const last = page.data.at(-1)
        if (!last || last.created_at < oldest || n === MAX_PAGES || !page.hasNextPage()) return undefined
        page = await page.getNextPage()
      }
    },
    async state(batchId: string): Promise<BatchState> {
      const batch = await client.batches.retrieve(batchId)
      // Some providers write it in capitals, and an empty text for a file that is not there.
      const status = String(batch.status).toLowerCase()
      if (!ENDED.has(status)) return { ended: false }
      const files = [batch.output_file_id, batch.error_file_id].filter((id) => typeof id === 'string' && id !== '')
      return { ended: true, status, files: files as string[] }
    },
    async download(fileId: string): Promise<string> {
      return (await client.files.content(fileId)).text()
    },
  }
}
