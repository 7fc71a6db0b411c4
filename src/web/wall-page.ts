import { Router } from 'express'
import { notFound } from '../errors.ts'
import type { RateLimits } from '../http/rate-limit/rate-limits.ts'
import { limitOpenReads } from '../http/rate-limit/spend.ts'
import type { ReadModelVersion } from '../http/read-model-version.ts'
import { openVersionedCache } from '../http/versioned-cache.ts'
import type { Logger } from '../logger.ts'
import { canonicalKey, readParameters, type Values } from '../parameters.ts'
import type { FacetCounts, Hit, LibrarySearch, ShownFrame, TechniqueDocument } from '../search/library-search.ts'
import { withoutTracking } from '../tracking.ts'
import {
  filterParameters,
  frameParameters,
  impliedSort,
  MAX_QUERY,
  PAGE_SIZE,
  toFrameQuery,
} from '../views/frame-query.ts'
import { KINDS, PLATFORMS, SHOTS, SUBJECTS, SURFACES, TONES, ZONES } from '../vocabulary.ts'
import type { Assets } from './assets.ts'
import { type Html, html, safeUrl, trusted } from './html.ts'
import { layout, sendPage } from './layout.ts'
import { pageErrors } from './page-errors.ts'

export interface WallDeps {
  assets: Assets
  search: LibrarySearch
  readModel: ReadModelVersion
  limits: RateLimits
  logger: Logger
  publicUrl: string
  /** The canonical key of a pasted video address; undefined for anything else. */
  sourceKeyOf(term: string): string | undefined
}

/** Shared by all readers, like the reads behind it. */
const PAGE_CACHE = 'public, max-age=60, stale-while-revalidate=60'

/** `/`: the wall as pictures with a search box and the filters; `/frames/{id}`: one frame in its video. The address is the state; no script is needed. */
export function wallRouter({ assets, search, readModel, limits, logger, publicUrl, sourceKeyOf }: WallDeps): Router {
  const router = Router()
  const limit = limitOpenReads(limits)
  const pages = openVersionedCache<{ page: string }>({
    readModel,
    maxBytes: 16 * 1024 * 1024,
    sizeOf: ({ page }) => page.length * 2,
  })

  router.get('/', limit, async (req, res) => {
    const { facets: _, debug: __, provenance: ___, ...parameters } = frameParameters
    const values = readParameters(withoutTracking(req.originalUrl), parameters)
    const query = toFrameQuery(values)
    const sourceKey = sourceKeyOf(query.q)
    if (sourceKey !== undefined) {
      const [pasted] = (await search.search({ q: query.q, limit: 1, sourceKey })).videos
      if (pasted) {
        res.set('Cache-Control', 'no-store').redirect(302, `/?video=${pasted.document.id}`)
        return
      }
    }
    const { value } = await pages.getOrLoad(canonicalKey(values), async () => {
      const [found, vocabulary] = await Promise.all([search.frames({ ...query, facets: true }), search.techniques()])
      return {
        page: layout(assets, {
          title: query.q === '' ? 'Library' : query.q,
          current: 'library',
          wide: true,
          modules: ['wall.js'],
          body: wall(values, found.frames, found.facets, found.total ?? found.frames.length, vocabulary),
        }),
      }
    })
    res.set('Cache-Control', PAGE_CACHE)
    sendPage(res, { publicUrl, page: value.page })
  })

  router.get('/frames/:id', limit, async (req, res) => {
    readParameters(withoutTracking(req.originalUrl), {})
    const id = String(req.params.id)
    const found = await search.frame(id)
    if (!found) throw notFound('frame')
    const [similar, strip, vocabulary] = await Promise.all([
      search.similar(id, { filters: {}, limit: 12 }),
      search.videoFrames(found.frame.video_id),
      search.techniques(),
    ])
    res.set('Cache-Control', PAGE_CACHE)
    const title = found.frame.caption ?? `${found.frame.video.title} at ${clock(found.frame.t_sec)}`
    sendPage(res, {
      publicUrl,
      page: layout(assets, {
        title: title.slice(0, 80),
        current: 'library',
        wide: true,
        body: framePage(found, strip ?? [], similar ?? [], vocabulary),
      }),
    })
  })

  router.use(pageErrors({ assets, publicUrl, logger }))
  return router
}

type WallValues = Values<Omit<typeof frameParameters, 'facets' | 'debug' | 'provenance'>>

const LISTS = [
  ['subject', 'Subject', SUBJECTS],
  ['surface', 'Surface', SURFACES],
  ['shot', 'Shot', SHOTS],
  ['zone', 'Face zone', ZONES],
  ['tone', 'Tone', TONES],
  ['kind', 'Kind', KINDS],
  ['platform', 'Platform', PLATFORMS],
] as const

