import type { Boundary } from '../shots/boundary.ts'
import { createShotDetector, HISTORY_FRAMES } from '../shots/detector.ts'
import { createFrameMeter } from '../shots/features.ts'
import { createRestMeter, type Held, type RestMeter } from './drawn-pictures.ts'
import { createFilmMeter } from './film-meter.ts'
import type { PickCandidate, PickedFrame } from './kept-frames.ts'
import { createLoopFinder, type Loop } from './loops.ts'
import { measureSharpness, type YuvPicture } from './measure.ts'
import { createPicker } from './picks.ts'

/** Frames between two decisions. A pick is not urgent, and each decision goes over all undecided candidates. */
const DECIDE_EVERY = 10
/** The least distance of two stills that a camera's shot considers. */
const CAMERA_SPACING_MS = 166

/**
 * Measures the decoded frames, finds the boundaries and decides which pictures are kept. A picked frame goes to `take`
 * with the motion around it; the memory of a picture that is not kept goes to `release`.
 */
export function createFrameAnalysis({
  take,
  release,
  withLoops = false,
}: {
  take: (picked: PickedFrame, motion: number) => void
  release: (memory: Uint8Array) => void
  withLoops?: boolean | undefined
}) {
  const detector = createShotDetector()
  const meter = createFrameMeter()
  const film = createFilmMeter()
  const rests = createRestMeter()
  const loops = withLoops ? createLoopFinder(film) : null
  const picker = createPicker(({ picture }) => release(picture.data))
  const boundaries: Boundary[] = []
  const recent: Array<{ tMs: number; difference: number }> = []
  // Stills and their frames come through different pipes. They are paired by order.
  const stills: YuvPicture[] = []
  const awaited: Still[] = []
  let cameraMs = Number.NEGATIVE_INFINITY
  let count = 0
  let endMs = 0

  function pairStills(): void {
    while (stills.length > 0 && awaited.length > 0) {
      const candidate = toCandidate(awaited.shift()!, stills.shift()!, rests)
      loops?.still(candidate)
      picker.add(candidate)
    }
  }

  function addBoundaries(found: Boundary[]): void {
    for (const boundary of found) {
      boundaries.push(boundary)
      picker.boundary(boundary)
    }
  }

  function takeAll(picks: PickedFrame[], certainMs: number): void {
    for (const picked of picks) {
      take(picked, motionAt(recent, picked.candidate.tMs))
      loops?.picked(picked.candidate.tMs)
    }
    loops?.advance(certainMs, boundaries)
  }

  return {
    boundaries,
    passedOver: picker.passedOver,
    film,
    /** Of the frames with most motion, if they were asked for. */
    get loops(): readonly Loop[] {
      return loops?.chosen ?? []
    },
    /** Frames seen. */
    get count() {
      return count
    },
    /** The latest instant seen. */
    get endMs() {
      return endMs
    },
    frame(tMs: number, data: Uint8Array, isStill: boolean): void {
      const frame = meter.measure(tMs, data)
      film.add(frame)
      rests.add(frame)
      endMs = Math.max(endMs, tMs)
      count++
      recent.push({ tMs, difference: frame.difference })
      if (recent.length > 4 * HISTORY_FRAMES) recent.splice(0, 2 * HISTORY_FRAMES)
      if (isStill) {
        const isForDrawn = tMs - cameraMs < CAMERA_SPACING_MS
        if (!isForDrawn) cameraMs = tMs
        awaited.push({ tMs, isForDrawn, features: frame })
      }
      addBoundaries(detector.push(frame))
      pairStills()
      // A frame is decided only after its still has come, so that picks do not depend on the timing of the pipes.
      if (count % DECIDE_EVERY !== 0) return
      const certainMs = Math.min(detector.certainMs, awaited[0]?.tMs ?? Number.POSITIVE_INFINITY)
      takeAll(picker.advance(certainMs), certainMs)
    },
    still(picture: YuvPicture): void {
      stills.push(picture)
      pairStills()
    },
    /** Hands over the last picks. */
    finish(): void {
      addBoundaries(detector.finish())
      takeAll(picker.finish(), Number.POSITIVE_INFINITY)
    },
  }
}

type Still = Pick<PickCandidate, 'tMs' | 'isForDrawn' | 'features'>

/** Sharpness is measured on demand: most pictures of a long shot are never considered. */
function toCandidate(frame: Still, picture: YuvPicture, rests: RestMeter): PickCandidate {
  let sharpness: number | null = null
  let held: Held | null = null
  return {
    ...frame,
    picture,
    get sharpness() {
      sharpness ??= measureSharpness(picture)
      return sharpness
    },
    get held() {
      held ??= rests.around(frame.tMs)
      return held
    },
  }
}

/** Mean change from frame to frame within a quarter of a second. */
function motionAt(frames: ReadonlyArray<{ tMs: number; difference: number }>, tMs: number): number {
  let sum = 0
  let count = 0
  for (const frame of frames) {
    if (Math.abs(frame.tMs - tMs) > 250 || frame.difference > 60) continue
    sum += frame.difference
    count++
  }
  return count ? sum / count : 0
}
