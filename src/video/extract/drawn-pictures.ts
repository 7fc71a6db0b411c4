import type { FrameRest } from '../../vocabulary.ts'
import { compareEdges, countEdges } from '../shots/compare.ts'
import { HISTORY_FRAMES } from '../shots/detector.ts'
import { type FrameFeatures, MINI_PIXELS, MINI_WIDTH, PICTURE_HEIGHT, PICTURE_WIDTH } from '../shots/features.ts'

/** How drawn pictures compare: motion graphics, slides and screens, whose grounds are flat and without noise. */

/**
 * Blocks are of 2×2 pixels of 160×90, edges of its pixels. Values were set on films of motion graphics that `bench
 * picks` makes, of seeds kept for tuning.
 */
export const LIMITS = {
  /** A block has changed when its luma differs by more. Compression and grain stay below. */
  changedBy: 10,
  /** A cell of the mini image has another colour where its chroma differs by more. */
  recolouredBy: 10,
  /** So many edges stand in both of two states, between other colours. */
  recoloured: 20,
  /** So few blocks may change between two stills at rest: a caret, a clock. */
  quiet: 6,
  /** A slow drift rests where it changes by less than this share of the liveliest step before. */
  calmShare: 0.4,
  /** Never where more changes: a scene that leaves behind a change of its ground. */
  calm: 250,
  /** Steps below this are no build-up to be compared with. */
  lively: 40,
  /** A drift keeps its edges, a slow fade loses them. */
  calmEdges: 0.08,
  /** Two rests show the same where fewer blocks differ. */
  same: 12,
  /** Two pictures are alike where so few differ, and most edges stand in both. */
  alike: 90,
  alikeEdges: 0.85,
  /** Of the edges of two alike pictures so few stand in the place of others. */
  replaced: 0.05,
  /** So few differ between an overshoot and its end. */
  little: 150,
  /** Of a step's edges so many stand in what it was built up to. */
  contained: 0.8,
  /** Where the pictures differ, the step may lose so much of its own edges there, and of those that came. */
  lostOfOwn: 0.35,
  lostOfNew: 0.12,
  /** A caret is lost, too. */
  lostAlways: 6,
  /** A step of a build-up adds edges; a panel that changes its colour does not. */
  added: 10,
  /** A dot or a caret has so few edges: beside another state it is none. */
  nearlyBlank: 24,
  /** So many edges are letters or figures, and so many of them may be lost over a ground that moves. */
  figures: 60,
  moved: 0.03,
  /** Of nearly equally full pictures the last is the most complete: what fades in has its edges early. */
  nearlyFull: 0.95,
  /** Pictures of one rest are equally full from this share on: compression adds edges behind a movement. */
  asFull: 0.92,
  /** A drawn picture is flat over so much of its area. */
  flatShare: 0.7,
} as const

type Seen = Pick<FrameFeatures, 'picture' | 'mini'>

/** A state of a scene: its picture, how much it shows, and how long it lasted. */
type State = Pick<FrameRest, 'edges' | 'fromMs' | 'toMs' | 'isAtRest'> & { candidate: { features: FrameFeatures } }

/** So short a rest is a halt, where another one follows so soon. */
const BRIEF_MS = 300
const SOON_MS = 600
/** More than the distance of two stills. */
const NEXT_STILL_MS = 250

/** Whether it rested for an instant only. */
export function isBrief({ fromMs, toMs }: Pick<State, 'fromMs' | 'toMs'>): boolean {
  return toMs - fromMs < BRIEF_MS
}

/** Whether a state is a short halt right before a long rest. */
export function isHalt(earlier: State, later: State): boolean {
  return isBrief(earlier) && !isBrief(later) && later.fromMs - earlier.toMs < SOON_MS
}

/** What a later state is to an earlier one. */
export function relate(earlier: State, later: State): 'same' | 'grows' | 'leaves' | 'new' {
  const [a, b] = [earlier.candidate.features, later.candidate.features]
  const changed = changedBlocks(a, b)
  if (changed <= LIMITS.same) return 'same'
  const isGrown = later.edges >= earlier.edges && isPartOf(a, b)
  if (isRecoloured(a, b, isGrown)) return 'new'
  // The last breath of a movement: an overshoot holds still for an instant, then settles.
  const gapMs = later.fromMs - earlier.toMs
  const isOneMovement = gapMs < NEXT_STILL_MS || (isBrief(earlier) && gapMs < SOON_MS)
  if (isOneMovement && later.isAtRest && changed <= LIMITS.little && later.edges >= 0.8 * earlier.edges) return 'grows'
  if (later.edges >= earlier.edges) return isGrown || looksTheSame(a, b) ? 'grows' : 'new'
  return isPartOf(b, a) ? 'leaves' : 'new'
}

/**
 * Whether the fuller picture shows all of the part: the part's edges stand there too, and where the pictures differ the
 * part has ground. A panel that changes its content keeps most edges of the whole, but few of those where it changed.
 */
function isPartOf(part: FrameFeatures, whole: FrameFeatures): boolean {
  const all = compareEdges(part.picture, whole.picture)
  if (all.kept < LIMITS.contained * all.edges) return false
  const changed = compareEdges(part.picture, whole.picture, differing(part, whole))
  const lost = changed.edges - changed.kept
  const mayLose = Math.min(LIMITS.lostOfOwn * changed.edges, LIMITS.lostOfNew * changed.otherEdges)
  return lost <= Math.max(LIMITS.lostAlways, mayLose) && changed.otherEdges - changed.kept >= LIMITS.added
}

