import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { readAnswer } from '../support/openapi.ts'
import { seedVideo } from '../support/seed.ts'
import { useService } from '../support/service.ts'

/*
 * Does what API testing tools do, from the served document alone: it calls every operation as documented, and compares
 * every answer with the document. What is wrong in a request is in bad-input.
 */

interface Parameter {
  name: string
  in: 'query' | 'path' | 'header'
  example?: unknown
  schema: Schema
}
interface Schema {
  type?: string | string[]
  enum?: unknown[]
  pattern?: string
  minimum?: number
  items?: Schema
}
interface Operation {
  operationId: string
  security?: object[]
  parameters?: Parameter[]
  requestBody?: { content: Record<string, { example?: unknown }> }
}
interface Case extends Operation {
  method: string
  path: string
}

const service = useService()
let cases: Case[]
let ids: Record<string, string>
beforeAll(async () => {
  const seeded = await seedVideo(service.stores.db, { frames: [{ caption: 'A red kite', technique: 'cursor-zoom' }] })
  await service.drain()
  const { board } = (await service.call('POST', '/api/boards', { name: 'Referees' })).json
  // No other operation empties this one: an empty board is no timeline.
  const { board: full } = (await service.call('POST', '/api/boards', { name: 'Full' })).json
  await service.call('PUT', `/api/boards/${full.id}/frames/${seeded.frameIds[0]}`, {})
  ids = { full: full.id, video: seeded.id, frame: seeded.frameIds[0]!, board: board.id }
  const document = (await service.get('/openapi.json')).json
  cases = Object.entries(document.paths as Record<string, Record<string, Operation>>).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  )
})

/** Ids that exist, by the place of the parameter. */
function pathOf({ path }: Case): string {
  return path
    .replace('{frameId}', ids.frame!)
    .replace('{slug}', 'cursor-zoom')
    .replace('{token}', 'flb_absent')
    .replace('{consumer}', 'analytics')
    .replace('{name}', 'absent-1-0f3c21ab.webp')
    .replace('/boards/{id}/timeline', `/boards/${ids.full}/timeline`)
    .replace('{format}', 'xml')
    .replace('{eventId}', '0199e3a0-0000-7000-8000-000000000000')
    .replace('{type}/{version}', 'frame.saved/1')
    .replace('{id}', () => {
      if (path.startsWith('/api/boards')) return ids.board!
      return path.startsWith('/api/frames') ? ids.frame! : ids.video!
    })
}

interface Sent {
  query?: string
  headers?: Record<string, string>
  body?: string
  method?: string
}

/** Sends it with the operator's key, and holds the answer against the document. */
async function send(one: Case, { query = '', headers = {}, body, method = one.method }: Sent = {}) {
  const response = await fetch(`${service.url}${pathOf(one)}${query}`, {
    method,
    headers: { authorization: `Bearer ${service.operatorKey}`, ...headers },
    ...(body === undefined ? {} : { body }),
  })
  const got = await readAnswer(method, pathOf(one), response)
  const said = `${method} ${one.path}${query} ${body?.slice(0, 80) ?? ''} → ${got.status} ${got.text.slice(0, 300)}`
  expect(got.status, said).toBeLessThan(500)
  expect(got.headers.get('x-request-id'), said).toMatch(/^[\w.-]{1,64}$/)
  return { ...got, said }
}

/** Those that end or move what the others need, and those that take files, come last or not at all. */
const DESTRUCTIVE = ['deleteVideo', 'deleteBoard', 'retryVideo', 'cancelVideo', 'mergeTechnique', 'submitVideo']
const harmless = () => cases.filter(({ operationId }) => !DESTRUCTIVE.includes(operationId))
const jsonBody = ({ requestBody }: Case) => requestBody?.content['application/json']
const JSON_TYPE = { 'content-type': 'application/json' }

