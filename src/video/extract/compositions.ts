import type { FrameRest } from '../../vocabulary.ts'
import { compareEdges, countEdges, isBlank } from '../shots/compare.ts'
import { changedBlocks, HELD_MS, hasFlatGround, isBrief, isHalt, isSteady, LIMITS, relate } from './drawn-pictures.ts'
import type { PassedOver, PickCandidate } from './kept-frames.ts'

/**
 * A stretch of a drawn shot in which the picture is complete and at rest. States that are only steps of a build-up are
 * none: what they show is contained in the next one.
 */
interface Composition extends FrameRest {
  /** The fullest picture of its rest. */
  candidate: PickCandidate
  /** It stood for an instant only, and went over into what came next. */
  isPassing: boolean
  /** The state that a brief one grew over: where the next one shows nothing of it, both were seen at once. */
  over: Composition | null
}

/** What is known of a drawn shot so far. */
export interface CompositionFinder {
  previous: PickCandidate | null
  rest: Rest | null
  /** The composition that a later rest may still contain. */
  open: Composition | null
  /** The fullest picture since the last rest. */
  fullest: { candidate: PickCandidate; edges: number } | null
  /** Blocks that changed in the liveliest step since the last rest. */
  liveliest: number
  /** The instant since which nothing has rested; null while it rests. */
  restlessSinceMs: number | null
  hasRested: boolean
  /** Compositions that no later still can change. */
  found: Composition[]
  /** Rests that are no compositions. */
  passedOver: PassedOver[]
}

interface Rest {
  members: PickCandidate[]
  fromMs: number
  builtFromMs: number
  /** Nothing in it held quite still. */
  isCalmOnly: boolean
}

/** Pictures of a rest that are kept for the choice. */
const CHOICE = 5
/** Of a longer rest the last picture is left out: what leaves may begin slowly. */
const LONG_MS = 500
/** At most the distance of two stills. */
const CONTIGUOUS_MS = 140
/** A rest under this is an instant. It says nothing of the shot: a camera's subject may hold still for so long. */
const INSTANT_MS = 150
/** A drift rests when it lasts. */
const DRIFT_MS = 400

export function createCompositionFinder(): CompositionFinder {
  const nothing = { previous: null, rest: null, open: null, fullest: null, restlessSinceMs: null }
  return { ...nothing, liveliest: 0, hasRested: false, found: [], passedOver: [] }
}

/** Whether the picture of this still may yet be picked. */
export function holdsStill({ previous, rest, open, fullest, found }: CompositionFinder, still: PickCandidate): boolean {
  return (
    [previous, open?.candidate, open?.over?.candidate, fullest?.candidate].includes(still) ||
    (rest?.members.includes(still) ?? false) ||
    found.some(({ candidate }) => candidate === still)
  )
}

/** The next still of the shot. One that may be mixed with the next shot only prolongs a rest. */
export function addStill(finder: CompositionFinder, still: PickCandidate, isMixed: boolean): void {
  const before = finder.previous
  if (isBlank(still.features)) {
    closeRest(finder)
    giveUpOpen(finder)
    Object.assign(finder, { previous: null, fullest: null, liveliest: 0, restlessSinceMs: still.tMs })
    return
  }
  const step = before ? changedBlocks(before.features, still.features) : Number.POSITIVE_INFINITY
  const isQuiet = step <= LIMITS.quiet
  const isCalm = finder.liveliest >= LIMITS.lively && step <= Math.min(LIMITS.calm, LIMITS.calmShare * finder.liveliest)
  const rests = isQuiet || (isCalm && hasFlatGround(still.features))
  const isOnMovingGround = () => step <= LIMITS.calm && isSteady(before!.features, still.features, LIMITS.changedBy)
  const goesOn = before && (rests || isOnMovingGround())
  if (isMixed && !goesOn) return
  finder.previous = still
  if (goesOn) {
    addToRest(finder, { before, still, isQuiet })
    return
  }
  closeRest(finder, still)
  finder.restlessSinceMs ??= still.tMs
  if (isHeld(still)) finder.rest = startRest(still, { builtFromMs: finder.restlessSinceMs, isCalmOnly: true })
  if (before) finder.liveliest = Math.max(finder.liveliest, step)
  const edges = countEdges(still.features.picture)
  if (!finder.fullest || edges >= LIMITS.nearlyFull * finder.fullest.edges)
    finder.fullest = { candidate: still, edges: Math.max(edges, finder.fullest?.edges ?? 0) }
}

