import type { FrameDocument, Hit, ShownFrame, TechniqueDocument } from '../search/library-search.ts'
import { LISTED_NAMES, type Source } from '../vocabulary.ts'
import { type FrameActions, frameActions } from './frame-actions.ts'
import { altOf, frameGrid, loopOf, placeholderClass, swatch, thumb } from './frame-card.ts'
import { type Html, html, safeUrl, trusted } from './html.ts'
import { capitalized, clock, percent, valueLabel } from './words.ts'

export interface FrameData {
  frame: FrameDocument
  previous: ShownFrame | null
  next: ShownFrame | null
  /** The frames around it in its video, itself among them. */
  around: readonly ShownFrame[]
  similar: readonly Hit<ShownFrame>[]
  technique: TechniqueDocument | undefined
}

/**
 * `/frames/{id}`: one frame, its description, its moment and frames like it. The wall shows the article in a dialog.
 */
export function framePage(data: FrameData, actions: FrameActions): Html {
  const { frame, around, similar } = data
  return html`<article class="frame" id="frame" data-id="${frame.id}">
<div class="stage">${bigPicture(data)}${around.length > 1 && moments(around, frame)}</div>
<div class="about">
  <h1 tabindex="-1">${frame.caption ?? altOf(frame)}</h1>
  ${credit(frame)}
  ${frameActions(frame, actions)}
  ${description(data)}
  <ul class="facts">${facts(frame)}</ul>
  ${frame.palette.length > 0 && palette(frame.palette)}
  ${provenanceTable(frame)}
</div>
${similar.length > 0 && moreLikeThis(similar)}
</article>`
}

/** Keeps the other step on its side. */
const NO_STEP = html`<span></span>`

function bigPicture({ frame, previous, next }: FrameData): Html {
  const size = html`width="${frame.width}" height="${frame.height}"`
  // Higher than three by two: its height decides, and nothing is seen beside it.
  const tall = frame.height * 1.5 > frame.width && ' tall'
  return html`<figure class="picture${tall}">
  <img class="${placeholderClass(frame.palette)}" src="${frame.image_path}" alt="${altOf(frame)}" ${size}
    fetchpriority="high">
  ${frame.loop_path !== undefined && loopButton(frame)}
  <figcaption class="step">
    ${previous ? html`<a rel="prev" href="/frames/${previous.id}">← ${clock(previous.t_sec)}</a>` : NO_STEP}
    <span>${clock(frame.t_sec)}${
      frame.video.duration_sec !== null && html` <span class="hint">of ${clock(frame.video.duration_sec)}</span>`
    }</span>
    ${next ? html`<a rel="next" href="/frames/${next.id}">${clock(next.t_sec)} →</a>` : NO_STEP}
  </figcaption>
</figure>`
}

function loopButton(frame: ShownFrame): Html {
  const name = 'Play the two-second loop'
  return html`<button type="button" class="play"${loopOf(frame)} aria-pressed="false" aria-label="${name}"
title="${name}"></button>`
}

function credit(frame: ShownFrame): Html {
  const { author, video } = frame
  const source = safeUrl(frame.source_url ?? video.source_url)
  return html`<p class="credit">
    ${author && html`<a href="/brands/${encodeURIComponent(author)}">${author}</a> · `}
    <a href="/videos/${frame.video_id}#t-${frame.id}">${video.title}</a>
    ${source && html`· <a href="${source}" rel="noreferrer">Watch from ${clock(frame.t_sec)} ↗</a>`}
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

/** Each value links to the wall of all frames that have it. Unknown values are left out. */
function facts(frame: ShownFrame): Html[] {
  return LISTED_NAMES.flatMap((name) => {
    const value = frame[name]
    if (value === null) return []
    const label = name === 'zone' ? 'face' : name
    return html`<li><a href="/?${name}=${encodeURIComponent(value)}"><span class="hint">${label}</span> ${valueLabel(
      value,
    )}</a></li>`
  })
}

function palette(colors: readonly string[]): Html {
  return html`<section><h2>Colours</h2>
  <ul class="palette">${colors.map(
    (color) => html`<li><a href="/?color=${color.slice(1)}" title="Frames near ${color}">${swatch(color, 48, 32)}<span
class="mono">${color}</span></a></li>`,
  )}</ul></section>`
}

function moments(around: readonly ShownFrame[], current: ShownFrame): Html {
  const item = (frame: ShownFrame) => {
    const here = frame.id === current.id && trusted(' aria-current="true"')
    return html`<li><a class="${placeholderClass(frame.palette)}" href="/frames/${frame.id}"${here}>${thumb(frame, {
      n: Number.POSITIVE_INFINITY,
      alt: `At ${clock(frame.t_sec)}`,
    })}</a></li>`
  }
  return html`<section class="moments"><h2>Before and after</h2><ol class="strip">${around.map(item)}</ol>
<p><a href="/videos/${current.video_id}">The whole video as a storyboard</a></p></section>`
}

function moreLikeThis(similar: readonly Hit<ShownFrame>[]): Html {
  return html`<section class="similar" id="similar"><h2 tabindex="-1">More like this</h2>
${frameGrid(similar.map(({ document }) => document))}</section>`
}

const SAID: Record<Source, string> = {
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
${
  rows.length > 0 &&
  html`<div class="scroll" tabindex="0" role="region" aria-label="Who said so"><table>
<thead><tr><th scope="col">Value</th><th scope="col">Source</th><th scope="col">Confidence</th></tr></thead>
<tbody>${rows}</tbody></table></div>`
}
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
