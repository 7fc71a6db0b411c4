/** What differs between servers of vision models. `VISION` names one. */
export interface VisionProfile {
  /** Up to and without the path of a call. */
  baseUrl?: string
  model?: string
  needsKey?: true
  /** How a call is written: OpenAI's chat completions, Ollama's own chat, or Anthropic's messages. */
  form: 'chat' | 'ollama' | 'anthropic'
  /** Where it tells of its model without a call, if it does. */
  tells?: string
  /** Calls at once, and frames a call at most. */
  concurrency: number
  frames: number
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
  concurrency: 4,
  frames: 8,
  timeoutMs: 90_000,
  mend: {
    reach: 'Check VISION_BASE_URL.',
    model: 'Check VISION_MODEL and VISION_BASE_URL.',
    pictures: 'Set VISION_MODEL to a model that takes images.',
    window: 'It must be {tokens} or more: with Ollama set OLLAMA_CONTEXT_LENGTH={tokens}, or VISION=ollama here.',
  },
}

const LOCAL: VisionProfile = { ...COMPATIBLE, concurrency: 1, timeoutMs: 280_000 }
const HOSTED: VisionProfile = { ...COMPATIBLE, needsKey: true }

/** For the template of the chat. */
const thinkingOff = { chat_template_kwargs: { enable_thinking: false } }

const PROFILES = {
  ollama: {
    ...LOCAL,
    baseUrl: 'http://localhost:11434',
    model: 'qwen3-vl:8b-instruct',
    form: 'ollama',
    tells: '/api/show',
    frames: 2,
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
    baseUrl: 'http://localhost:8080/v1',
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
    baseUrl: 'http://localhost:8000/v1',
    model: 'Qwen/Qwen3-VL-8B-Instruct',
    tells: '/models',
    concurrency: 4,
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
    baseUrl: 'http://localhost:1234/v1',
    tells: '/api/v0/models',
    mend: {
      ...COMPATIBLE.mend,
      reach: 'Run lms server start, or set VISION_BASE_URL.',
      model: 'Run lms get {model}, or set VISION_MODEL to one that lms ls lists.',
      window: 'Run lms load {model} --context-length {tokens}.',
    },
  },
  openai: {
    ...HOSTED,
    baseUrl: 'https://api.openai.com/v1',
    model: 'gpt-5-mini',
    tells: '/models/{model}',
    thinkingOff: { reasoning_effort: 'minimal' },
  },
  gemini: {
    ...HOSTED,
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    model: 'gemini-flash-latest',
    thinkingOff: { reasoning_effort: 'none' },
  },
  anthropic: {
    ...HOSTED,
    baseUrl: 'https://api.anthropic.com/v1',
    model: 'claude-haiku-4-5',
    form: 'anthropic',
    tells: '/models/{model}',
  },
  openrouter: {
    ...HOSTED,
    baseUrl: 'https://openrouter.ai/api/v1',
    model: 'qwen/qwen3-vl-8b-instruct',
    tells: '/models',
    thinkingOff: { reasoning: { enabled: false } },
  },
} satisfies Record<string, VisionProfile>

export const VISION_NAMES = Object.keys(PROFILES) as (keyof typeof PROFILES)[]
export type VisionServer = keyof typeof PROFILES | 'compatible'

export const profileOf = (server: VisionServer): VisionProfile =>
  server === 'compatible' ? COMPATIBLE : PROFILES[server]
