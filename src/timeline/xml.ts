/** A piece of XML that is already written. */
export interface Xml {
  xml: string
}

type Child = Xml | string | number | undefined

/** Writes an element. Text and attributes are escaped, and characters that XML 1.0 has no place for are left out. */
export function element(
  name: string,
  attributes: Readonly<Record<string, string | number | undefined>>,
  children: readonly Child[] = [],
): Xml {
  const written = Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}="${escapeText(String(value))}"`)
  const open = `<${name}${written.join('')}`
  const inside = children.filter((child) => child !== undefined)
  if (inside.length === 0) return { xml: `${open}/>` }
  const only = inside[0]
  if (inside.length === 1 && typeof only !== 'object') return { xml: `${open}>${escapeText(String(only))}</${name}>` }
  const lines = inside.map((child) => (typeof child === 'object' ? child.xml : escapeText(String(child))))
  return { xml: `${open}>\n${lines.join('\n').replace(/^/gm, '  ')}\n</${name}>` }
}

/** A whole document. */
export function xmlDocument(doctype: string, root: Xml): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE ${doctype}>\n${root.xml}\n`
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

function escapeText(text: string): string {
  const allowed = text.toWellFormed().replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '')
  return allowed.replace(/[&<>"]/g, (character) => ESCAPES[character]!).replace(/[\t\n\r]+/g, ' ')
}
