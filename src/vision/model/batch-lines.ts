import type OpenAI from 'openai'
import { z } from 'zod'
import type { FrameAnnotation, FrameToAnnotate, TechniqueTerm, VideoContext } from '../annotator.ts'
import { parseAnswer, toAnnotation } from './answer.ts'
import { toParameters, toReply } from './endpoint.ts'
import { stripOf, toRequest } from './frame-batch.ts'
import { type HouseStyle, writeExamples } from './house-style.ts'
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
  options: { model: string; reasoningEffort: string | undefined; style: HouseStyle | undefined; builds: boolean },
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
    toRequest({ video, techniques }, asked, 1, await writeExamples(options.style, frames)),
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

const nameOf = (i: number) => `f${i + 1}`

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

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
