import type { FrameRow } from '../../db/schema/frames.ts'
import { CLOSED_LISTS, storedValue } from '../../library/frames/frames.ts'
import type { Agreement, ReviewPlace } from '../../library/frames/review.ts'
import type { AnnotatedAttribute } from '../../vocabulary.ts'
import { counted, formToken, hidden } from '../actions.ts'
import type { Visitor } from '../guard.ts'
import { type Html, html, options, trusted } from '../html.ts'
import { clock } from '../words.ts'

export interface Judged {
  row: FrameRow
  /** Techniques outside the vocabulary that annotators proposed. */
  proposed: readonly string[]
  image: string
  /** Of its video. */
  title: string
  techniques: readonly { slug: string; name: string }[]
}

interface ReviewData extends Judged {
  visitor: Visitor
  /** The judgement before, which can be taken back. */
  back: { frame: string; attributes: string } | undefined
  /** The address of this page, and of the one behind it. */
  here: string
  nextPath: string | undefined
  place?: ReviewPlace | undefined
  /** Also the texts: for one frame that is corrected on purpose. */
  texts?: boolean
}

const LISTS = Object.entries(CLOSED_LISTS) as [AnnotatedAttribute, readonly string[]][]
const TEXTS = ['caption', 'composition', 'steal', 'on_screen_text'] as const
const LABELS: Partial<Record<AnnotatedAttribute, string>> = {
  zone: 'Face zone',
  steal: 'Worth taking',
  on_screen_text: 'On screen',
}
const labelOf = (name: AnnotatedAttribute) =>
  LABELS[name] ?? name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ')

/** One frame, large, with its values as chips. Number keys choose, Enter accepts, `u` takes back. */
export function reviewForm(data: ReviewData): Html {
  const { row, image, title, visitor, texts = false, nextPath, back, place } = data
  const action = texts ? `/web/frames/${row.id}/correct` : `/web/review/${row.id}`
  const at = `${title}, ${clock(row.tMs / 1_000)}`
  return html`${back && undoForm(visitor, back, data.here)}
<div class="review">
<figure><a href="/frames/${row.id}"><img src="${image}" alt="${row.caption ?? at}" width="${row.width}"
height="${row.height}"></a><figcaption class="hint">${at}${place && html` · ${whyOf(place)}`}</figcaption></figure>
<form method="post" action="${action}" data-review>${formToken(visitor)}
${nextPath !== undefined && hidden('next', nextPath)}
${LISTS.map(([name, values]) => choices(data, name, values))}
${technique(data)}
${texts && TEXTS.map((name) => textField(row, name))}
<div class="tools"><button class="primary" data-accept>${texts ? 'Keep' : 'Accept'} <kbd>Enter</kbd></button>
${!texts && nextPath !== undefined && html`<a href="${nextPath}" data-skip>Skip <kbd>s</kbd></a>`}
${!texts && html`<a href="/operator/review/${row.id}" data-edit>Edit all <kbd>e</kbd></a>`}</div>
</form></div>`
}

function whyOf({ rank, confidence }: ReviewPlace): string {
  if (rank === 0) return 'a value outside the lists or the vocabulary'
  return confidence === 0 ? 'a value is missing' : `least certain value: ${Math.round(confidence * 100)} %`
}

function undoForm(visitor: Visitor, { frame, attributes }: { frame: string; attributes: string }, here: string): Html {
  return html`<form class="notice done" method="post" action="/web/review/${frame}/undo" data-undo role="status">
${formToken(visitor)}${hidden('attributes', attributes)}${hidden('next', here)}Accepted.
<button class="quiet">Undo <kbd>u</kbd></button></form>`
}

/** Where a value comes from and how sure it is. */
function origin(row: FrameRow, name: AnnotatedAttribute): Html {
  const { value, provenance } = storedValue(row, name)
  if (!provenance) return html`<span class="hint">no answer</span>`
  if (provenance.source === 'person') return html`<span class="hint">set by a person</span>`
  const sure = provenance.confidence !== null && ` ${Math.round(provenance.confidence * 100)} %`
  const why = value === null && provenance.reason !== undefined && `: ${provenance.reason}`
  return html`<span class="hint">${provenance.source}${sure}${why}</span>`
}

function choices({ row, texts }: ReviewData, name: AnnotatedAttribute, values: readonly string[]): Html {
  const { value, provenance } = storedValue(row, name)
  const locked = provenance?.source === 'person' && !texts
  return html`<fieldset class="choices-row" data-choices${locked && trusted(' disabled')}>
<legend>${labelOf(name)} ${origin(row, name)}</legend>${was(row, name, texts)}
<div class="values">${values.map(
    (one, n) =>
      html`<label class="value"><input type="radio" name="${name}" value="${one}"${
        one === value && trusted(' checked')
      }><span>${n < 10 && html`<kbd>${(n + 1) % 10}</kbd>`} ${one}</span></label>`,
  )}</div></fieldset>`
}

/** The value that the form began with: only what a person changed is theirs. */
function was(row: FrameRow, name: AnnotatedAttribute, texts: boolean | undefined): Html | false {
  return texts === true && hidden(`was-${name}`, storedValue(row, name).value ?? '')
}

function technique({ row, proposed, techniques, texts }: ReviewData): Html {
  const { value, provenance } = storedValue(row, 'technique')
  const locked = provenance?.source === 'person' && !texts
  return html`<div class="field"><label for="technique">Technique ${origin(row, 'technique')}</label>
${was(row, 'technique', texts)}
<select id="technique" name="technique"${locked && trusted(' disabled')}><option value="">none</option>${options(
    techniques.map(({ slug, name }) => [slug, name]),
    value,
  )}</select>
${
  proposed.length > 0 &&
  html`<p class="notice">A model proposed ${proposed.join(', ')}, outside the vocabulary.
<a href="/operator/techniques">Decide</a></p>`
}</div>`
}

function textField(row: FrameRow, name: (typeof TEXTS)[number]): Html {
  const value = storedValue(row, name).value ?? ''
  return html`<div class="field"><label for="${name}">${labelOf(name)} ${origin(row, name)}</label>
${was(row, name, true)}<textarea id="${name}" name="${name}" rows="2" maxlength="2000">${value}</textarea></div>`
}

/** How often people chose what the machine had said. */
export function agreementList(agreement: readonly Agreement[]): Html {
  const judged = agreement.filter((one) => one.judged > 0)
  if (judged.length === 0) return html`<div id="agreement"></div>`
  return html`<section id="agreement"><h2>Agreement with the model</h2>
<dl>${judged.map(({ attribute, judged, agreed }) => {
    const share = Math.round((agreed / judged) * 100)
    return html`<div><dt>${labelOf(attribute)}</dt><dd>${share} % of ${counted(judged, 'judged value')}
<meter min="0" max="100" value="${share}" aria-label="${labelOf(attribute)}: ${share} %"></meter></dd></div>`
  })}</dl></section>`
}
