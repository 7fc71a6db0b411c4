import type { Suggestion } from '../../library/frames/technique-suggestions.ts'
import { MAX_TECHNIQUE, type TechniqueUsage } from '../../library/techniques/techniques.ts'
import type { Visitor } from '../guard.ts'
import { capitalized, counted, formToken, type Html, hidden, html, options, trusted, valueLabel } from '../html.ts'
import { operatorHead } from './parts.ts'

/** Thumbnails by frame id. */
export type Pictures = ReadonlyMap<string, { url: string; alt: string }>

interface TechniquesData {
  visitor: Visitor
  usages: readonly TechniqueUsage[]
  suggestions: readonly Suggestion[]
  /** Suggestions that are not shown. */
  more: number
  pictures: Pictures
  /** A suggestion that was just dismissed. */
  dismissed: string | undefined
}

export function techniquesPage({ visitor, usages, suggestions, more, pictures, dismissed }: TechniquesData): Html {
  const [used, unused] = [usages.filter(({ frames }) => frames > 0), usages.filter(({ frames }) => frames === 0)]
  return html`${operatorHead('techniques', 'Techniques')}
${dismissed !== undefined && dismissedNotice(visitor, dismissed)}
<section aria-labelledby="suggested"><h2 id="suggested">Proposed by models</h2>
${
  suggestions.length === 0
    ? html`<p class="empty">No model has proposed a technique outside the vocabulary.</p>`
    : html`<p class="hint">Nothing of it is shown to readers until you decide.</p>
<ul class="suggestions">${suggestions.map((one) => suggestionItem(visitor, one, pictures))}</ul>
<datalist id="active">${inOrder(usages.flatMap(({ technique: one }) => (one.retiredAt ? [] : one)))}</datalist>
${more > 0 && html`<p class="hint">${counted(more, 'rarer proposal')} more.</p>`}`
}
</section>
<section aria-labelledby="vocabulary"><h2 id="vocabulary">Vocabulary</h2>
<details><summary>Add a technique</summary>${textsForm(visitor, '/web/techniques', undefined)}</details>
<ul class="tiles small">${used.map((usage) => vocabularyItem(usage, pictures))}</ul>
${unusedList(unused)}</section>`
}

function dismissedNotice(visitor: Visitor, slug: string): Html {
  return html`<form class="notice done" method="post" action="/web/suggestions/${slug}/restore" role="status">
${formToken(visitor)}“${valueLabel(slug)}” is dismissed and not shown again. <button class="quiet">Undo</button></form>`
}

function vocabularyItem({ technique, frames, frameIds }: TechniqueUsage, pictures: Pictures): Html {
  const picture = frameIds[0] === undefined ? undefined : pictures.get(frameIds[0])
  return html`<li><a href="/operator/techniques/${technique.slug}">
${picture ? html`<img class="still" src="${picture.url}" alt="" width="160" height="90" loading="lazy">` : NO_PICTURE}
<span class="label">${capitalized(technique.name)}</span></a>
<span class="hint">${counted(frames, 'frame')}${technique.retiredAt !== null && ', retired'}</span></li>`
}

/** Techniques that no frame has: names in a row, because there is nothing to see of them. */
function unusedList(usages: readonly TechniqueUsage[]): Html | false {
  if (usages.length === 0) return false
  const sorted = usages.toSorted((a, b) => a.technique.name.localeCompare(b.technique.name))
  return html`<h3>No frame yet (${sorted.length})</h3><ul class="row loose">${sorted.map(
    ({ technique: { slug, name, retiredAt } }) =>
      html`<li><a href="/operator/techniques/${slug}">${capitalized(
        name,
      )}</a>${retiredAt !== null && ' (retired)'}</li>`,
  )}</ul>`
}

const NO_PICTURE = html`<span class="still"></span>`

function strip(frameIds: readonly string[], pictures: Pictures): Html {
  return html`<ul class="tiles small">${frameIds.map((id) => {
    const picture = pictures.get(id)
    return (
      picture &&
      html`<li><a href="/operator/review/${id}"><img class="still" src="${picture.url}" alt="${picture.alt || 'Frame'}"
  width="160" height="90" loading="lazy"></a></li>`
    )
  })}</ul>`
}

function suggestionItem(visitor: Visitor, { slug, count, frame_ids }: Suggestion, pictures: Pictures): Html {
  return html`<li class="card"><h3>${valueLabel(slug)} <span class="hint">${counted(count, 'frame')}</span></h3>
${strip(frame_ids.slice(0, 6), pictures)}
<div class="row apart tools">
<details class="fold"><summary>Add it</summary>
<p class="hint">${counted(count, 'frame gets', 'frames get')} this technique at once, where a model is their
best source.</p>
${textsForm(visitor, '/web/techniques', { slug, name: valueLabel(slug) })}</details>
<details class="fold"><summary>It is another name of…</summary>
<form method="post" action="/web/suggestions/${slug}/alias">${formToken(visitor)}
<div class="field"><label for="of-${slug}">Technique</label><input id="of-${slug}" name="of" list="active" required
autocomplete="off"></div><button>Use that one</button></form></details>
<form method="post" action="/web/suggestions/${slug}/dismiss">${formToken(visitor)}
<button aria-label="Dismiss ${valueLabel(slug)}">Dismiss</button></form>
</div></li>`
}

