import type { FrameHit, FramePage, FrameQuery } from '../library-search.ts'
import { refuseDepth } from '../limits.ts'
import { readAsOf } from '../read-as.ts'
import type { ResilientOptions } from '../resilient.ts'
import { openTechniqueWords } from '../technique-words.ts'
import { withCurrentSlugs } from '../techniques.ts'
import { readQuestion } from '../text/question.ts'
import { tokenize } from '../text/tokens.ts'
import { type MeiliSearchOptions, openMeiliClient } from './client.ts'
import { countMatches, findMatches, findVaried } from './frames.ts'
import { searchGroups } from './groups.ts'
import { frameHits } from './hits.ts'
import { isKnown } from './senses.ts'

type Primary = ResilientOptions['primary']

const RANKED = { filters: {}, sort: 'relevance', page: 1, facets: false, variety: false } as const

/** Meilisearch ranks by words and counts facets; `reads` answers the rest. `key` needs only the right to search. */
export function openMeiliSearch(options: MeiliSearchOptions): Primary {
  const { prefix = 'library', reads, mirror } = options
  const client = openMeiliClient(options)
  const techniqueWords = openTechniqueWords(reads.techniques)

  const handles: Primary['handles'] = {
    // Names are few: the read model finds them as quickly, and forgives more.
    search: ({ q, sourceKey, namesOnly = false }) => !namesOnly && sourceKey === undefined && asksForWords(q),
    frames: ({ q, sort, facets }) => (q.trim() === '' ? facets : sort === 'relevance' && asksForWords(q)),
  }

  /** A page in a stored order from the read model, its counts from Meilisearch. */
  async function pageWithCounts(asked: FrameQuery): Promise<FramePage> {
    const counted = withCurrentSlugs({ ...asked, page: 1, pageSize: 0 }, reads.techniques)
    const [page, { facets, total }] = await Promise.all([
      reads.frames({ ...asked, facets: false }),
      counted.then((query) => countMatches(client, prefix, query, { wanted: [], excluded: [] })),
    ])
    return { ...page, facets, total }
  }

  /** What follows hits with all words. The read model may find more of those: it forgives more. */
  async function nextBest(query: FrameQuery, held: readonly FrameHit[], upTo: number): Promise<FrameHit[]> {
    const ids = new Set(held.map(({ document }) => document.id))
    const found = await reads.frames({ ...query, facets: false, fill: upTo })
    return [...found.frames, ...(found.nextBest ?? [])]
      .filter(({ document }) => !ids.has(document.id))
      .slice(0, upTo - held.length)
      .map((hit) => (hit.missing || held.length === 0 ? hit : afterAll(hit)))
  }

  return {
    ...reads,
    engine: 'meilisearch',
    handles,
    probe: client.probe,

    async version() {
      return `${await reads.version()}.${(await mirror())?.version ?? 'none'}`
    },
    asOf: async () => (await mirror())?.appliedAt ?? null,

    async search(query) {
      if (!handles.search(query)) return reads.search(query)
      const { q, limit } = query
      const question = readQuestion(q, await techniqueWords())
      if (!isKnown(question.wanted, question.excluded)) return reads.search({ q, limit })
      const groups = await searchGroups(client, prefix, { q, limit, question })
      if (!groups) return reads.search({ q, limit })
      const room = limit - groups.frames.length
      if (question.wanted.length < 2 || room <= 0) return groups
      const best = await nextBest({ ...RANKED, q, pageSize: limit }, groups.frames, limit)
      return { ...groups, frames: [...groups.frames, ...best] }
    },

    async frames(asked) {
      refuseDepth(asked)
      // The read model pages faster through a stored order, and to any depth.
      // Words in such an order are searched by one engine alone, so that no page repeats a frame.
      if (!handles.frames(asked)) return reads.frames(asked)
      if (asked.q.trim() === '') return pageWithCounts(asked)
      const question = readQuestion(asked.q, await techniqueWords())
      if (!isKnown(question.wanted, question.excluded)) return reads.frames(asked)
      const query = await withCurrentSlugs(asked, reads.techniques)
      const { hits, none, ...counts } = await findMatches(client, prefix, query, question)
      const varied = query.variety ? await findVaried(client, prefix, query, question) : undefined
      // The read model forgives more: a wrong first letter, and parts of words that are not the last.
      if (varied ? varied.length === 0 : none) return reads.frames(query)
      const found = varied?.slice((query.page - 1) * query.pageSize) ?? hits
      const whole = query.variety || query.provenance ? await reads.framesByIds(found.map((hit) => hit.key)) : undefined
      const frames = frameHits(found, question.wanted, whole && new Map(whole.map((one) => [one.id, one])))
      const { fill = 0 } = query
      const isFilled = query.page === 1 && frames.length < fill
      return {
        frames,
        ...counts,
        readAs: readAsOf(question),
        ...(isFilled ? { nextBest: await nextBest(query, frames, fill) } : {}),
      }
    },
  }
}

/** Whether a question holds a word. Words that weigh nothing are asked for where there are no others. */
const asksForWords = (q: string): boolean => tokenize(q).length > 0

/** A hit with all words that only the read model finds: after those of this engine, before the next best. */
function afterAll(hit: FrameHit): FrameHit {
  const { document, text, matched } = hit
  return { document, ...(text === undefined ? {} : { text }), score: 0.5, matched }
}
