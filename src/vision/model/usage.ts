import type OpenAI from 'openai'

export interface ModelPrice {
  /** US dollars per million tokens. */
  input: number
  output: number
}

export interface Usage {
  inputTokens: number | null
  cachedTokens: number | null
  outputTokens: number | null
  costUsd: number | null
}

export const NO_USAGE: Usage = { inputTokens: null, cachedTokens: null, outputTokens: null, costUsd: null }

export function toUsage(usage: OpenAI.CompletionUsage | undefined | null, price: ModelPrice | undefined): Usage {
  const inputTokens = toCount(usage?.prompt_tokens)
  const completionTokens = toCount(usage?.completion_tokens)
  const totalTokens = toCount(usage?.total_tokens)
  // Gemini counts what it thought in the total alone, and charges it as output.
  const outputTokens =
    completionTokens === null ? null : Math.max(completionTokens, (totalTokens ?? 0) - (inputTokens ?? 0))
  const cachedTokens = toCount(usage?.prompt_tokens_details?.cached_tokens)
  if (!price || inputTokens === null || outputTokens === null)
    return { inputTokens, cachedTokens, outputTokens, costUsd: null }
  const dollars = inputTokens * price.input + outputTokens * price.output
  return { inputTokens, cachedTokens, outputTokens, costUsd: dollars / 1e6 }
}

function toCount(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.round(value) : null
}
