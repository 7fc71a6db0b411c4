import type { ErrorRequestHandler } from 'express'
import type { ApiDocument } from '../http/openapi.ts'
import { priced } from '../http/rate-limit/rate-limits.ts'
import { CompressibleBody } from '../http/response-body.ts'
import { openRoutes, type Routes } from '../http/routes.ts'
import { readPageParameters } from '../parameters.ts'
import { type Html, html, table } from './html.ts'
import { layout, sendPage, setPageCache, type Viewer } from './layout.ts'
import type { PageDeps } from './page-deps.ts'

interface ApiParameter {
  name: string
  in: string
  required?: boolean
  description?: string
  example?: unknown
  schema?: Schema
}
interface ApiResponse {
  description?: string
  content?: Record<string, { schema?: Schema }>
}
interface Operation {
  operationId?: string
  tags?: string[]
  summary?: string
  description?: string
  security?: object[]
  parameters?: ApiParameter[]
  requestBody?: { content?: Record<string, { schema?: Schema; example?: unknown }> }
  responses?: Record<string, ApiResponse>
}

/** `/docs`: the interface for programs, as a page without a script. */
export function docsPageRouter({
  assets,
  viewerOf,
  documents,
  limits,
  publicUrl,
  errors,
}: Pick<PageDeps, 'assets' | 'viewerOf' | 'limits' | 'publicUrl'> & {
  errors: ErrorRequestHandler
  documents: { api: () => ApiDocument }
}): Routes {
  const router = openRoutes()
  // Made once for each kind of viewer.
  const pages = new Map<Viewer, CompressibleBody>()
  const pageFor = (viewer: Viewer) => {
    const body = reference(documents.api(), publicUrl)
    return new CompressibleBody(layout(assets, { title: 'API reference', current: 'docs', viewer, body }))
  }
  router.get('/docs', priced(limits), async (req, res) => {
    readPageParameters(req.originalUrl)
    const viewer = await viewerOf(req)
    const page = pages.get(viewer) ?? pageFor(viewer)
    pages.set(viewer, page)
    setPageCache(res, viewer, 300)
    return sendPage(res, { publicUrl, page, viewer })
  })
  router.use(errors)
  return router
}

interface Entry {
  path: string
  method: string
  operation: Operation
}

function reference(document: ApiDocument, publicUrl: string): Html {
  const operations = entriesOf(document)
  const tags = document.tags ?? []
  const sections = tags.map(({ name, description }) => {
    const own = operations.filter(({ operation }) => operation.tags?.includes(name))
    return html`<section id="${slug(name)}"><h2>${name}</h2><p>${prose(description ?? '')}</p>
${own.map((entry) => operationOf(entry, publicUrl))}</section>`
  })
  return html`<h1>API reference</h1>
<p class="lead">${prose(document.info.description ?? '')}</p>
<p>Base address <code>${publicUrl}</code>.
For programs: <a href="/openapi.json">openapi.json</a> (OpenAPI ${document.openapi}), <a href="/llms.txt">llms.txt</a>.
Create keys on <a href="/keys">your keys page</a>.</p>
<nav aria-label="Contents"><ul class="row loose">
${tags.map(({ name }) => html`<li><a href="#${slug(name)}">${name}</a></li>`)}
<li><a href="#schemas">Schemas</a></li></ul></nav>
${sections}
<section id="schemas"><h2>Schemas</h2>${schemasOf(document)}</section>`
}

function entriesOf(document: ApiDocument): Entry[] {
  return Object.entries(document.paths ?? {}).flatMap(([path, methods]) =>
    Object.entries(methods ?? {}).map(([method, operation]) => ({
      path,
      method: method.toUpperCase(),
      operation: operation as Operation,
    })),
  )
}

function schemasOf(document: ApiDocument): Html[] {
  const schemas = Object.entries((document.components?.schemas ?? {}) as Record<string, Schema>)
  schemas.sort(([a], [b]) => (a < b ? -1 : 1))
  return schemas.map(
    ([name, schema]) => html`<details class="operation" id="schema-${name}"><summary><code>${name}</code></summary>
${schema.description && html`<p>${prose(schema.description)}</p>`}
${propertiesOf(schema)}
${exampleOf(schema.examples?.[0])}</details>`,
  )
}

