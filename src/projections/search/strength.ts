/** The order of a blank search as one number, so that both engines sort by one field. Pure. */

export interface StrengthFacts {
  /** log2 Σ 2^(save time ÷ half-life); null without saves. */
  saveStrength: number | null
  /** Per attribute: the confidence of its value, 0.5 for a value without one, 0 without a value. */
  confidences: readonly number[]
  sharpness: number
  motion: number
  darkShare: number
  addedMs: number
}

const EPOCH = Date.UTC(2020, 0, 1)

/**
 * Saves first, then completeness and confidence, then visual quality, then newest.
 * Each is cut into steps, which are the digits of one whole number (22 + 7 + 5 + 19 bits), exact in a double.
 */
export function frameStrength(facts: StrengthFacts): number {
  // 4,096 steps per half-life of 30 days, ten minutes each; 0 is "never saved".
  const saves = facts.saveStrength === null ? 0 : step(1 + facts.saveStrength * 4_096, 2 ** 22)
  const complete = facts.confidences.reduce((sum, value) => sum + value, 0) / Math.max(1, facts.confidences.length)
  const hours = step((facts.addedMs - EPOCH) / 3_600_000, 2 ** 19)
  return ((saves * 128 + step(complete * 128, 128)) * 32 + step(visualQuality(facts) * 32, 32)) * 2 ** 19 + hours
}

/** 0–1: sharp, still, and not mostly black. */
function visualQuality({ sharpness, motion, darkShare }: StrengthFacts): number {
  const sharp = Math.max(0, sharpness) / (Math.max(0, sharpness) + 100)
  const still = 1 / (1 + Math.max(0, motion) / 20)
  return 0.5 * sharp + 0.25 * still + 0.25 * (1 - Math.min(1, Math.max(0, darkShare)))
}

function step(value: number, steps: number): number {
  return Number.isFinite(value) ? Math.min(steps - 1, Math.max(0, Math.floor(value))) : 0
}
