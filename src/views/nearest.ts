import { z } from 'zod'
import { cleanText } from '../clean-text.ts'
import { brandIdOf, type FrameFilters, type LibrarySearch, type TechniqueDocument } from '../search/library-search.ts'
import { currentSlug } from '../search/query.ts'

/** What was probably meant by a name that the library does not have. */

const PARAMETERS = ['author', 'technique', 'video'] as const

export const UnknownValue = z.strictObject({
  parameter: z.enum(PARAMETERS),
  value: z.string(),
  nearest: z.array(z.string()),
})

const SEARCHABLE = /[\p{L}\p{N}]/u

/** Further unknown values are not told: each takes a search. */
const MOST = 5

/** The brands, techniques and videos of a filter that there are not. */
export async function unknownValues(search: LibrarySearch, filters: FrameFilters) {
  const { author = [], technique = [], video = [] } = filters
  const [brands, videos, vocabulary] = await Promise.all([
    search.documents('brands', author.map(brandIdOf)),
    search.documents('videos', video),
    technique.length > 0 ? search.techniques() : [],
  ])
  const named = (value: string) => search.search({ q: cleanText(value), limit: MOST, namesOnly: true })
  const isKnown = {
    author: (value: string) => brands.has(brandIdOf(value)),
    technique: (value: string) => currentSlug(vocabulary, value) !== undefined,
    video: (value: string) => videos.has(value),
  }
  const near = {
    author: async (value: string) => (await named(value)).brands.map(({ document }) => document.name),
    technique: async (value: string) => nearestTechniques(vocabulary, value, MOST).map(({ slug }) => slug),
    video: async (value: string) => (await named(value)).videos.map(({ document }) => document.id),
  }
  const unknown = PARAMETERS.flatMap((parameter) =>
    (filters[parameter] ?? []).filter((value) => !isKnown[parameter](value)).map((value) => ({ parameter, value })),
  )
  return Promise.all(
    unknown.slice(0, MOST).map(async (one) => {
      return { ...one, nearest: SEARCHABLE.test(one.value) ? await near[one.parameter](one.value) : [] }
    }),
  )
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
      likeness: Math.max(...namesOf(technique).map((name) => dice(letterPairs(name), pairs))),
    }))
    .filter(({ likeness }) => likeness >= 0.35)
    .sort((a, b) => b.likeness - a.likeness || (a.technique.slug < b.technique.slug ? -1 : 1))
    .slice(0, count)
    .map(({ technique }) => technique)
}

const namesOf = ({ slug, name, aliases }: TechniqueDocument) => [slug, name, ...aliases]

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
