import type { FrameFilters, FrameQuery, LibrarySearch, TechniqueDocument } from '../search/library-search.ts'
import { dictionaryWords } from '../search/text/query.ts'
import { isCharacter } from '../search/text/tokens.ts'
import { plural } from './present.ts'

/** Words of two letters say little, but in scripts that have one for a syllable. */
const isTelling = (word: string) => word.length > (isCharacter(word) ? 1 : 2)

/** Trials per empty answer: each is a small search of its own. */
const MAX_TRIALS = 8
const COUNTED = 20

/**
 * What to try when nothing was found, each suggestion measured: the search again without each filter, and with each word alone, saying how many frames that
 * finds; and the nearest techniques.
 */
export async function suggest(search: LibrarySearch, query: FrameQuery, signal: AbortSignal): Promise<string[]> {
  const filters = Object.entries(query.filters) as [keyof FrameFilters, readonly string[]][]
  const words = [...new Set(query.q.split(/\s+/).flatMap(dictionaryWords).filter(isTelling))]
  const trials: { what: string; query: FrameQuery }[] = []
  for (const [name, values] of filters) {
    const { [name]: _, ...rest } = query.filters
    trials.push({ what: `without ${name} ${values.join(', ')}`.slice(0, 120), query: { ...query, filters: rest } })
  }
  if (filters.length > 1 && query.q !== '')
    trials.push({ what: 'with the query alone, no filters', query: { ...query, filters: {} } })
  if (filters.length > 0 && query.q !== '')
    trials.push({ what: 'with the filters alone (browse_frames)', query: { ...query, q: '', sort: 'strength' } })
  if (words.length > 1)
    for (const word of words.slice(0, 5))
      trials.push({ what: `with the query "${word.slice(0, 40)}"`, query: { ...query, q: word } })

  const lines: string[] = []
  for (const trial of trials.slice(0, MAX_TRIALS)) {
    signal.throwIfAborted()
    const { frames } = await search.frames({ ...trial.query, page: 1, pageSize: COUNTED, facets: false })
    if (frames.length > 0)
      lines.push(
        `- ${trial.what}: ${frames.length === COUNTED ? `${COUNTED} frames or more` : plural(frames.length, 'frame')}`,
      )
  }
  const near = nearestTechniques(await search.techniques(), query.filters.technique?.join(' ') ?? query.q, 3)
  if (near.length > 0)
    lines.push(
      `- nearest techniques: ${near.map(({ slug, frame_count }) => `${slug} (${plural(frame_count, 'frame')})`).join(', ')}`,
    )
  if (lines.length === 0)
    lines.push('- list_techniques shows the vocabulary, browse_frames without filters the whole wall')
  return lines
}

/** Techniques whose slug, name or alias looks like the term: shared letter pairs (Dice), so that a misspelling still finds its word. */
export function nearestTechniques(
  vocabulary: readonly TechniqueDocument[],
  term: string,
  count: number,
): TechniqueDocument[] {
  const pairs = letterPairs(term)
  return vocabulary
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
