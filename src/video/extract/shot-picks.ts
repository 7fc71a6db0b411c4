import type { FrameRest } from '../../vocabulary.ts'
import type { Boundary } from '../shots/boundary.ts'
import { isBlank, miniDistance } from '../shots/compare.ts'
import {
  addStill,
  type CompositionFinder,
  createCompositionFinder,
  finishShot,
  holdsStill,
  takeFullest,
} from './compositions.ts'
import { HELD_MS, hasFlatGround, isBrief } from './drawn-pictures.ts'
import { CHANGED_SHARE, changedShare, type KeptFrames, type PickCandidate, type PickedFrame } from './kept-frames.ts'

/**
 * The budget: one frame for each shot, and more in a long shot that changes. Those are four seconds apart at first and
 * up to twelve later. Never more than a hundred in a minute.
 */
export const PICK_LIMITS = {
  /** How far into a shot its first frame is looked for. */
  openingMs: 1500,
  /** How much of the shot must be seen before its usual sharpness is known. */
  sharpnessMs: 2500,
  /** The least distance of a brief rest to the frame before it. */
  briefGapMs: 800,
  briefGapGrows: 1.4,
  /** A shorter shot that never rests is no composition. */
  restlessMs: 600,
  beatGapMs: 4000,
  beatGapGrows: 1.25,
  beatGapAtMostMs: 12_000,
  beatWindowMs: 2000,
  introMs: 4000,
  perMinute: 100,
  /** Shots shorter than 0.6 s are left out once a minute holds this many frames. */
  perMinuteBeforeShort: 60,
} as const

/** Distance kept from the ends of a transition. */
const GUARD_MS = 34
const BEAT_DISTANCE = 6
const SEEN_AT_MOST = 400

/** A shot whose frames are being picked. */
export interface PickedShot {
  /** A drawn shot gives its compositions; a camera's shot a sharp frame near its start, and more as it changes. */
  nature: 'unknown' | 'drawn' | 'camera'
  compositions: CompositionFinder
  /** The last still that the finder has seen. */
  seenToMs: number
  /** Stills seen while its nature is unknown, and how many of them are drawn. */
  judged: { all: number; drawn: number }
  /** Whether a frame of it is kept. */
  hasKept: boolean
  startMs: number
  endMs: number | null
  /** What ends it, where it is known. */
  endsIn: Boundary['type'] | null
  /** Whether the film ends with it: what it shows last is no passing state. */
  endsFilm: boolean
  boundary: Boundary | null
  /** Whether its first frame is decided. */
  opened: boolean
  /** Where the search for its next frame goes on. */
  fromMs: number
  gapMs: number
  briefGapMs: number
  last: PickCandidate | null
  /** Sharpness of the candidates considered so far. */
  seen: number[]
}

/** What a decision rests on. */
export interface PickState {
  candidates: readonly PickCandidate[]
  kept: KeptFrames
  /** Everything before this instant is known. */
  certainMs: number
}

/** Every shot but the first begins with a boundary. */
export function startShot(boundary: Boundary | null): PickedShot {
  const startMs = boundary?.endMs ?? 0
  return {
    nature: 'unknown',
    compositions: createCompositionFinder(),
    seenToMs: Number.NEGATIVE_INFINITY,
    judged: { all: 0, drawn: 0 },
    hasKept: false,
    startMs,
    endMs: null,
    endsIn: null,
    endsFilm: false,
    boundary,
    opened: false,
    fromMs: startMs,
    gapMs: PICK_LIMITS.beatGapMs,
    briefGapMs: PICK_LIMITS.briefGapMs,
    last: null,
    seen: [],
  }
}

/** Picks frames of a shot as far as is certain. True when the shot holds no more. */
export function pickShot(shot: PickedShot, state: PickState): boolean {
  if (shot.nature !== 'camera') {
    const isWhole = seeCompositions(shot, state)
    if (isWhole && shot.nature === 'unknown') judgeNature(shot)
    if (shot.nature === 'unknown') return false
  }
  if (shot.nature === 'camera') return (shot.opened || openShot(shot, state)) && followShot(shot, state)
  return pickDrawn(shot, state)
}

