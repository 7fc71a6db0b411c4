import { createHash } from 'node:crypto'
import type { Settings } from 'meilisearch'
import { cellsOf } from '../color.ts'
import type { DocumentKind, LibraryDocuments } from '../library-search.ts'
import { MAX_FACET_VALUES } from '../postgres/search.ts'
import { tokenize } from '../words.ts'

/** What of the library stands in Meilisearch, and how it is set up. Pure. */

/** One page more than the depth of `relevance`, so that its last page is whole. */
const MAX_TOTAL_HITS = 20_160

const RULES = ['words', 'typo', 'proximity', 'attribute', 'exactness', 'strength:desc', 'key:asc']

const shared = {
  rankingRules: RULES,
  sortableAttributes: ['key', 'strength'],
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

export const SETTINGS: Record<DocumentKind, Settings> = {
  frames: {
    ...shared,
    searchableAttributes: ['caption', 'steal', 'on_screen_text', 'composition', 'on_screen_parts'],
    filterableAttributes: [
      ...['subject', 'surface', 'shot', 'technique', 'zone', 'tone', 'kind', 'platform', 'video_id'],
      ...['author_key', 'colors'],
    ].sort(),
    displayedAttributes: ['key', 'revision', 'doc', 'phash', 'luma'],
    typoTolerance: { ...shared.typoTolerance, disableOnAttributes: ['on_screen_parts'] },
  },
  videos: { ...shared, searchableAttributes: ['title'] },
  brands: { ...shared, searchableAttributes: ['name'] },
  techniques: { ...shared, searchableAttributes: ['slug', 'name', 'aliases'] },
}

export interface StoredDocument {
  key: string
  revision: string
  /** The document as JSON; a frame's without its provenance, which is half of it and seldom asked for. */
  doc: string
  strength: number
}

export function toStored<K extends DocumentKind>(kind: K, document: LibraryDocuments[K]): StoredDocument & Record<string, unknown> {
  const told = kind === 'frames' ? { ...document, provenance: undefined } : document
  const base = {
    key: kind === 'techniques' ? (document as LibraryDocuments['techniques']).slug : (document as { id: string }).id,
    revision: document.revision,
    doc: JSON.stringify(told),
    strength: document.strength,
  }
  if (kind === 'frames') {
    const frame = document as LibraryDocuments['frames']
    return {
      ...base,
      video_id: frame.video_id,
      subject: frame.subject,
      surface: frame.surface,
      shot: frame.shot,
      technique: frame.technique,
      zone: frame.zone,
      tone: frame.tone,
      kind: frame.kind,
      platform: frame.platform,
      author_key: frame.author === null ? null : authorKey(frame.author),
      colors: cellsOf(frame.palette, frame.palette_shares),
      phash: frame.phash,
      luma: frame.luma,
      caption: wordsIn(frame.caption),
      steal: wordsIn(frame.steal),
      on_screen_text: wordsIn(frame.on_screen_text),
      composition: wordsIn(frame.composition),
      on_screen_parts: endingsOf(frame.on_screen_text ?? ''),
    }
  }
  if (kind === 'videos') return { ...base, title: wordsIn((document as LibraryDocuments['videos']).title) }
  if (kind === 'brands') return { ...base, name: wordsIn((document as LibraryDocuments['brands']).name) }
  const { slug, name, aliases } = document as LibraryDocuments['techniques']
  return { ...base, slug: wordsIn(slug), name: wordsIn(name), aliases: aliases.map(wordsIn) }
}

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
      .map(({ word }) => word)
      .join(' ')
  )
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
