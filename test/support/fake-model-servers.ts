import type { VisionServer } from '../../src/config.ts'

/*
 * The HTTP surface of each server of models, by its documentation: what it tells of a model, how a call is written, and
 * where the answer stands. What it does not know it refuses, as the server does.
 */

// biome-ignore lint/suspicious/noExplicitAny: requests are read field by field
type Body = Record<string, any>

interface Told {
  status: number
  body: unknown
}

/** How a server differs from one that works. */
export interface ServerState {
  model?: string
  /** Tokens; what exceeds it is cut off in silence, where the server does so. */
  window?: number
  isBlind?: boolean
  /** llama.cpp before it told its modalities. */
  tellsLittle?: boolean
  isMissing?: boolean
  /** Answers every path with this page. */
  page?: string
}

export interface FakeReply {
  text: string
  thoughts?: string
  isCut: boolean
  refusal?: string
  filtered?: boolean
  usage: { input: number; output: number } | null
}

interface FakeServer {
  path: string
  /** Answers what is asked beside calls. */
  tell?: (path: string, body: Body, state: Required<ServerState>) => Told | undefined
  /** Refuses a call that the server would refuse. */
  refuse?: (body: Body, headers: Record<string, unknown>, state: Required<ServerState>) => Told | undefined
  asked(body: Body): { names: string[]; images: string[] }
  reply(body: Body, reply: FakeReply): object
}

const error = (status: number, message: string, more: object = {}): Told => ({
  status,
  body: { error: { message, ...more } },
})

const JPEG = /^(data:image\/jpeg;base64,)?\/9j\//

/** A name stands before its picture. */
function pairs(parts: { text?: string; image?: string }[]): { names: string[]; images: string[] } {
  const named = parts.flatMap(({ text }, i) => {
    const name = /^(f\d+):$/.exec(text ?? '')?.[1]
    return name ? [{ name, image: parts[i + 1]?.image ?? '' }] : []
  })
  return { names: named.map(({ name }) => name), images: named.map(({ image }) => image) }
}

const partsOf = (body: Body): Body[] => [body.messages.at(-1).content].flat().filter((part) => typeof part === 'object')

const chat: FakeServer = {
  path: '/v1/chat/completions',
  asked: (body) => pairs(partsOf(body).map((part) => ({ text: part.text, image: part.image_url?.url }))),
  reply: (body, { text, thoughts, isCut, refusal, filtered, usage }) => ({
    id: 'c',
    object: 'chat.completion',
    model: body.model,
    choices: [
      {
        index: 0,
        finish_reason: (filtered && 'content_filter') || (isCut ? 'length' : 'stop'),
        message: {
          role: 'assistant',
          content: refusal ? null : text,
          ...(refusal ? { refusal } : {}),
          ...(thoughts ? { reasoning_content: thoughts } : {}),
        },
      },
    ],
    usage: usage && {
      prompt_tokens: usage.input,
      completion_tokens: usage.output,
      total_tokens: usage.input + usage.output,
      prompt_tokens_details: { cached_tokens: 1000 },
    },
  }),
}

const listed = (path: string, body: unknown) => (asked: string) =>
  asked === path ? { status: 200, body: { data: [body] } } : undefined

const ofModel = (refused: (model: string) => Told): Pick<FakeServer, 'tell'> => ({
  tell: (path, _, { model, isMissing }) => {
    if (!path.includes('/models/')) return undefined
    return isMissing || !path.endsWith(`/models/${model}`) ? refused(model) : { status: 200, body: { id: model } }
  },
})

const notJpeg = (body: Body, message: string) =>
  chat.asked(body).images.some((image) => !JPEG.test(image)) ? error(400, message) : undefined