describe('every operation', () => {
  test('answers its own example as it documents', async () => {
    for (const one of harmless()) {
      const example = jsonBody(one)?.example
      const query = (one.parameters ?? [])
        .filter((parameter) => parameter.in === 'query' && parameter.example !== undefined)
        .map(({ name, example: value }) => [value].flat().map((item) => `${name}=${encodeURIComponent(String(item))}`))
      const asked = query.length > 0 ? `?${query.flat().join('&')}` : ''
      // A cursor or a file of the example does not exist.
      const { status, said } = await send(one, {
        query: one.operationId === 'listFrames' ? '' : asked,
        ...(example === undefined ? {} : { body: JSON.stringify(example), headers: JSON_TYPE }),
      })
      expect([200, 201, 202, 404, 409], said).toContain(status)
    }
  })

  test('is found under paths that its document allows', () => {
    for (const one of cases) {
      const documented = (one.parameters ?? []).filter((given) => given.in === 'path')
      const names = [...one.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      expect(documented.map(({ name }) => name).sort(), one.path).toEqual(names.sort())
      const parts = one.path.split('/')
      const real = pathOf(one).split('/')
      for (const { name, schema } of documented) {
        const at = parts.findIndex((part) => part.includes(`{${name}}`))
        const before = parts[at]!.indexOf('{')
        expect(real[at]!.slice(before), `${one.operationId} ${name}`).toMatch(new RegExp(schema.pattern!, 'u'))
      }
    }
  })

  test('refuses a method that it does not have with 405 and Allow', async () => {
    const byPath = Map.groupBy(cases, ({ path }) => path)
    for (const [, operations] of byPath) {
      const known = new Set(operations.map(({ method }) => method))
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((name) => !known.has(name))) {
        const { status, headers, json, said } = await send(operations[0]!, { method })
        expect([status, json.code, headers.get('cache-control')], said).toEqual([405, 'method_not_allowed', 'no-store'])
        const allowed = headers.get('allow')!.split(', ')
        for (const name of known) expect(allowed, said).toContain(name)
        expect(allowed, said).not.toContain(method)
      }
      // TRACE and inventions too.
      const { status, headers } = await send(operations[0]!, { method: 'PURGE' })
      expect([status, headers.has('allow')]).toEqual([405, true])
      const options = await send(operations[0]!, { method: 'OPTIONS' })
      for (const name of known) expect(options.headers.get('allow')?.split(', '), options.said).toContain(name)
    }
  })

  test('keeps its promises with values that its schema allows', async () => {
    const reads = harmless().filter(({ method, operationId }) => method === 'GET' && operationId !== 'listEvents')
    const property = fc.asyncProperty(fc.constantFrom(...reads), fc.infiniteStream(fc.nat()), async (one, stream) => {
      const query = new URLSearchParams()
      for (const parameter of one.parameters ?? []) {
        if (parameter.in !== 'query' || stream.next().value! % 3 > 0) continue
        const value = rightFor(parameter, stream.next().value!)
        if (value !== undefined) query.append(parameter.name, value)
      }
      const { status, said } = await send(one, { query: query.size > 0 ? `?${query}` : '' })
      // `sort=relevance` needs `q`, and a cursor of the right form may name nothing.
      expect([200, 400, 404], said).toContain(status)
    })
    await fc.assert(property, { numRuns: 120 })
  })

  test('asks for a key where it says so, and for none elsewhere', async () => {
    for (const one of cases) {
      const response = await fetch(service.url + pathOf(one), { method: one.method })
      const text = await response.text()
      if (needsKey(one))
        expect([one.operationId, response.status, text]).toEqual([one.operationId, 401, UNAUTHENTICATED])
      else expect([401, 403], one.operationId).not.toContain(response.status)
    }
  })
})

const needsKey = ({ security }: Case) => security?.length === 1 && 'key' in security[0]!
const UNAUTHENTICATED = '{"code":"unauthenticated"}'

function rightFor({ schema, example }: Parameter, choice: number): string | undefined {
  const one = schema.items ?? schema
  if (one.enum) return String(one.enum[choice % one.enum.length])
  if (one.type === 'boolean') return choice % 2 === 0 ? 'true' : 'false'
  if (one.type === 'integer') return String((one.minimum ?? 0) + (choice % 5))
  if (example !== undefined) return String([example].flat()[0])
  return one.pattern ? undefined : `text ${choice}`
}
