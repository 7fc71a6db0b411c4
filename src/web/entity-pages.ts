import { notFound } from '../errors.ts'
import { priced } from '../http/rate-limit/rate-limits.ts'
import { openRoutes, type Routes } from '../http/routes.ts'
import { frameIdIn } from '../library/ids.ts'
import { readPageParameters } from '../parameters.ts'
import {
  type BrandDocument,
  brandIdOf,
  type FrameFilters,
  type FrameHit,
  type FramePage,
  type LibrarySearch,
  type ShownFrame,
  type TechniqueDocument,
  type VideoDocument,
} from '../search/library-search.ts'
import { isSamePicture } from '../search/likeness.ts'
import { currentSlug } from '../search/query.ts'
import { frameGrid, openGraph, tile } from './frame-card.ts'
import { capitalized, counted, type Html, html, listPages } from './html.ts'
import { LIST_PARAMETERS, WITH_FRAMES } from './layout.ts'
import type { PageDeps } from './page-deps.ts'

const BRANDS = 60
const VIDEOS = 60
const BEST = 24

/** Brands and techniques: their lists, and a page for each. */
export function entityRouter({ pages, search, publicUrl, limits }: PageDeps): Routes {
  const router = openRoutes()
  pages.add(router, '/brands', { parameters: LIST_PARAMETERS }, async ({ query: { after } }) => {
    const { items, next } = await search.brands({ after, limit: BRANDS })
    const covers = await ownCovers(search, items, { framesOf: ({ name }) => ({ author: [name] }) })
    const pager = listPages({ first: after !== undefined && '/brands', next: next && `/brands?after=${next}` })
    return { title: 'Brands', current: 'wall', body: html`${brandsPage(items, covers)}${pager}` }
  })

  const check = (name: string) => {
    if (name.length > 300) throw notFound('brand')
  }
  pages.add(router, '/brands/:name', { check }, async ({ name }) => {
    const id = brandIdOf(name)
    const [found, { items }, brands] = await Promise.all([
      strongest(search, { author: [name] }),
      search.videos({ after: undefined, limit: VIDEOS, author: name }),
      search.documents('brands', [id]),
    ])
    const brand = brands.get(id)
    if (!brand || found.frames.length === 0) throw notFound('brand')
    const total = brand.video_count
    const covers = await coversOf(search, items)
    const description = `${counted(brand.frame_count, 'frame')} of ${counted(total, 'video')} by ${name}.`
    const image = found.frames[0]?.document
    const head = openGraph(publicUrl, { title: name, description, path: `/brands/${encodeURIComponent(name)}`, image })
    const all = `/films?${new URLSearchParams({ author: name })}`
    const more = total > items.length && html`<p><a href="${all}">All ${counted(total, 'film')}</a></p>`
    const videos = html`${tiles(items.map(videoTile), covers)}${more}`
    return { title: name, current: 'wall', description, head, body: brandPage(brand, found, videos) }
  })

  pages.add(router, '/techniques', {}, async () => {
    const vocabulary = await search.techniques()
    const body = techniquesPage(vocabulary, await coversOf(search, vocabulary))
    return { title: 'Techniques', current: 'wall', body }
  })

  router.get('/techniques/:slug', priced(limits, { price: 'search' }), async (req, res) => {
    readPageParameters(req.originalUrl)
    const given = String(req.params.slug)
    const vocabulary = await search.techniques()
    const slug = currentSlug(vocabulary, given)
    const technique = vocabulary.find((one) => one.slug === slug)
    if (!technique) throw notFound('technique')
    const path = `/techniques/${slug}`
    if (slug !== given) {
      res.set('Cache-Control', 'no-store').redirect(302, path)
      return
    }
    return pages.send(req, res, {
      key: `technique ${slug}`,
      async render() {
        const found = await strongest(search, { technique: [technique.slug] })
        const title = capitalized(technique.name)
        const { description } = technique
        const head = openGraph(publicUrl, { title, description, path, image: found.frames[0]?.document })
        const body = techniquePage(technique, found)
        return { ...WITH_FRAMES, title, current: 'wall', description, head, body }
      },
    })
  })
  return router
}

/** The strongest frames of a set, no look-alikes. */
function strongest(search: LibrarySearch, filters: FrameFilters): Promise<FramePage> {
  return search.frames({ filters, q: '', sort: 'strength', page: 1, pageSize: BEST, facets: false, variety: false })
}

/** The frames that stand for something, by the addresses of their pictures. */
type Covers = ReadonlyMap<string | null, ShownFrame>

export async function coversOf(search: LibrarySearch, all: Iterable<{ image_path: string | null }>) {
  const ids = [...all].flatMap(({ image_path: at }) => (at === null ? [] : frameIdIn(at)))
  const found = await search.documents('frames', ids)
  return new Map<string | null, FrameHit['document']>([...found.values()].map((frame) => [frame.image_path, frame]))
}

