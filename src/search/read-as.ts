import type { FrameFilters, LibrarySearch, ReadAs } from './library-search.ts'
import type { Question } from './text/question.ts'
import { isMet, type Sense } from './text/senses.ts'

/** How a question was read, for its answer. `letGo`: what not every frame of the set meets. */
export function readAsOf(
  { excluded, ignored }: Question,
  senses: readonly Sense[],
  letGo: readonly Sense[] = [],
  met: number = senses.length,
): ReadAs {
  return {
    words: senses.map((sense) => ({ word: sense.text, as: meetingOf(sense) })),
    without: excluded.map(({ text }) => text),
    ignored,
    let_go: letGo.map(({ text }) => text),
    met,
  }
}

/** Words of the library that are told of one that it lacks. */
const MAX_TOLD = 3

function meetingOf(sense: Sense): string[] {
  if (sense.quoted) return ['exact text']
  const { named, inNames, guesses } = sense
  if (isMet(sense) || !guesses) return [...named, ...(inNames.length > 0 ? ['title or brand'] : []), 'text']
  const told = (what: string, words: readonly string[]) =>
    words.length > 0 ? [`${what} ${words.slice(0, MAX_TOLD).join(', ')}${words.length > MAX_TOLD ? ' …' : ''}`] : []
  const { longer, parts, close, pairs } = guesses
  const guessed = [
    ...told('beginning of', longer),
    ...told('part of', parts),
    ...told('typo of', [...close, ...pairs.map((pair) => pair.join(' '))]),
  ]
  return guessed.length > 0 ? guessed : ['text']
}

/**
 * How many frames that pass the filters nobody has described: words find them by their text alone. Undefined for more
 * than are counted.
 */
export async function countUndescribed(search: Pick<LibrarySearch, 'frames'>, filters: FrameFilters) {
  const undescribed = { ...filters, described: ['no'] }
  const query = { filters: undescribed, q: '', sort: 'newest', page: 1, pageSize: 1 } as const
  return (await search.frames({ ...query, facets: false, variety: false, loosen: true })).total
}
