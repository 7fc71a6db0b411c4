import type { Kind } from '../../vocabulary.ts'
import { isBlank } from '../shots/blank.ts'
import type { Boundary } from '../shots/boundary.ts'
import { type FrameFeatures, MINI_BYTES, miniDistance } from '../shots/features.ts'
import { differenceHash, hashDistance, type YuvPicture } from './measure.ts'

/** A full-size picture that may be kept. The decode pass offers about four a second. */
export interface Candidate {
  tMs: number
  sharpness: number
  features: FrameFeatures
  picture: YuvPicture
}

export interface Pick {
  candidate: Candidate
  kind: Kind
  /** What names the frame: the boundary for a cut, else the sampled instant. */
  tMs: number
  reason: string
}

/** The budget: one frame for each shot and, in a long shot that changes, more of them, four seconds apart at first and up to twelve later on; never more than a hundred in a minute. */
export const PICK_LIMITS = {
  /** A cut's frame is looked for this far into its shot. */
  openingMs: 1500,
  /** How much of the shot is seen before its usual sharpness is known. */
  sharpnessMs: 2500,
  beatGapMs: 4000,
  beatGapGrows: 1.25,
  beatGapAtMostMs: 12_000,
  beatWindowMs: 2000,
  introMs: 4000,
  perMinute: 100,
  /** Shots shorter than 0.6 s are left out once a minute holds this many frames. */
  perMinuteBeforeShort: 60,
} as const
const L = PICK_LIMITS

/** Distance kept from the ends of a transition. */
const GUARD_MS = 34
/** Text covers few pixels: a screen that filled up has changed in three of a hundred. */
const BEAT_CHANGED_SHARE = 0.025
const BEAT_DISTANCE = 6
const SEEN_AT_MOST = 400

interface Shot {
  startMs: number
  endMs: number | null
  boundary: Boundary | null
  opened: boolean
  /** Where the search for the next frame of this shot goes on. */
  fromMs: number
  gapMs: number
  last: Candidate | null
  /** Sharpness of the candidates looked at so far. */
  seen: number[]
}

/**
 * Decides which candidates are kept, while the video is still being decoded. Candidates, boundaries and time must come in order; the same input gives the same picks.
 * Kept: a sharp frame near the start of each shot, and more of a long shot when its picture changes. Left out: blank and smeared pictures, and what looks like a frame already kept.
 */
export interface Picker {
  add(candidate: Candidate): void
  boundary(boundary: Boundary): void
  /** Everything before `certainMs` is known. Returns new picks; candidates no longer needed are handed to `release`. */
  advance(certainMs: number): Pick[]
  finish(): Pick[]
}

