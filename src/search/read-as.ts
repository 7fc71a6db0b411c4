import type { ReadAs } from './library-search.ts'
import type { ReadTerm } from './text/query.ts'
import type { Question } from './text/question.ts'

/** How a question was read, for its answer. `letGo`: terms that not every frame of the set meets. */
export function readAsOf(
  { wanted, excluded, ignored }: Question,
  letGo: readonly ReadTerm[] = [],
  met: number = wanted.length,
): ReadAs {
  return {
    words: wanted.map((term) => ({
      word: wordOf(term),
      as: term.quoted ? ['exact text'] : [...term.named, 'text'],
    })),
    without: excluded.map(wordOf),
    ignored,
    let_go: letGo.map(wordOf),
    met,
  }
}

/** The words of a hit that it does not meet; undefined where it meets all. */
export function missingOf(terms: readonly ReadTerm[], met: readonly boolean[] | undefined): string[] | undefined {
  return met && terms.filter((_, n) => !met[n]).map(wordOf)
}

const wordOf = ({ words, quoted, exact }: ReadTerm): string =>
  quoted && words.length > 1 ? `"${words.join(' ')}"` : words.join(exact ? '' : ' ')
