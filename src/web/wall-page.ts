import { Router } from 'express'
import { notFound } from '../errors.ts'
import { CompressibleBody } from '../http/compressed-body.ts'
import { contextOf } from '../http/edge.ts'
import { POINTS } from '../http/rate-limit/budgets.ts'
import type { RateLimits } from '../http/rate-limit/rate-limits.ts'
import { limitOpenReads } from '../http/rate-limit/spend.ts'
import type { ReadModelVersion } from '../http/read-model-version.ts'
import type { TakeTurn } from '../http/turns.ts'
import { openVersionedCache } from '../http/versioned-cache.ts'
import type { Logger } from '../logger.ts'
import { canonicalKey, readParameters } from '../parameters.ts'
import type { LibrarySearch } from '../search/library-search.ts'
import { withoutTracking } from '../tracking.ts'
import { toFrameQuery } from '../views/frame-query.ts'
import type { Assets } from './assets.ts'
import { clock } from './frame-card.ts'
import { framePage } from './frame-page.ts'
import { setPageCache, type ViewerOf } from './guard.ts'
import { layout, sendPage, type Viewer } from './layout.ts'
import { pageErrors } from './page-errors.ts'
import { type WallValues, wallPage, wallParameters } from './wall-view.ts'

export interface WallDeps {
  assets: Assets
  viewerOf: ViewerOf
  search: LibrarySearch
  readModel: ReadModelVersion
  limits: RateLimits
  takeTurn: TakeTurn
  logger: Logger
  publicUrl: string
  /** The canonical key of a pasted video address; undefined for anything else. */
  sourceKeyOf(term: string): string | undefined
}

const MAX_CACHE_BYTES = 16 * 1024 * 1024

/** `/` and `/frames/{id}`. */
export function wallRouter(deps: WallDeps): Router {
  const { assets, viewerOf, readModel, limits, takeTurn, logger, publicUrl } = deps
  const router = Router()
  const limit = limitOpenReads(limits, { points: POINTS.search })
  const pages = openVersionedCache<CompressibleBody>({
    readModel,
    maxBytes: MAX_CACHE_BYTES,
    // Twice the body: its compressed forms are kept beside it.
    sizeOf: ({ bytes }) => bytes.length * 2,
  })

  router.get('/', limit, async (req, res) => {
    const values = readParameters(withoutTracking(req.originalUrl), wallParameters)
    const videoId = await findPastedVideo(deps, values)
    if (videoId !== undefined) {
      res.set('Cache-Control', 'no-store').redirect(302, `/?video=${videoId}`)
      return
    }
    const viewer = await viewerOf(req)
    const { value: page } = await pages.getOrLoad(`${viewer} ${canonicalKey(values)}`, () =>
      takeTurn(contextOf(req).address, async () => new CompressibleBody(await renderWall(deps, values, viewer))),
    )
    setPageCache(res, viewer)
    return sendPage(res, { publicUrl, page })
  })

  router.get('/frames/:id', limit, async (req, res) => {
    readParameters(withoutTracking(req.originalUrl), {})
    const viewer = await viewerOf(req)
    const text = await takeTurn(contextOf(req).address, () => renderFrame(deps, String(req.params.id), viewer))
    const page = new CompressibleBody(text)
    setPageCache(res, viewer)
    return sendPage(res, { publicUrl, page })
  })

  router.use(pageErrors({ assets, publicUrl, logger }))
  return router
}

/** The id of the video whose address was pasted into the search box. */
async function findPastedVideo({ search, sourceKeyOf }: WallDeps, values: WallValues): Promise<string | undefined> {
  const { q } = toFrameQuery(values)
  const sourceKey = sourceKeyOf(q)
  if (sourceKey === undefined) return undefined
  const { videos } = await search.search({ q, limit: 1, sourceKey })
  return videos[0]?.document.id
}

async function renderWall({ assets, search }: WallDeps, values: WallValues, viewer: Viewer): Promise<string> {
  const query = toFrameQuery(values)
  const [found, vocabulary] = await Promise.all([search.frames({ ...query, facets: true }), search.techniques()])
  return layout(assets, {
    title: query.q === '' ? 'Library' : query.q,
    current: 'wall',
    viewer,
    wide: true,
    modules: ['wall.js'],
    body: wallPage({ values, found, vocabulary }),
  })
}

/** @throws AppError not_found */
async function renderFrame({ assets, search }: WallDeps, id: string, viewer: Viewer): Promise<string> {
  const found = await search.frame(id)
  if (!found) throw notFound('frame')
  const { frame } = found
  const [similar, strip, vocabulary] = await Promise.all([
    search.similar(id, { filters: {}, limit: 12 }),
    search.videoFrames(frame.video_id),
    search.techniques(),
  ])
  const title = frame.caption ?? `${frame.video.title} at ${clock(frame.t_sec)}`
  return layout(assets, {
    title: title.slice(0, 80),
    current: 'wall',
    viewer,
    wide: true,
    body: framePage({ ...found, strip: strip ?? [], similar: similar ?? [], vocabulary }),
  })
}
