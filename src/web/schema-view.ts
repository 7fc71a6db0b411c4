import { type Html, html } from './html.ts'

/** The parts of JSON Schema that the document uses. */
export interface Schema {
  $ref?: string
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  default?: unknown
  description?: string
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
  additionalProperties?: Schema | boolean
  examples?: unknown[]
}

/** The fields of an object, as a table. */
export function propertiesOf(schema: Schema): Html {
  const properties = Object.entries(schema.properties ?? {})
  if (properties.length === 0) return html`<p>${typeOf(schema)}</p>`
  const rows = properties.map(([name, property]) => {
    const optional = !schema.required?.includes(name) && html` <span class="hint">optional</span>`
    return html`<tr><td><code>${name}</code>${optional}</td>
<td>${typeOf(property)}</td><td>${prose(property.description ?? '')}</td></tr>`
  })
  return html`<div class="scroll"><table><tbody>${rows}</tbody></table></div>`
}

export function typeOf(schema: Schema): Html {
  if (schema.$ref) {
    const name = schema.$ref.split('/').at(-1) ?? ''
    return html`<a href="#schema-${name}">${name}</a>`
  }
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`
  if (schema.enum) {
    const values = schema.enum.map((value, n) => html`${n > 0 && ' '}<code>${String(value)}</code>`)
    return html`${values}${byDefault(schema)}`
  }
  if (schema.anyOf) return html`${schema.anyOf.map((option, n) => html`${n > 0 && ' or '}${typeOf(option)}`)}`
  if (schema.type === 'array') return html`list of ${typeOf(schema.items ?? {})}`
  if (Object.keys(schema.properties ?? {}).length > 0) return propertiesOf(schema)
  if (typeof schema.additionalProperties === 'object') return html`object of ${typeOf(schema.additionalProperties)}`
  return html`${[schema.type ?? 'anything'].flat().join(' or ')}${byDefault(schema)}`
}

const byDefault = ({ default: value }: Schema) =>
  value !== undefined && value !== '' && html` <span class="hint">(default ${String(value)})</span>`

export const exampleOf = (example: unknown) =>
  example === undefined ? html`` : html`<pre><code>${JSON.stringify(example, null, 2)}</code></pre>`

/** Text with `code` in it. */
export function prose(text: string): Html {
  return html`${text.split('`').map((piece, n) => (n % 2 === 1 ? html`<code>${piece}</code>` : piece))}`
}

export const slug = (name: string) => name.toLowerCase().replace(/[^a-z0-9]+/g, '-')