function operationOf(entry: Entry, publicUrl: string): Html {
  const { path, method, operation } = entry
  const { operationId = '', summary, description, parameters = [], requestBody, responses = {} } = operation
  return html`<details class="operation" id="${operationId}">
<summary><span class="method">${method}</span> <code>${path}</code> <span class="hint">${summary}</span></summary>
${description && html`<p>${prose(description)}</p>`}
${parameters.length > 0 && parameterTable(parameters)}
${Object.entries(requestBody?.content ?? {}).map(bodyOf)}
<h3>Responses</h3>${table([], Object.entries(responses).map(responseRow))}
<h3>Try it</h3><pre><code>${curlOf(entry, publicUrl)}</code></pre>
</details>`
}

function parameterTable(parameters: ApiParameter[]): Html {
  return html`<h3>Parameters</h3>${table(['Name', 'In', 'Value', 'Meaning'], parameters.map(parameterRow))}`
}

function parameterRow({ name, in: where, required, schema = {}, description = '', example }: ApiParameter): Html {
  const shown = example !== undefined && html` <span class="hint">For example <code>${String(example)}</code>.</span>`
  return html`<tr><td><code>${name}</code>${required && html` <span class="hint">required</span>`}</td>
<td>${where}</td><td>${typeOf(schema)}</td><td>${prose(description)}${shown}</td></tr>`
}

function bodyOf([type, { schema, example }]: [string, { schema?: Schema; example?: unknown }]): Html {
  return html`<h3>Body <code>${type}</code></h3>${schema && propertiesOf(schema)}${exampleOf(example)}`
}

function responseRow([status, { description = '', content = {} }]: [string, ApiResponse]): Html {
  const types = Object.entries(content).map(
    ([type, { schema }]) =>
      html`${schema && type === 'application/json' ? typeOf(schema) : html`<code>${type}</code>`} `,
  )
  return html`<tr><td><code>${status}</code></td><td>${prose(description)}</td><td>${types}</td></tr>`
}

function curlOf({ path, method, operation }: Entry, publicUrl: string): string {
  const { parameters = [], security = [], requestBody } = operation
  const query = parameters.filter((parameter) => parameter.in === 'query' && parameter.example !== undefined)
  const pairs = query.slice(0, 2).map(({ name, example }) => `${name}=${encodeURIComponent(String(example))}`)
  const address = `${publicUrl}${path}${pairs.length > 0 ? `?${pairs.join('&')}` : ''}`
  const lines = [`curl ${method === 'GET' ? '' : `-X ${method} `}'${address}'`]
  const needsKey = security.length === 1 && 'key' in security[0]!
  if (needsKey) lines.push(`  -H 'Authorization: Bearer flk_live_…'`)
  const example = requestBody?.content?.['application/json']?.example
  if (example !== undefined) lines.push(`  -H 'content-type: application/json' -d '${JSON.stringify(example)}'`)
  return lines.join(' \\\n')
}

/** The parts of JSON Schema that the document uses. */
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

/** The fields of an object, as a table. */
function propertiesOf(schema: Schema): Html {
  const properties = Object.entries(schema.properties ?? {})
  if (properties.length === 0) return html`<p>${typeOf(schema)}</p>`
  const rows = properties.map(([name, property]) => {
    const optional = !schema.required?.includes(name) && html` <span class="hint">optional</span>`
    return html`<tr><td><code>${name}</code>${optional}</td>
<td>${typeOf(property)}</td><td>${prose(property.description ?? '')}</td></tr>`
  })
  return table([], rows)
}

function typeOf(schema: Schema): Html {
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

const exampleOf = (example: unknown) =>
  example === undefined ? html`` : html`<pre><code>${JSON.stringify(example, null, 2)}</code></pre>`

/** Text with `code` in it. */
function prose(text: string): Html {
  return html`${text.split('`').map((piece, n) => (n % 2 === 1 ? html`<code>${piece}</code>` : piece))}`
}

const slug = (name: string) => name.toLowerCase().replace(/[^a-z0-9]+/g, '-')
