import type { CameraMove } from '../../vocabulary.ts'
import { type FrameFeatures, PICTURE_WIDTH } from '../shots/features.ts'
import { STILL_DIFFERENCE } from '../shots/thresholds.ts'
import { isScroll, type Motion, motionBetween, scaledPicture, setPicture } from './camera-motion.ts'

/** Pictures are compared so far apart, and closer after a motion that was not found: it may be too quick. */
const SPACING_MS = 200
const CLOSE_MS = 100
/** A slow motion is measured against one picture for so long, up to so many pixels: single steps are too small. */
const SLOW_MS = 1000
const SLOW_PIXELS = 1.5
/** Stamps of a rate such as 24 a second miss the spacing by less. */
const SLACK_MS = 10

/*
 * What makes a class. The form of the rules and their first values are those of a prototype; they were set on 90 made
 * moves over ten pictures and clips, and tried on 198 over 22 others. Speeds are per cent of the picture's width a
 * second, growth is per cent a second, the rest are shares of the time.
 */
const LEAST_SEC = 0.3
const HELD_SHARE = 0.8
const KNOWN_SHARE = 0.4
const SCROLL_SHARE = 0.15
const ZOOM = 1
const ONE_WAY = 0.7
const PAN = 1.2
const STRAIGHT = 0.5
const WANDER = 1.2
const SHAKE = 1.5

const STILL: Motion = { x: 0, y: 0, growth: 0 }

interface Pair {
  fromMs: number
  toMs: number
  isHeld: boolean
  isScroll: boolean
  /** Null where the picture was held, and where most of it does not move as one. */
  motion: Motion | null
}

/** Tells how the camera moves, from pairs of pictures a fifth of a second apart. Held pictures cost nothing. */
export function createCameraMeter() {
  const pairs: Pair[] = []
  let [before, after] = [scaledPicture(), scaledPicture()]
  let beforeMs = Number.NaN
  let fromMs = Number.NaN
  let seenMs = Number.NaN
  let seen = before.full.data
  let isHeld = true
  /** From `before` to the last picture that was compared with it. */
  let far = STILL
  let last: Motion | null = STILL

  function compare(tMs: number, picture: Uint8Array): Pair {
    setPicture(after, picture)
    const moved = motionBetween(before, after, plus(far, last ?? STILL))
    const pair = { fromMs, toMs: tMs, isHeld, isScroll: isScroll(before, after), motion: moved && minus(moved, far) }
    last = pair.motion
    far = moved ?? STILL
    if (moved && tMs - beforeMs < SLOW_MS && reachOf(moved) <= SLOW_PIXELS) return pair
    ;[before, after] = [after, before]
    beforeMs = tMs
    far = STILL
    return pair
  }

  function close(tMs: number, picture: Uint8Array): void {
    pairs.push(isHeld ? heldPair(fromMs, tMs) : compare(tMs, picture))
    fromMs = tMs
    isHeld = true
  }

  return {
    /** The next frame of the film. */
    add({ tMs, picture, difference }: FrameFeatures): void {
      if (Number.isNaN(beforeMs)) {
        setPicture(before, picture)
        beforeMs = fromMs = seenMs = tMs
      }
      // A variable rate leaves out pictures that repeat: the last one stood until now.
      if (tMs - seenMs > SPACING_MS + SLACK_MS) {
        if (!isHeld) close(seenMs, seen)
        pairs.push(heldPair(fromMs, tMs - SPACING_MS))
        fromMs = tMs - SPACING_MS
      }
      isHeld &&= difference < STILL_DIFFERENCE
      seenMs = tMs
      seen = picture
      if (tMs - fromMs < (last ? SPACING_MS : CLOSE_MS) - SLACK_MS) return
      close(tMs, picture)
    },
    /** How the camera moves in a stretch without transitions. */
    move({ startMs, endMs }: { startMs: number; endMs: number }): CameraMove {
      // A pair up to the end compares with the next shot. Both ends are rounded.
      const from = firstFrom(pairs, (pair) => pair.fromMs >= startMs - 1)
      const end = firstFrom(pairs, (pair) => pair.toMs >= endMs - 1)
      const found = pairs.slice(from, end)
      // No frame tells that the last one of the film stood.
      if (seenMs >= startMs - 1 && endMs - seenMs > SPACING_MS + SLACK_MS)
        found.push(heldPair(isHeld ? Math.max(fromMs, startMs) : seenMs, endMs))
      return classOf(found)
    },
  }
}

