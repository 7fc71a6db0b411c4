import { clock, percent, toSlug } from '../clean-text.ts'
import type { Db } from '../db/client.ts'
import { notFound } from '../errors.ts'
import { priced } from '../http/rate-limit/rate-limits.ts'
import { openRoutes, type Routes } from '../http/routes.ts'
import { savedAmong } from '../library/collections/saves.ts'
import { readPageParameters } from '../parameters.ts'
import type { FrameDocument, Hit, LibrarySearch, ShownFrame } from '../search/library-search.ts'
import { requirePublicId } from '../views/parameters.ts'
import { ATTRIBUTES, COUNTED, isListed, type Source } from '../vocabulary.ts'
import { altOf, frameGrid, loopOf, openGraph, placeholderClass, smallThumb, swatch } from './frame-card.ts'
import { sessionCookie, type Visitor, visitorOf } from './guard.ts'
import { capitalized, formToken, type Html, hidden, html, safeUrl, table, trusted, valueLabel } from './html.ts'
import { layout, type Page, sendPage } from './layout.ts'
import type { PageDeps } from './page-deps.ts'

/** Frames shown before a frame, and after it. */
const AROUND = 8
const SIMILAR = 18

/** `/frames/{id}`: shared by those without a session, and with what they may do for everyone else. */
export function frameRouter({ db, assets, pages, search, limits, publicUrl }: PageDeps): Routes {
  const router = openRoutes()
  const cookie = sessionCookie(publicUrl)

  router.get('/frames/:id', priced(limits, { price: 'write' }), async (req, res) => {
    readPageParameters(req.originalUrl)
    const id = String(req.params.id)
    requirePublicId('frame', id)
    const visitor = await visitorOf(db, cookie, req)
    res.vary('Cookie')
    const key = `frame ${id}`
    if (!visitor)
      return pages.send(req, res, { key, render: async () => toPage(await loadFrame(search, id), { publicUrl }) })
    const person = await personOf(db, visitor, id)
    const page = toPage(await pages.keep(req, key, () => loadFrame(search, id)), { publicUrl, person })
    await sendPage(res, { publicUrl, page: layout(assets, { ...page, person: visitor }) })
  })
  return router
}

/** @throws AppError not_found */
async function loadFrame(search: LibrarySearch, id: string) {
  const found = await search.frame(id)
  if (!found) throw notFound('frame')
  const { frame } = found
  const [similar, strip, vocabulary] = await Promise.all([
    search.similar(id, { filters: {}, limit: SIMILAR }),
    search.videoFrames(frame.video_id),
    search.techniques(),
  ])
  const at = strip?.findIndex((one) => one.id === id) ?? 0
  return {
    ...found,
    /** The frames around it in its video, itself among them. */
    around: strip?.slice(Math.max(0, at - AROUND), at + AROUND + 1) ?? [],
    similar: similar ?? [],
    technique: vocabulary.find(({ slug }) => slug === frame.technique),
  }
}

async function personOf(db: Db, visitor: Visitor, id: string) {
  const accountId = visitor.account.id
  const mayCollect = visitor.account.plan === 'pro'
  const saved = await savedAmong(db, { accountId, frameIds: [id] })
  const mayCorrect = visitor.account.role === 'operator'
  return { form: visitor.form, mayCollect, mayCorrect, saved: saved.length > 0 }
}

function toPage(data: FrameData, actions: FrameActions): Page {
  const { frame } = data
  const { video, author } = frame
  // As people look for it among tabs and bookmarks: whose, which film, when, and what is seen.
  const place = [author, video.title, clock(frame.t_sec)].filter((part) => part !== null).join(' · ')
  const title = frame.caption === null ? place : `${place}: ${frame.caption}`
  const description = frame.steal ?? `${video.title}${author === null ? '' : ` by ${author}`}, ${clock(frame.t_sec)}`
  return {
    title: title.slice(0, 120),
    current: 'wall',
    wide: true,
    lean: true,
    modules: ['frame-list.js'],
    description,
    head: openGraph(actions.publicUrl, { title: altOf(frame), description, path: `/frames/${frame.id}`, image: frame }),
    body: framePage(data, actions),
  }
}

type FrameData = Awaited<ReturnType<typeof loadFrame>>

/**
 * `/frames/{id}`: one frame, its description, its moment and frames like it. The wall shows the article in a dialog.
 */
