/** Markup that is safe to send; only `html` and `trusted` make it. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
  toString(): string {
    return this.text
  }
}

type Value = Html | string | number | null | undefined | false | readonly Value[]

/**
 * Escapes every value that is not markup itself, in text and in quoted attributes.
 * `null`, `undefined`, `false` and empty lists print nothing.
 */
export function html(strings: TemplateStringsArray, ...values: Value[]): Html {
  let text = strings[0]!
  for (const [n, value] of values.entries()) text += render(value) + strings[n + 1]!
  return new Html(text)
}

/** Markup that we wrote ourselves and that contains no outside text. */
export function trusted(text: string): Html {
  return new Html(text)
}

function render(value: Value): string {
  if (value === null || value === undefined || value === false) return ''
  if (value instanceof Html) return value.text
  if (Array.isArray(value)) return value.map(render).join('')
  return escapeHtml(String(value))
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}

/** A link address from outside: null unless it is http or https. */
export function safeUrl(url: string | null): string | null {
  return url !== null && /^https?:\/\//i.test(url) ? url : null
}

const DAY = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' })
/** As `Nov 28, 2026`, in UTC. */
export const dayText = (at: Date | string): string => DAY.format(new Date(at))

/** In UTC; a script shows it in the reader's own time. */
export function utcTime(at: Date): Html {
  return html`<time datetime="${at.toISOString()}">${at.toISOString().slice(0, 16).replace('T', ' ')} UTC</time>`
}

export function hidden(name: string, value: string): Html {
  return html`<input type="hidden" name="${name}" value="${value}">`
}

/** What every form of a session must hold. */
export function formToken({ form }: { form: string }): Html {
  return hidden('form', form)
}

/** Where nothing is yet: what will be there, and how to begin. `live`: a script looks again. */
export function emptyState(title: string, how: Value, { more, live }: { more?: Html; live?: boolean } = {}): Html {
  return html`<div class="empty"${live && trusted(' data-live')}><h2>${title}</h2><p>${how}</p>${more}</div>`
}

/** A table that scrolls where it is wider than the page; `label`: by keys too. `rows`: its `<tr>`s. */
export function table(heads: readonly (string | Html)[], rows: readonly Html[], label?: string): Html {
  const name = label !== undefined && html` aria-label="${label}"`
  const head = heads.map((one) => html`<th scope="col">${one}</th>`)
  return html`<div class="scroll"${name && html` tabindex="0" role="region"${name}`}><table${name}>
${head.length > 0 && html`<thead><tr>${head}</tr></thead>`}<tbody>${rows}</tbody></table></div>`
}

/** Facts by their names. */
export function facts(all: readonly (false | readonly [name: string, told: Value])[]): Html {
  return html`<dl>${all.map((one) => one && html`<div><dt>${one[0]}</dt><dd>${one[1]}</dd></div>`)}</dl>`
}

/** The choices of a menu. */
export function options(
  choices: readonly (readonly [value: string | number, label: string])[],
  chosen: unknown,
): Html[] {
  return choices.map(
    ([value, label]) => html`<option value="${value}"${value === chosen && trusted(' selected')}>${label}</option>`,
  )
}

/** Steps through a list by the addresses of its first and its next page, where this is not the first or the last. */
export function listPages({ first, next }: { first?: string | false; next: string | null }): Html | false {
  if (!first && next === null) return false
  return html`<nav class="row pager" aria-label="Pages">
  ${first && html`<a class="button" href="${first}">First page</a>`}
  ${next !== null && html`<a class="button" rel="next" href="${next}">Next →</a>`}
</nav>`
}

/** Steps through numbered pages. */
export function numberedPages(page: number, last: number, at: (page: number) => string): Html | false {
  if (last <= 1) return false
  const before = Math.min(page - 1, last)
  return html`<nav class="row pager" aria-label="Pages">
  ${page > 1 && html`<a class="button" rel="prev" href="${at(before)}">← Page ${before}</a>`}
  <span>${page <= last && `Page ${thousands(page)} of ${thousands(last)}`}</span>
  ${page < last && html`<a class="button" rel="next" href="${at(page + 1)}">Page ${page + 1} →</a>`}
</nav>`
}

/** How pages write values, numbers and times. */

/** A map, because a slug may be the name of something that every object has. */
const WORDS = new Map([
  ['ui', 'UI'],
  ['b-roll', 'B-roll'],
  ['3d-render', '3D render'],
  ['x', 'X'],
  ['youtube', 'YouTube'],
  ['linkedin', 'LinkedIn'],
])

/** A value of a closed list or a slug, as people read it: `text-card` is "Text card". */
export function valueLabel(value: string): string {
  return capitalized(WORDS.get(value) ?? value.replaceAll(/[-_]+/g, ' ').trim())
}

/** A name that people gave, as it is, with a capital at the start. */
export function capitalized(name: string): string {
  return name.slice(0, 1).toUpperCase() + name.slice(1)
}

/** A whole number from 0 with its thousands apart. The first `toLocaleString` of a process holds it for 25 ms. */
export function thousands(count: number): string {
  let text = String(count)
  for (let at = text.length - 3; at > 0; at -= 3) text = `${text.slice(0, at)},${text.slice(at)}`
  return text
}

/** "1 frame", "1,204 frames". */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${thousands(count)} ${count === 1 ? one : many}`
}