function wall(
  values: WallValues,
  hits: readonly Hit<ShownFrame>[],
  facets: FacetCounts | undefined,
  total: number,
  vocabulary: readonly TechniqueDocument[],
): Html {
  const page = values.page ?? 1
  const filtered = Object.keys(values).some((name) => name in filterParameters)
  const any = filtered || values.q !== undefined
  const names = new Map(vocabulary.map((technique) => [technique.slug, technique.name]))
  const [back, on] = (values.sort ?? impliedSort(values)) === 'newest' ? ['Newer', 'Older'] : ['Previous', 'Next']
  return html`<h1 class="visually-hidden">Library</h1>
<form class="search" action="/" method="get" role="search">
  <div class="search-line">
    <label class="visually-hidden" for="q">Search frames</label>
    <input id="q" name="q" type="search" value="${values.q ?? ''}" placeholder="Search captions, composition, on-screen text" autocomplete="off" maxlength="${MAX_QUERY}">
    <button class="primary">Search</button>
  </div>
  <div class="filters" role="group" aria-label="Filters">
    ${LISTS.map(([name, label, options]) => choice(name, label, options, values[name], facets?.[name]))}
    ${choice(
      'technique',
      'Technique',
      vocabulary.map((technique) => technique.slug),
      values.technique,
      facets?.technique,
      names,
    )}
    ${choice(
      'author',
      'Brand',
      Object.keys(facets?.author ?? {})
        .sort((a, b) => a.localeCompare(b))
        .slice(0, 200),
      values.author,
      facets?.author,
    )}
    ${values.video?.map((id) => html`<input type="hidden" name="video" value="${id}">`)}
    ${values.color?.map((color) => html`<input type="hidden" name="color" value="${color}">`)}
    ${any && html`<a class="clear" href="/">Clear</a>`}
  </div>
  ${alsoChosen(values, hits, names)}
</form>
<p class="count" role="status">${total === 0 ? '' : `${total.toLocaleString('en')} ${total === 1 ? 'frame' : 'frames'}`}${page > 1 ? `, page ${page}` : ''}</p>
${
  hits.length > 0
    ? html`<ul class="wall">${hits.map(({ document }, n) => card(document, n))}</ul>`
    : any || page > 1
      ? html`<p class="empty">Nothing fits. Drop a filter or try another word. <a href="/">Show everything</a></p>`
      : html`<div class="empty"><p>No frames yet. Add a video and it is here a minute later:</p><p><code>npm run -s frames -- add my-video.mp4 --wait</code></p></div>`
}
<nav class="pager" aria-label="Pages">
  ${page > 1 && html`<a rel="prev" href="${href(values, page - 1)}">← ${back}</a>`}
  ${hits.length === PAGE_SIZE && html`<a rel="next" href="${href(values, page + 1)}">${on} →</a>`}
</nav>`
}

function choice(
  name: string,
  label: string,
  options: readonly string[],
  chosen: readonly string[] | undefined,
  counts: Record<string, number> | undefined,
  names?: ReadonlyMap<string, string>,
): Html {
  const known = chosen?.every((value) => options.includes(value))
    ? options
    : [...(chosen ?? []).filter((value) => !options.includes(value)), ...options]
  const shown = known.filter((value) => chosen?.includes(value) || counts === undefined || (counts[value] ?? 0) > 0)
  // More than one value of an attribute can stand in the address; the list shows the first and the rest go along.
  const [first, ...rest] = chosen ?? []
  return html`<label class="choice${first !== undefined && ' on'}"><span class="visually-hidden">${label}</span>
<select name="${name}"><option value="">${label}</option>${shown.map(
    (value) =>
      html`<option value="${value}"${value === first && trusted(' selected')}>${names?.get(value) ?? value}${counts?.[value] !== undefined && ` (${counts[value]})`}</option>`,
  )}</select></label>${rest.map((value) => html`<input type="hidden" name="${name}" value="${value}">`)}`
}

/** What filters but shows in no list: a video, colours, and second values. Each can be taken back by itself. */
function alsoChosen(
  values: WallValues,
  hits: readonly Hit<ShownFrame>[],
  techniques: ReadonlyMap<string, string>,
): Html | false {
  const titleOf = (id: string) => hits.find(({ document }) => document.video_id === id)?.document.video.title ?? id
  const chosen: [name: keyof WallValues, value: string, shown: Html | string][] = [
    ...(values.video ?? []).map((id) => ['video', id, titleOf(id)] as [keyof WallValues, string, string]),
    ...(values.color ?? []).map((color): [keyof WallValues, string, Html] => [
      'color',
      color,
      html`${swatch(color, 18, 14)} ${color}`,
    ]),
    ...([...LISTS.map(([name]) => name), 'technique', 'author'] as const).flatMap((name) =>
      (values[name] ?? [])
        .slice(1)
        .map((value): [keyof WallValues, string, string] => [name, value, techniques.get(value) ?? value]),
    ),
  ]
  return (
    chosen.length > 0 &&
    html`<ul class="also">${chosen.map(([name, value, shown]) => {
      const left = (values[name] as readonly string[]).filter((one) => one !== value)
      return html`<li><a href="${href({ ...values, [name]: left }, 1)}"><span class="visually-hidden">Without </span>${shown} <span aria-hidden="true">×</span></a></li>`
    })}</ul>`
  )
}

function swatch(color: string, width: number, height: number): Html {
  return html`<svg width="${width}" height="${height}" role="img" aria-label="${color}"><rect width="${width}" height="${height}" rx="5" fill="${color}"/></svg>`
}

