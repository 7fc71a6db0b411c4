import { AnnotatorUnavailable, type Finding, toFinding } from '../annotator.ts'
import { classify, describeBlind, describeMissing, describeSmall } from './endpoint-error.ts'
import { HttpFailure, PAGE, requestJson, type ServerOptions } from './http.ts'
import { profileOf } from './profiles.ts'
import { answerRoom, cutToWindow, WIDE_PICTURE } from './window.ts'
import { WIRE_FORMS } from './wire-forms.ts'

/** What a server tells of its model without a call. Null: it does not say. */
interface ServerFacts {
  hasModel: boolean | null
  takesPictures: boolean | null
  /** Tokens of prompt and answer. */
  window: number | null
}

const NOTHING: ServerFacts = { hasModel: null, takesPictures: null, window: null }
const INSPECT_MS = 15_000
const UNREADY_PAUSE_MS = 30_000
/** Ollama takes the window with each call. It costs memory, so it is no larger than a few frames need. */
const OLLAMA_WINDOW = 8_192

/**
 * Asks a server about its model, which costs nothing.
 * @throws AnnotatorUnavailable when nothing answers, or when the key is wrong
 */
export async function inspectServer(options: ServerOptions, signal: AbortSignal): Promise<ServerFacts> {
  const { server, baseUrl, apiKey, model } = options
  const profile = profileOf(server)
  // A list of models says only that something answers: gateways and Gemini list them under other names.
  const { tells = '/models' } = profile
  const isOfModel = tells.includes('{model}') || server === 'ollama'
  const url = (/^\/(api|props)/.test(tells) ? baseUrl.replace(/\/v1$/, '') : baseUrl) + tells.replace('{model}', model)
  const asked = {
    headers: WIRE_FORMS[profile.form].toHeaders(apiKey),
    signal: AbortSignal.any([signal, AbortSignal.timeout(INSPECT_MS)]),
  }
  try {
    const answer = await requestJson(url, server === 'ollama' ? { ...asked, body: { model } } : asked, options)
    return profile.tells ? toFacts(answer, options) : NOTHING
  } catch (error) {
    signal.throwIfAborted()
    const status = error instanceof HttpFailure && error.code !== PAGE ? error.status : 0
    if (status === 404 && isOfModel) return { ...NOTHING, hasModel: false }
    // A key may be good for calls alone, and a gateway may list nothing. Gemini answers 400 to a wrong key.
    const isKey = status === 401 || (status === 400 && server === 'gemini')
    if (status === 403 || status === 404 || (status > 0 && !isKey && !profile.tells)) return NOTHING
    const { reason } = classify(error, options)
    throw new AnnotatorUnavailable('unreachable', `${baseUrl} is not ready (${reason}).`, UNREADY_PAUSE_MS)
  }
}

/** Each server has names of its own for the same: llama.cpp, Ollama, LM Studio, OpenRouter and vLLM. */
// biome-ignore lint/suspicious/noExplicitAny: a foreign body, read field by field
function toFacts(answer: any, { server, model }: ServerOptions): ServerFacts {
  const list = answer?.data
  const entry = Array.isArray(list) ? list.find((each) => each?.id === model) : answer
  // OpenRouter takes variants (`:nitro`) and presets (`@preset/…`) that it does not list.
  if (!entry) return { ...NOTHING, hasModel: server === 'openrouter' && /[:@]/.test(model) ? null : false }
  const { modalities, capabilities, type, architecture, default_generation_settings, model_info = {} } = entry
  const sees = [
    modalities?.vision,
    Array.isArray(capabilities) ? capabilities.includes('vision') : undefined,
    type === 'vlm' || (type === 'llm' ? false : undefined),
    architecture?.input_modalities?.includes('image'),
  ]
  const window =
    entry.max_model_len ??
    entry.loaded_context_length ??
    entry.context_length ??
    default_generation_settings?.n_ctx ??
    model_info[`${model_info['general.architecture']}.context_length`]
  return {
    hasModel: server === 'llamacpp' ? null : true,
    takesPictures: sees.includes(true) || (sees.includes(false) ? false : null),
    window: server === 'ollama' ? Math.min(OLLAMA_WINDOW, window ?? OLLAMA_WINDOW) : (window ?? null),
  }
}

/** What describing frames needs of a model, and what its server tells of that. */
export function toFindings(
  facts: ServerFacts,
  { asked, instructions, batchSize }: { asked: ServerOptions; instructions: number; batchSize: number },
): Finding[] {
  const { hasModel, takesPictures, window } = facts
  const { baseUrl, model } = asked
  const needed = instructions + WIDE_PICTURE + answerRoom(1, 1)
  const frames = Array.from({ length: batchSize }, () => ({ tokens: WIDE_PICTURE }))
  const { length } = cutToWindow(frames, { window: window ?? undefined, instructions, room: 1 })[0]!
  return [
    toFinding('server', `${baseUrl} answers`),
    toFinding('model', hasModel === true && model, hasModel === false && describeMissing(asked)),
    toFinding('pictures', takesPictures === true && 'taken, it says', takesPictures === false && describeBlind(asked)),
    toFinding(
      'window',
      window !== null && `${window} tokens: ${length} of at most ${batchSize} frames a call`,
      window !== null && window < needed && `${describeSmall(asked, needed, `${window} tokens`)}`,
    ),
  ]
}
