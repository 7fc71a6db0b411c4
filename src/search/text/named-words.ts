import { ATTRIBUTE_WORDS } from '../../attribute-words.ts'
import { isFunctionWord } from './function-words.ts'
import { nameKey } from './tokens.ts'
import { editDistance } from './typos.ts'

/** What words name: `attribute=value` by the words in a row. */
export type NamedWords = Readonly<Record<string, readonly string[]>>

/** Longest phrase that names something, in words. */
export const MAX_PHRASE = 5

const TABLE: ReadonlyMap<string, readonly string[]> = tableOf(
  Object.entries(ATTRIBUTE_WORDS).flatMap(([attribute, values]) =>
    Object.entries(values as Record<string, string>).flatMap(([value, phrases]) =>
      phrases.split(',').map((phrase) => ({ phrase: phrase.trim(), named: `${attribute}=${value}` })),
    ),
  ),
)

/** Every phrase of the table with its words that are no function words. */
export function namedPhrases(): { words: string[]; named: readonly string[]; called: string[][] }[] {
  return [...TABLE].map(([phrase, named]) => ({
    words: phrase.split(' ').filter((word) => !isFunctionWord(word)),
    named,
    called: plainNames(named),
  }))
}

/** The techniques of a library by slug, name and aliases. */
export function techniqueWords(
  techniques: readonly { slug: string; name: string; aliases: readonly string[] }[],
): NamedWords {
  return Object.fromEntries(
    tableOf(
      techniques.flatMap(({ slug, name, aliases }) =>
        [slug, name, ...aliases].map((phrase) => ({ phrase, named: `technique=${slug}` })),
      ),
    ),
  )
}

/** What these words name together; undefined for nothing. A long word may have one letter wrong. */
export function namedBy(words: readonly string[], techniques: NamedWords): readonly string[] | undefined {
  const phrase = words.join(' ')
  return (
    lookUp(phrase, techniques) ??
    (/[a-z]{3}s$/.test(phrase) ? lookUp(phrase.slice(0, -1), techniques) : undefined) ??
    (words.length === 1 ? misspelt(phrase) : undefined)
  )
}

/**
 * Words of the table that a misspelt word can hardly be confused with. Shorter ones are one letter away from other
 * words: talking and walking, product and produce.
 */
const LONG_WORDS = [...TABLE.keys()].filter((key) => /^[a-z]{8,}$/.test(key))

/** What a long word of the table names that starts alike and differs in one letter. */
function misspelt(word: string): readonly string[] | undefined {
  if (!/^[a-z]{7,}$/.test(word)) return undefined
  const meant = LONG_WORDS.find((key) => key[0] === word[0] && editDistance(word, key, 1) === 1)
  return meant === undefined ? undefined : TABLE.get(meant)
}

/** What a subject or tone is called in the lists: a text may say so. */
export function plainNames(named: readonly string[]): string[][] {
  return named.flatMap((one) => {
    const [attribute, value] = one.split('=') as [string, string]
    return attribute === 'subject' || attribute === 'tone' ? [value.split('-')] : []
  })
}

function lookUp(phrase: string, techniques: NamedWords): readonly string[] | undefined {
  const one = TABLE.get(phrase)
  const other = Object.hasOwn(techniques, phrase) ? techniques[phrase] : undefined
  return one && other ? [...new Set([...one, ...other])] : (one ?? other)
}

function tableOf(rows: readonly { phrase: string; named: string }[]): Map<string, readonly string[]> {
  const table = new Map<string, string[]>()
  for (const { phrase, named } of rows) {
    const key = nameKey(phrase)
    if (key === '') continue
    const held = table.get(key) ?? []
    if (!held.includes(named)) table.set(key, [...held, named])
  }
  return table
}
