import { CHOSEN, hashDistance, WRITTEN } from '../vocabulary.ts'
import { paletteLikeness } from './color.ts'
import type { FrameDocument } from './library-search.ts'
import { searchedText } from './text/match.ts'
import { isCharacter, lexemesOf, tokenize } from './text/tokens.ts'

/** Similar frames and near-duplicates, without a model. Pure. */

/** By what frames are alike, beside the picture and the words. */
export const COMPARED = [...CHOSEN, 'tone'] as const

const WORDS_WEIGHT = 0.15

function likenessBesideWords(one: FrameDocument, other: FrameDocument): number {
  const structure = Math.max(0, 1 - hashDistance(one.phash, other.phash) / 32)
  return 0.35 * paletteLikeness(one, other) + 0.25 * structure + 0.25 * sharedAttributes(one, other)
}

/**
 * The `count` frames that are most like one, and others, with their likeness 0–1: palette 0.35, picture structure
 * (difference hash) 0.25, attributes 0.25, words 0.15. Words are the dearest part, so they are compared only where the
 * rest leaves a frame a chance. How near they are in meaning is their likeness where that is more.
 */
export function mostAlike(
  one: FrameDocument,
  others: readonly FrameDocument[],
  count: number,
  meanings: ReadonlyMap<string, number> = new Map(),
): { document: FrameDocument; likeness: number }[] {
  const words = wordsOf(one)
  const rough = others.map((document) => ({ document, likeness: likenessBesideWords(one, document) }))
  rough.sort((a, b) => b.likeness - a.likeness)
  // A likeness is compared by what is shown of it.
  const least = (rough[count - 1]?.likeness ?? 0) - ROUNDING
  const meaningOf = ({ id }: FrameDocument) => meanings.get(id) ?? 0
  const most = (likeness: number, document: FrameDocument) => Math.max(likeness + WORDS_WEIGHT, meaningOf(document))
  const chances = rough.filter(({ likeness, document }, n) => n < count || most(likeness, document) >= least)
  return chances.map(({ document, likeness }) => ({
    document,
    likeness: Math.max(likeness + WORDS_WEIGHT * sharedWords(words, document), meaningOf(document)),
  }))
}

const ROUNDING = 0.001

function sharedAttributes(one: FrameDocument, other: FrameDocument): number {
  let known = 0
  let same = 0
  for (const attribute of COMPARED) {
    if ((one[attribute] ?? null) === null) continue
    known++
    if (one[attribute] === other[attribute]) same++
  }
  return known > 0 ? same / known : 0
}

function sharedWords(a: ReadonlySet<string>, other: FrameDocument): number {
  const b = wordsOf(other)
  let both = 0
  for (const word of a) if (b.has(word)) both++
  return both > 0 ? (2 * both) / (a.size + b.size) : 0
}

/**
 * Frames are like one from this likeness on. In the samples and test clips (171 frames) pairs just below it have
 * nothing in common, three of four pairs just above it do, and what shows the same picture has 0.58 or more.
 */
const ENOUGH_LIKENESS = 0.5
/** And from this one on whatever they mean: below it, a bud led to a boy and a title to a chart. */
const CLEAR_LIKENESS = 0.58

/** Bits of two hashes within which the index of pictures finds all. */
const PICTURE_WITHIN = 7

/** Whether two frames are alike: by all they have, or because they show the same picture. `isFar`: in meaning. */
export const isAlike = (one: FrameDocument, other: FrameDocument, likeness: number, isFar = false): boolean =>
  likeness >= (isFar ? CLEAR_LIKENESS : ENOUGH_LIKENESS) ||
  (hashDistance(one.phash, other.phash) <= PICTURE_WITHIN && Math.abs(one.luma - other.luma) <= SAME_LUMA)

/** Shares of a palette and of a picture's structure from which people see them as alike. */
const LIKE_COLORS = 0.6
const LIKE_STRUCTURE = 12
const MAX_SHARED_WORDS = 3