function classOf(pairs: readonly Pair[]): CameraMove {
  if (secondsOf(pairs) < LEAST_SEC) return 'unknown'
  const moving = pairs.filter((pair) => !pair.isHeld)
  const scrolls = moving.filter((pair) => pair.isScroll)
  if (scrolls.length >= 2 && secondsOf(scrolls) >= SCROLL_SHARE * secondsOf(moving)) return 'scroll'
  const heldSec = secondsOf(pairs) - secondsOf(moving)
  if (heldSec >= HELD_SHARE * secondsOf(pairs)) return 'static'
  const known = moving.filter((pair) => pair.motion !== null)
  if (secondsOf(known) < KNOWN_SHARE * secondsOf(moving)) return 'unknown'
  const motions = known.map((pair) => pair.motion!)
  const net = motions.reduce(plus, STILL)
  const seconds = heldSec + secondsOf(known)
  const speed = (pixels: number) => (100 * Math.abs(pixels)) / PICTURE_WIDTH / seconds
  const [x, y, path] = [speed(net.x), speed(net.y), speed(motions.reduce((sum, one) => sum + wayOf(one), 0))]
  const growth = (100 * Math.abs(net.growth)) / seconds
  const oneWay = motions.filter((one) => one.growth * net.growth > 0).length / motions.length
  if (growth >= ZOOM && oneWay >= ONE_WAY && growth > Math.max(x, y)) return 'zoom'
  if (Math.max(x, y) >= Math.max(PAN, STRAIGHT * path)) return x > y ? 'pan' : 'tilt'
  if (path >= WANDER) return shakeOf(known) >= SHAKE ? 'handheld' : 'unknown'
  return growth < ZOOM ? 'static' : 'unknown'
}

/** The median change of velocity from pair to pair. */
function shakeOf(known: readonly Pair[]): number {
  const changes = known.slice(1).flatMap((pair, n) => {
    const last = known[n]!
    if (pair.fromMs > last.toMs) return []
    const [now, then] = [100_000 / PICTURE_WIDTH / lengthOf(pair), 100_000 / PICTURE_WIDTH / lengthOf(last)]
    return Math.hypot(now * pair.motion!.x - then * last.motion!.x, now * pair.motion!.y - then * last.motion!.y)
  })
  return changes.sort((one, other) => one - other)[changes.length >> 1] ?? 0
}

/** The first place of a sorted list that is far enough; its length where none is. */
export function firstFrom<T>(sorted: readonly T[], isFar: (one: T) => boolean): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (isFar(sorted[middle]!)) high = middle
    else low = middle + 1
  }
  return low
}

const heldPair = (fromMs: number, toMs: number): Pair => {
  return { fromMs, toMs, isHeld: true, isScroll: false, motion: null }
}
const lengthOf = ({ fromMs, toMs }: Pair): number => toMs - fromMs
const secondsOf = (pairs: readonly Pair[]): number => pairs.reduce((sum, pair) => sum + lengthOf(pair), 0) / 1000
const plus = (a: Motion, b: Motion): Motion => ({ x: a.x + b.x, y: a.y + b.y, growth: a.growth + b.growth })
const minus = (a: Motion, b: Motion): Motion => ({ x: a.x - b.x, y: a.y - b.y, growth: a.growth - b.growth })
const wayOf = ({ x, y }: Motion): number => Math.hypot(x, y)
/** How far the farthest pixel goes. */
const reachOf = (motion: Motion): number => wayOf(motion) + (Math.abs(motion.growth) * PICTURE_WIDTH) / 2
