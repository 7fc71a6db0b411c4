import { createHash } from 'node:crypto'
import type { Settings } from 'meilisearch'
import { cellsOf } from '../color.ts'
import type { DocumentKind, LibraryDocuments, ShownFrame } from '../library-search.ts'
import { MAX_FACET_VALUES } from '../limits.ts'
import { namedValues } from '../named-values.ts'
import { isCharacter, tokenize } from '../text/tokens.ts'
import { SYNONYMS, valueSignsOf } from './senses.ts'

/** What Meilisearch stores of the library, and its settings. Pure. */

/** One page more than the depth of `relevance`, so that its last page is whole. */
const MAX_TOTAL_HITS = 20_160

const RULES = ['words', 'typo', 'proximity', 'attribute', 'exactness', 'rank:asc']

const shared = {
  rankingRules: RULES,
  sortableAttributes: ['rank'],
  filterableAttributes: [],
  displayedAttributes: ['key', 'revision', 'doc'],
  stopWords: [],
  typoTolerance: {
    enabled: true,
    minWordSizeForTypos: { oneTypo: 5, twoTypos: 9 },
    disableOnWords: [],
    disableOnAttributes: [],
    disableOnNumbers: true,
  },
  faceting: { maxValuesPerFacet: MAX_FACET_VALUES, sortFacetValuesBy: { '*': 'count' as const } },
  pagination: { maxTotalHits: MAX_TOTAL_HITS },
  // A search that is cut off is reported as `degraded`, and the other engine answers instead.
  searchCutoffMs: 600,
} satisfies Settings

/** The fields that `q` searches for whole words. */
export const WHOLE_TEXTS = ['caption', 'steal', 'on_screen_text', 'composition'] as const
/** The fields that are filtered as they are. */
const PLAIN_FILTERS = [
  'subject',
  'surface',
  'shot',
  'technique',
  'zone',
  'tone',
  'kind',
  'platform',
  'video_id',
] as const

/** Videos, brands and techniques share one index, so that one query searches all of them. */
export type Index = 'frames' | 'names'
/** The small one first, for work on both. */
export const INDEXES: readonly Index[] = ['names', 'frames']
export type NamedKind = Exclude<DocumentKind, 'frames'>
/** In the order of `place`: the rarest kind first, so that a full list cuts videos before the others. */
export const NAMED_KINDS: readonly NamedKind[] = ['techniques', 'brands', 'videos']

export const indexName = (prefix: string, index: Index): string => `${prefix}_${index}`

export const indexOf = (kind: DocumentKind): Index => (kind === 'frames' ? 'frames' : 'names')

export const SETTINGS: Record<Index, Settings> = {
  frames: {
    ...shared,
    // What a frame is counts before what its texts mention.
    searchableAttributes: ['named', ...WHOLE_TEXTS, 'on_screen_parts'],
    filterableAttributes: [...PLAIN_FILTERS, 'author_key', 'colors', 'named'],
    synonyms: SYNONYMS,
    displayedAttributes: ['key', 'revision', 'doc', 'phash', 'luma'],
    typoTolerance: { ...shared.typoTolerance, disableOnAttributes: ['on_screen_parts'] },
  },
  names: {
    ...shared,
    rankingRules: ['place:asc', ...RULES],
    sortableAttributes: ['place', 'rank'],
    searchableAttributes: ['name', 'second_name', 'aliases'],
    filterableAttributes: ['kind'],
    displayedAttributes: ['key', 'revision', 'doc', 'kind'],
  },
}

export interface StoredDocument {
  key: string
  revision: string
  /** The document as JSON; of a frame only the public part (`shownText`). */
  doc: string
  /** Orders equally relevant documents: strongest first, then by key. One field: every sorting rule costs time. */
  rank: string
}

