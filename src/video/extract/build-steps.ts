import type { FrameFeatures } from '../shots/features.ts'
import { isPartOf } from './drawn-pictures.ts'
import type { PickCandidate } from './kept-frames.ts'
import type { YuvPicture } from './measure.ts'

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

/** Averages of every second pixel of a box, of a planar 4:2:0 picture. The sides stay even. */
function shrinkPicture({ width, height, data }: YuvPicture, atMost: number): YuvPicture {
  const w = 2 * Math.max(1, Math.round(Math.min(width, atMost) / 2))
  const h = 2 * Math.max(1, Math.round((height * w) / width / 2))
  const small = new Uint8Array((w * h * 3) / 2)
  const half = { from: { width: width >> 1, height: height >> 1 }, to: { width: w >> 1, height: h >> 1 } }
  const chroma = (width * height) / 4
  shrinkPlane(data, { width, height }, small, { width: w, height: h })
  shrinkPlane(data.subarray(width * height), half.from, small.subarray(w * h), half.to)
  shrinkPlane(data.subarray(width * height + chroma), half.from, small.subarray((w * h * 5) / 4), half.to)
  return { width: w, height: h, data: small }
}

type Size = Pick<YuvPicture, 'width' | 'height'>

function shrinkPlane(from: Uint8Array, size: Size, to: Uint8Array, { width, height }: Size): void {
  const stepX = size.width / width
  const stepY = size.height / height
  for (let row = 0; row < height; row++) {
    const top = Math.floor(row * stepY)
    const end = Math.max(top + 1, Math.floor((row + 1) * stepY))
    for (let column = 0; column < width; column++) {
      const left = Math.floor(column * stepX)
      const right = Math.max(left + 1, Math.floor((column + 1) * stepX))
      let sum = 0
      let count = 0
      for (let y = top; y < end; y += 2) {
        for (let x = left; x < right; x += 2) {
          sum += from[y * size.width + x]!
          count++
        }
      }
      to[row * width + column] = sum / count + 0.5
    }
  }
}