/** Whether the picker may still need this still for the shot. */
export function needsStill(shot: PickedShot, candidate: PickCandidate): boolean {
  const mayOpen = !candidate.isForDrawn && candidate.tMs >= shot.fromMs
  if (shot.nature === 'camera') return mayOpen
  if (shot.nature === 'unknown' && mayOpen) return true
  return candidate.tMs > shot.seenToMs || holdsStill(shot.compositions, candidate)
}

function judgeNature(shot: PickedShot): void {
  const { compositions, judged } = shot
  shot.nature = compositions.hasRested || judged.drawn * 2 > judged.all ? 'drawn' : 'camera'
}

/** Shows the finder the stills that are certain. True when the whole shot was seen. */
function seeCompositions(shot: PickedShot, state: PickState): boolean {
  const isWhole = isComplete(shot, state.certainMs)
  for (const candidate of inside(shot, state, Number.POSITIVE_INFINITY, 'drawn')) {
    if (candidate.tMs <= shot.seenToMs || (!isWhole && candidate.tMs + HELD_MS >= state.certainMs)) continue
    // Judged by the stills alone, so that picks do not depend on when they come.
    if (shot.nature === 'unknown' && candidate.tMs >= shot.startMs + PICK_LIMITS.sharpnessMs) judgeNature(shot)
    if (shot.nature === 'camera') return false
    shot.seenToMs = candidate.tMs
    shot.judged.all++
    if (hasFlatGround(candidate.features)) shot.judged.drawn++
    // The begin of a dissolve is told a frame or two late.
    const isMixed = shot.endsIn === 'dissolve' && candidate.tMs > shot.endMs! - HELD_MS
    addStill(shot.compositions, candidate, isMixed)
    keepRestless(shot, state)
  }
  const isShort = !shot.endsFilm && shot.endMs !== null && shot.endMs - shot.startMs < PICK_LIMITS.restlessMs
  const unrested = shot.endsIn === null || shot.endsIn === 'cut' ? 'counts' : 'atEnd'
  if (isWhole) finishShot(shot.compositions, isShort ? 'never' : unrested)
  return isWhole
}

function pickDrawn(shot: PickedShot, state: PickState): boolean {
  state.kept.passOver(...shot.compositions.passedOver.splice(0))
  for (const { candidate, ...rest } of shot.compositions.found.splice(0)) {
    const why = reasonToPassOver(shot, state.kept, { candidate, rest })
    if (why) {
      state.kept.passOver({ tMs: candidate.tMs, why })
      continue
    }
    if (rest.isAtRest && isBrief(rest)) {
      shot.briefGapMs = Math.min(PICK_LIMITS.beatGapAtMostMs, shot.briefGapMs * PICK_LIMITS.briefGapGrows)
    }
    keepOfShot(shot, state.kept, { candidate, rest })
  }
  return isComplete(shot, state.certainMs)
}

function reasonToPassOver(
  shot: PickedShot,
  kept: KeptFrames,
  { candidate, rest }: { candidate: PickCandidate; rest: FrameRest },
): string | null {
  if (kept.isKnown(candidate, 'drawn')) return 'it looks like a frame kept before'
  if (isOverBudget(shot, kept, candidate.tMs)) return 'the limit of frames a minute is reached'
  // Typing and scrolling halt often: of a shot's brief rests ever fewer are kept.
  const isTooSoon = shot.last !== null && candidate.tMs - shot.last.tMs < shot.briefGapMs
  return rest.isAtRest && isBrief(rest) && isTooSoon ? 'a brief rest, soon after the frame before' : null
}

/** A long stretch of a drawn shot that never rests is represented by its fullest picture. */
function keepRestless(shot: PickedShot, state: PickState): void {
  const { kept } = state
  if (shot.nature !== 'drawn' || shot.compositions.rest !== null) return
  const since = shot.compositions.restlessSinceMs
  const from = Math.max(since ?? Number.POSITIVE_INFINITY, shot.last?.tMs ?? shot.startMs)
  if (shot.seenToMs - from < shot.gapMs) return
  const candidate = takeFullest(shot.compositions)
  pickDrawn(shot, state)
  if (!candidate || !hasChanged(shot.last, candidate) || kept.isKnown(candidate)) return
  if (isOverBudget(shot, kept, candidate.tMs)) return
  shot.gapMs = Math.min(PICK_LIMITS.beatGapAtMostMs, shot.gapMs * PICK_LIMITS.beatGapGrows)
  keepOfShot(shot, kept, { candidate, rest: null })
}