function framePage(data: FrameData, actions: FrameActions): Html {
  const { frame, around, similar } = data
  return html`<article class="frame" id="frame" data-id="${frame.id}">
<div class="stage">${bigPicture(data)}</div>
<div class="about">
  <h1 tabindex="-1">${frame.caption ?? altOf(frame)}</h1>
  ${credit(frame)}
  ${frameActions(data, actions)}
  ${description(data)}
  <ul class="row tight apart facts">${facts(frame)}</ul>
  ${frame.palette.length > 0 && palette(frame.palette)}
  ${provenanceTable(frame)}
</div>
${around.length > 1 && moments(data)}
${similar.length > 0 && moreLikeThis(similar)}
</article>`
}

function bigPicture({ frame }: FrameData): Html {
  const size = html`width="${frame.width}" height="${frame.height}"`
  return html`<figure class="picture ${shapeClass(frame)}">
  <img class="${placeholderClass(frame.palette)}" src="${frame.image_path}" alt="${altOf(frame)}" ${size}
    fetchpriority="high">
  ${frame.loop_path !== undefined && loopButton(frame)}
</figure>`
}

/**
 * How wide a picture may be for its height to fit a window, as a class: our policy allows no style attribute. Between
 * two shapes it is that of the narrower one. The picture itself keeps its own proportions.
 */
const SHAPES = [0, 40, 56, 75, 100, 133, 160, 177, 235]
const shapeClass = ({ width, height }: Pick<ShownFrame, 'width' | 'height'>) =>
  `shape-${SHAPES.findLast((shape) => shape <= (100 * width) / height)}`

function loopButton(frame: ShownFrame): Html {
  const name = 'Play the two-second loop'
  return html`<button type="button" class="play"${loopOf(frame)} aria-pressed="false" aria-label="${name}"
title="${name}"></button>`
}

function credit(frame: ShownFrame): Html {
  const { author, video } = frame
  const source = safeUrl(frame.source_url ?? video.source_url)
  return html`<p class="hint">
    ${author && html`<a href="/brands/${encodeURIComponent(author)}">${author}</a> · `}
    <a href="/videos/${frame.video_id}#t-${frame.id}">${video.title}</a> ·
    ${clock(frame.t_sec)}${video.duration_sec !== null && ` of ${clock(video.duration_sec)}`}
    ${source && html`· <a href="${source}" rel="noreferrer">Watch from here ↗</a>`}
  </p>`
}

function description({ frame, technique }: FrameData): Html {
  return html`${
    frame.steal &&
    html`<section class="steal"><h2>Worth taking</h2><p>${frame.steal}</p></section>
`
  }${
    technique &&
    html`<section><h2>Technique: <a href="/techniques/${technique.slug}">${capitalized(technique.name)}</a></h2>
<p>${technique.description}</p></section>
`
  }${frame.composition && html`<section><h2>Composition</h2><p>${frame.composition}</p></section>`}
${frame.on_screen_text && html`<section><h2>On screen</h2>${screenText(frame.on_screen_text)}</section>`}`
}

const LINES_SHOWN = 3

/** A terminal has many lines: the first say what it is. */
function screenText(text: string): Html {
  const lines = text.split('\n')
  const rest = lines.slice(LINES_SHOWN)
  return html`<p class="screen-text">${lines.slice(0, LINES_SHOWN).join('\n')}</p>${
    rest.length > 0 &&
    html`<details><summary>${rest.length} more ${rest.length === 1 ? 'line' : 'lines'}</summary>
<p class="screen-text">${rest.join('\n')}</p></details>`
  }`
}

/** What nobody looks for by itself. */
const UNTOLD: ReadonlySet<string> = new Set(['kind', 'platform'])

/** Each value links to the wall of all frames that have it. Left out are unknown ones, and a face that is not there. */
function facts(frame: ShownFrame): Html[] {
  return COUNTED.filter(isListed).flatMap((name) => {
    const value = frame[name]
    if (value === null || UNTOLD.has(name) || (name === 'zone' && value === 'none')) return []
    const label = ATTRIBUTES[name].label.toLowerCase()
    return html`<li><a href="/?${name}=${encodeURIComponent(value)}"><span class="hint">${label}</span> ${valueLabel(
      value,
    )}</a></li>`
  })
}

function palette(colors: readonly string[]): Html {
  return html`<section><h2>Colours</h2>
  <ul class="row palette">${colors.map(
    (color) => html`<li><a href="/?color=${color.slice(1)}" title="Frames near ${color}">${swatch(color, 48, 32)}<span
class="mono">${color}</span></a></li>`,
  )}</ul></section>`
}

