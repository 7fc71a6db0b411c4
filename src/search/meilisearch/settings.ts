import { createHash } from 'node:crypto'
import type { Settings } from 'meilisearch'
import { cellsOf } from '../color.ts'
import type { DocumentKind, LibraryDocuments, ShownFrame } from '../library-search.ts'
import { type FrameTexts, MAX_FACET_VALUES } from '../postgres/search.ts'
import { isCharacter, tokenize } from '../text/tokens.ts'

/** What of the library stands in Meilisearch, and how it is set up. Pure. */

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
  // A search cut off answers in part; it is noticed (`degraded`) and asked of the other engine instead.
  searchCutoffMs: 600,
} satisfies Settings

/** What `q` reads of a frame, but for the parts of words on screen. */
export const WHOLE_TEXTS = ['caption', 'steal', 'on_screen_text', 'composition'] as const
/** What of a frame is filtered by just as it is. */
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

/** Videos, brands and techniques share an index: a search over all of them is one query. */
export type Index = 'frames' | 'names'
/** The small one first, wherever there is something to do for both. */
export const INDEXES: readonly Index[] = ['names', 'frames']
export type NamedKind = Exclude<DocumentKind, 'frames'>
/** As `place` orders them: the fewest first, so that a full list lacks videos, if anything. */
export const NAMED_KINDS: readonly NamedKind[] = ['techniques', 'brands', 'videos']

export const indexOf = (kind: DocumentKind): Index => (kind === 'frames' ? 'frames' : 'names')

export const SETTINGS: Record<Index, Settings> = {
  frames: {
    ...shared,
    searchableAttributes: [...WHOLE_TEXTS, 'on_screen_parts'],
    filterableAttributes: [...PLAIN_FILTERS, 'author_key', 'colors'],
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
  /** The document as JSON; of a frame what is shown of it (`shownText`). */
  doc: string
  /** Orders what is equally relevant: the strongest first, then by key. One field, since each sorting rule costs as much again as the first. */
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

/** A strength is a whole number below 2^53: eleven digits, the highest first. */
function rankOf(strength: number, key: string): string {
  return (Number.MAX_SAFE_INTEGER - strength).toString(36).padStart(11, '0') + key
}

/** Without provenance, which is half of a frame and seldom asked for. The order is part of it: readers cut the text at names of fields. */
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

/** The searched texts of a stored frame, without reading the rest of it. */
export function textsOf(doc: string): FrameTexts {
  const from = doc.indexOf(TEXTS_FROM)
  return JSON.parse(`{${doc.slice(from + 1, doc.indexOf(TEXTS_TO, from))}}`) as FrameTexts
}
// No string of JSON holds a bare quote: such a name between commas is the field itself.
const TEXTS_FROM = ',"caption":'
const TEXTS_TO = ',"palette":'

/**
 * Meilisearch compares filter values without case and accents and keeps 468 bytes of them, but an author is matched exactly: names stand there as hexadecimal,
 * long ones as a hash.
 */
export function authorKey(name: string): string {
  const hex = Buffer.from(name).toString('hex')
  return hex.length <= 440 ? `x${hex}` : `h${createHash('sha256').update(name).digest('hex')}`
}

/** Undefined for a hashed one. */
export function authorOf(key: string): string | undefined {
  return key.startsWith('x') ? Buffer.from(key.slice(1), 'hex').toString() : undefined
}

/** Searched are our own words, so that both engines see the same ones in a text and in a query. */
function wordsIn(text: string | null): string | null {
  return (
    text &&
    tokenize(text)
      .map(({ word }) => toEngineWord(word))
      .join(' ')
  )
}

/**
 * Single characters stand there by private-use ones: by guessing a text's language Meilisearch would choose whether variants of an ideograph are one, and a vowel
 * sign by itself is nothing to it. Those past the first plane belong to no language it knows.
 */
export function toEngineWord(word: string): string {
  const code = isCharacter(word) ? word.codePointAt(0)! : 0x1_0000
  return code < 0x1_0000 ? String.fromCodePoint(0xf_0000 + code) : word
}

/** Every ending of three letters or more of every word: a prefix of one of them is a part of the word. */
function endingsOf(text: string): string[] {
  const endings = new Set<string>()
  for (const { word } of tokenize(text)) {
    const letters = [...word]
    for (let from = 1; from <= letters.length - 3; from++) endings.add(letters.slice(from).join(''))
  }
  return [...endings]
}
