import { FACETS, type FacetCounts } from '../../search/library-search.ts'
import { quote } from '../present.ts'

const MAX_VALUES = 50
const MAX_VALUES_IN_TEXT = 12

/** The most frequent values of each attribute: the long tail of authors would fill a context window. */
export function commonestValues(facets: FacetCounts): Record<string, Record<string, number>> {
  return Object.fromEntries(
    Object.entries(facets).map(([facet, counts]) => [facet, Object.fromEntries(byCount(counts).slice(0, MAX_VALUES))]),
  )
}

export function countLines(facets: FacetCounts): string {
  const lines: string[] = []
  for (const facet of FACETS) {
    const counts = byCount(facets[facet])
    if (counts.length === 0) continue
    const shown = counts
      .slice(0, MAX_VALUES_IN_TEXT)
      .map(([value, count]) => `${facet === 'author' ? quote(value, 60) : value} ${count}`)
    const left = counts.length - shown.length
    lines.push(`${facet}: ${shown.join(', ')}${left > 0 ? `, and ${left} more` : ''}`)
  }
  return ['Counts (each ignoring its own filter):', ...lines].join('\n')
}

function byCount(counts: Record<string, number>): [string, number][] {
  return Object.entries(counts).sort(([, a], [, b]) => b - a)
}