export function createPicker(release: (candidate: Candidate) => void = () => {}): Picker {
  let candidates: Candidate[] = []
  const shots: Shot[] = [
    { startMs: 0, endMs: null, boundary: null, opened: false, fromMs: 0, gapMs: L.beatGapMs, last: null, seen: [] },
  ]
  const kept: Candidate[] = []
  const keptHashes: string[] = []
  const keptTimes = new Set<number>()
  let picked: Pick[] = []

  function inside(shot: Shot, fromMs: number, toMs: number): Candidate[] {
    const first = shot.boundary
      ? Math.max(fromMs, shot.startMs + (shot.boundary.type === 'cut' ? 0 : GUARD_MS))
      : fromMs
    const last = Math.min(toMs, shot.endMs === null ? Number.POSITIVE_INFINITY : shot.endMs)
    return candidates.filter(({ tMs, features }) => tMs >= first && tMs <= last && !isBlank(features))
  }

  function isKnown(candidate: Candidate): boolean {
    const hash = differenceHash(candidate.features.picture)
    return kept.some(
      (other, i) => hashDistance(hash, keptHashes[i]!) <= 8 && isNearDuplicate(candidate.features, other.features),
    )
  }

  function keep(shot: Shot, candidate: Candidate, kind: Kind, tMs: number, reason: string): void {
    shot.last = candidate
    if (keptTimes.has(tMs)) return
    keptTimes.add(tMs)
    kept.push(candidate)
    keptHashes.push(differenceHash(candidate.features.picture))
    picked.push({ candidate, kind, tMs, reason })
  }

  function overBudget(shot: Shot, tMs: number): boolean {
    let recent = 0
    for (let i = kept.length - 1; i >= 0 && tMs - kept[i]!.tMs < 60_000; i--) recent++
    const short = shot.endMs !== null && shot.endMs - shot.startMs < 600
    return recent >= (short ? L.perMinuteBeforeShort : L.perMinute)
  }

  /** Takes the first frame of a shot. True when nothing more is to be waited for. */
  function open(shot: Shot, certainMs: number): boolean {
    while (true) {
      const toMs = shot.fromMs + L.openingMs
      const known = isComplete(shot, certainMs) ? Number.POSITIVE_INFINITY : certainMs
      if (known < shot.fromMs + L.sharpnessMs) return false
      shot.seen = inside(shot, shot.fromMs, shot.fromMs + L.sharpnessMs).map(({ sharpness }) => sharpness)
      const usual = median(shot.seen)
      const usable = inside(shot, shot.fromMs, toMs)
      const sharp = usable.filter(({ sharpness }) => sharpness >= usual)
      const rest = usable
        .filter(({ sharpness }) => sharpness < usual && sharpness >= usual * 0.6)
        .sort((a, b) => b.sharpness - a.sharpness)
      const chosen = [...sharp, ...rest].find((candidate) => !isKnown(candidate))
      if (chosen) {
        if (!overBudget(shot, chosen.tMs)) openWith(shot, chosen)
        else shot.last = chosen
      } else if (usable.length > 0) shot.last = usable[0]!
      if (shot.last) {
        shot.opened = true
        shot.fromMs = shot.last.tMs + L.beatGapMs / (shot.boundary ? 1 : 2)
        return true
      }
      // Nothing but blank pictures so far: a fade from black, a pause. Look further on in the same shot.
      shot.fromMs = toMs
      if (shot.endMs !== null && shot.fromMs >= shot.endMs) {
        shot.opened = true
        return true
      }
    }
  }

  function openWith(shot: Shot, chosen: Candidate): void {
    if (!shot.boundary) {
      keep(shot, chosen, 'intro', chosen.tMs, 'Opening of the video.')
      return
    }
    const { type, through } = shot.boundary
    const at = Math.round(type === 'cut' ? shot.boundary.tMs : shot.startMs)
    const later = Math.max(0, chosen.tMs - at) / 1000
    keep(
      shot,
      chosen,
      'cut',
      at,
      `New shot by ${type}${through ? ` through ${through}` : ''} at ${clock(at)}; sharp frame ${later.toFixed(2)} s into it.`,
    )
  }

  /** Takes later frames of a long shot where the picture has changed. True when the shot holds no more. */
  function follow(shot: Shot, certainMs: number): boolean {
    while (true) {
      const endMs = shot.endMs ?? Number.POSITIVE_INFINITY
      if (shot.fromMs >= endMs) return isComplete(shot, certainMs)
      const toMs = shot.fromMs + L.beatWindowMs
      if (certainMs < Math.min(toMs, endMs)) return false
      const window = inside(shot, shot.fromMs, toMs)
      const around = window.map(({ sharpness }) => sharpness)
      shot.seen = [...shot.seen, ...around].slice(-SEEN_AT_MOST)
      const usual = Math.max(median(around), median(shot.seen))
      const changed = window.filter(
        (candidate) => candidate.sharpness >= usual && hasChanged(shot.last, candidate) && !isKnown(candidate),
      )
      const chosen = changed[0]
      if (!chosen || overBudget(shot, chosen.tMs)) {
        shot.fromMs += L.beatWindowMs / 2
        continue
      }
      const share = Math.max(1, Math.round(changedShare(shot.last!.features, chosen.features) * 100))
      const isIntro = !shot.boundary && chosen.tMs <= L.introMs
      const reason = isIntro
        ? `Opening of the video: ${share} % of the picture has changed since ${clock(shot.last!.tMs)}.`
        : `Long shot: ${share} % of the picture has changed since ${clock(shot.last!.tMs)}.`
      keep(shot, chosen, isIntro ? 'intro' : 'beat', chosen.tMs, reason)
      shot.gapMs = Math.min(L.beatGapAtMostMs, shot.gapMs * L.beatGapGrows)
      shot.fromMs = chosen.tMs + shot.gapMs
    }
  }

  /** Its end is known and every candidate before that has come: candidates may lag behind the boundaries, and picks must not depend on that. */
  function isComplete(shot: Shot, certainMs: number): boolean {
    return shot.endMs !== null && certainMs >= shot.endMs
  }

  function advance(certainMs: number): Pick[] {
    while (shots.length > 0) {
      const shot = shots[0]!
      if (!shot.opened && !open(shot, certainMs)) break
      if (!follow(shot, certainMs) || shot.endMs === null) break
      shots.shift()
    }
    // The next shot may begin anywhere from what is certain on, however far ahead this one's next frame is looked for.
    const neededFromMs = Math.min(shots[0]?.fromMs ?? certainMs, shots[0]?.endMs ?? certainMs)
    const keptNow = new Set(picked.map(({ candidate }) => candidate))
    const stay: Candidate[] = []
    for (const candidate of candidates) {
      // A kept one now belongs to the caller.
      if (keptNow.has(candidate)) continue
      if (candidate.tMs >= neededFromMs) stay.push(candidate)
      else release(candidate)
    }
    candidates = stay
    const result = picked
    picked = []
    return result
  }

  return {
    add(candidate) {
      candidates.push(candidate)
    },
    boundary(boundary) {
      shots.at(-1)!.endMs = boundary.startMs
      shots.push({
        startMs: boundary.endMs,
        endMs: null,
        boundary,
        opened: false,
        fromMs: boundary.endMs,
        gapMs: L.beatGapMs,
        last: null,
        seen: [],
      })
    },
    advance,
    finish() {
      shots.at(-1)!.endMs = Number.MAX_SAFE_INTEGER
      // A shot that goes on to the end of the video has no more to come after its last candidate.
      if (candidates.length > 0) shots.at(-1)!.endMs = candidates.at(-1)!.tMs
      return advance(Number.POSITIVE_INFINITY)
    },
  }
}

/** Two pictures that a person would call the same one: the layout of light, the hash and nearly every pixel agree. Small text on a flat card is told apart by its pixels. */
export function isNearDuplicate(a: FrameFeatures, b: FrameFeatures): boolean {
  return lumaDistance(a.mini, b.mini) <= 3 && changedShare(a, b) < 0.015
}

function hasChanged(last: Candidate | null, candidate: Candidate): boolean {
  if (!last) return true
  return (
    changedShare(last.features, candidate.features) >= BEAT_CHANGED_SHARE ||
    miniDistance(last.features.mini, candidate.features.mini) >= BEAT_DISTANCE
  )
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

function median(values: number[]): number {
  if (values.length === 0) return 0
  return [...values].sort((a, b) => a - b)[(values.length - 1) >> 1]!
}

function clock(tMs: number): string {
  const seconds = tMs / 1000
  return `${Math.floor(seconds / 60)}:${(seconds % 60).toFixed(1).padStart(4, '0')}`
}
