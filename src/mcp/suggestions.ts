import { omit } from '../omit.ts'
import type { FrameFilters, FrameQuery, LibrarySearch, TechniqueDocument } from '../search/library-search.ts'
import { plural } from './present.ts'

/** Each trial of an empty answer is a small search of its own. */
const MAX_TRIALS = 8
const COUNTED = 20

interface Trial {
  what: string
  query: FrameQuery
}

/**
 * What to try when nothing was found: the search without each filter, the words without quotes and minus, and the
 * nearest techniques. A search lets go of words by itself. Each suggestion says how many frames it finds.
 */
export async function suggest(search: LibrarySearch, query: FrameQuery, signal: AbortSignal): Promise<string[]> {
  const lines: string[] = []
  for (const trial of [...withoutFilters(query), ...withoutSigns(query)].slice(0, MAX_TRIALS)) {
    signal.throwIfAborted()
    const { frames } = await search.frames({ ...trial.query, page: 1, pageSize: COUNTED, facets: false })
    const found = frames.length === COUNTED ? `${COUNTED} frames or more` : plural(frames.length, 'frame')
    if (frames.length > 0) lines.push(`- ${trial.what}: ${found}`)
  }
  const near = nearestTechniques(await search.techniques(), query.filters.technique?.join(' ') ?? query.q, 3)
  if (near.length > 0) {
    const counted = near.map(({ slug, frame_count }) => `${slug} (${plural(frame_count, 'frame')})`)
    lines.push(`- nearest techniques: ${counted.join(', ')}`)
  }
  if (lines.length === 0) lines.push('- list_techniques for the vocabulary, browse_frames without filters for the wall')
  return lines
}

function withoutFilters(query: FrameQuery): Trial[] {
  const filters = Object.entries(query.filters) as [keyof FrameFilters, readonly string[]][]
  const trials: Trial[] = filters.map(([name, values]) => ({
    what: `without ${name} ${values.join(', ')}`.slice(0, 120),
    query: { ...query, filters: omit(query.filters, name) },
  }))
  if (query.q === '') return trials
  if (filters.length > 1) trials.push({ what: 'with the query alone, no filters', query: { ...query, filters: {} } })
  if (filters.length > 0)
    trials.push({ what: 'with the filters alone (browse_frames)', query: { ...query, q: '', sort: 'strength' } })
  return trials
}

/** Quotes and what is behind a minus are never let go. */
function withoutSigns(query: FrameQuery): Trial[] {
  const words = (text: string) => text.trim().split(/\s+/).join(' ')
  const q = words(query.q.replace(/["“”„]|(?<=^|\s)-/g, ' '))
  return q === words(query.q) ? [] : [{ what: 'without quotes and minus signs', query: { ...query, q } }]
}

/**
 * Techniques that frames show, whose slug, name or alias shares letter pairs with the term (Dice): a misspelling finds
 * its word.
 */
export function nearestTechniques(
  vocabulary: readonly TechniqueDocument[],
  term: string,
  count: number,
): TechniqueDocument[] {
  const pairs = letterPairs(term)
  return vocabulary
    .filter(({ frame_count }) => frame_count > 0)
    .map((technique) => ({
      technique,
      likeness: Math.max(
        ...[technique.slug, technique.name, ...technique.aliases].map((name) => dice(letterPairs(name), pairs)),
      ),
    }))
    .filter(({ likeness }) => likeness >= 0.35)
    .sort((a, b) => b.likeness - a.likeness || (a.technique.slug < b.technique.slug ? -1 : 1))
    .slice(0, count)
    .map(({ technique }) => technique)
}

export function nearestTechniquesLine(vocabulary: readonly TechniqueDocument[], term: string): string {
  const near = nearestTechniques(vocabulary, term, 5)
  if (near.length === 0) return 'Try fewer or other words, or list_techniques and browse_frames.'
  return `Nearest techniques: ${near.map((technique) => technique.slug).join(', ')}.`
}

function letterPairs(text: string): Set<string> {
  const pairs = new Set<string>()
  for (const word of text.toLowerCase().split(/[^\p{L}\p{N}]+/u))
    for (let at = 0; at + 1 < word.length; at++) pairs.add(word.slice(at, at + 2))
  return pairs
}

function dice(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  if (a.size === 0 || b.size === 0) return 0
  let shared = 0
  for (const pair of a) if (b.has(pair)) shared++
  return (2 * shared) / (a.size + b.size)
}