/** The shot has ended. `unrested`: whether its last stretch counts that never rested, or only what stood to the end. */
export function finishShot(finder: CompositionFinder, unrested: 'counts' | 'atEnd' | 'never'): void {
  closeRest(finder)
  if (unrested !== 'never') closeRestless(finder, unrested === 'atEnd')
  giveUpOpen(finder)
}

/** The fullest picture since the last rest. Nothing before it waits for a fuller state any longer. */
export function takeFullest(finder: CompositionFinder): PickCandidate | undefined {
  giveUpOpen(finder)
  const taken = finder.fullest?.candidate
  finder.fullest = null
  return taken
}

function addToRest(
  finder: CompositionFinder,
  { before, still, isQuiet }: { before: PickCandidate; still: PickCandidate; isQuiet: boolean },
): void {
  const builtFromMs = finder.restlessSinceMs ?? before.tMs
  // What came to rest by and by is no part of it.
  const isSettled = isQuiet && finder.rest?.isCalmOnly && !keepsEdges(finder.rest.members)
  const rest = (isSettled ? null : finder.rest) ?? startRest(before, { builtFromMs, isCalmOnly: true })
  finder.rest = rest
  if (isQuiet) rest.isCalmOnly = false
  const first = rest.members[0]!.features
  if (!rest.isCalmOnly && changedBlocks(first, still.features) > LIMITS.same && !isSteady(first, still.features, 255)) {
    // What grows slowly rests between any two stills, and is another state after some of them.
    closeRest(finder)
    finder.rest = startRest(still, { builtFromMs: still.tMs, isCalmOnly: false })
  } else {
    rest.members.push(still)
    // The first stays, to be compared with. Of the others the oldest goes.
    if (rest.members.length > CHOICE) rest.members.splice(1, 1)
  }
  if (finder.rest.isCalmOnly) return
  Object.assign(finder, { fullest: null, liveliest: 0, restlessSinceMs: null })
  if (still.tMs - finder.rest.fromMs >= INSTANT_MS) finder.hasRested = true
}

function startRest(still: PickCandidate, more: Pick<Rest, 'builtFromMs' | 'isCalmOnly'>): Rest {
  return { members: [still], fromMs: still.tMs, ...more }
}

/** `next`: the still that ends it, where the shot goes on. */
function closeRest(finder: CompositionFinder, next?: PickCandidate): void {
  const { rest } = finder
  finder.rest = null
  if (!rest) return
  const { members, builtFromMs } = rest
  const isOne = members.length === 1
  if (isOne ? !isHeld(members[0]!) : rest.isCalmOnly && !isDrift(members)) return
  const last = members.at(-1)!
  const isInstant = last.tMs - rest.fromMs < INSTANT_MS
  const isPassing = isInstant && next !== undefined && !isCutOff(last, next)
  if (isOne) Object.assign(finder, { fullest: null, liveliest: 0, restlessSinceMs: null })
  if (!isInstant) finder.hasRested = true
  const { fromMs, toMs } = isOne ? last.held : { fromMs: rest.fromMs, toMs: last.tMs }
  const candidate = choose(members, toMs - fromMs)
  const edges = countEdges(candidate.features.picture)
  settle(finder, { candidate, edges, fromMs, toMs, builtFromMs, steps: 0, isAtRest: true, isPassing, over: null })
}