export const FAKE_SERVERS: Readonly<Record<VisionServer, FakeServer>> = {
  compatible: chat,
  ollama: {
    path: '/api/chat',
    tell: (path, body, { model, isMissing, isBlind }) => {
      if (path !== '/api/show') return undefined
      if (isMissing || body.model !== model) return { status: 404, body: { error: `model '${body.model}' not found` } }
      const model_info = { 'general.architecture': 'qwen3vl', 'qwen3vl.context_length': 262_144 }
      return { status: 200, body: { capabilities: ['completion', ...(isBlind ? [] : ['vision'])], model_info } }
    },
    refuse: ({ messages, model: asked }, _, { model, isMissing, isBlind }) => {
      const images: string[] = messages.flatMap((message: Body) => message.images ?? [])
      if (isMissing || asked !== model) return { status: 404, body: { error: `model '${asked}' not found` } }
      if (isBlind && images.length > 0)
        return { status: 500, body: { error: 'this model is missing data required for image input' } }
      if (images.some((image) => image.startsWith('data:')))
        return { status: 400, body: { error: 'illegal base64 data at input byte 4' } }
      return undefined
    },
    asked: ({ messages }) =>
      pairs(messages.flatMap(({ content, images = [] }: Body) => [{ text: content }, { image: images[0] }])),
    reply: (body, { text, thoughts, isCut, usage }) => ({
      model: body.model,
      message: { role: 'assistant', content: text, ...(thoughts ? { thinking: thoughts } : {}) },
      done: true,
      done_reason: isCut ? 'length' : 'stop',
      ...(usage ? { prompt_eval_count: usage.input, eval_count: usage.output } : {}),
    }),
  },
  llamacpp: {
    ...chat,
    tell: (path, _, { window, isBlind, tellsLittle }) =>
      path === '/props'
        ? {
            status: 200,
            body: {
              default_generation_settings: { n_ctx: window },
              total_slots: 1,
              ...(tellsLittle ? {} : { modalities: { vision: !isBlind, audio: false } }),
            },
          }
        : undefined,
    refuse: (body, _, { isBlind }) =>
      isBlind ? error(500, 'Unsupported content part type', { code: 500 }) : notJpeg(body, 'failed to decode image'),
  },
  vllm: {
    ...chat,
    tell: (path, _, { model, window, isMissing }) =>
      listed('/v1/models', { id: isMissing ? 'another' : model, max_model_len: window })(path),
    refuse: ({ guided_json }) => (guided_json ? error(400, 'guided_json was removed') : undefined),
  },
  lmstudio: {
    ...chat,
    tell: (path, _, { model, window, isBlind, isMissing }) =>
      listed('/api/v0/models', {
        id: isMissing ? 'another' : model,
        type: isBlind ? 'llm' : 'vlm',
        capabilities: ['tool_use'],
        state: 'loaded',
        loaded_context_length: window,
      })(path),
    refuse: (body) =>
      ['json_schema', 'text', undefined].includes(body.response_format?.type)
        ? notJpeg(body, "'url' field must be a base64 encoded image")
        : error(400, "'response_format.type' must be 'json_schema' or 'text'"),
  },
  openai: {
    ...chat,
    ...ofModel((model) => error(404, `The model '${model}' does not exist`, { code: 'model_not_found' })),
  },
  gemini: {
    ...chat,
    path: '/v1beta/openai/chat/completions',
    refuse: (body, _, { isMissing }) => {
      if (isMissing) return { status: 404, body: [{ error: { code: 404, message: 'not found', status: 'NOT_FOUND' } }] }
      const known = ['model', 'messages', 'max_tokens', 'temperature', 'reasoning_effort', 'response_format']
      const unknown = Object.keys(body).find((name) => !known.includes(name))
      const name = unknown ?? (JSON.stringify(body).includes('"$schema"') ? '$schema' : undefined)
      if (!name) return undefined
      return { status: 400, body: [{ error: { code: 400, message: `Unknown name "${name}": Cannot find field.` } }] }
    },
  },
  anthropic: {
    path: '/v1/messages',
    ...ofModel(() => ({ status: 404, body: { type: 'error', error: { type: 'not_found_error', message: 'model' } } })),
    refuse: (body, headers) => {
      if (!headers['x-api-key'] || headers['anthropic-version'] !== '2023-06-01')
        return { status: 401, body: { type: 'error', error: { type: 'authentication_error', message: 'x-api-key' } } }
      const unknown = Object.keys(body).find(
        (name) => !['model', 'system', 'messages', 'max_tokens', 'temperature', 'output_config'].includes(name),
      )
      if (unknown) return error(400, `${unknown}: Extra inputs are not permitted`)
      return undefined
    },
    asked: (body) => pairs(partsOf(body).map((part) => ({ text: part.text, image: part.source?.data }))),
    reply: (body, { text, thoughts, isCut, usage }) => ({
      type: 'message',
      model: body.model,
      content: [...(thoughts ? [{ type: 'thinking', thinking: thoughts }] : []), { type: 'text', text }],
      stop_reason: isCut ? 'max_tokens' : 'end_turn',
      usage: usage && { input_tokens: usage.input, output_tokens: usage.output },
    }),
  },
  openrouter: {
    ...chat,
    tell: (path, _, { model, window, isBlind, isMissing }) =>
      listed('/v1/models', {
        id: isMissing ? 'another' : model,
        context_length: window,
        architecture: { input_modalities: isBlind ? ['text'] : ['text', 'image'] },
      })(path),
  },
}