export function toStored<K extends DocumentKind>(
  kind: K,
  document: LibraryDocuments[K],
): StoredDocument & Record<string, unknown> {
  const key = keyOf(
    kind,
    kind === 'techniques' ? (document as LibraryDocuments['techniques']).slug : (document as { id: string }).id,
  )
  const base = {
    key,
    revision: document.revision,
    doc: kind === 'frames' ? shownText(document as LibraryDocuments['frames']) : JSON.stringify(document),
    rank: rankOf(document.strength, key),
  }
  if (kind === 'frames') {
    const frame = document as LibraryDocuments['frames']
    return {
      ...base,
      ...Object.fromEntries(PLAIN_FILTERS.map((name) => [name, frame[name]])),
      author_key: frame.author === null ? null : authorKey(frame.author),
      colors: cellsOf(frame.palette, frame.palette_shares),
      phash: frame.phash,
      luma: frame.luma,
      named: valueSignsOf(namedValues(frame)),
      ...Object.fromEntries(WHOLE_TEXTS.map((name) => [name, wordsIn(frame[name])])),
      on_screen_parts: endingsOf(frame.on_screen_text ?? ''),
    }
  }
  const named = { ...base, kind, place: NAMED_KINDS.indexOf(kind as NamedKind) }
  if (kind === 'videos') return { ...named, name: wordsIn((document as LibraryDocuments['videos']).title) }
  if (kind === 'brands') return { ...named, name: wordsIn((document as LibraryDocuments['brands']).name) }
  const { slug, name, aliases } = document as LibraryDocuments['techniques']
  return { ...named, name: wordsIn(slug), second_name: wordsIn(name), aliases: aliases.map(wordsIn) }
}

/** A document's key in its index. */
export function keyOf(kind: DocumentKind, id: string): string {
  return kind === 'frames' ? id : `${kind}-${id}`
}

export function idOf(kind: DocumentKind, key: string): string {
  return kind === 'frames' ? key : key.slice(kind.length + 1)
}

/** The strongest sorts first. A strength is a whole number below 2^53, so eleven digits hold it. */
function rankOf(strength: number, key: string): string {
  return (Number.MAX_SAFE_INTEGER - strength).toString(36).padStart(11, '0') + key
}

/**
 * A frame without provenance, which is half of it and rarely needed.
 * The order of fields matters: readers cut the text at field names.
 */
function shownText(frame: LibraryDocuments['frames']): string {
  const shown: Record<keyof Required<Omit<ShownFrame, 'provenance'>>, unknown> = {
    id: frame.id,
    video_id: frame.video_id,
    t_sec: frame.t_sec,
    kind: frame.kind,
    subject: frame.subject,
    surface: frame.surface,
    shot: frame.shot,
    technique: frame.technique,
    zone: frame.zone,
    tone: frame.tone,
    author: frame.author,
    platform: frame.platform,
    caption: frame.caption,
    composition: frame.composition,
    steal: frame.steal,
    on_screen_text: frame.on_screen_text,
    palette: frame.palette,
    image_path: frame.image_path,
    thumb_path: frame.thumb_path,
    placeholder: frame.placeholder,
    width: frame.width,
    height: frame.height,
    save_count: frame.save_count,
    source_url: frame.source_url,
    annotation: frame.annotation,
    video: frame.video,
  }
  return JSON.stringify(shown)
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

/** The text as words we cut ourselves, so that both engines see the same words in texts and in queries. */
function wordsIn(text: string | null): string | null {
  return (
    text &&
    tokenize(text)
      .map(({ word }) => toEngineWord(word))
      .join(' ')
  )
}

/**
 * Replaces a single character by one from a private-use plane.
 * Meilisearch would merge variants of an ideograph by the language it guesses, and drop a vowel sign by itself.
 * Characters past the first plane belong to no language it knows and stay.
 */
export function toEngineWord(word: string): string {
  const code = isCharacter(word) ? word.codePointAt(0)! : 0x1_0000
  return code < 0x1_0000 ? String.fromCodePoint(0xf_0000 + code) : word
}

/** Every ending of three letters or more of every word. A prefix of an ending is a part of the word. */
function endingsOf(text: string): string[] {
  const endings = new Set<string>()
  for (const { word } of tokenize(text)) {
    const letters = [...word]
    for (let from = 1; from <= letters.length - 3; from++) endings.add(letters.slice(from).join(''))
  }
  return [...endings]
}
