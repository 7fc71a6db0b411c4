/** Markup that is safe to send. Made only by `html` and `trusted`. */
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

/** Every value is escaped, in text and in quoted attributes alike, unless it is markup itself. Nothing, false and empty lists leave no trace. */
export function html(strings: TemplateStringsArray, ...values: Value[]): Html {
  let text = strings[0]!
  for (const [n, value] of values.entries()) text += render(value) + strings[n + 1]!
  return new Html(text)
}

/** Markup of our own making that holds nothing of anybody else's. */
export function trusted(text: string): Html {
  return new Html(text)
}

function render(value: Value): string {
  if (value === null || value === undefined || value === false) return ''
  if (value instanceof Html) return value.text
  if (Array.isArray(value)) return value.map(render).join('')
  return escapeHtml(String(value))
}

export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}

/** A link address from the outside: anything but http and https leads nowhere. */
export function safeUrl(url: string | null): string | null {
  return url !== null && /^https?:\/\//i.test(url) ? url : null
}
