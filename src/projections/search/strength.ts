/** The order of a blank search as one number, so that both engines sort by one field. Pure. */

export interface StrengthFacts {
  /** log2 Σ 2^(save time ÷ half-life); null without saves. */
  saveStrength: number | null
  /** Of every attribute: its confidence where it has a value (0.5 where none is given), 0 where it has none. */
  confidences: readonly number[]
  sharpness: number
  motion: number
  darkShare: number
  addedMs: number
}

const EPOCH = Date.UTC(2020, 0, 1)

/**
 * Saves first, then completeness and confidence, then visual quality, then newest. Each is cut into steps and they are stacked as digits of one whole number
 * (17 + 8 + 6 + 20 bits), exact in a double.
 */
export function frameStrength(facts: StrengthFacts): number {
  // 128 steps per half-life; 0 is "never saved".
  const saves = facts.saveStrength === null ? 0 : step(1 + facts.saveStrength * 128, 2 ** 17)
  const complete = facts.confidences.reduce((sum, value) => sum + value, 0) / Math.max(1, facts.confidences.length)
  const hours = step((facts.addedMs - EPOCH) / 3_600_000, 2 ** 20)
  return ((saves * 256 + step(complete * 255, 256)) * 64 + step(visualQuality(facts) * 63, 64)) * 2 ** 20 + hours
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