/** The first row comes at once; the rest when it is scrolled near. */
const EAGER = 8

function card(frame: ShownFrame, n: number): Html {
  return html`<li><a href="/frames/${frame.id}">
<img src="${frame.thumb_path}" alt="${altOf(frame)}" width="${frame.width}" height="${frame.height}" decoding="async"${n >= EAGER && trusted(' loading="lazy"')}>
<span class="credit">${frame.author ?? frame.video.title}<span>${clock(frame.t_sec)}</span></span>
</a></li>`
}

function framePage(
  { frame, previous, next }: { frame: ShownFrame; previous: ShownFrame | null; next: ShownFrame | null },
  strip: readonly ShownFrame[],
  similar: readonly Hit<ShownFrame>[],
  vocabulary: readonly TechniqueDocument[],
): Html {
  const source = safeUrl(frame.source_url ?? frame.video.source_url)
  const technique = vocabulary.find((entry) => entry.slug === frame.technique)
  const facts: [string, string | null, string?][] = [
    ['Subject', frame.subject, 'subject'],
    ['Surface', frame.surface, 'surface'],
    ['Shot', frame.shot, 'shot'],
    ['Technique', frame.technique, 'technique'],
    ['Face zone', frame.zone, 'zone'],
    ['Tone', frame.tone, 'tone'],
    ['Kind', frame.kind, 'kind'],
    ['Platform', frame.platform, 'platform'],
  ]
  return html`<article class="frame">
<h1 class="visually-hidden">${frame.video.title} at ${clock(frame.t_sec)}</h1>
<figure class="picture">
  <img src="${frame.image_path}" alt="${altOf(frame)}" width="${frame.width}" height="${frame.height}">
  <figcaption class="step">
    ${previous ? html`<a rel="prev" href="/frames/${previous.id}">← ${clock(previous.t_sec)}</a>` : html`<span></span>`}
    <span>${frame.video.title} · ${clock(frame.t_sec)}</span>
    ${next ? html`<a rel="next" href="/frames/${next.id}">${clock(next.t_sec)} →</a>` : html`<span></span>`}
  </figcaption>
</figure>
<div class="about">
  ${frame.caption && html`<p class="caption">${frame.caption}</p>`}
  ${frame.composition && html`<h2>Composition</h2><p>${frame.composition}</p>`}
  ${frame.steal && html`<h2>Worth taking</h2><p>${frame.steal}</p>`}
  ${technique && html`<h2>${technique.name}</h2><p>${technique.description}</p>`}
  ${frame.on_screen_text && html`<h2>On screen</h2><p class="mono">${frame.on_screen_text}</p>`}
  <dl>${facts.map(([label, value, name]) => html`<div><dt>${label}</dt><dd>${value === null ? html`<span class="hint">not annotated</span>` : html`<a href="/?${name}=${encodeURIComponent(value)}">${value}</a>`}</dd></div>`)}</dl>
  ${
    frame.palette.length > 0 &&
    html`<h2>Colours</h2><ul class="palette">${frame.palette.map(
      (color) =>
        html`<li><a href="/?color=${color.slice(1)}">${swatch(color, 40, 28)}<span class="mono">${color}</span></a></li>`,
    )}</ul>`
  }
  <p class="credit">${frame.author && html`<a href="/?author=${encodeURIComponent(frame.author)}">${frame.author}</a> · `}<a href="/?video=${frame.video_id}">${frame.video.title}</a>${source && html` · <a href="${source}" rel="noreferrer">Watch at the source</a>`}</p>
  <p class="hint">${describedBy(frame)} <a href="/api/frames/${frame.id}?provenance=1">All data</a></p>
</div>
</article>
${
  strip.length > 1 &&
  html`<section><h2>The whole video</h2><ul class="strip">${strip.map(
    (other) =>
      html`<li><a href="/frames/${other.id}"${other.id === frame.id && trusted(' aria-current="true"')}><img src="${other.thumb_path}" alt="${clock(other.t_sec)}" width="${other.width}" height="${other.height}" loading="lazy" decoding="async"></a></li>`,
  )}</ul></section>`
}
${similar.length > 0 && html`<section><h2>More like this</h2><ul class="wall">${similar.map(({ document }, n) => card(document, n + EAGER))}</ul></section>`}`
}

function describedBy({ annotation: { model, reviewed } }: ShownFrame): string {
  const by =
    model === null ? 'Not described yet' : model === 'measured' ? 'Measured, without a model' : `Described by ${model}`
  return `${by}${reviewed ? ', reviewed by a person' : ''}.`
}

function altOf(frame: ShownFrame): string {
  return frame.caption ?? `${frame.video.title}, ${clock(frame.t_sec)}`
}

function clock(seconds: number): string {
  const whole = Math.floor(seconds)
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`
}

function href(values: WallValues, page: number): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries({ ...values, page: undefined })) {
    for (const item of Array.isArray(value) ? value : value === undefined ? [] : [value])
      query.append(name, String(item))
  }
  if (page > 1) query.append('page', String(page))
  return `/?${query}`
}