function keepOfShot(
  shot: PickedShot,
  kept: KeptFrames,
  { candidate, rest }: Pick<PickedFrame, 'candidate' | 'rest'>,
): void {
  const kind = shot.boundary && !shot.hasKept ? 'cut' : laterKind(shot, candidate)
  shot.hasKept = true
  shot.last = candidate
  kept.keep({ candidate, kind, reason: reasonOf(shot, candidate, rest), rest })
}

/** The kind of a frame that does not open a shot behind a boundary. */
function laterKind({ boundary }: PickedShot, { tMs }: PickCandidate): 'intro' | 'beat' {
  return !boundary && tMs <= PICK_LIMITS.introMs ? 'intro' : 'beat'
}

function reasonOf({ boundary }: PickedShot, { tMs }: PickCandidate, rest: PickedFrame['rest']): string {
  const shot = boundary ? `Shot from ${clock(boundary.endMs)}` : 'First shot'
  if (!rest) return `${shot}: it does not rest here; this is its fullest picture at ${clock(tMs)}.`
  if (!rest.isAtRest) return `${shot}: its build-up is cut off; this is its fullest picture, at ${clock(tMs)}.`
  const built = rest.steps > 0 ? `, after ${rest.steps} ${rest.steps === 1 ? 'step' : 'steps'} of its build-up` : ''
  return `${shot}: complete and at rest from ${clock(rest.fromMs)} to ${clock(rest.toMs)}${built}.`
}

/** Picks the first frame of a shot. False when more of the shot must be seen first. */
function openShot(shot: PickedShot, state: PickState): boolean {
  while (true) {
    const toMs = shot.fromMs + PICK_LIMITS.openingMs
    const known = isComplete(shot, state.certainMs) ? Number.POSITIVE_INFINITY : state.certainMs
    if (known < shot.fromMs + PICK_LIMITS.sharpnessMs) return false
    shot.seen = inside(shot, state, shot.fromMs + PICK_LIMITS.sharpnessMs).map(({ sharpness }) => sharpness)
    const usable = inside(shot, state, toMs)
    const chosen = bySharpness(usable, median(shot.seen)).find((candidate) => !state.kept.isKnown(candidate))
    if (!chosen && usable[0])
      state.kept.passOver({ tMs: usable[0].tMs, why: 'the shot is not sharp, or looks like a frame kept before' })
    if (chosen && !isOverBudget(shot, state.kept, chosen.tMs)) keepOpening(shot, state.kept, chosen)
    shot.last = chosen ?? usable[0] ?? shot.last
    if (shot.last) {
      shot.opened = true
      shot.fromMs = shot.last.tMs + PICK_LIMITS.beatGapMs / (shot.boundary ? 1 : 2)
      return true
    }
    // Only blank pictures so far: a fade from black, a pause. The search goes on in the same shot.
    shot.fromMs = toMs
    if (shot.endMs !== null && shot.fromMs >= shot.endMs) {
      shot.opened = true
      return true
    }
  }
}

/** Picks later frames of a long shot where the picture has changed. True when the shot holds no more. */
function followShot(shot: PickedShot, state: PickState): boolean {
  while (true) {
    const endMs = shot.endMs ?? Number.POSITIVE_INFINITY
    if (shot.fromMs >= endMs) return isComplete(shot, state.certainMs)
    const toMs = shot.fromMs + PICK_LIMITS.beatWindowMs
    if (state.certainMs < Math.min(toMs, endMs)) return false
    const window = inside(shot, state, toMs)
    const around = window.map(({ sharpness }) => sharpness)
    shot.seen = [...shot.seen, ...around].slice(-SEEN_AT_MOST)
    const usual = Math.max(median(around), median(shot.seen))
    const chosen = window.find(
      (candidate) => candidate.sharpness >= usual && hasChanged(shot.last, candidate) && !state.kept.isKnown(candidate),
    )
    if (!chosen || isOverBudget(shot, state.kept, chosen.tMs)) {
      shot.fromMs += PICK_LIMITS.beatWindowMs / 2
      continue
    }
    keepBeat(shot, state.kept, chosen)
    shot.gapMs = Math.min(PICK_LIMITS.beatGapAtMostMs, shot.gapMs * PICK_LIMITS.beatGapGrows)
    shot.fromMs = chosen.tMs + shot.gapMs
  }
}