/** Most things of a list whose other frames are asked for: each is a search. */
const MOST_ASKED = 12

/**
 * Each by its own frame if that shows another picture than those before it, else by its strongest that does, else by
 * none. A film has a title or a logo only where it has no other frame, and shares one before it has none.
 */
export async function ownCovers<T extends { image_path: string | null }>(
  search: LibrarySearch,
  all: readonly T[],
  { framesOf, areFilms = false }: { framesOf: (one: T) => FrameFilters; areFilms?: boolean },
): Promise<Covers> {
  const covers = await coversOf(search, all)
  const known: FrameHit['document'][] = []
  const isNew = (frame: FrameHit['document']) => !known.some((other) => isSamePicture(other, frame))
  const tells = ({ subject }: FrameHit['document']) => !areFilms || (subject !== 'text-card' && subject !== 'logo')
  let asked = 0
  for (const one of all) {
    const first = covers.get(one.image_path)
    if (!first) continue
    const isFine = (isNew(first) && tells(first)) || ++asked > MOST_ASKED
    const { frames } = isFine ? { frames: [] } : await strongest(search, framesOf(one))
    const fresh = [first, ...frames.map(({ document }) => document)].filter(isNew)
    const own = fresh.find(tells) ?? fresh[0]
    if (own) known.push(own)
    if (own) covers.set(one.image_path, own)
    else if (!areFilms) covers.delete(one.image_path)
  }
  return covers
}

/** `/brands/{name}` */
function brandPage({ name, frame_count }: BrandDocument, found: FramePage, videos: Html): Html {
  const wall = `/?author=${encodeURIComponent(name)}`
  return html`<header class="entity"><h1>${name}</h1>
<p class="lead">${counted(frame_count, 'frame')} · <a href="${wall}">All on the wall</a></p></header>
<section><h2>Best frames</h2>${best(found)}</section>
<section><h2>Videos</h2>${videos}</section>`
}

/** `/techniques/{slug}` */
function techniquePage({ slug, name, description, frame_count }: TechniqueDocument, found: FramePage): Html {
  return html`<header class="entity"><h1>${capitalized(name)}</h1>
<p class="lead">${description}</p>
<p class="hint">${counted(frame_count, 'frame')} · <a href="/?technique=${slug}">All on the wall</a></p></header>
<section><h2>Best frames</h2>${best(found)}</section>`
}

function best({ frames }: FramePage): Html {
  if (frames.length === 0) return html`<p class="empty">No frame has it yet.</p>`
  const shown = frames.map(({ document }) => document)
  return frameGrid(shown, 0)
}

interface Entry {
  href: string
  label: string
  hint: string
  image_path: string | null
  length?: number | null
}

function tiles(all: readonly Entry[], covers: Covers): Html {
  const items = all.map((one, n) => html`<li>${tile({ ...one, n, cover: covers.get(one.image_path) })}</li>`)
  return html`<ul class="tiles">${items}</ul>`
}

const videoTile = ({ id, title, duration_sec, frame_count, image_path }: VideoDocument): Entry => ({
  href: `/videos/${id}`,
  label: title,
  hint: counted(frame_count, 'frame'),
  image_path,
  length: duration_sec,
})

/** `/brands` */
function brandsPage(brands: readonly BrandDocument[], covers: Covers): Html {
  const all = brands.map(
    ({ name, video_count, frame_count, image_path }): Entry => ({
      href: `/brands/${encodeURIComponent(name)}`,
      label: name,
      hint: `${counted(video_count, 'video')} · ${counted(frame_count, 'frame')}`,
      image_path,
    }),
  )
  const none = html`<p class="empty">No brand is known yet: a video names its brand or channel.</p>`
  return html`<header class="entity"><h1>Brands</h1></header>
${all.length === 0 ? none : tiles(all, covers)}`
}

/** `/techniques`: those that frames show, the most frequent first. */
function techniquesPage(vocabulary: readonly TechniqueDocument[], covers: Covers): Html {
  const used = vocabulary.filter(({ frame_count }) => frame_count > 0)
  const toTile = ({ slug, name, frame_count, image_path }: TechniqueDocument): Entry => ({
    href: `/techniques/${slug}`,
    label: capitalized(name),
    hint: counted(frame_count, 'frame'),
    image_path,
  })
  const byUse = used.sort((one, other) => other.frame_count - one.frame_count)
  return html`<header class="entity"><h1>Techniques</h1>
<p class="lead">Named moves of launch and product videos, each with its definition and the frames that use it.</p>
</header>
${used.length === 0 ? html`<p class="empty">No frame shows one yet.</p>` : tiles(byUse.map(toTile), covers)}`
}
