import { priced } from '../http/rate-limit/rate-limits.ts'
import { CompressibleBody, sendJson } from '../http/response-body.ts'
import { openRoutes, type Routes } from '../http/routes.ts'
import { readParameters } from '../parameters.ts'
import type { BrandDocument, LibrarySearch, TechniqueDocument } from '../search/library-search.ts'
import { freeText } from '../views/parameters.ts'
import { wantsJson } from './guard.ts'
import { capitalized, counted } from './html.ts'
import type { PageDeps } from './page-deps.ts'

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
export function suggestRouter({ search, pages, limits }: PageDeps): Routes {
  const router = openRoutes()
  router.get('/web/suggest', priced(limits, { price: 'search' }), async (req, res, next) => {
    // The address typed into a browser is no page.
    if (!wantsJson(req)) return next()
    const { q = '' } = readParameters(req.originalUrl, suggestParameters)
    const body = await pages.keep(req, `suggestions ${q}`, async () => {
      return new CompressibleBody(JSON.stringify({ suggestions: await suggest(search, q) }))
    })
    res.set('Cache-Control', 'public, max-age=60')
    res.vary('Accept')
    return sendJson(req, res, body)
  })
  return router
}

const suggestParameters = { q: { schema: freeText(LONGEST), description: 'What is typed.' } }

async function suggest(search: LibrarySearch, q: string): Promise<Suggestion[]> {
  if (q.trim() === '') return []
  const { techniques, brands, videos } = await search.search({ q, limit: MOST, namesOnly: true })
  const named = (
    kind: Suggestion['kind'],
    { name, frame_count, image_path }: TechniqueDocument | BrandDocument,
    href: string,
  ): Suggestion[] => {
    const label = kind === 'technique' ? capitalized(name) : name
    return frame_count > 0 ? [{ kind, label, hint: counted(frame_count, 'frame'), href, image: image_path }] : []
  }
  const found: Suggestion[] = [
    ...techniques.flatMap(({ document }) => named('technique', document, `/techniques/${document.slug}`)),
    ...brands.flatMap(({ document }) => named('brand', document, `/brands/${encodeURIComponent(document.name)}`)),
    ...videos.map(({ document: { id, title, author, image_path: image } }): Suggestion => {
      return { kind: 'video', label: title, hint: author ?? '', href: `/videos/${id}`, image }
    }),
  ]
  if (found.length === 0) return []
  const words = q.trim()
  const last = { label: `Search frames for “${words}”`, href: `/?q=${encodeURIComponent(words)}` }
  return [...found, { kind: 'search', hint: '', image: null, ...last }]
}
