import type { FacetCounts, FrameDocument, FramePage, FrameQuery } from '../library-search.ts'
import { MOST_COUNTED, type Read } from '../query.ts'
import { type Question, readAsOf } from '../text/question.ts'
import { isMet, type Sense } from '../text/senses.ts'
import { type MeiliSearchOptions, openMultiSearch } from './client.ts'
import { countMatches, findMatches, frameHits } from './frames.ts'
import { isKnown } from './senses.ts'

/** What is asked of Meilisearch. It throws while the engine cannot be trusted. */
export interface MeiliSearch {
  /** Changes with what the replica holds. Read from PostgreSQL, so that it holds while the engine is away. */
  version(): Promise<string>
  /** The frames that meet every word. Undefined: it finds none, and another engine knows more of the words. */
  frames(query: Read<FrameQuery>, question: Question, senses: readonly Sense[]): Promise<FramePage | undefined>
  /** Frames by value, without words. */
  counts(query: Read<FrameQuery>): Promise<{ facets: FacetCounts; total: number }>
}

/** Meilisearch ranks the frames that meet every word, and counts facets. `key` needs only the right to search. */
export function openMeiliSearch(
  options: MeiliSearchOptions & { framesByIds(ids: readonly string[]): Promise<FrameDocument[]> },
): MeiliSearch {
  const { prefix = 'library', state, framesByIds } = options
  const multiSearch = openMultiSearch(options)
  return {
    version: async () => (await state())?.version ?? 'none',

    async frames(query, question, senses) {
      const { wanted } = question
      const { hits, total, facets } = await findMatches(multiSearch, prefix, query, wanted)
      if (total === 0) return undefined
      const whole = query.provenance ? await framesByIds(hits.map((hit) => hit.key)) : undefined
      return {
        engine: 'meilisearch',
        frames: frameHits(hits, senses, whole && new Map(whole.map((one) => [one.id, one]))),
        ...(facets ? { facets, total } : {}),
        ...(query.loosen && total <= MOST_COUNTED ? { full: total, total } : {}),
        readAs: readAsOf(question, senses),
      }
    },

    async counts(query) {
      const { facets, total } = await countMatches(multiSearch, prefix, { ...query, page: 1, pageSize: 0 }, [])
      return { facets, total }
    },
  }
}

/** Words of the index are stems: it cannot say quotes and what is left out, nor phrases. */
export const isPlain = ({ wanted, excluded }: Question): boolean =>
  wanted.length > 0 && excluded.length === 0 && wanted.every((one) => !one.quoted && !one.each) && isKnown(wanted)

/** Whether the library has every word without a guess, and the index knows all that meets it. */
export const isSayable = ({ wanted }: Question, senses: readonly Sense[]): boolean =>
  senses.every(
    (sense, n) =>
      isMet(sense) && sense.joins.length === 0 && sense.named.every((one) => wanted[n]!.named.includes(one)),
  )
