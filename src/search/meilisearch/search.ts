import type { FramePage, FrameQuery, LibrarySearch } from '../library-search.ts'
import { BEST, refuseDepth, withCurrentSlugs } from '../query.ts'
import { openTechniqueWords } from '../text/named-words.ts'
import { type Question, readAsOf, readQuestion } from '../text/question.ts'
import { isMet, type Sense } from '../text/senses.ts'
import { tokenize } from '../text/tokens.ts'
import { type MeiliSearchOptions, openMeiliClient } from './client.ts'
import { countMatches, findMatches, findVaried, frameHits } from './frames.ts'
import { isKnown } from './senses.ts'

/** A search that may fail, and that answers some queries alone. */
export interface EngineSearch extends LibrarySearch {
  /** Sends a search to the engine. @throws while the engine cannot be trusted. */
  probe(): Promise<void>
  /** Whether the engine itself answers this query. Queries it does not answer say nothing about its health. */
  handles: { search(query: Parameters<LibrarySearch['search']>[0]): boolean; frames(query: FrameQuery): boolean }
}

/**
 * Meilisearch ranks the frames that meet every word, and counts facets; `reads` answers the rest. `key` needs only the
 * right to search.
 */
export function openMeiliSearch(options: MeiliSearchOptions): EngineSearch {
  const { prefix = 'library', reads, mirror } = options
  const client = openMeiliClient(options)
  const techniqueWords = openTechniqueWords(reads)

  const handles: EngineSearch['handles'] = {
    search: ({ q, sourceKey, namesOnly = false }) => !namesOnly && sourceKey === undefined && asksForWords(q),
    frames: ({ q, sort, facets }) => (q.trim() === '' ? facets : sort === 'relevance' && asksForWords(q)),
  }

  /** A page in a stored order from the read model, its counts from Meilisearch. */
  async function pageWithCounts(asked: FrameQuery): Promise<FramePage> {
    const counted = withCurrentSlugs({ ...asked, page: 1, pageSize: 0 }, reads.techniques)
    const [page, { facets, total }] = await Promise.all([
      reads.frames({ ...asked, facets: false }),
      counted.then((query) => countMatches(client, prefix, query, [])),
    ])
    return { ...page, facets, total }
  }

  /** The frames that meet every word; undefined where there are none, or the read model must look for them. */
  async function findFull(asked: FrameQuery): Promise<FramePage | undefined> {
    const question = readQuestion(asked.q, await techniqueWords())
    if (!isPlain(question)) return undefined
    const senses = await reads.senses(question)
    if (!senses.every((sense, n) => isSayable(sense, question.wanted[n]!.named))) return undefined
    const query = await withCurrentSlugs(asked, reads.techniques)
    const { wanted } = question
    const { hits, total, facets } = await findMatches(client, prefix, query, wanted)
    const varied = query.variety ? await findVaried(client, prefix, query, wanted) : undefined
    if (varied ? varied.length === 0 : total === 0) return undefined
    const found = varied?.slice((query.page - 1) * query.pageSize) ?? hits
    const whole = query.variety || query.provenance ? await reads.framesByIds(found.map((hit) => hit.key)) : undefined
    const frames = frameHits(found, senses, whole && new Map(whole.map((one) => [one.id, one])))
    return {
      frames,
      ...(facets ? { facets, total } : {}),
      ...(query.loosen ? { full: total, total } : {}),
      readAs: readAsOf(question, senses),
    }
  }

  async function frames(asked: FrameQuery): Promise<FramePage> {
    refuseDepth(asked)
    // The read model pages faster through a stored order, and to any depth.
    // Words in such an order are searched by one engine alone, so that no page repeats a frame.
    if (!handles.frames(asked)) return reads.frames(asked)
    if (asked.q.trim() === '') return pageWithCounts(asked)
    const found = await findFull(asked)
    if (!found) return reads.frames(asked)
    const { page, fill = 0 } = asked
    if (page > 1 || found.frames.length >= fill) return found
    const held = new Set(found.frames.map(({ document }) => document.id))
    const { partialMatches = [] } = await reads.frames({ ...asked, facets: false, fill })
    const isNext = partialMatches.filter(({ document }) => !held.has(document.id))
    return { ...found, partialMatches: isNext.slice(0, fill - found.frames.length) }
  }

  return {
    ...reads,
    engine: 'meilisearch',
    handles,
    probe: client.probe,

    async version() {
      return `${await reads.version()}.${(await mirror())?.version ?? 'none'}`
    },

    async search(query) {
      if (!handles.search(query)) return reads.search(query)
      const { q, limit } = query
      // Names are few: the read model finds them as quickly.
      const [names, found] = await Promise.all([
        reads.search({ ...query, namesOnly: true }),
        frames({ ...BEST, q, pageSize: limit, fill: limit }),
      ])
      return { ...names, frames: [...found.frames, ...(found.partialMatches ?? [])], readAs: found.readAs }
    },
    frames,
  }
}

/** Whether a question holds a word. Words that weigh nothing are asked for where there are no others. */
const asksForWords = (q: string): boolean => tokenize(q).length > 0

/** Words of the index are stems: it cannot say quotes and what is left out, nor phrases. */
const isPlain = ({ wanted, excluded }: Question): boolean =>
  wanted.length > 0 && excluded.length === 0 && wanted.every((one) => !one.quoted && !one.each) && isKnown(wanted)

/** Whether the library has a word without a guess, and the index knows all that meets it. */
const isSayable = (sense: Sense, named: readonly string[]): boolean =>
  isMet(sense) && sense.joins.length === 0 && sense.named.every((one) => named.includes(one))