function moments({ around, frame: current, previous, next }: FrameData): Html {
  const places = new Map([
    [previous?.id, trusted(' rel="prev"')],
    [current.id, trusted(' aria-current="true"')],
    [next?.id, trusted(' rel="next"')],
  ])
  const item = (frame: ShownFrame) => {
    const here = places.get(frame.id)
    return html`<li><a href="/frames/${frame.id}"${here}>${smallThumb(frame, {
      n: Number.POSITIVE_INFINITY,
      alt: `At ${clock(frame.t_sec)}`,
    })}</a></li>`
  }
  return html`<section class="moments"><h2>Before and after</h2><ol class="strip">${around.map(item)}</ol></section>`
}

function moreLikeThis(similar: readonly Hit<ShownFrame>[]): Html {
  return html`<section class="similar"><h2>More like this</h2>
${frameGrid(similar.map(({ document }) => document))}</section>`
}

/** Who says a value. */
export const SAID: Record<Source, string> = {
  measured: 'measured',
  rule: 'by rule',
  ocr: 'read from the picture',
  model: 'a model',
  notes: 'notes with the video',
  person: 'a person',
}

const NAMES: Record<string, string> = { zone: 'Face', on_screen_text: 'On-screen text' }

/** Who said what about a frame, and how sure. */
function provenanceTable(frame: FrameDocument): Html {
  const entries = Object.entries(frame.provenance ?? {}).flatMap(([name, said]) => (said ? [{ name, ...said }] : []))
  const rows = entries.map(
    ({ name, source, by, confidence, reason }) => html`<tr><th scope="row">${NAMES[name] ?? valueLabel(name)}</th>
<td>${SAID[source]}${source === 'model' && html` <span class="hint">${by}</span>`}${
      reason !== undefined && html` <span class="hint">${reason}</span>`
    }</td>
<td>${source === 'person' || confidence === null ? '' : percent(confidence)}</td></tr>`,
  )
  return html`<details class="said"><summary>${describedBy(frame)}</summary>
${rows.length > 0 && table(['Value', 'Source', 'Confidence'], rows, 'Who said so')}
<p class="hint"><a href="/api/frames/${frame.id}?provenance=1">All data as JSON</a></p></details>`
}

function describedBy({ annotation: { model, reviewed } }: ShownFrame): string {
  return `${describer(model)}${reviewed ? ', corrected by a person' : ''}`
}

function describer(model: string | null): string {
  if (model === null) return 'Not described yet'
  if (model === 'notes') return 'Described by hand, in notes that came with the video'
  return model.startsWith('measured') ? 'Measured, without a model' : `Described by ${model}`
}

/** What the viewer may do with a frame. */
interface FrameActions {
  publicUrl: string
  /** The signed-in person; undefined on a page that many share. */
  person?: Awaited<ReturnType<typeof personOf>>
}

/** Saving and pinning by forms that work without script; a press that copies needs one. */
function frameActions({ frame }: FrameData, { publicUrl, person }: FrameActions): Html {
  const file = `${toSlug(frame.video.title) || 'frame'}-${clock(frame.t_sec).replaceAll(':', '-')}.webp`
  return html`<div class="row apart tools">
${person ? collecting(frame, person) : signInToSave(frame)}
<button type="button" class="quiet-button needs-script" data-copy-image="${frame.image_path}">Copy image</button>
<details class="fold"><summary>More</summary><div class="panel items">
<a href="${frame.image_path}" download="${file}">Download</a>
<button type="button" class="needs-script" data-copies="Link"
data-text="${publicUrl}/frames/${frame.id}">Copy link</button>
${person?.mayCorrect && html`<a href="/operator/review/${frame.id}">Correct</a>`}
</div></details>
</div>`
}

function signInToSave(frame: ShownFrame): Html {
  const to = encodeURIComponent(`/frames/${frame.id}`)
  return html`<a class="button" href="/sign-in?to=${to}">Save</a>`
}

function collecting(frame: ShownFrame, person: NonNullable<FrameActions['person']>): Html {
  const fields = html`${formToken(person)}
${hidden('frame', frame.id)}`
  if (!person.mayCollect) return html`<p class="hint">Saves and boards need the pro plan.</p>`
  return html`<form class="save" method="post" action="${person.saved ? '/web/unsaves' : '/web/saves'}">${fields}
${hidden('back', `/frames/${frame.id}`)}
<button class="primary" aria-pressed="${person.saved ? 'true' : 'false'}">${person.saved ? 'Saved' : 'Save'}</button>
</form>
<form class="board" method="post" action="/web/pins">${fields}
<button class="quiet-button">Board</button></form>`
}
