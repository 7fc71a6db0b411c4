import { notFound } from '../errors.ts'
import { POINTS } from '../http/rate-limit/budgets.ts'
import { limitOpenReads } from '../http/rate-limit/spend.ts'
import { openRoutes, type Routes } from '../http/routes.ts'
import { similarFilms } from '../library/films/comparison.ts'
import { canonicalKey, readPageParameters } from '../parameters.ts'
import type { FrameFilters, FramePage, LibrarySearch } from '../search/library-search.ts'
import { currentSlug } from '../search/techniques.ts'
import { readFilm } from '../views/film.ts'
import { compareParameters, filmParameters, findFilms, requireCompared } from '../views/film-list.ts'
import { listOpenings, OPENING_POINTS, openingParameters } from '../views/openings.ts'
import { plainName, requirePublicId } from '../views/parameter-values.ts'
import { readSequences, SEQUENCE_POINTS, toSequenceQuery } from '../views/sequences.ts'
import { brandPage, brandsPage, techniquePage, techniquesPage } from './entity-pages.ts'
import { comparePage, filmsPage } from './films-pages.ts'
import { openGraph } from './layout.ts'
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
const SEQUENCES = 24

/** Videos, brands and techniques. */
export function entityRouter(deps: PageDeps): Routes {
  const { pages, search, films, limits, publicUrl } = deps
  const router = openRoutes()
  const limit = limitOpenReads(limits, { points: POINTS.search })
  const common = { wide: true, modules: ['frame-list.js'] } as const

  router.get('/videos/:id', limit, (req, res) => {
    readPageParameters(req.originalUrl)
    const id = String(req.params.id)
    requirePublicId('video', id)
    return pages.send(req, res, {
      key: `video ${id}`,
      coldPoints: POINTS.search,
      async render() {
        const { video, frames, grammar, film } = await readFilm(deps, id)
        const description = `${video.author ?? 'A video'}: ${counted(frames.length, 'frame')} on a time line.`
        const image = frames[0] && imageOf(video.image_path, frames[0])
        const card = { title: video.title, description, path: `/videos/${id}`, image: image ?? null }
        const shelf = await films.shelf()
        const own = shelf.find((one) => one.id === id)
        const similar = own ? similarFilms(own, shelf, { view: 'style', limit: 6 }) : []
        const body = videoPage({ video, frames, vocabulary: await search.techniques(), grammar, film, similar })
        return { ...common, title: video.title, description, head: openGraph(publicUrl, card), body }
      },
    })
  })

  router.get('/brands', limit, (req, res) => {
    const { after } = readPageParameters(req.originalUrl, listParameters)
    return pages.send(req, res, {
      key: `brands ${after ?? ''}`,
      async render() {
        const { items, next } = await search.brands({ after, limit: BRANDS })
        return { ...common, title: 'Brands', current: 'brands', body: brandsPage(items, next, after) }
      },
    })
  })

  router.get('/brands/:name', limit, (req, res) => {
    readPageParameters(req.originalUrl)
    const name = String(req.params.name)
    if (name.length > 300) throw notFound('brand')
    return pages.send(req, res, {
      key: `brand ${name}`,
      async render() {
        const [found, { items }, vocabulary] = await Promise.all([
          strongest(search, { author: [name] }),
          search.videos({ after: undefined, limit: VIDEOS, author: name }),
          search.techniques(),
        ])
        if (found.frames.length === 0) throw notFound('brand')
        const description = `${counted(found.total ?? 0, 'frame')} of ${counted(items.length, 'video')} by ${name}.`
        const head = openGraph(publicUrl, cardOf(name, description, `/brands/${encodeURIComponent(name)}`, found))
        const body = brandPage({ name, videos: items, found, vocabulary })
        return { ...common, title: name, current: 'brands', description, head, body }
      },
    })
  })

  addFilms(router, { ...deps, limit, common })
  addSequences(router, { ...deps, limit, common })
  addOpenings(router, { ...deps, limit, common })
  addTechniques(router, { ...deps, limit, common })
  router.use(pageErrors(deps))
  return router
}

const listParameters = { after: { schema: plainName(4_000), description: 'The cursor of the page before.' } }

function addFilms(router: Routes, { pages, search, films, limit, common }: PartDeps): void {
  router.get('/films', limit, (req, res) => {
    const query = readPageParameters(req.originalUrl, { ...filmParameters, ...listParameters })
    return pages.send(req, res, {
      key: `films ${canonicalKey(query)}`,
      async render() {
        const { after, sort = 'shots_a_minute', order = 'desc' } = query
        const page = findFilms(await films.shelf(), { ...query, sort, order }, { after, limit: FILMS })
        const ids = page.films.map(({ id }) => id)
        const body = filmsPage({ ...page, sort, order, videos: await search.documents('videos', ids) })
        return { ...common, title: 'Films', current: 'films', body }
      },
    })
  })

  router.get('/compare', limit, (req, res) => {
    const query = readPageParameters(req.originalUrl, compareParameters)
    return pages.send(req, res, {
      key: `compare ${canonicalKey(query)}`,
      async render() {
        const chosen = await requireCompared({ films }, query.videos ?? [])
        return { ...common, title: 'Films compared', current: 'films', body: comparePage(chosen, await films.shelf()) }
      },
    })
  })
}

const OPENINGS = 12

function addOpenings(router: Routes, { pages, search, limits, common }: PartDeps): void {
  router.get('/openings', limitOpenReads(limits, { points: OPENING_POINTS }), (req, res) => {
    const query = readPageParameters(req.originalUrl, { ...openingParameters, ...listParameters })
    return pages.send(req, res, {
      key: `openings ${canonicalKey(query)}`,
      async render() {
        const { part = 'opening', author, platform, after } = query
        const { items, next } = await listOpenings(search, { ...query, after, limit: OPENINGS })
        const body = openingsPage({ part, author, platform, openings: items, next })
        return { ...common, title: part === 'opening' ? 'Openings' : 'Endings', current: 'films', body }
      },
    })
  })
}

const step = { schema: plainName(60), description: 'A filter and its value.' }
const sequenceForm = { first: step, between: step, second: step, ...listParameters }

function addSequences(router: Routes, { pages, search, publicUrl, limits, common }: PartDeps): void {
  router.get('/sequences', limitOpenReads(limits, { points: SEQUENCE_POINTS }), (req, res) => {
    const query = readPageParameters(req.originalUrl, sequenceForm)
    return pages.send(req, res, {
      key: `sequences ${canonicalKey(query)}`,
      async render() {
        const { first = 'subject.text-card', between = '3s', second = 'surface.screen-recording', after } = query
        const asked = toSequenceQuery({ seq: `${first}~${between}~${second}` }, { limit: SEQUENCES, after })
        const body = sequencesPage({ first, between, second, ...(await readSequences(search, publicUrl, asked)) })
        return { ...common, title: 'Sequences', current: 'films', body }
      },
    })
  })
}

type PartDeps = PageDeps & {
  limit: ReturnType<typeof limitOpenReads>
  common: { modules: readonly string[] }
}

function addTechniques(router: Routes, { pages, search, publicUrl, limit, common }: PartDeps): void {
  router.get('/techniques', limit, (req, res) => {
    readPageParameters(req.originalUrl)
    return pages.send(req, res, {
      key: 'techniques',
      async render() {
        const body = techniquesPage(await search.techniques())
        return { ...common, title: 'Techniques', current: 'techniques', body }
      },
    })
  })

  router.get('/techniques/:slug', limit, async (req, res) => {
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
        return { ...common, title, current: 'techniques', description, head, body: techniquePage({ technique, found }) }
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
