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

/** The choices of a menu. */
export function options(
  choices: readonly (readonly [value: string | number, label: string])[],
  chosen: unknown,
): Html[] {
  return choices.map(
    ([value, label]) => html`<option value="${value}"${value === chosen && trusted(' selected')}>${label}</option>`,
  )
}

/** The way on, where a list has one. */
export function nextPage(href: string | null): Html | false {
  return (
    href !== null &&
    html`<nav class="pager" aria-label="Pages"><a class="button" rel="next"
href="${href}">Next →</a></nav>`
  )
}
