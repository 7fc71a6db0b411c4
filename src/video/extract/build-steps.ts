import type { FrameFeatures } from '../shots/features.ts'
import { isPartOf } from './drawn-pictures.ts'
import type { PickCandidate } from './kept-frames.ts'
import { shrinkPicture, type YuvPicture } from './measure.ts'

/** A state of a build-up: a small picture of it. Its full picture is given back. */
export interface BuildStep {
  features: FrameFeatures
  edges: number
  small: YuvPicture
}

/** Width of a step's picture. */
const STEP_WIDTH = 240
/** States that are remembered of one build-up. */
const MOST = 12
/** A state that shows more of the whole is no step of its own. */
const NEARLY_WHOLE = 0.92

export function stepOf({ features, picture }: Pick<PickCandidate, 'features' | 'picture'>, edges: number): BuildStep {
  return { features, edges, small: shrinkPicture(picture, STEP_WIDTH) }
}

/** Adds a state. When there are many, every second one is forgotten. */
export function addStep(steps: readonly BuildStep[], step: BuildStep): BuildStep[] {
  const all = [...steps, step]
  return all.length <= MOST ? all : all.filter((_, n) => n % 2 === 0)
}

/** At most two states, in their order: about a third and two thirds of what the whole shows. */
export function chooseSteps(steps: readonly BuildStep[], whole: Omit<BuildStep, 'small'>): YuvPicture[] {
  // Until the barest state something else was leaving.
  const barest = Math.min(...steps.map(({ edges }) => edges))
  const grown = steps.slice(steps.findLastIndex(({ edges }) => edges === barest))
  const parts = grown.filter(
    ({ edges, features }) => edges < NEARLY_WHOLE * whole.edges && isPartOf(features, whole.features),
  )
  const nearest = (share: number) =>
    parts.toSorted((a, b) => Math.abs(a.edges - share * whole.edges) - Math.abs(b.edges - share * whole.edges))[0]
  const chosen = new Set([nearest(1 / 3), nearest(2 / 3)])
  return parts.filter((step) => chosen.has(step)).map(({ small }) => small)
}
