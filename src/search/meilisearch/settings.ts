import { createHash } from 'node:crypto'
import type { Settings } from 'meilisearch'
import { COUNTED } from '../../vocabulary.ts'
import { cellsOf } from '../color.ts'
import type { FrameDocument } from '../library-search.ts'
import { MAX_FACET_VALUES } from '../query.ts'
import { searchedText } from '../text/match.ts'
import { mostlyValues, namedValues } from '../text/named-words.ts'
import { gluedWords, isCharacter, stemOf, tokenize } from '../text/tokens.ts'
import { listSignsOf, SYNONYMS, valueSignsOf } from './senses.ts'

/** What Meilisearch stores of the library, and its settings. Pure. */

/** One page more than the depth of `relevance`, so that its last page is whole. */
const MAX_TOTAL_HITS = 20_160

/** The fields that `q` searches, in the order of kinds: words, attributes (colours that fill much first), synonyms. */
const TEXTS = ['caption', 'steal', 'on_screen_text', 'composition'] as const
const SEARCHED = [...TEXTS, 'glued', 'mostly', 'named', 'names', 'same']

/** The fields that are filtered as they are. */
const PLAIN_FILTERS = [...COUNTED.filter((name) => name !== 'author'), 'video_id'] as const

/** Of the frames alone. Names are few: the read model finds them. */
export const INDEX = 'frames'

export const indexName = (prefix: string, index: string): string => `${prefix}_${index}`

/**
 * Words are stored as their stems, and neither typos nor beginnings are searched: a match is a word or another form of
 * it, an attribute, or a synonym. The read model looks for the rest.
 */
export const SETTINGS: Settings = {
  rankingRules: ['words', 'proximity', 'attribute', 'exactness', 'rank:asc'],
  searchableAttributes: SEARCHED,
  sortableAttributes: ['rank'],
  filterableAttributes: [...PLAIN_FILTERS, 'author_key', 'colors', 'named'],
  displayedAttributes: ['key', 'revision', 'doc', 'phash', 'luma'],
  synonyms: SYNONYMS,
  stopWords: [],
  typoTolerance: { enabled: false },
  prefixSearch: 'disabled',
  faceting: { maxValuesPerFacet: MAX_FACET_VALUES, sortFacetValuesBy: { '*': 'count' as const } },
  pagination: { maxTotalHits: MAX_TOTAL_HITS },
  // A search that is cut off is reported as `degraded`, and the other engine answers instead.
  searchCutoffMs: 600,
}

export interface StoredDocument {
  key: string
  revision: string
  /** The document as JSON without provenance, which is half of it and rarely needed. */
  doc: string
  /** Orders equally relevant documents: strongest first, then by key. One field: every sorting rule costs time. */
  rank: string
}

/** As a search gives it back. */
export type StoredHit = StoredDocument & { phash: string; luma: number; _rankingScore?: number }

export function toStored(frame: FrameDocument): StoredDocument & Record<string, unknown> {
  const { id, revision, author, provenance: _, ...rest } = frame
  const texts = TEXTS.map((name) => searchedText(frame, name))
  return {
    key: id,
    revision,
    doc: JSON.stringify({ id, author, ...rest }),
    rank: rankOf(frame.strength, id),
    ...Object.fromEntries(PLAIN_FILTERS.map((name) => [name, frame[name]])),
    author_key: author === null ? null : authorKey(author),
    colors: cellsOf(frame.palette, frame.palette_shares),
    phash: frame.phash,
    luma: frame.luma,
    ...Object.fromEntries(TEXTS.map((name, n) => [name, frame[name] && wordsIn(texts[n]!)])),
    // Members of a list are no neighbours: only words of texts can stand close together.
    glued: texts.flatMap((text) => gluedWords(text, tokenize(text)).map(({ word }) => toEngineWord(word))),
    mostly: valueSignsOf(mostlyValues(frame)),
    named: valueSignsOf(namedValues(frame)),
    names: [author ?? '', frame.video.title].flatMap((text) => wordsIn(text).split(BETWEEN_WORDS)),
    same: [...new Set(texts.flatMap(listSignsOf))],
  }
}

/** The strongest sorts first. A strength is a whole number below 2^53, so eleven digits hold it. */
function rankOf(strength: number, key: string): string {
  return (Number.MAX_SAFE_INTEGER - strength).toString(36).padStart(11, '0') + key
}

/**
 * An author as a filter value: hexadecimal, or a hash of a long name.
 * Meilisearch ignores case and accents in filter values and keeps 468 bytes of them. Authors must match exactly.
 */
export function authorKey(name: string): string {
  const hex = Buffer.from(name).toString('hex')
  return hex.length <= 440 ? `x${hex}` : `h${createHash('sha256').update(name).digest('hex')}`
}

/** The name behind a key; undefined for a hash. */
export function authorOf(key: string): string | undefined {
  return key.startsWith('x') ? Buffer.from(key.slice(1), 'hex').toString() : undefined
}

/** Of private-use characters in a row the list keeps the order. */
const BETWEEN_WORDS = /(?<![\u{f0000}-\u{fffff}]) | (?![\u{f0000}-\u{fffff}])/u

/** The text as words we cut ourselves, so that both engines see the same words in texts and in queries. */
const wordsIn = (text: string): string =>
  tokenize(text)
    .map(({ word }) => toEngineWord(word))
    .join(' ')

/**
 * The stem of a word. Replaces a single character by one from a private-use plane.
 * Meilisearch would merge variants of an ideograph by the language it guesses, and drop a vowel sign by itself.
 * Characters past the first plane belong to no language it knows and stay.
 */
export function toEngineWord(word: string): string {
  const code = isCharacter(word) ? word.codePointAt(0)! : 0x1_0000
  return code < 0x1_0000 ? String.fromCodePoint(0xf_0000 + code) : stemOf(word)
}
