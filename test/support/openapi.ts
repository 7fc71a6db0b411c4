import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { openDocuments } from '../../src/api/documents.ts'
import type { ApiDocument } from '../../src/http/openapi.ts'
import { OPERATIONS } from '../../src/server/build-app.ts'

export function makeDocument(): ApiDocument {
  const tools = { open: [], account: [] }
  return openDocuments({ publicUrl: 'http://frames.test', version: '0.0.0', operations: OPERATIONS, tools }).api()
}

/** @throws when the document has no such operation, no such status, or another shape. */
export type Held = (method: string, path: string, status: number, json: unknown) => void

/** Holds JSON answers against the document. */
export function holdAnswers(document: ApiDocument = makeDocument()): Held {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats.default(ajv)
  ajv.addSchema({ ...document, $id: 'api' } as object)
  const templates = Object.keys(document.paths ?? {})
    .map((path) => ({ path, pattern: new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`) }))
    // A literal path before one with a parameter in its place.
    .sort((a, b) => a.path.split('{').length - b.path.split('{').length)
  return (method, path, status, json) => {
    const template = templates.find(({ pattern }) => pattern.test(path.split('?')[0]!))
    if (!template) throw new Error(`${path} is not in the document`)
    const verb = method === 'HEAD' ? 'get' : method.toLowerCase()
    const operation = (document.paths as Record<string, Record<string, { responses?: Record<string, unknown> }>>)[
      template.path
    ]![verb]
    if (!operation) throw new Error(`${method} ${template.path} is not in the document`)
    if (!operation.responses?.[String(status)])
      throw new Error(`${method} ${template.path} does not document ${status}`)
    const pointer = ['paths', template.path, verb, 'responses', String(status), 'content', 'application/json', 'schema']
      .map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')))
      .join('/')
    const validate = ajv.getSchema(`api#/${pointer}`)
    if (!validate) throw new Error(`${method} ${template.path} documents no JSON for ${status}`)
    if (!validate(json))
      throw new Error(`${method} ${path} ${status}: ${ajv.errorsText(validate.errors).slice(0, 600)}`)
  }
}
