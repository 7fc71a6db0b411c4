import type { VisionServer } from '../../config.ts'

/** How servers of vision models are spoken to. What else differs between them are defaults of settings (config.ts). */
export interface VisionProfile {
  /** How a call is written: OpenAI's chat completions, Ollama's own chat, or Anthropic's messages. */
  form: 'chat' | 'ollama' | 'anthropic'
  /** Where it tells of its model without a call, if it does. */
  tells?: string
  /** Longest wait for one answer. Local servers load the model with the first call; `fetch` itself ends at 300 s. */
  timeoutMs: number
  /** Fields of a call that switch thinking off. */
  thinkingOff?: Readonly<Record<string, unknown>>
  /** What to do where nothing answers, the model is missing, it takes no pictures, or its window is too small. */
  mend: Readonly<Record<Trouble, string>>
}

export type Trouble = 'reach' | 'model' | 'pictures' | 'window'

/** Any endpoint that speaks the OpenAI protocol. `{model}` and `{tokens}` stand for what is meant. */
const COMPATIBLE: VisionProfile = {
  form: 'chat',
  timeoutMs: 90_000,
  mend: {
    reach: 'Check VISION_BASE_URL.',
    model: 'Check VISION_MODEL and VISION_BASE_URL.',
    pictures: 'Set VISION_MODEL to a model that takes images.',
    window: 'It must be {tokens} or more: with Ollama set OLLAMA_CONTEXT_LENGTH={tokens}, or VISION=ollama here.',
  },
}

const LOCAL: VisionProfile = { ...COMPATIBLE, timeoutMs: 280_000 }

/** For the template of the chat. */
const thinkingOff = { chat_template_kwargs: { enable_thinking: false } }

const PROFILES: Readonly<Record<VisionServer, VisionProfile>> = {
  compatible: COMPATIBLE,
  ollama: {
    ...LOCAL,
    form: 'ollama',
    tells: '/api/show',
    thinkingOff: { think: false },
    mend: {
      ...COMPATIBLE.mend,
      reach: 'Run ollama serve, or set VISION_BASE_URL.',
      model: 'Run ollama pull {model}.',
      window: 'Set VISION_WINDOW={tokens}, or a model with a larger window.',
    },
  },
  llamacpp: {
    ...LOCAL,
    tells: '/props',
    thinkingOff,
    mend: {
      ...COMPATIBLE.mend,
      reach: 'Run llama-server -m <model> --mmproj <projector>, or set VISION_BASE_URL.',
      pictures: 'Run llama-server with --mmproj <projector>, and a vision model.',
      window: 'Run llama-server with --ctx-size {tokens}, times its --parallel.',
    },
  },
  vllm: {
    ...LOCAL,
    tells: '/models',
    thinkingOff,
    mend: {
      ...COMPATIBLE.mend,
      reach: 'Run vllm serve {model}, or set VISION_BASE_URL.',
      model: 'Run vllm serve {model}, or set VISION_MODEL to the one that is served.',
      window: 'Run vllm serve with --max-model-len {tokens}.',
    },
  },
  lmstudio: {
    ...LOCAL,
    tells: '/api/v0/models',
    mend: {
      ...COMPATIBLE.mend,
      reach: 'Run lms server start, or set VISION_BASE_URL.',
      model: 'Run lms get {model}, or set VISION_MODEL to one that lms ls lists.',
      window: 'Run lms load {model} --context-length {tokens}.',
    },
  },
  openai: {
    ...COMPATIBLE,
    tells: '/models/{model}',
    thinkingOff: { reasoning_effort: 'minimal' },
  },
  gemini: {
    ...COMPATIBLE,
    thinkingOff: { reasoning_effort: 'none' },
  },
  anthropic: {
    ...COMPATIBLE,
    form: 'anthropic',
    tells: '/models/{model}',
  },
  openrouter: {
    ...COMPATIBLE,
    tells: '/models',
    thinkingOff: { reasoning: { enabled: false } },
  },
}

export const profileOf = (server: VisionServer): VisionProfile => PROFILES[server]