/** Whether a person would call two drawn pictures the same one: a line more in a full window is no other picture. */
export function looksTheSame(a: FrameFeatures, b: FrameFeatures): boolean {
  const changed = changedBlocks(a, b, LIMITS.alike)
  if (changed <= LIMITS.same || changed > LIMITS.alike) return changed <= LIMITS.same
  const { edges, otherEdges, kept } = compareEdges(a.picture, b.picture)
  const most = Math.max(edges, otherEdges)
  if (kept < LIMITS.alikeEdges * most) return false
  // A small panel that changed its content has other edges in place of its own.
  const there = compareEdges(a.picture, b.picture, differing(a, b))
  return Math.min(there.edges, there.otherEdges) - there.kept < LIMITS.replaced * most
}

/** Whether what stands in both pictures has another colour: a panel that is swapped in place keeps its edges. */
function isRecoloured(a: FrameFeatures, b: FrameFeatures, isGrown = false): boolean {
  const isOther = recolouring(a, b)
  if (!isOther || compareEdges(a.picture, b.picture, isOther).kept < LIMITS.recoloured) return false
  // A step of a build-up may colour what was there. What it adds stands beside that.
  const beside = isGrown ? compareEdges(a.picture, b.picture, (at) => !isOther(at)) : null
  return !beside || beside.otherEdges - beside.kept < LIMITS.added
}

/** Tells whether a pixel lies in a cell of the mini image whose colour differs. Null where none does. */
function recolouring({ mini: a }: Seen, { mini: b }: Seen): ((at: number) => boolean) | null {
  const cells = new Uint8Array(MINI_PIXELS)
  for (let u = MINI_PIXELS, v = 2 * MINI_PIXELS; u < 2 * MINI_PIXELS; u++, v++)
    if (Math.max(Math.abs(a[u]! - b[u]!), Math.abs(a[v]! - b[v]!)) > LIMITS.recolouredBy) cells[u - MINI_PIXELS] = 1
  if (!cells.includes(1)) return null
  return (at) =>
    cells[Math.floor(at / PICTURE_WIDTH / CELL) * MINI_WIDTH + Math.floor((at % PICTURE_WIDTH) / CELL)] === 1
}

/** Pixels of 160×90 along the side of a cell of the mini image. */
const CELL = PICTURE_WIDTH / MINI_WIDTH

/** Whether letters and figures stand in place on a smooth ground, which may move behind them, `by` so much. */
export function isSteady({ picture: a }: Seen, after: Seen, by: number): boolean {
  if (!hasFlatGround(after)) return false
  const b = after.picture
  const edges = Math.max(countEdges(a), countEdges(b))
  const { kept } = compareEdges(a, b, (at) => Math.abs(a[at]! - b[at]!) <= by)
  return edges >= LIMITS.figures && edges - kept < Math.max(LIMITS.added, LIMITS.moved * edges)
}

/** Whether the pixel of an edge, or one beside it, differs. */
function differing({ picture: a }: FrameFeatures, { picture: b }: FrameFeatures) {
  return (at: number) =>
    [at, at + 1, at + PICTURE_WIDTH].some((pixel) => Math.abs(a[pixel]! - b[pixel]!) > LIMITS.changedBy)
}

/** Blocks that differ, in luma or by their cell's colour. Counting ends with the row in which more than `enough` do. */
export function changedBlocks(first: Seen, second: Seen, enough = Number.POSITIVE_INFINITY): number {
  const [a, b] = [first.picture, second.picture]
  const isOther = recolouring(first, second)
  let changed = 0
  for (let row = 0; row < PICTURE_HEIGHT && changed <= enough; row += 2) {
    const end = (row + 1) * PICTURE_WIDTH
    for (let at = row * PICTURE_WIDTH; at < end; at += 2) {
      const below = at + PICTURE_WIDTH
      const sum = a[at]! + a[at + 1]! + a[below]! + a[below + 1]! - b[at]! - b[at + 1]! - b[below]! - b[below + 1]!
      if (Math.abs(sum) > 4 * LIMITS.changedBy || isOther?.(at)) changed++
    }
  }
  return changed
}

/** Whether most of the picture is flat, as a drawn ground is. */
export function hasFlatGround({ picture }: Pick<FrameFeatures, 'picture'>): boolean {
  let flat = 0
  for (let i = 0; i < picture.length - 161; i++)
    if (Math.abs(picture[i + 1]! - picture[i]!) <= 2 && Math.abs(picture[i + 160]! - picture[i]!) <= 2) flat++
  return flat >= LIMITS.flatShare * picture.length
}

/** A stretch in which every picture looks the same. */
export interface Held {
  fromMs: number
  toMs: number
}

/** A picture that stands for so long is at rest. Shorter ones come of typing and of easings at a low rate. */
export const HELD_MS = 100
/** Movements that are remembered. The picker's candidates go back by fewer frames. */
const REMEMBERED = 4 * HISTORY_FRAMES

export type RestMeter = ReturnType<typeof createRestMeter>

/** Tells rests by every frame, which stills are too far apart for. */
export function createRestMeter() {
  let held: FrameFeatures | undefined
  /** Instants of pictures that differ from the one held before. */
  let moves: number[] = []
  return {
    /** The next frame of the film. */
    add(frame: FrameFeatures): void {
      if (held && changedBlocks(held, frame, LIMITS.quiet) <= LIMITS.quiet) return
      held = frame
      moves.push(frame.tMs)
      if (moves.length > 2 * REMEMBERED) moves = moves.slice(-REMEMBERED)
    },
    /** How long the picture at `tMs` was held, as far as is known: at most `HELD_MS` to both sides. */
    around(tMs: number): Held {
      const fromMs = moves.findLast((move) => move <= tMs) ?? tMs
      const toMs = moves.find((move) => move > tMs) ?? Number.POSITIVE_INFINITY
      return { fromMs: Math.max(fromMs, tMs - HELD_MS), toMs: Math.min(toMs, tMs + HELD_MS) }
    },
  }
}
