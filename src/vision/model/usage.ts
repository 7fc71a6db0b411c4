export interface ModelPrice {
  /** US dollars per million tokens. */
  input: number
  output: number
}

/** Counts as an endpoint gives them. */
export type RawUsage = Partial<Record<'input' | 'cached' | 'output' | 'total', unknown>>

export interface Usage {
  inputTokens: number | null
  cachedTokens: number | null
  outputTokens: number | null
  costUsd: number | null
}

export const NO_USAGE: Usage = { inputTokens: null, cachedTokens: null, outputTokens: null, costUsd: null }

export function toUsage(usage: RawUsage, price: ModelPrice | undefined): Usage {
  const inputTokens = toCount(usage.input)
  const answerTokens = toCount(usage.output)
  const totalTokens = toCount(usage.total)
  // Gemini counts what it thought in the total alone, and charges it as output.
  const outputTokens = answerTokens === null ? null : Math.max(answerTokens, (totalTokens ?? 0) - (inputTokens ?? 0))
  const cachedTokens = toCount(usage.cached)
  if (!price || inputTokens === null || outputTokens === null)
    return { inputTokens, cachedTokens, outputTokens, costUsd: null }
  const dollars = inputTokens * price.input + outputTokens * price.output
  return { inputTokens, cachedTokens, outputTokens, costUsd: dollars / 1e6 }
}

function toCount(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.round(value) : null
}
