import { type FrameRest, hashDistance, type Kind } from '../../vocabulary.ts'
import { type FrameFeatures, MINI_BYTES, PICTURE_WIDTH } from '../shots/features.ts'
import type { Held } from './drawn-pictures.ts'
import { looksTheSame } from './drawn-pictures.ts'
import { differenceHash, type YuvPicture } from './measure.ts'

/** A full-size picture that may be kept. The decode pass offers about ten a second. */
export interface PickCandidate {
  tMs: number
  /** One of those that a camera's shot does without: six a second are enough for it. */
  isForDrawn: boolean
  sharpness: number
  /** How long every frame around it shows the same. */
  held: Held
  features: FrameFeatures
  picture: YuvPicture
}

export interface PickedFrame {
  candidate: PickCandidate
  kind: Kind
  reason: string
  /** The rest that it was taken from; null in a camera's shot. */
  rest: FrameRest | null
}

/** A picture that was considered and not kept. */
export interface PassedOver {
  tMs: number
  why: string
}

/** Of a longer list the rest is not told. */
const PASSED_OVER_AT_MOST = 200

export type KeptFrames = ReturnType<typeof createKeptFrames>

/** The frames kept so far. */
export function createKeptFrames() {
  const kept: PickCandidate[] = []
  const hashes: string[] = []
  let fresh: PickedFrame[] = []
  const passedOver: PassedOver[] = []
  return {
    /** Whether a frame kept earlier looks the same. In a drawn picture, which has no noise, less tells two apart. */
    isKnown(candidate: PickCandidate, nature: 'drawn' | 'camera' = 'camera'): boolean {
      if (nature === 'drawn') return kept.some((other) => looksTheSame(candidate.features, other.features))
      if (kept.some((other) => isOtherCaption(candidate.features, other.features))) return true
      const hash = differenceHash(candidate.features.picture)
      return kept.some(
        (other, i) => isNearDuplicate(candidate.features, other.features) && hashDistance(hash, hashes[i]!) <= 8,
      )
    },
    /** How many frames of the minute before `tMs` are kept. */
    countInMinute(tMs: number): number {
      let recent = 0
      for (let i = kept.length - 1; i >= 0 && tMs - kept[i]!.tMs < 60_000; i--) recent++
      return recent
    },
    keep(picked: PickedFrame): void {
      kept.push(picked.candidate)
      hashes.push(differenceHash(picked.candidate.features.picture))
      fresh.push(picked)
    },
    passedOver,
    passOver(...pictures: PassedOver[]): void {
      passedOver.push(...pictures.slice(0, PASSED_OVER_AT_MOST - passedOver.length))
    },
    /** The frames kept since the last call. */
    takeNew(): PickedFrame[] {
      const taken = fresh
      fresh = []
      return taken
    },
  }
}

/**
 * Two pictures that a person would call the same one: the layout of light, the hash and nearly every pixel agree. The
 * pixels tell small text on a flat card apart.
 */
function isNearDuplicate(a: FrameFeatures, b: FrameFeatures): boolean {
  return lumaDistance(a.mini, b.mini) <= 3 && changedShare(a, b) < 0.015
}

/** Share of pixels whose luma differs by more than 24, from the top down to one. */
export function changedShare(a: FrameFeatures, b: FrameFeatures, end = a.picture.length): number {
  let changed = 0
  for (let i = 0; i < end; i++) if (Math.abs(a.picture[i]! - b.picture[i]!) > 24) changed++
  return changed / end
}

/** From this share of changed pixels on a filmed picture is another one: text covers few of a screen that filled up. */
export const CHANGED_SHARE = 0.025
/** The lower third, where captions stand. The steps from pixel to pixel that only letters have, and so many of them. */
const FOOT = { from: 60 * PICTURE_WIDTH, step: 64, letters: 40 }
/** In a filmed picture something moves: above its foot so much changes. On a screen nothing does. */
const STIRS = 0.001

/** Whether two filmed pictures differ in their caption: both have letters at the foot, and little else changed. */
function isOtherCaption(a: FrameFeatures, b: FrameFeatures): boolean {
  const above = changedShare(a, b, FOOT.from)
  if (above < STIRS || above >= CHANGED_SHARE) return false
  const ofAll = (above * FOOT.from) / a.picture.length
  const isLetter = (luma: number, n: number, foot: Uint8Array) => n > 0 && Math.abs(luma - foot[n - 1]!) >= FOOT.step
  return (
    changedShare(a, b) > 2 * ofAll &&
    [a, b].every(({ picture }) => picture.subarray(FOOT.from).filter(isLetter).length >= FOOT.letters)
  )
}

function lumaDistance(a: Uint8Array, b: Uint8Array): number {
  let sum = 0
  for (let i = 0; i < MINI_BYTES / 3; i++) sum += Math.abs(a[i]! - b[i]!)
  return sum / (MINI_BYTES / 3)
}
