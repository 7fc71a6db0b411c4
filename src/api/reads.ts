import { type Request, type RequestHandler, type Response, Router } from 'express'
import { notFound } from '../errors.ts'
import type { CacheableRead, CachedReads } from '../http/cached-reads.ts'
import { type JsonText, jsonArray, jsonObject, jsonText } from '../json-text.ts'
import { canonicalKey, type Parameters, readParameters, type Values } from '../parameters.ts'
import type { LibrarySearch, ShownFrame } from '../search/library-search.ts'
import {
  brandsParameters,
  frameByIdParameters,
  frameParameters,
  impliedSort,
  PAGE_SIZE,
  SEARCH_LIMIT,
  searchParameters,
  similarParameters,
  techniquesParameters,
  toFilters,
  toFrameQuery,
  videoFramesParameters,
  videosParameters,
} from '../views/frame-query.ts'
import { toBrand, toFrame, toHit, toHitText, toTechnique, toVideo } from '../views/resources.ts'

export interface ReadsDeps {
  search: LibrarySearch
  cache: CachedReads
  publicUrl: string
  /** The canonical key of a pasted video URL; undefined for anything else. */
  sourceKeyOf(term: string): string | undefined
  /** The rate limit of answers that an edge may keep. */
  limit: RequestHandler
}

/** What an id of ours can look like; anything else is no video's and no frame's, and never reaches a store. */
const ID = /^[a-z0-9-]{1,64}$/i

/** What to answer, or the JSON of it. */
type Load<V> = (values: V, id: string) => Promise<object | JsonText>

/** The open reads: no credential is looked at, equal questions share one answer. */
export function readsRouter({ search, cache, publicUrl, sourceKeyOf, limit: limited }: ReadsDeps): Router {
  const router = Router()

  function read<P extends Parameters>(path: string, parameters: P, load: Load<Values<P>>): void {
    const parse = (url: string, given?: string): CacheableRead => {
      const id = given ?? ''
      const values: Values<P> & { sort?: string; q?: string } = readParameters(url, parameters)
      if (values.sort === impliedSort(values)) delete values.sort
      // After the parameters: of two faults the 400 is told first.
      if (given !== undefined && !ID.test(id)) throw notFound(path.startsWith('/api/videos') ? 'video' : 'frame')
      const debug = (values as { debug?: string }).debug === '1'
      return {
        key: `${path} ${id} ${canonicalKey(values)}`,
        load: () => (debug ? explained(() => load(values, id)) : load(values, id)),
        once: debug,
      }
    }
    router.get(path, limited, (req: Request, res: Response) =>
      cache.answer(req, res, () =>
        parse(req.originalUrl, req.params.id === undefined ? undefined : String(req.params.id)),
      ),
    )
  }

  async function explained(load: () => Promise<object | JsonText>): Promise<object> {
    const started = performance.now()
    const answer = await load()
    const body = typeof answer === 'string' ? (JSON.parse(answer) as object) : answer
    const tookMs = Math.round((performance.now() - started) * 10) / 10
    return {
      ...body,
      debug: { engine: search.engine, took_ms: tookMs, as_of: (await search.asOf())?.toISOString() ?? null },
    }
  }

  const frame = (options: { provenance?: string | undefined }) => (document: ShownFrame) =>
    toFrame(document, publicUrl, { provenance: options.provenance === '1' })

  read('/api/search', searchParameters, async ({ q = '', limit = SEARCH_LIMIT.default }) => {
    const groups = await search.search({ q, limit, sourceKey: sourceKeyOf(q) })
    return {
      videos: groups.videos.map((hit) => toHit(hit, (document) => toVideo(document, publicUrl))),
      frames: groups.frames.map((hit) => toHit(hit, (document) => toFrame(document, publicUrl))),
      brands: groups.brands.map((hit) => toHit(hit, (document) => toBrand(document, publicUrl))),
      techniques: groups.techniques.map((hit) => toHit(hit, (document) => toTechnique(document, publicUrl))),
    }
  })

  read('/api/frames', frameParameters, async (values) => {
    const query = toFrameQuery(values)
    const found = await search.frames(query)
    const view = frame(values)
    const hasMore = found.frames.length === PAGE_SIZE
    if (query.q === '' || query.provenance) {
      const frames = found.frames.map((hit) => (query.q === '' ? view(hit.document) : toHit(hit, view)))
      const counts = query.facets ? { facets: found.facets, total: found.total } : {}
      return { page: query.page, frames, hasMore, ...counts }
    }
    const frames = jsonArray(found.frames.map((hit) => toHitText(hit, publicUrl)))
    const counts = query.facets ? { facets: jsonText(found.facets), total: jsonText(found.total) } : {}
    return jsonObject({ page: jsonText(query.page), frames, hasMore: jsonText(hasMore), ...counts })
  })

  read('/api/videos/:id/frames', videoFramesParameters, async (values, id) => {
    const documents = await search.videoFrames(id)
    if (!documents) throw notFound('video')
    return { frames: documents.map(frame(values)) }
  })

  read('/api/videos', videosParameters, async ({ after, limit = 60, author, platform }) => {
    const { items, next } = await search.videos({ after, limit, author, platform })
    return { videos: items.map((document) => toVideo(document, publicUrl)), next }
  })

  read('/api/videos/:id', {}, async (_values, id) => {
    const document = await search.video(id)
    if (!document) throw notFound('video')
    return { video: toVideo(document, publicUrl) }
  })

  read('/api/frames/:id', frameByIdParameters, async (values, id) => {
    const found = await search.frame(id)
    if (!found) throw notFound('frame')
    const view = frame(values)
    return {
      frame: view(found.frame),
      previous: found.previous && view(found.previous),
      next: found.next && view(found.next),
    }
  })

  read('/api/frames/:id/similar', similarParameters, async ({ limit = 24, ...values }, id) => {
    const hits = await search.similar(id, { filters: toFilters(values), limit })
    if (!hits) throw notFound('frame')
    return { frames: hits.map((hit) => toHit(hit, (document) => toFrame(document, publicUrl))) }
  })

  read('/api/techniques', techniquesParameters, async () => {
    return { techniques: (await search.techniques()).map((document) => toTechnique(document, publicUrl)) }
  })

  read('/api/brands', brandsParameters, async ({ after, limit = 60 }) => {
    const { items, next } = await search.brands({ after, limit })
    return { brands: items.map((document) => toBrand(document, publicUrl)), next }
  })

  return router
}