/**
 * What two frames share, in words: the picture, attributes that both have, colours, long words. What nearly every
 * frame shares (`no-face`, no face's place) is left out.
 */
export function sharedTraits(one: FrameDocument, other: FrameDocument): string[] {
  const traits: string[] = []
  if (hashDistance(one.phash, other.phash) <= LIKE_STRUCTURE) traits.push('picture')
  for (const attribute of COMPARED) {
    const value = one[attribute] ?? null
    if (value !== null && value === other[attribute] && value !== 'no-face' && value !== 'none')
      traits.push(`${attribute} ${value}`)
  }
  if (paletteLikeness(one, other) >= LIKE_COLORS) traits.push('colours')
  const theirs = wordsOf(other)
  const words = [...wordsOf(one)].filter((word) => word.length > 3 && theirs.has(word))
  const longest = words.sort((a, b) => b.length - a.length || (a < b ? -1 : 1)).slice(0, MAX_SHARED_WORDS)
  if (longest.length > 0) traits.push(`words ${longest.join(', ')}`)
  return traits
}

export function wordsOf(frame: FrameDocument): Set<string> {
  return new Set(
    WRITTEN.flatMap((field) => lexemesOf(tokenize(searchedText(frame, field)).map((token) => token.word))).filter(
      (word) => word.length > 2 || (word.length === 2 && isCharacter(word)),
    ),
  )
}

type Picture = Pick<FrameDocument, 'phash' | 'luma'>

/** Two frames with at most this many differing bits show the same picture. */
const SAME_WITHIN = 6
/** Their brightness must be close too: every plain colour has the same hash. */
const SAME_LUMA = 12

/** Whether two frames show the same picture; false where that is not known. */
export function isSamePicture(one: Partial<Picture>, other: Partial<Picture>): boolean {
  if (one.phash === undefined || other.phash === undefined) return false
  return Math.abs(one.luma! - other.luma!) <= SAME_LUMA && hashDistance(one.phash, other.phash) <= SAME_WITHIN
}

/** More than there are of SAME_LUMA in 0–255, so that neighbours never meet the next byte's. */
const BANDS = 32

/**
 * Keeps the first of each cluster of near-duplicates, in the order given. Compares only frames of neighbouring
 * brightness whose hashes share one of their eight bytes, as two hashes within seven bits do.
 */
export class VarietyFilter {
  /** By place and value of a byte, and by band of brightness. */
  readonly #kept = new Map<number, Compared[]>()

  /** True unless the picture is like one already kept. */
  keep({ phash, luma }: Picture): boolean {
    const high = Number.parseInt(phash.slice(0, 8), 16) | 0
    const low = Number.parseInt(phash.slice(8), 16) | 0
    const frame = { high, low, luma }
    const band = Math.floor(luma / SAME_LUMA)
    const keys = [high, low].flatMap((half, at) =>
      [0, 8, 16, 24].map((shift) => ((at * 4 + shift / 8) * 256 + ((half >>> shift) & 255)) * BANDS + band),
    )
    for (const key of keys)
      for (const near of [key - 1, key, key + 1])
        for (const other of this.#kept.get(near) ?? []) if (isSame(frame, other)) return false
    for (const key of keys) {
      const held = this.#kept.get(key)
      if (held) held.push(frame)
      else this.#kept.set(key, [frame])
    }
    return true
  }
}

/** A frame with its hash in two halves, read once: it is compared with thousands. */
interface Compared {
  high: number
  low: number
  luma: number
}

/** As `hashDistance` within the limit, without reading text: thousands are compared for one page. */
function isSame(one: Compared, other: Compared): boolean {
  if (Math.abs(one.luma - other.luma) > SAME_LUMA) return false
  let bits = 0
  for (let rest = one.high ^ other.high; rest !== 0 && bits <= SAME_WITHIN; rest &= rest - 1) bits++
  for (let rest = one.low ^ other.low; rest !== 0 && bits <= SAME_WITHIN; rest &= rest - 1) bits++
  return bits <= SAME_WITHIN
}
