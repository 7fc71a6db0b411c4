import { Router } from 'express'
import type { ApiDocument } from '../http/openapi.ts'
import { readParameters } from '../parameters.ts'
import { withoutTracking } from '../tracking.ts'
import type { Assets } from './assets.ts'
import { type Html, html } from './html.ts'
import { layout, sendPage } from './layout.ts'

/** What of JSON Schema the document uses. */
interface Schema {
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
interface Operation {
  operationId?: string
  tags?: string[]
  summary?: string
  description?: string
  security?: object[]
  parameters?: {
    name: string
    in: string
    required?: boolean
    description?: string
    example?: unknown
    schema?: Schema
  }[]
  requestBody?: { content?: Record<string, { schema?: Schema; example?: unknown }> }
  responses?: Record<string, { description?: string; content?: Record<string, { schema?: Schema }> }>
}

/** `/docs`: the OpenAPI document as a page of our own, without a script. Made once. */
export function docsPageRouter({
  assets,
  document,
  publicUrl,
}: {
  assets: Assets
  document: () => ApiDocument
  publicUrl: string
}): Router {
  const router = Router()
  let page: string | undefined
  router.get('/docs', (req, res) => {
    readParameters(withoutTracking(req.originalUrl), {})
    page ??= layout(assets, { title: 'API reference', current: 'docs', body: reference(document(), publicUrl) })
    res.set('Cache-Control', 'public, max-age=300')
    sendPage(res, { publicUrl, page })
  })
  return router
}

function reference(document: ApiDocument, publicUrl: string): Html {
  const operations = Object.entries(document.paths ?? {}).flatMap(([path, methods]) =>
    Object.entries(methods ?? {}).map(([method, operation]) => ({
      path,
      method: method.toUpperCase(),
      operation: operation as Operation,
    })),
  )
  const tags = document.tags ?? []
  const schemas = Object.entries((document.components?.schemas ?? {}) as Record<string, Schema>).sort(([a], [b]) =>
    a < b ? -1 : 1,
  )
  return html`<h1>API reference</h1>
<p class="lead">${prose(document.info.description ?? '')}</p>
<p>Base address <code>${publicUrl}</code>. For programs: <a href="/openapi.json">openapi.json</a> (OpenAPI ${document.openapi}), <a href="/llms.txt">llms.txt</a>. Keys are made on <a href="/keys">your keys page</a>.</p>
<nav aria-label="Contents"><ul class="contents">${tags.map(({ name }) => html`<li><a href="#${slug(name)}">${name}</a></li>`)}<li><a href="#schemas">Schemas</a></li></ul></nav>
${tags.map(
  ({ name, description }) => html`<section id="${slug(name)}"><h2>${name}</h2><p>${prose(description ?? '')}</p>
${operations.filter(({ operation }) => operation.tags?.includes(name)).map((entry) => operationOf(entry, publicUrl))}</section>`,
)}
<section id="schemas"><h2>Schemas</h2>${schemas.map(
    ([name, schema]) => html`<details class="operation" id="schema-${name}"><summary><code>${name}</code></summary>
${schema.description && html`<p>${prose(schema.description)}</p>`}${propertiesOf(schema)}${exampleOf(schema.examples?.[0])}</details>`,
  )}</section>`
}

function operationOf(
  { path, method, operation }: { path: string; method: string; operation: Operation },
  publicUrl: string,
): Html {
  const parameters = operation.parameters ?? []
  const body = operation.requestBody?.content ?? {}
  return html`<details class="operation" id="${operation.operationId ?? ''}">
<summary><span class="method">${method}</span> <code>${path}</code> <span class="hint">${operation.summary}</span></summary>
${operation.description && html`<p>${prose(operation.description)}</p>`}
${
  parameters.length > 0 &&
  html`<h3>Parameters</h3><div class="scroll"><table><thead><tr><th>Name</th><th>In</th><th>Value</th><th>Meaning</th></tr></thead><tbody>${parameters.map(
    ({ name, in: where, required, schema = {}, description, example }) =>
      html`<tr><td><code>${name}</code>${required && html` <span class="hint">required</span>`}</td><td>${where}</td><td>${typeOf(schema)}</td><td>${prose(description ?? '')}${example !== undefined && html` <span class="hint">For example <code>${String(example)}</code>.</span>`}</td></tr>`,
  )}</tbody></table></div>`
}
${Object.entries(body).map(
  ([type, { schema, example }]) =>
    html`<h3>Body <code>${type}</code></h3>${schema && propertiesOf(schema)}${exampleOf(example)}`,
)}
<h3>Answers</h3><div class="scroll"><table><tbody>${Object.entries(operation.responses ?? {}).map(
    ([status, { description, content = {} }]) =>
      html`<tr><td><code>${status}</code></td><td>${prose(description ?? '')}</td><td>${Object.entries(content).map(
        ([type, { schema }]) =>
          html`${schema && type === 'application/json' ? typeOf(schema) : html`<code>${type}</code>`} `,
      )}</td></tr>`,
  )}</tbody></table></div>
<h3>Try it</h3><pre><code>${curlOf({ path, method, operation }, publicUrl)}</code></pre>
</details>`
}

function curlOf(
  { path, method, operation }: { path: string; method: string; operation: Operation },
  publicUrl: string,
): string {
  const query = (operation.parameters ?? [])
    .filter((parameter) => parameter.in === 'query' && parameter.example !== undefined)
    .slice(0, 2)
  const text = query.map(({ name, example }) => `${name}=${encodeURIComponent(String(example))}`).join('&')
  const example = operation.requestBody?.content?.['application/json']?.example
  return [
    `curl ${method === 'GET' ? '' : `-X ${method} `}'${publicUrl}${path}${text && `?${text}`}'`,
    operation.security?.some((need) => 'key' in need) && operation.security.length === 1
      ? `  -H 'Authorization: Bearer flk_live_…'`
      : '',
    example === undefined ? '' : `  -H 'content-type: application/json' -d '${JSON.stringify(example)}'`,
  ]
    .filter(Boolean)
    .join(' \\\n')
}

function propertiesOf(schema: Schema): Html {
  const properties = Object.entries(schema.properties ?? {})
  if (properties.length === 0) return html`<p>${typeOf(schema)}</p>`
  return html`<div class="scroll"><table><tbody>${properties.map(
    ([name, property]) =>
      html`<tr><td><code>${name}</code>${!schema.required?.includes(name) && html` <span class="hint">optional</span>`}</td><td>${typeOf(property)}</td><td>${prose(property.description ?? '')}</td></tr>`,
  )}</tbody></table></div>`
}

function typeOf(schema: Schema): Html {
  if (schema.$ref) {
    const name = schema.$ref.split('/').at(-1) ?? ''
    return html`<a href="#schema-${name}">${name}</a>`
  }
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`
  if (schema.enum)
    return html`${schema.enum.map((value, n) => html`${n > 0 && ' '}<code>${String(value)}</code>`)}${byDefault(schema)}`
  if (schema.anyOf) return html`${schema.anyOf.map((option, n) => html`${n > 0 && ' or '}${typeOf(option)}`)}`
  if (schema.type === 'array') return html`list of ${typeOf(schema.items ?? {})}`
  if (Object.keys(schema.properties ?? {}).length > 0) return propertiesOf(schema)
  if (typeof schema.additionalProperties === 'object') return html`object of ${typeOf(schema.additionalProperties)}`
  return html`${[schema.type ?? 'anything'].flat().join(' or ')}${byDefault(schema)}`
}

const byDefault = ({ default: value }: Schema) =>
  value !== undefined && html` <span class="hint">(${String(value)} unless told)</span>`

const exampleOf = (example: unknown) =>
  example === undefined ? html`` : html`<pre><code>${JSON.stringify(example, null, 2)}</code></pre>`

/** Text with `code` in it. */
function prose(text: string): Html {
  return html`${text.split('`').map((piece, n) => (n % 2 === 1 ? html`<code>${piece}</code>` : piece))}`
}

const slug = (name: string) => name.toLowerCase().replace(/[^a-z0-9]+/g, '-')
