import { priced } from '../http/rate-limit/rate-limits.ts'
import { CompressibleBody, preferredEncoding, sendBody } from '../http/response-body.ts'
import { openRoutes, type Routes } from '../http/routes.ts'
import type { LibrarySearch } from '../search/library-search.ts'
import type { PageDeps } from './page-deps.ts'

/** The newest videos lead to the rest: a longer list would cost too much for one request. */
const VIDEOS = 1_000

/** `/robots.txt` and `/sitemap.xml`. Pages of a person, and the endless addresses of filters, are not for crawlers. */
export function crawlersRouter({ search, limits, kept, publicUrl }: PageDeps): Routes {
  const router = openRoutes()
  const robots = [
    'User-agent: *',
    ...['/?', '/web/', '/shared/', '/operator', '/keys', '/saves', '/boards', '/compare'].map(
      (path) => `Disallow: ${path}`,
    ),
    `Sitemap: ${publicUrl}/sitemap.xml`,
    `# For programs and language models: ${publicUrl}/llms.txt`,
  ]

  router.get('/robots.txt', priced(limits), (_req, res) => {
    res
      .set('Cache-Control', 'public, max-age=3600')
      .type('text/plain')
      .send(`${robots.join('\n')}\n`)
  })

  router.get('/sitemap.xml', priced(limits), async (req, res) => {
    const { value } = await kept.getOrLoad(
      'sitemap',
      async () => new CompressibleBody(await sitemap(search, publicUrl)),
    )
    res.set('Cache-Control', 'public, max-age=300').vary('Accept-Encoding')
    await sendBody(req, res, value, { type: 'application/xml', encoding: preferredEncoding(req) })
  })
  return router
}

async function sitemap(search: LibrarySearch, publicUrl: string): Promise<string> {
  const [{ items: videos }, techniques] = await Promise.all([
    search.videos({ after: undefined, limit: VIDEOS }),
    search.techniques(),
  ])
  const entries = [
    ...['/', '/films', '/techniques', '/brands', '/docs', '/privacy'].map((path) => ({ path })),
    ...techniques.filter(({ frame_count }) => frame_count > 0).map(({ slug }) => ({ path: `/techniques/${slug}` })),
    ...videos.map(({ id, added_at }) => ({ path: `/videos/${id}`, at: added_at })),
  ]
  const urls = entries.map(({ path, at }: { path: string; at?: string }) => {
    const changed = at === undefined ? '' : `<lastmod>${at}</lastmod>`
    return `<url><loc>${publicUrl}${path}</loc>${changed}</url>`
  })
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">',
    ...urls,
    '</urlset>\n',
  ].join('\n')
}
