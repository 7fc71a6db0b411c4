import type { FramePage, FrameQuery } from '../library-search.ts'
import { refuseDepth } from '../limits.ts'
import type { ResilientOptions } from '../resilient.ts'
import { withCurrentSlugs } from '../techniques.ts'
import { parseQuery } from '../text/query.ts'
import { type MeiliSearchOptions, openMeiliClient } from './client.ts'
import { countMatches, findMatches, findVaried } from './frames.ts'
import { searchGroups } from './groups.ts'
import { frameHits } from './hits.ts'

type Primary = ResilientOptions['primary']

/** Meilisearch ranks by words and counts facets; `reads` answers the rest. `key` needs only the right to search. */
export function openMeiliSearch(options: MeiliSearchOptions): Primary {
  const { prefix = 'library', reads, mirror } = options
  const client = openMeiliClient(options)

  const handles: Primary['handles'] = {
    search: ({ q, sourceKey }) => sourceKey === undefined && parseQuery(q).length > 0,
    frames: ({ q, sort, facets }) => (q.trim() === '' ? facets : sort === 'relevance' && parseQuery(q).length > 0),
  }

  /** A page in a stored order from the read model, its counts from Meilisearch. */
  async function pageWithCounts(asked: FrameQuery): Promise<FramePage> {
    const counted = withCurrentSlugs({ ...asked, page: 1, pageSize: 0 }, reads.techniques)
    const [{ frames }, { facets, total }] = await Promise.all([
      reads.frames({ ...asked, facets: false }),
      counted.then((query) => countMatches(client, prefix, query, [])),
    ])
    return { frames, facets, total }
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
      return (await searchGroups(client, prefix, { q, limit, terms: parseQuery(q) })) ?? reads.search({ q, limit })
    },

    async frames(asked) {
      refuseDepth(asked)
      // The read model pages faster through a stored order, and to any depth.
      // Words in such an order are searched by one engine alone, so that no page repeats a frame.
      if (!handles.frames(asked)) return reads.frames(asked)
      const terms = parseQuery(asked.q)
      if (terms.length === 0) return pageWithCounts(asked)
      const query = await withCurrentSlugs(asked, reads.techniques)
      const { hits, none, ...counts } = await findMatches(client, prefix, query, terms)
      const varied = query.variety ? await findVaried(client, prefix, query, terms) : undefined
      // The read model forgives more: a wrong first letter, and parts of words that are not the last.
      if (varied ? varied.length === 0 : none) return reads.frames(query)
      const found = varied?.slice((query.page - 1) * query.pageSize) ?? hits
      if (!query.variety && !query.provenance) return { frames: frameHits(found, terms), ...counts }
      const documents = await reads.framesByIds(found.map((hit) => hit.key))
      return { frames: frameHits(found, terms, new Map(documents.map((one) => [one.id, one]))), ...counts }
    },
  }
}
