import { plainText } from '../plain-text.ts'
import { classify } from './endpoint-error.ts'
import { HttpFailure, requestJson, type ServerOptions } from './http.ts'
import { profileOf } from './profiles.ts'
import { type ModelPrice, NO_USAGE, toUsage, type Usage } from './usage.ts'
import { type Abilities, type ModelRequest, type RawReply, WIRE_FORMS } from './wire-forms.ts'

export interface EndpointOptions extends ServerOptions {
  reasoningEffort?: string | undefined
  /** Longest wait for one reply. */
  timeoutMs: number
  /** Without it no call has a cost. */
  price?: ModelPrice | undefined
}

export type ModelReply =
  /** `thought`: the model reasoned before it answered. */
  | { kind: 'text'; text: string; truncated: boolean; thought: boolean; usage: Usage }
  | { kind: 'refused'; reason: string; usage: Usage }
  /** The endpoint cannot take this request (an image in the wrong form). Repeating it is useless. */
  | { kind: 'rejected'; reason: string; usage: Usage }
  /** The endpoint failed. It may answer the same request later. */
  | { kind: 'failed'; reason: string; usage: Usage }

/** Gemini calls it generation_config.response_schema. Others name the member of the schema that they do not know. */
const SCHEMA =
  /response_?format|schema|output_(format|config(?!.*effort))|structured output|guided|grammar|additionalproperties/

/** More adjustments than this mean that a server contradicts itself. */
const MAX_ADJUSTMENTS = 5

export type Endpoint = ReturnType<typeof openEndpoint>

/** Calls of a model behind an endpoint. What it turns out to take is kept as long as the annotator is open. */
export function openEndpoint(options: EndpointOptions) {
  const { baseUrl, apiKey, timeoutMs } = options
  const profile = profileOf(options.server)
  const form = WIRE_FORMS[profile.form]
  const abilities: Abilities = { schema: true, tokenParameter: 'max_tokens', temperature: true, thinking: true }
  return {
    /** @throws AnnotatorUnavailable when the endpoint asks to wait, or when the key or the model is wrong */
    async ask(request: ModelRequest, { signal, window }: { signal: AbortSignal; window: number | undefined }) {
      const deadline = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
      for (let adjustments = 0; ; adjustments++) {
        const used = { ...abilities }
        try {
          const body = form.toBody(request, { ...options, profile, window }, used)
          const asked = { headers: form.toHeaders(apiKey), body, signal: deadline }
          const answer = await requestJson(baseUrl + form.path, asked, options)
          throwErrorInside(answer)
          return toReply(form.toReply(answer), options.price)
        } catch (error) {
          signal.throwIfAborted()
          if (adjustments < MAX_ADJUSTMENTS && adjust(abilities, used, error)) continue
          return { ...classify(error, options), usage: NO_USAGE }
        }
      }
    },
  }
}

/** OpenRouter answers 200 when the provider behind it failed, with the error and its status in the body. */
function throwErrorInside(answer: unknown): void {
  const { error, choices } = (answer ?? {}) as { error?: unknown; choices?: { error?: unknown }[] }
  const inside = (error ?? choices?.[0]?.error) as { code?: unknown; message?: unknown } | null | undefined
  if (typeof inside !== 'object' || inside === null) return
  const status = Number(inside.code)
  const known = Number.isInteger(status) && status >= 400 && status < 600 ? status : 502
  throw new HttpFailure(known, { error: inside }, new Headers())
}

/**
 * Learns from the refusal of a parameter. True when the same request may be sent in another form. When several calls
 * are refused at once, the first teaches and the others follow: `used` is the form of the refused call.
 */
function adjust(abilities: Abilities, used: Abilities, error: unknown): boolean {
  if (!(error instanceof HttpFailure) || (error.status !== 400 && error.status !== 422)) return false
  const message = `${error.message} ${error.param}`.toLowerCase()
  const without = (ability: 'schema' | 'temperature' | 'thinking') => {
    abilities[ability] = false
    return true
  }
  if (SCHEMA.test(message) && used.schema) return without('schema')
  if (/max_completion_tokens|max_tokens/.test(message) && used.tokenParameter === 'max_tokens') {
    abilities.tokenParameter = 'max_completion_tokens'
    return true
  }
  if (/temperature/.test(message) && used.temperature) return without('temperature')
  if (/reasoning|think|chat_template|effort/.test(message) && used.thinking) return without('thinking')
  return false
}

function toReply(raw: RawReply | undefined, price: ModelPrice | undefined): ModelReply {
  const usage = toUsage(raw?.usage ?? {}, price)
  if (!raw) return { kind: 'failed', reason: 'the reply has no message', usage }
  const { text, thoughts, isCut, refusal } = raw
  if (refusal) return { kind: 'refused', reason: plainText(refusal, 300) || 'refused', usage }
  // A model that reasons first may spend all its tokens on that. Its drafts are no answer.
  const isDraft = isCut && !/^\s*(\{|```)/.test(thoughts)
  const said = text?.trim() || isDraft ? text : thoughts || text
  if (said === null && !isCut) return { kind: 'failed', reason: 'the reply has no text', usage }
  const thought = /^\s*<think>/.test(text ?? '') || (thoughts.trim() !== '' && said !== thoughts)
  return { kind: 'text', text: said ?? '', truncated: isCut, thought, usage }
}
