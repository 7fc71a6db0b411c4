import type { Kind } from '../../vocabulary.ts'
import { type FrameFeatures, MINI_BYTES } from '../shots/features.ts'
import { differenceHash, hashDistance, type YuvPicture } from './measure.ts'

/** A full-size picture that may be kept. The decode pass offers about four a second. */
export interface PickCandidate {
  tMs: number
  sharpness: number
  features: FrameFeatures
  picture: YuvPicture
}

export interface PickedFrame {
  candidate: PickCandidate
  kind: Kind
  /** The instant that names the frame: the boundary for a cut, otherwise the sampled instant. */
  tMs: number
  reason: string
}

export interface KeptFrames {
  /** Whether a frame kept earlier looks the same. */
  isKnown(candidate: PickCandidate): boolean
  /** How many frames of the minute before `tMs` are kept. */
  countInMinute(tMs: number): number
  keep(picked: PickedFrame): void
  /** The frames kept since the last call. */
  takeNew(): PickedFrame[]
}

/** The frames kept so far. A second frame with the same name is not kept. */
export function createKeptFrames(): KeptFrames {
  const kept: PickCandidate[] = []
  const hashes: string[] = []
  const times = new Set<number>()
  let fresh: PickedFrame[] = []
  return {
    isKnown(candidate) {
      const hash = differenceHash(candidate.features.picture)
      return kept.some(
        (other, i) => hashDistance(hash, hashes[i]!) <= 8 && isNearDuplicate(candidate.features, other.features),
      )
    },
    countInMinute(tMs) {
      let recent = 0
      for (let i = kept.length - 1; i >= 0 && tMs - kept[i]!.tMs < 60_000; i--) recent++
      return recent
    },
    keep(picked) {
      if (times.has(picked.tMs)) return
      times.add(picked.tMs)
      kept.push(picked.candidate)
      hashes.push(differenceHash(picked.candidate.features.picture))
      fresh.push(picked)
    },
    takeNew() {
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

/** Share of pixels whose luma differs by more than 24. */
export function changedShare(a: FrameFeatures, b: FrameFeatures): number {
  let changed = 0
  for (let i = 0; i < a.picture.length; i++) if (Math.abs(a.picture[i]! - b.picture[i]!) > 24) changed++
  return changed / a.picture.length
}

function lumaDistance(a: Uint8Array, b: Uint8Array): number {
  let sum = 0
  for (let i = 0; i < MINI_BYTES / 3; i++) sum += Math.abs(a[i]! - b[i]!)
  return sum / (MINI_BYTES / 3)
}
