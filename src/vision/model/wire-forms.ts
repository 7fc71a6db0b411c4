import type { VisionProfile } from './profiles.ts'
import type { RawUsage } from './usage.ts'

/** A question to a model, however it is sent. Text and pictures (JPEG, base64) stand in their order. */
export interface ModelRequest {
  system: string
  parts: readonly RequestPart[]
  schema: Record<string, unknown>
  maxTokens: number
}

export type RequestPart = { text: string } | { jpeg: string }

/** What an endpoint has turned out to take. */
export interface Abilities {
  schema: boolean
  tokenParameter: 'max_tokens' | 'max_completion_tokens'
  temperature: boolean
  thinking: boolean
}

interface CallSettings {
  profile: VisionProfile
  model: string
  reasoningEffort?: string | undefined
  /** Tokens of prompt and answer, where the call decides it. */
  window: number | undefined
}

/** What came back. `text` is null where there is none; `thoughts` are what the model says to itself. */
export interface RawReply {
  text: string | null
  thoughts: string
  isCut: boolean
  /** Why the model or its filter does not answer. */
  refusal?: string | null
  usage: RawUsage
}

/** How one kind of server is spoken to. */
interface WireForm {
  path: string
  toHeaders(apiKey: string): Record<string, string>
  toBody(request: ModelRequest, settings: CallSettings, abilities: Abilities): object
  /** Undefined: the body is no answer. */
  // biome-ignore lint/suspicious/noExplicitAny: a foreign body, read field by field
  toReply(body: any): RawReply | undefined
}

const bearer = (apiKey: string) => ({ authorization: `Bearer ${apiKey}` })

const chat: WireForm = {
  path: '/chat/completions',
  toHeaders: bearer,
  toBody: ({ system, parts, schema, maxTokens }, { model, profile, reasoningEffort }, abilities) => ({
    model,
    messages: [
      { role: 'system', content: system },
      {
        role: 'user',
        content: parts.map((part) =>
          'text' in part
            ? { type: 'text', text: part.text }
            : { type: 'image_url', image_url: { url: `data:image/jpeg;base64,${part.jpeg}` } },
        ),
      },
    ],
    [abilities.tokenParameter]: maxTokens,
    ...(abilities.temperature ? { temperature: 0 } : {}),
    ...(abilities.thinking ? toThinking(profile, reasoningEffort && { reasoning_effort: reasoningEffort }) : {}),
    ...(abilities.schema
      ? { response_format: { type: 'json_schema', json_schema: { name: 'frames', strict: true, schema } } }
      : {}),
  }),
  toReply(body) {
    const choice = Array.isArray(body?.choices) ? body.choices[0] : undefined
    if (!choice?.message) return undefined
    const { content, refusal, reasoning, reasoning_content } = choice.message
    const { prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details } = body.usage ?? {}
    return {
      text: toText(content),
      // vLLM names it `reasoning` since 0.17, and puts an answer without thoughts there too (vllm#17357).
      thoughts: toText(reasoning_content || reasoning) ?? '',
      isCut: choice.finish_reason === 'length',
      refusal: choice.finish_reason === 'content_filter' ? 'content filter' : refusal && String(refusal),
      usage: {
        input: prompt_tokens,
        cached: prompt_tokens_details?.cached_tokens,
        output: completion_tokens,
        total: total_tokens,
      },
    }
  },
}

/** Ollama's compatible interface ignores the window and whether to think. A message takes pictures without names. */
const ollama: WireForm = {
  path: '/api/chat',
  toHeaders: bearer,
  toBody: ({ system, parts, schema, maxTokens }, { model, profile, reasoningEffort, window }, abilities) => ({
    model,
    messages: [
      { role: 'system', content: system },
      ...parts.flatMap((part, i) => {
        const next = parts[i + 1]
        if ('jpeg' in part) return []
        return { role: 'user', content: part.text, ...(next && 'jpeg' in next ? { images: [next.jpeg] } : {}) }
      }),
    ],
    stream: false,
    keep_alive: '30m',
    ...(abilities.thinking ? toThinking(profile, reasoningEffort && { think: reasoningEffort }) : {}),
    ...(abilities.schema ? { format: schema } : {}),
    options: { num_predict: maxTokens, temperature: 0, ...(window ? { num_ctx: window } : {}) },
  }),
  toReply(body) {
    if (!body?.message) return undefined
    const { content, thinking } = body.message
    return {
      text: toText(content),
      thoughts: toText(thinking) ?? '',
      isCut: body.done_reason === 'length',
      usage: { input: body.prompt_eval_count, output: body.eval_count },
    }
  },
}

/** The compatible interface of Anthropic ignores the schema. */
const anthropic: WireForm = {
  path: '/messages',
  toHeaders: (apiKey) => ({ 'x-api-key': apiKey, 'anthropic-version': '2023-06-01' }),
  toBody: ({ system, parts, schema, maxTokens }, { model, reasoningEffort }, abilities) => ({
    model,
    system,
    messages: [
      {
        role: 'user',
        content: parts.map((part) =>
          'text' in part
            ? { type: 'text', text: part.text }
            : { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: part.jpeg } },
        ),
      },
    ],
    max_tokens: maxTokens,
    ...(abilities.temperature ? { temperature: 0 } : {}),
    ...toOutputConfig({
      ...(abilities.schema ? { format: { type: 'json_schema', schema } } : {}),
      ...(abilities.thinking && reasoningEffort ? { effort: reasoningEffort } : {}),
    }),
  }),
  toReply(body) {
    if (!Array.isArray(body?.content)) return undefined
    const { input_tokens, output_tokens, cache_read_input_tokens: cached = 0 } = body.usage ?? {}
    return {
      text: toText(body.content),
      thoughts: body.content.flatMap((part: { thinking?: string }) => part?.thinking ?? []).join(''),
      isCut: body.stop_reason === 'max_tokens' || body.stop_reason === 'model_context_window_exceeded',
      refusal: body.stop_reason === 'refusal' ? 'refused' : null,
      usage: { input: input_tokens + cached, cached, output: output_tokens },
    }
  },
}

const toOutputConfig = (config: object) => (Object.keys(config).length > 0 ? { output_config: config } : {})

export const WIRE_FORMS: Readonly<Record<VisionProfile['form'], WireForm>> = { chat, ollama, anthropic }

function toThinking({ thinkingOff = {} }: VisionProfile, wanted: object | '' | undefined): object {
  return wanted || thinkingOff
}

/** Some send a list of parts, of which those of the type `text` are the answer (Mistral, Anthropic). */
function toText(content: unknown): string | null {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return null
  return content.flatMap((part) => (part?.type === 'text' && typeof part.text === 'string' ? part.text : [])).join('')
}