/** The fullest picture of a stretch without rest, where it shows more than the rest before, or stood to the end. */
function closeRestless(finder: CompositionFinder, atEnd: boolean): void {
  if (!finder.fullest) return
  const { candidate, edges } = finder.fullest
  finder.fullest = null
  const { tMs } = candidate
  const builtFromMs = finder.restlessSinceMs ?? tMs
  const stands = atEnd && candidate === finder.previous && tMs - builtFromMs >= DRIFT_MS
  if (atEnd && finder.hasRested && !stands) return
  const rest = { fromMs: tMs, toMs: tMs, builtFromMs, steps: 0, isAtRest: false }
  const shown = { candidate, edges, ...rest, isPassing: false, over: null }
  const relation = finder.open ? relate(finder.open, shown) : 'new'
  if (relation === 'grows' || (relation === 'new' && (stands || !finder.open))) settle(finder, shown)
}

function settle(finder: CompositionFinder, next: Composition): void {
  const open = withoutGhost(finder, next)
  if (open) {
    const relation = relate(open, next)
    if (relation === 'leaves' && (!open.isPassing || isBrief(next))) {
      finder.passedOver.push({ tMs: next.candidate.tMs, why: 'what it shows is leaving the picture' })
      return
    }
    if (relation === 'new' || relation === 'leaves') giveUpOpen(finder, next)
    else {
      if (relation === 'grows' && isBrief(next)) next.over = open
      else if (relation === 'grows') finder.passedOver.push({ tMs: open.candidate.tMs, why: 'a step of a build-up' })
      next.steps = open.steps + (relation === 'grows' ? 1 : 0)
      next.builtFromMs = open.builtFromMs
      if (relation === 'same' && next.fromMs - open.toMs <= CONTIGUOUS_MS) next.fromMs = open.fromMs
      next.isPassing &&= open.isPassing && isBrief(next)
    }
  }
  finder.open = next
}

/** The open composition. In the middle of a crossfade a brief one shows two states at once: it is none. */
function withoutGhost(finder: CompositionFinder, next?: Composition): Composition | null {
  const { open } = finder
  if (!open?.over) return open
  const { candidate, over } = open
  open.over = null
  const isGhost = next && relate(open, next) !== 'new' && isCutOff(over.candidate, next.candidate)
  if (isGhost) finder.passedOver.push({ tMs: candidate.tMs, why: 'two states at once' })
  else finder.passedOver.push({ tMs: over.candidate.tMs, why: 'a step of a build-up' })
  if (isGhost) finder.open = over
  return finder.open
}

/** No later state contains the open composition. */
function giveUpOpen(finder: CompositionFinder, next?: Composition): void {
  const open = withoutGhost(finder)
  finder.open = null
  if (!open) return
  const { tMs } = open.candidate
  if (open.isPassing)
    finder.passedOver.push({ tMs, why: 'it stands for an instant, and goes over into the next state' })
  else if (next && isHalt(open, next)) finder.passedOver.push({ tMs, why: 'a short halt before a longer rest' })
  else if (next && open.edges < LIMITS.nearlyBlank) finder.passedOver.push({ tMs, why: 'it shows next to nothing' })
  else finder.found.push(open)
}

/** The last of the fullest pictures. */
function choose(members: readonly PickCandidate[], lengthMs: number): PickCandidate {
  const usable = lengthMs >= LONG_MS && members.length > 2 ? members.slice(1, -1) : members
  const edges = usable.map(({ features }) => countEdges(features.picture))
  const fullest = Math.max(...edges)
  return usable.findLast((_, n) => edges[n]! >= LIMITS.asFull * fullest)!
}

/** Whether pictures that never hold still move on steadily with all they show. */
function isDrift(members: readonly PickCandidate[]): boolean {
  return members.at(-1)!.tMs - members[0]!.tMs >= DRIFT_MS && keepsEdges(members)
}

function keepsEdges(members: readonly PickCandidate[]): boolean {
  const [a, b] = [countEdges(members[0]!.features.picture), countEdges(members.at(-1)!.features.picture)]
  return Math.abs(a - b) <= LIMITS.calmEdges * Math.max(a, b)
}

/** Whether the frames around a still show that it rests. */
function isHeld({ held }: PickCandidate): boolean {
  return held.toMs - held.fromMs >= HELD_MS
}

/** Whether most of what a still shows is gone in the next one. */
function isCutOff(still: PickCandidate, next: PickCandidate): boolean {
  const { edges, kept } = compareEdges(still.features.picture, next.features.picture)
  return kept < edges / 2
}