/** The choices among techniques, by their names. */
function inOrder(techniques: readonly { slug: string; name: string }[]): Html[] {
  const sorted = techniques.toSorted((a, b) => a.name.localeCompare(b.name)).map((one) => [one.slug, one.name] as const)
  return options(sorted, undefined)
}

interface Given {
  slug?: string
  name?: string
  description?: string
  recognise?: string
  aliases?: readonly string[]
}

/** The form of a technique's texts: to add one, or to edit what there is. */
function textsForm(visitor: Visitor, action: string, given: Given | undefined, edits = false): Html {
  const key = edits ? 'edit' : (given?.slug ?? 'new')
  const area = (name: 'description' | 'recognise', label: string, required: boolean) => html`<div class="field">
<label for="${name}-${key}">${label}</label><textarea id="${name}-${key}" name="${name}" rows="3"
maxlength="${MAX_TECHNIQUE[name]}"${required && trusted(' required')}>${given?.[name]}</textarea></div>`
  return html`<form method="post" action="${action}">${formToken(visitor)}
${given?.slug !== undefined && !edits && hidden('slug', given.slug)}
<div class="field"><label for="name-${key}">Name</label><input id="name-${key}" name="name" required
maxlength="${MAX_TECHNIQUE.name}" value="${given?.name}" autocomplete="off"></div>
${area('description', 'What it is', true)}
${area('recognise', 'How to recognise it in one frame', false)}
<div class="field"><label for="aliases-${key}">Other names, separated by commas</label>
<input id="aliases-${key}" name="aliases" value="${given?.aliases?.join(', ')}" autocomplete="off"></div>
<button class="primary">${edits ? 'Save' : 'Add'}</button></form>`
}

interface TechniqueData {
  visitor: Visitor
  usage: TechniqueUsage
  others: readonly { slug: string; name: string }[]
  pictures: Pictures
}

/** `/operator/techniques/{slug}`: each change says what it changes before it is made. */
export function techniquePage({ visitor, usage, others, pictures }: TechniqueData): Html {
  const { technique: row, frames, videos, frameIds } = usage
  const path = `/web/techniques/${row.slug}`
  const hanging = html`${counted(frames, 'frame')} in ${counted(videos, 'video')}`
  const retired = row.retiredAt !== null
  return html`${operatorHead('techniques', row.name)}
<p class="lead">${hanging}${retired && ' · retired'}.</p>
${strip(frameIds, pictures)}
<div class="columns">
<section><h2>Texts</h2>${textsForm(visitor, `${path}/edit`, row, true)}</section>
<section><h2>Merge into another</h2>
<p>Its frames become frames of the other one. The next page says how many, then asks.</p>
<form method="post" action="${path}/merge">${formToken(visitor)}
<div class="field"><label for="into">Technique</label><select id="into" name="into">${inOrder(others)}</select></div>
<button>Merge…</button></form>
<h2>${retired ? 'Restore' : 'Retire'}</h2>
<p>${
    retired
      ? 'It is in the vocabulary again: models may choose it.'
      : html`No frame gets it any more. What has it keeps it.`
  }</p>
<form method="post" action="${path}/retire">${formToken(visitor)}${hidden('retired', retired ? '0' : '1')}
<button>${retired ? 'Restore' : 'Retire'}</button></form></section></div>
<p><a href="/operator/techniques">All techniques</a></p>`
}

/** Asked before two techniques become one. */
export function mergePage(visitor: Visitor, from: TechniqueUsage, target: TechniqueUsage): Html {
  const { slug, name } = from.technique
  return html`<section class="narrow card"><h1>Merge “${name}” into “${target.technique.name}”?</h1>
<p><strong>${counted(from.frames, 'frame')}</strong> of ${counted(from.videos, 'video')} become frames of
“${target.technique.name}”, which then has ${target.frames + from.frames}.</p>
${from.corrected > 0 && html`<p class="notice">People chose “${name}” for ${counted(from.corrected, 'frame')}.</p>`}
<p>Links to “${name}” lead there from then on. This cannot be undone.</p>
<form method="post" action="/web/techniques/${slug}/merge">${formToken(visitor)}
${hidden('into', target.technique.slug)}${hidden('sure', '1')}
<button class="danger">Merge</button> <a href="/operator/techniques/${slug}">Cancel</a></form></section>`
}
