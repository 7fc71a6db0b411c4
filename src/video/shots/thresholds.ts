/**
 * The detector's thresholds, stored with each video. Differences and luma count in 8-bit steps, shares and
 * correlations from 0 to 1. A threshold named `…Over…` or `…Ratio` is a factor.
 */
export const THRESHOLDS = {
  aroundMs: 180,
  stepsMs: 1200,
  stepsPerSecond: 3.4,
  cutDifference: 8,
  cutRatio: 3,
  quietDifference: 2.5,
  quietRatio: 5,
  partUnchanged: 0.4,
  partCorrelation: 0.55,
  busyDifference: 30,
  busyRatio: 2,
  jumpRatio: 5,
  keptAtMost: 0.25,
  alignedAtMost: 0.42,
  correlationAtMost: 0.8,
  blendResidual: 0.13,
  blendResidualFar: 0.2,
  blendFar: 60,
  blendDistance: 12,
  blendOverMotion: 2.4,
  blendOverMotionFar: 2.05,
  wipeUndecided: 0.3,
  wipeBorder: 0.12,
  pushDifference: 6,
  pushOverMotion: 2.5,
  pushResidual: 0.4,
  pushOverlap: 0.3,
  pushFlat: 6,
  pushSeam: 8,
  pushSeamOverSteps: 2,
  blankDeviation: 6,
  blankBelowLuma: 26,
  blankAboveLuma: 230,
  blankEdges: 12,
  longBlankMs: 1500,
  minShotMs: 180,
  flashMs: 260,
} as const

/** Two frames that differ by less count as the same picture. */
export const STILL_DIFFERENCE = 0.3
