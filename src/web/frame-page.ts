import type { Hit, ShownFrame, TechniqueDocument } from '../search/library-search.ts'
import { altOf, clock, EAGER, frameCard, picture, swatch } from './frame-card.ts'
import { type Html, html, safeUrl, trusted } from './html.ts'

export interface FramePageData {
  frame: ShownFrame
  previous: ShownFrame | null
  next: ShownFrame | null
  /** All frames of its video. */
  strip: readonly ShownFrame[]
  similar: readonly Hit<ShownFrame>[]
  vocabulary: readonly TechniqueDocument[]
}

/** `/frames/{id}`: one frame, its description, its video and frames like it. */
export function framePage(data: FramePageData): Html {
  const { frame, strip, similar, vocabulary } = data
  return html`<article class="frame">
<h1 class="visually-hidden">${frame.video.title} at ${clock(frame.t_sec)}</h1>
${bigPicture(data)}
<div class="about">
  ${description(frame, vocabulary)}
  <dl>${facts(frame)}</dl>
  ${frame.palette.length > 0 && palette(frame.palette)}
  ${credit(frame)}
  <p class="hint">${describedBy(frame)} <a href="/api/frames/${frame.id}?provenance=1">All data</a></p>
</div>
</article>
${strip.length > 1 && videoStrip(strip, frame)}
${similar.length > 0 && moreLikeThis(similar)}`
}

/** Keeps the other step on its side. */
const NO_STEP = html`<span></span>`

function bigPicture({ frame, previous, next }: FramePageData): Html {
  const size = html`width="${frame.width}" height="${frame.height}"`
  return html`<figure class="picture">
  <img src="${frame.image_path}" alt="${altOf(frame)}" ${size}>
  <figcaption class="step">
    ${previous ? html`<a rel="prev" href="/frames/${previous.id}">← ${clock(previous.t_sec)}</a>` : NO_STEP}
    <span>${frame.video.title} · ${clock(frame.t_sec)}</span>
    ${next ? html`<a rel="next" href="/frames/${next.id}">${clock(next.t_sec)} →</a>` : NO_STEP}
  </figcaption>
</figure>`
}

function description(frame: ShownFrame, vocabulary: readonly TechniqueDocument[]): Html {
  const technique = vocabulary.find((entry) => entry.slug === frame.technique)
  return html`${frame.caption && html`<p class="caption">${frame.caption}</p>`}
  ${frame.composition && html`<h2>Composition</h2><p>${frame.composition}</p>`}
  ${frame.steal && html`<h2>Worth taking</h2><p>${frame.steal}</p>`}
  ${technique && html`<h2>${technique.name}</h2><p>${technique.description}</p>`}
  ${frame.on_screen_text && html`<h2>On screen</h2><p class="mono">${frame.on_screen_text}</p>`}`
}

const FACTS = [
  ['Subject', 'subject'],
  ['Surface', 'surface'],
  ['Shot', 'shot'],
  ['Technique', 'technique'],
  ['Face zone', 'zone'],
  ['Tone', 'tone'],
  ['Kind', 'kind'],
  ['Platform', 'platform'],
] as const

function facts(frame: ShownFrame): Html[] {
  return FACTS.map(([label, name]) => {
    const value = frame[name]
    const shown =
      value === null
        ? html`<span class="hint">not annotated</span>`
        : html`<a href="/?${name}=${encodeURIComponent(value)}">${value}</a>`
    return html`<div><dt>${label}</dt><dd>${shown}</dd></div>`
  })
}

function palette(colors: readonly string[]): Html {
  return html`<h2>Colours</h2>
  <ul class="palette">${colors.map(
    (color) => html`<li>
    <a href="/?color=${color.slice(1)}">${swatch(color, 40, 28)}<span class="mono">${color}</span></a>
  </li>`,
  )}</ul>`
}

function credit(frame: ShownFrame): Html {
  const { author, video } = frame
  const source = safeUrl(frame.source_url ?? video.source_url)
  return html`<p class="credit">
    ${author && html`<a href="/?author=${encodeURIComponent(author)}">${author}</a> · `}
    <a href="/?video=${frame.video_id}">${video.title}</a>
    ${source && html`· <a href="${source}" rel="noreferrer">Watch at the source</a>`}
  </p>`
}

function describedBy({ annotation: { model, reviewed } }: ShownFrame): string {
  return `${describer(model)}${reviewed ? ', reviewed by a person' : ''}.`
}

function describer(model: string | null): string {
  if (model === null) return 'Not described yet'
  if (model === 'notes') return 'Described by hand, in notes that came with the video'
  return model === 'measured' ? 'Measured, without a model' : `Described by ${model}`
}

function videoStrip(strip: readonly ShownFrame[], current: ShownFrame): Html {
  const item = (frame: ShownFrame) => {
    const here = frame.id === current.id && trusted(' aria-current="true"')
    return html`<li><a href="/frames/${frame.id}"${here}>
  ${picture(frame, { lazy: true, alt: clock(frame.t_sec) })}
</a></li>`
  }
  return html`<section><h2>The whole video</h2><ul class="strip">${strip.map(item)}</ul></section>`
}

function moreLikeThis(similar: readonly Hit<ShownFrame>[]): Html {
  const cards = similar.map(({ document }, n) => frameCard(document, n + EAGER))
  return html`<section><h2>More like this</h2><ul class="wall">${cards}</ul></section>`
}
