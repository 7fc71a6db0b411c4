import { notFound } from '../errors.ts'
import { POINTS } from '../http/rate-limit/budgets.ts'
import { limitOpenReads } from '../http/rate-limit/rate-limits.ts'
import { openRoutes, type Routes } from '../http/routes.ts'
import { similarFilms } from '../library/films/comparison.ts'
import { canonicalKey, type Parameters, readPageParameters, type Values } from '../parameters.ts'
import type { FrameFilters, FramePage, LibrarySearch } from '../search/library-search.ts'
import { currentSlug } from '../search/query.ts'
import { readFilm } from '../views/film.ts'
import {
  compareParameters,
  filmParameters,
  findFilms,
  listOpenings,
  OPENING_POINTS,
  openingParameters,
  pointsForEnds,
  requireCompared,
} from '../views/film-list.ts'
import { plainName, requirePublicId } from '../views/parameters.ts'
import { readSequences, SEQUENCE_POINTS, sequenceParameters, toSequenceQuery } from '../views/sequences.ts'
import { brandPage, brandsPage, techniquePage, techniquesPage } from './entity-pages.ts'
import { comparePage, filmsPage } from './films-pages.ts'
import { openGraph, type Page } from './layout.ts'
import { openingsPage } from './openings-page.ts'
import type { PageDeps } from './page-deps.ts'
import { pageErrors } from './page-errors.ts'
import { sequencesPage } from './sequences-page.ts'
import { videoPage } from './video-page.ts'
import { capitalized, counted } from './words.ts'

const BRANDS = 60
const VIDEOS = 60
const BEST = 24
const FILMS = 60
const OPENINGS = 12
const SEQUENCES = 24

/** Videos, brands and techniques. */
export function entityRouter(deps: PageDeps): Routes {
  const router = openRoutes()
  const page = pageAdder(router, deps)
  addVideosAndBrands(page, deps)
  addFilms(page, deps)
  addTechniques(router, page, deps)
  router.use(pageErrors(deps))
  return router
}

interface PageOptions<P extends Parameters> {
  parameters?: P
  points?: number
  /** Points beyond these when the page is not in memory. */
  coldPoints?: number | ((query: Values<P>) => number)
  /** Throws for a part of the path that names nothing. */
  check?: (name: string) => void
}
type Content = Omit<Page, 'viewer' | 'account' | 'formToken'>
const COMMON = { wide: true, modules: ['frame-list.js'] } as const

/** Adds pages that all readers share. `name` is the variable part of the path. */
function pageAdder(router: Routes, { pages, limits }: PageDeps) {
  return <P extends Parameters = Record<never, never>>(
    path: string,
    { parameters, points = POINTS.search, coldPoints = 0, check }: PageOptions<P>,
    render: (asked: { query: Values<P>; name: string }) => Promise<Content>,
  ): void => {
    router.get(path, limitOpenReads(limits, { points }), (req, res) => {
      const query = readPageParameters(req.originalUrl, parameters)
      const name = String(Object.values(req.params)[0] ?? '')
      check?.(name)
      return pages.send(req, res, {
        key: `${path} ${name} ${canonicalKey(query)}`,
        coldPoints: typeof coldPoints === 'number' ? coldPoints : coldPoints(query),
        render: async () => ({ ...COMMON, ...(await render({ query, name })) }),
      })
    })
  }
}
type AddPage = ReturnType<typeof pageAdder>

const listParameters = { after: { schema: plainName(4_000), description: 'The cursor of the page before.' } }

function addVideosAndBrands(page: AddPage, deps: PageDeps): void {
  const { search, films, publicUrl } = deps
  const check = (id: string) => requirePublicId('video', id)
  page('/videos/:id', { coldPoints: POINTS.search, check }, async ({ name: id }) => {
    const { video, frames, grammar, film } = await readFilm(deps, id)
    const description = `${video.author ?? 'A video'}: ${counted(frames.length, 'frame')} on a time line.`
    const image = frames[0] && imageOf(video.image_path, frames[0])
    const card = { title: video.title, description, path: `/videos/${id}`, image: image ?? null }
    const shelf = await films.shelf()
    const own = shelf.find((one) => one.id === id)
    const similar = own ? similarFilms(own, shelf, { view: 'style', limit: 6 }) : []
    const ids = similar.map((near) => near.film.id)
    const [vocabulary, videos] = await Promise.all([search.techniques(), search.documents('videos', ids)])
    const body = videoPage({ video, frames, vocabulary, grammar, film, similar, videos })
    return { title: video.title, description, head: openGraph(publicUrl, card), body }
  })

  page('/brands', { parameters: listParameters }, async ({ query: { after } }) => {
    const { items, next } = await search.brands({ after, limit: BRANDS })
    return { title: 'Brands', current: 'brands', body: brandsPage(items, next, after) }
  })

  const isName = (name: string) => {
    if (name.length > 300) throw notFound('brand')
  }
  page('/brands/:name', { check: isName }, async ({ name }) => {
    const [found, { items }, vocabulary] = await Promise.all([
      strongest(search, { author: [name] }),
      search.videos({ after: undefined, limit: VIDEOS, author: name }),
      search.techniques(),
    ])
    if (found.frames.length === 0) throw notFound('brand')
    const description = `${counted(found.total ?? 0, 'frame')} of ${counted(items.length, 'video')} by ${name}.`
    const head = openGraph(publicUrl, cardOf(name, description, `/brands/${encodeURIComponent(name)}`, found))
    const body = brandPage({ name, videos: items, found, vocabulary })
    return { title: name, current: 'brands', description, head, body }
  })
}

