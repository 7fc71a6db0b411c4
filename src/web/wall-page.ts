import { POINTS, pointsForQuestion } from '../http/rate-limit/budgets.ts'
import { limitOpenReads } from '../http/rate-limit/rate-limits.ts'
import { openRoutes, type Routes } from '../http/routes.ts'
import { samplePalettes } from '../library/frames/frames.ts'
import { findUnderWay } from '../library/videos/video-status.ts'
import { canonicalKey, readPageParameters } from '../parameters.ts'
import { distance, toOklab } from '../search/color.ts'
import type { FramePage } from '../search/library-search.ts'
import { ttlCached } from '../search/ttl-cache.ts'
import { countUndescribed, toFrameQuery } from '../views/parameters.ts'
import { html } from './html.ts'
import type { PageDeps } from './page-deps.ts'
import { pageErrors } from './page-errors.ts'
import { omit, type WallValues, wallParameters } from './wall-address.ts'
import { wallPage } from './wall-view.ts'
import { counted } from './words.ts'

/** `/`: the wall. */
export function wallRouter(deps: PageDeps): Routes {
  const { db, pages, search, limits, assets } = deps
  const router = openRoutes()
  const head = html`<script src="${assets.url('wall-look.js')}"></script>\n`
  const loadFrames = framesLoader(deps)
  const loadColors = colorsLoader(deps)
  const underWayNow = ttlCached(() => findUnderWay(db))

  router.get('/', limitOpenReads(limits, { points: POINTS.search }), async (req, res) => {
    const values = readPageParameters(req.originalUrl, wallParameters)
    const videoId = await findPastedVideo(deps, values)
    if (videoId !== undefined) {
      res.set('Cache-Control', 'no-store').redirect(302, `/videos/${videoId}`)
      return
    }
    const underWay = await underWayNow()
    const state = Object.values(underWay).join('.')
    return pages.send(req, res, {
      key: `wall ${state} ${canonicalKey(values)}`,
      coldPoints: pointsForQuestion({ ...values, facets: true }),
      async render(viewer) {
        const [found, vocabulary, colors] = await Promise.all([loadFrames(values), search.techniques(), loadColors()])
        const { q } = values
        return {
          title: q ?? 'Wall',
          current: 'wall',
          wide: true,
          modules: ['wall.js'],
          head,
          description: q === undefined ? describeLibrary(found) : undefined,
          body: wallPage({ values, found, vocabulary, colors, viewer, underWay }),
        }
      },
    })
  })

  router.use(pageErrors(deps))
  return router
}

function describeLibrary({ total = 0 }: FramePage): string {
  return `${counted(total, 'frame')} of product and launch videos, each described: subject, technique, what to steal.`
}

type WallFrames = FramePage & { undescribed?: number | undefined }

/** The colours of the library, once for each version of the read model. */
function colorsLoader({ db, kept }: Pick<PageDeps, 'db' | 'kept'>) {
  return async () =>
    (await kept.getOrLoad('colours of the library', async () => colorsOf(await samplePalettes(db)))).value
}

/** With fewer frames the wall also tells how many are not described. */
const FEW = 3

/** Pages of frames. All pages of one set of filters share their counts, which cost more than the frames. */
function framesLoader({ search, kept }: Pick<PageDeps, 'search' | 'kept'>) {
  return async (values: WallValues): Promise<WallFrames> => {
    const query = toFrameQuery(values)
    let first: FramePage | undefined
    const { value: counts } = await kept.getOrLoad(`counts ${canonicalKey(omit(values, 'page', 'sort'))}`, async () => {
      const found = await search.frames({ ...query, page: 1, facets: true, loosen: true })
      if (query.page === 1) first = found
      const { facets, total, readAs, loosened } = found
      const few = query.q !== '' && (total ?? 0) < FEW
      const undescribed = few ? await countUndescribed(search, query.filters) : 0
      return { facets, total, readAs, loosened, undescribed }
    })
    const { frames } = first ?? (await search.frames({ ...query, facets: false }))
    return { frames, ...counts }
  }
}

/** The id of the video whose address was pasted into the search box. */
async function findPastedVideo({ search, sourceKeyOf }: PageDeps, { q = '' }: WallValues): Promise<string | undefined> {
  const sourceKey = q === '' ? undefined : sourceKeyOf(q)
  if (sourceKey === undefined) return undefined
  const { videos } = await search.search({ q, limit: 1, sourceKey })
  return videos[0]?.document.id
}

/** Colours closer than this in OKLab look like one in a row of swatches. */
const APART = 0.11

/**
 * The colours that stand for many palettes. The most frequent are chosen, none near another. They are in the order of
 * the rainbow, with greys at the end. Larger areas of a picture count more.
 */
function colorsOf(palettes: readonly (readonly string[])[], most = 21): string[] {
  const weights = new Map<string, number>()
  for (const palette of palettes)
    palette.forEach((hex, n) => {
      weights.set(hex, (weights.get(hex) ?? 0) + 1 / (n + 1))
    })
  const chosen: { hex: string; lab: ReturnType<typeof toOklab> }[] = []
  for (const [hex] of [...weights].sort(([, a], [, b]) => b - a)) {
    if (chosen.length === most) break
    const lab = toOklab(hex)
    if (chosen.every((one) => distance(one.lab, lab) >= APART)) chosen.push({ hex, lab })
  }
  const order = ({ lab: { l, a, b } }: (typeof chosen)[number]) =>
    Math.hypot(a, b) < 0.03 ? 10 + l : Math.atan2(b, a) + (Math.atan2(b, a) < 0 ? 2 * Math.PI : 0)
  return chosen.sort((one, other) => order(one) - order(other)).map(({ hex }) => hex)
}
