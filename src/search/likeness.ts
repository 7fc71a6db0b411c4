import { CHOSEN, hashDistance, WRITTEN } from '../vocabulary.ts'
import { paletteLikeness } from './color.ts'
import type { FrameDocument } from './library-search.ts'
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
 * rest leaves a frame a chance.
 */
export function mostAlike(
  one: FrameDocument,
  others: readonly FrameDocument[],
  count: number,
): { document: FrameDocument; likeness: number }[] {
  const words = wordsOf(one)
  const rough = others.map((document) => ({ document, likeness: likenessBesideWords(one, document) }))
  rough.sort((a, b) => b.likeness - a.likeness)
  // A likeness is compared by what is shown of it.
  const least = (rough[count - 1]?.likeness ?? 0) - ROUNDING
  const chances = rough.filter(({ likeness }, n) => n < count || likeness + WORDS_WEIGHT >= least)
  return chances.map(({ document, likeness }) => ({
    document,
    likeness: likeness + WORDS_WEIGHT * sharedWords(words, document),
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

/** Below this likeness two frames share no more than any two frames of a library do. */
export const ENOUGH_LIKENESS = 0.55

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
    WRITTEN.flatMap((field) => lexemesOf(tokenize(frame[field] ?? '').map((token) => token.word))).filter(
      (word) => word.length > 2 || (word.length === 2 && isCharacter(word)),
    ),
  )
}

/** Two frames with at most this many differing bits show the same picture. */
const SAME_WITHIN = 6
/** Their brightness must be close too: every plain colour has the same hash. */
const SAME_LUMA = 12

/**
 * Keeps the first of each cluster of near-duplicates, in the order given.
 * Compares only hashes that share one of their eight bytes, as two hashes within seven bits do.
 */
export class VarietyFilter {
  readonly #byByte = Array.from({ length: 8 }, () => new Map<string, { phash: string; luma: number }[]>())

  /** True unless the picture is like one already kept. */
  keep(frame: { phash: string; luma: number }): boolean {
    const bytes = this.#byByte.map((_, n) => frame.phash.slice(n * 2, n * 2 + 2))
    for (const [n, byte] of bytes.entries()) {
      for (const other of this.#byByte[n]!.get(byte) ?? []) {
        if (Math.abs(other.luma - frame.luma) <= SAME_LUMA && hashDistance(other.phash, frame.phash) <= SAME_WITHIN)
          return false
      }
    }
    for (const [n, byte] of bytes.entries()) {
      const held = this.#byByte[n]!.get(byte)
      if (held) held.push(frame)
      else this.#byByte[n]!.set(byte, [frame])
    }
    return true
  }
}