function keepOpening(shot: PickedShot, kept: KeptFrames, candidate: PickCandidate): void {
  const { boundary, startMs } = shot
  if (!boundary) {
    kept.keep({ candidate, kind: laterKind(shot, candidate), reason: 'Opening of the video.', rest: null })
    return
  }
  const { type, through } = boundary
  const tMs = Math.round(type === 'cut' ? boundary.tMs : startMs)
  const how = through ? `${type} through ${through}` : type
  const later = (Math.max(0, candidate.tMs - tMs) / 1000).toFixed(2)
  const reason = `New shot by ${how} at ${clock(tMs)}; sharp frame ${later} s into it.`
  kept.keep({ candidate, kind: 'cut', reason, rest: null })
}

function keepBeat(shot: PickedShot, kept: KeptFrames, candidate: PickCandidate): void {
  const last = shot.last!
  const share = Math.max(1, Math.round(changedShare(last.features, candidate.features) * 100))
  const kind = laterKind(shot, candidate)
  const where = kind === 'intro' ? 'Opening of the video' : 'Long shot'
  const reason = `${where}: ${share} % of the picture has changed since ${clock(last.tMs)}.`
  shot.last = candidate
  kept.keep({ candidate, kind, reason, rest: null })
}

/** The shot's candidates from `fromMs` to `toMs`, without transitions. A camera's shot takes no blank ones. */
function inside(
  shot: PickedShot,
  { candidates }: PickState,
  toMs: number,
  nature: 'drawn' | 'camera' = 'camera',
): PickCandidate[] {
  const guardMs = shot.boundary?.type === 'cut' ? 0 : GUARD_MS
  const first = shot.boundary ? Math.max(shot.fromMs, shot.startMs + guardMs) : shot.fromMs
  const last = Math.min(toMs, shot.endMs ?? Number.POSITIVE_INFINITY)
  const isUsed = ({ isForDrawn, features }: PickCandidate) => nature === 'drawn' || (!isForDrawn && !isBlank(features))
  return candidates.filter((one) => one.tMs >= first && one.tMs <= last && isUsed(one))
}

/** The sharp candidates in order of time, then the less sharp ones from the sharpest down, without smeared ones. */
function bySharpness(usable: readonly PickCandidate[], usual: number): PickCandidate[] {
  const sharp = usable.filter(({ sharpness }) => sharpness >= usual)
  const rest = usable
    .filter(({ sharpness }) => sharpness < usual && sharpness >= usual * 0.6)
    .sort((a, b) => b.sharpness - a.sharpness)
  return [...sharp, ...rest]
}

function isOverBudget(shot: PickedShot, kept: KeptFrames, tMs: number): boolean {
  const short = shot.endMs !== null && shot.endMs - shot.startMs < 600
  return kept.countInMinute(tMs) >= (short ? PICK_LIMITS.perMinuteBeforeShort : PICK_LIMITS.perMinute)
}

/**
 * Whether the shot's end is known and every candidate before it has come. Candidates may lag behind the boundaries,
 * and picks must not depend on that.
 */
function isComplete(shot: PickedShot, certainMs: number): boolean {
  return shot.endMs !== null && certainMs >= shot.endMs
}

function hasChanged(last: PickCandidate | null, candidate: PickCandidate): boolean {
  if (!last) return true
  return (
    changedShare(last.features, candidate.features) >= CHANGED_SHARE ||
    miniDistance(last.features.mini, candidate.features.mini) >= BEAT_DISTANCE
  )
}

function median(values: number[]): number {
  if (values.length === 0) return 0
  return [...values].sort((a, b) => a - b)[(values.length - 1) >> 1]!
}

function clock(tMs: number): string {
  const seconds = tMs / 1000
  return `${Math.floor(seconds / 60)}:${(seconds % 60).toFixed(1).padStart(4, '0')}`
}