const step = { schema: plainName(60), description: 'A filter and its value.' }
const { seq, author, platform } = sequenceParameters
const sequenceForm = { seq, author, platform, first: step, between: step, second: step, ...listParameters }

/** What of an address names films by their brand and platform. */
function filmsOf({ author, platform }: { author?: string | undefined; platform?: string | undefined }) {
  return new URLSearchParams({ ...(author && { author }), ...(platform && { platform }) })
}

function addFilms(page: AddPage, deps: PageDeps): void {
  const { search, films, publicUrl } = deps
  page('/films', { parameters: { ...filmParameters, ...listParameters } }, async ({ query }) => {
    const { after, sort = 'shots_a_minute', order = 'desc' } = query
    const found = findFilms(await films.shelf(), { ...query, sort, order }, { after, limit: FILMS })
    const ids = found.films.map(({ id }) => id)
    const narrowed = filmsOf(query)
    for (const end of ['min', 'max'] as const)
      for (const { name, value } of query[end] ?? []) narrowed.append(end, `${name}:${value}`)
    const body = filmsPage({ ...found, sort, order, narrowed, videos: await search.documents('videos', ids) })
    return { title: 'Films', current: 'films', body }
  })

  // Reading a film costs what its own page does.
  const coldPoints = ({ videos = [] }: { videos?: readonly string[] }) => Math.min(videos.length, 6) * POINTS.search
  page('/compare', { parameters: compareParameters, coldPoints }, async ({ query: { videos = [] } }) => {
    const chosen = await requireCompared(deps, videos)
    // One after the other: a page of many films is still one search.
    const read: Awaited<ReturnType<typeof readFilm>>[] = []
    for (const { id } of chosen) read.push(await readFilm(deps, id))
    return { title: 'Films compared', current: 'films', body: comparePage(read, await films.shelf()) }
  })

  const openings = {
    parameters: { ...openingParameters, ...listParameters },
    points: OPENING_POINTS,
    coldPoints: pointsForEnds(OPENINGS),
  }
  page('/openings', openings, async ({ query }) => {
    const { part = 'opening', author, platform, after } = query
    const { items, next } = await listOpenings(search, { ...query, after, limit: OPENINGS })
    const body = openingsPage({ part, author, platform, openings: items, next })
    return { title: part === 'opening' ? 'Openings' : 'Endings', current: 'films', body }
  })

  page('/sequences', { parameters: sequenceForm, points: SEQUENCE_POINTS }, async ({ query }) => {
    const { first = 'subject.text-card', between = '3s', second = 'surface.screen-recording', after, ...rest } = query
    const asked = { ...rest, seq: rest.seq ?? `${first}~${between}~${second}` }
    const found = await readSequences(search, publicUrl, toSequenceQuery(asked, { limit: SEQUENCES, after }))
    const where = new URLSearchParams({ ...(rest.seq === undefined && { first, between, second }), ...rest }).toString()
    const file = new URLSearchParams({ ...asked, limit: String(SEQUENCES), ...(after && { after }) }).toString()
    const body = sequencesPage({ seq: asked.seq, where, file, narrowed: filmsOf(rest), ...found })
    return { title: 'Sequences', current: 'films', body }
  })
}

function addTechniques(router: Routes, page: AddPage, { pages, search, publicUrl, limits }: PageDeps): void {
  page('/techniques', {}, async () => {
    return { title: 'Techniques', current: 'techniques', body: techniquesPage(await search.techniques()) }
  })

  router.get('/techniques/:slug', limitOpenReads(limits, { points: POINTS.search }), async (req, res) => {
    readPageParameters(req.originalUrl)
    const given = String(req.params.slug)
    const vocabulary = await search.techniques()
    const slug = currentSlug(vocabulary, given)
    const technique = vocabulary.find((one) => one.slug === slug)
    if (!technique) throw notFound('technique')
    if (slug !== given) {
      res.set('Cache-Control', 'no-store').redirect(302, `/techniques/${slug}`)
      return
    }
    return pages.send(req, res, {
      key: `technique ${slug}`,
      async render() {
        const found = await strongest(search, { technique: [technique.slug] })
        const title = capitalized(technique.name)
        const { description } = technique
        const head = openGraph(publicUrl, cardOf(title, description, `/techniques/${slug}`, found))
        return { ...COMMON, title, current: 'techniques', description, head, body: techniquePage({ technique, found }) }
      },
    })
  })
}

/** The strongest frames of a set, no look-alikes, with the counts of the set. */
function strongest(search: LibrarySearch, filters: FrameFilters): Promise<FramePage> {
  return search.frames({
    filters,
    q: '',
    sort: 'strength',
    page: 1,
    pageSize: BEST,
    facets: true,
    variety: false,
  })
}

function cardOf(title: string, description: string, path: string, { frames: [first] }: FramePage) {
  return { title, description, path, image: first ? imageOf(null, first.document) : null }
}

function imageOf(path: string | null, frame: { image_path: string; width: number; height: number }) {
  return { path: path ?? frame.image_path, width: frame.width, height: frame.height }
}
