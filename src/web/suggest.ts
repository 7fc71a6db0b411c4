import { contextOf } from '../http/edge.ts'
import { limitOpenReads } from '../http/rate-limit/rate-limits.ts'
import { CompressibleBody, sendJson } from '../http/response-body.ts'
import { openRoutes, type Routes } from '../http/routes.ts'
import { keptOrInTurn } from '../http/versioned-cache.ts'
import { readParameters } from '../parameters.ts'
import type { LibrarySearch } from '../search/library-search.ts'
import { freeText } from '../views/parameters.ts'
import { wantsJson } from './guard.ts'
import type { PageDeps } from './page-deps.ts'
import { pageErrors } from './page-errors.ts'
import { capitalized, counted } from './words.ts'

/** Of each kind. */
const MOST = 4
/** Longer texts are no beginnings of names. */
const LONGEST = 80

interface Suggestion {
  kind: 'technique' | 'brand' | 'video' | 'search'
  label: string
  hint: string
  href: string
  image: string | null
}

/** `/web/suggest?q=`: techniques, brands and videos whose names match the typed text. It never searches frames. */
export function suggestRouter(deps: PageDeps): Routes {
  const { search, kept, takeTurn, limits } = deps
  const router = openRoutes()
  router.get('/web/suggest', limitOpenReads(limits), async (req, res, next) => {
    // The address typed into a browser is no page.
    if (!wantsJson(req)) return next()
    const { q = '' } = readParameters(req.originalUrl, suggestParameters)
    const asked = { key: `suggestions ${q.toLowerCase()}`, subject: contextOf(req).address }
    const load = async () => new CompressibleBody(JSON.stringify(await suggest(search, q)))
    const { value } = await keptOrInTurn({ kept, takeTurn }, asked, load)
    res.set('Cache-Control', 'public, max-age=60')
    res.vary('Accept')
    return sendJson(req, res, value)
  })
  router.use(pageErrors(deps))
  return router
}

const suggestParameters = { q: { schema: freeText(LONGEST), description: 'What is typed.' } }

async function suggest(search: LibrarySearch, q: string): Promise<{ suggestions: Suggestion[] }> {
  if (q.trim() === '') return { suggestions: [] }
  const { techniques, brands, videos } = await search.search({ q, limit: MOST, namesOnly: true })
  const named: Suggestion[] = [
    ...techniques
      .filter(({ document }) => document.frame_count > 0)
      .map(
        ({ document: { slug, name, frame_count, image_path } }): Suggestion => ({
          kind: 'technique',
          label: capitalized(name),
          hint: counted(frame_count, 'frame'),
          href: `/techniques/${slug}`,
          image: image_path,
        }),
      ),
    ...brands
      .filter(({ document }) => document.frame_count > 0)
      .map(
        ({ document: { name, frame_count, image_path } }): Suggestion => ({
          kind: 'brand',
          label: name,
          hint: counted(frame_count, 'frame'),
          href: `/brands/${encodeURIComponent(name)}`,
          image: image_path,
        }),
      ),
    ...videos.map(
      ({ document: { id, title, author, image_path } }): Suggestion => ({
        kind: 'video',
        label: title,
        hint: author ?? '',
        href: `/videos/${id}`,
        image: image_path,
      }),
    ),
  ]
  if (named.length === 0) return { suggestions: [] }
  const words = q.trim()
  const last = { label: `Search frames for “${words}”`, href: `/?q=${encodeURIComponent(words)}` }
  return { suggestions: [...named, { kind: 'search', hint: '', image: null, ...last }] }
}
