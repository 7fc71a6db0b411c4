import { readFileSync } from 'node:fs'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { expect, test } from 'vitest'
import { listRoutes } from '../../src/http/routes.ts'
import { OPERATIONS } from '../../src/server/build-app.ts'
import { filterParameters } from '../../src/views/parameters.ts'
import { SUBJECTS } from '../../src/vocabulary.ts'
import { documented, makeDocument } from '../support/openapi.ts'
import { useService } from '../support/service.ts'

const service = useService({ worker: false })

/** What programs call; everything else that is mounted is a page for people or belongs to one. */
const forPrograms = (path: string) =>
  /^\/(api|media|schemas)\//.test(path) || ['/livez', '/readyz', '/openapi.json', '/llms.txt'].includes(path)

test('every mounted route for programs is in the document, and everything in the document is mounted', () => {
  const mounted = listRoutes(service.api.app.routers)
    .filter(({ path }) => forPrograms(path))
    .flatMap(({ path, methods }) => methods.map((method) => `${method} ${path}`))
  const documented = OPERATIONS.map(({ method, path }) => `${method.toUpperCase()} ${path}`)
  expect(documented.toSorted()).toEqual(mounted.toSorted())
})

test('the document is valid OpenAPI 3.1', async () => {
  const result = await new Validator().validate(JSON.parse(JSON.stringify(makeDocument())))
  expect(result.errors ?? []).toEqual([])
  expect(result.valid).toBe(true)
  expect(makeDocument().openapi).toBe('3.1.1')
})

/** Names that clients have in their code: one may be added, none may change. */
const OPERATION_IDS = `
addTechnique callToolServer cancelVideo checkLiveness checkReadiness compareFilms correctFrame createBoard
createWebhook deleteBoard deleteVideo deleteWebhook dismissTechniqueSuggestion editVideo endShare exportBoard
exportBoards exportSavedFrames findSequences findSimilarFrames getAnalyticsActivity getAnalyticsModel
getAnalyticsSaves getAnalyticsSearches getAnalyticsStages getAnalyticsVideos getBoard getBoardBrief
getBoardTimeline getDeadEvent getEventSchema getFilm getFrame getImage getLlmsText getOpenApiDocument
getSharedBoard getVideo getVideoBrief getVideoFile getVideoStatus getVideoTimeline getWebhook getWebhookDelivery
listBoards listBrands listDeadEvents listEventConsumers listEvents listFilms listFrames listSavedFrames listShots
listSimilarFilms listTechniqueSuggestions listTechniques listVideoFrames listVideos listWebhookDeliveries listWebhooks
mergeBrands mergeTechnique pauseWebhook pinFrame pinFrames renameBoard replayEvents resendWebhookEvent resumeWebhook
retryDeadEvents retryVideo rotateWebhookSecret saveFrame searchLibrary setAccountPlan shareBoard
submitVideo testWebhook unpinFrame unsaveFrame unshareBoard updateTechnique updateWebhook
`

interface OperationObject {
  operationId: string
  summary: string
  description?: string
  parameters?: { name: string; in: string; description?: string; schema: { type?: string; pattern?: string } }[]
  requestBody?: { required?: boolean; content: Record<string, { schema?: { minProperties?: number } }> }
  responses: Record<string, { headers?: Record<string, unknown>; content?: Record<string, { schema?: object }> }>
}

function operationsOf(): (OperationObject & { method: string; path: string })[] {
  return Object.entries(makeDocument().paths ?? {}).flatMap(([path, methods]) =>
    Object.entries(methods ?? {}).map(([method, operation]) => ({ method, path, ...(operation as OperationObject) })),
  )
}

test('operation ids are those that clients know, and every operation says what it is', () => {
  const operations = operationsOf()
  expect(operations.map(({ operationId }) => operationId).toSorted()).toEqual(OPERATION_IDS.trim().split(/\s+/))
  for (const { operationId, summary, description } of operations) {
    expect(summary.length).toBeGreaterThan(5)
    expect(description, operationId).toMatch(/\.$/)
  }
})

test('linters of OpenAPI find nothing', async () => {
  const source = JSON.stringify(makeDocument())
  const problems = await lintFromString({ source, config: await createConfig({ extends: ['recommended-strict'] }) })
  expect(problems.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([])
})

test('every parameter says what it means and which values it takes', () => {
  for (const { operationId, parameters = [], requestBody, responses } of operationsOf()) {
    for (const { name, description, schema } of parameters) {
      const label = `${operationId} ${name}`
      expect(description, label).toMatch(/\w.*[.:)]/)
      expect(
        schema.type ?? (schema as { anyOf?: unknown }).anyOf ?? (schema as { enum?: unknown }).enum,
        label,
      ).toBeDefined()
      if (['limit', 'page'].includes(name)) expect(schema.type, label).toBe('integer')
      if (['from', 'to'].includes(name)) expect(schema, label).toMatchObject({ type: 'string', format: 'date' })
      if (['facets', 'provenance', 'explain', 'backfill'].includes(name))
        expect(schema, label).toMatchObject({ type: 'boolean' })
      if (['after', 'Idempotency-Key'].includes(name)) expect(schema.pattern, label).toMatch(/^\^.+\$$/)
    }
    for (const { schema } of Object.values(requestBody?.content ?? {})) expect(schema, operationId).toBeDefined()
    for (const [status, { content, headers = {} }] of Object.entries(responses)) {
      if (status === '201') expect(Object.keys(headers), operationId).toContain('Location')
      if (status === '429') expect(Object.keys(headers)).toEqual(['Retry-After', 'RateLimit', 'RateLimit-Policy'])
      for (const one of Object.values(content ?? {}))
        expect(JSON.stringify(one.schema ?? {}), operationId).not.toContain('"oneOf"')
    }
    expect(Object.keys(responses), operationId).toEqual(expect.arrayContaining(['408', '431']))
  }
})

test('what an answer does not show is documented too', () => {
  const byId = Object.fromEntries(operationsOf().map((operation) => [operation.operationId, operation]))
  for (const id of ['correctFrame', 'updateTechnique'])
    expect(byId[id]!.requestBody!.content['application/json']!.schema!.minProperties, id).toBe(1)
  const optional = operationsOf().filter(({ requestBody }) => requestBody && !requestBody.required)
  expect(optional.map(({ operationId }) => operationId).join(' ')).toBe(
    'pinFrame shareBoard rotateWebhookSecret resumeWebhook',
  )
  const image = byId.getImage!
  expect(image.parameters!.map(({ name }) => name)).toEqual(expect.arrayContaining(['Range', 'If-Range']))
  expect(Object.keys(image.responses['206']!.headers!)).toContain('Content-Range')
  expect(JSON.stringify(byId.callToolServer!.requestBody)).toContain('"maxItems":20')
  // One type for the wall, with and without words.
  const { FramesResponse } = makeDocument().components!.schemas!
  expect(JSON.stringify(FramesResponse)).toContain('"#/components/schemas/WallFrame"')
  expect(JSON.stringify(FramesResponse)).not.toContain('FrameHit')
})

test('every object of an answer is closed, so that a field that is not documented fails where it is received', () => {
  const { components, paths } = makeDocument()
  const open: string[] = []
  JSON.stringify([components, Object.values(paths!).flatMap((path) => Object.values(path!))], (key, value) => {
    if (value?.type === 'object' && value.properties && value.additionalProperties === undefined) open.push(key)
    return key === 'requestBody' ? undefined : value
  })
  expect(open).toEqual([])
})

/** The document with every field optional, because the examples of a page leave fields out. */
function withoutRequired(document: unknown): object {
  return JSON.parse(JSON.stringify(document, (key, value) => (key === 'required' && Array.isArray(value) ? [] : value)))
}

test('the answers of the quick start are possible ones of the calls above them', () => {
  const page = readFileSync(new URL('../../docs/interface.md', import.meta.url), 'utf8')
  const start = page.slice(page.indexOf('## Quick start'), page.indexOf('## 1.'))
  const steps = [...start.matchAll(/```sh\n(.*?)```\s+```json\n(.*?)```/gs)]
  expect(steps).toHaveLength(4)
  const document = withoutRequired(makeDocument())
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats.default(ajv)
  ajv.addSchema({ ...document, $id: 'api' })
  const pointer = (path: string) =>
    path.replaceAll('~', '~0').replaceAll('/', '~1').replaceAll('{', '%7B').replaceAll('}', '%7D')
  for (const [, command, answer] of steps) {
    const path = /localhost:3000([^?'\s]+)/.exec(command!)![1]!.replace(/(videos)\/\w+/, '$1/{id}')
    const method = command!.includes(' -d ') ? 'post' : 'get'
    const $ref = `api#/paths/${pointer(path)}/${method}/responses/200/content/application~1json/schema`
    const validate = ajv.compile({ $ref })
    expect(validate(JSON.parse(answer!)), `${command}${ajv.errorsText(validate.errors)}`).toBe(true)
    expect(validate({ ...JSON.parse(answer!), surplus: 1 }), command).toBe(false)
  }
})

test('every example is valid by its own schema, and the resources have one', () => {
  const schemas = makeDocument().components?.schemas as Record<string, { examples?: unknown[] }>
  for (const name of ['Frame', 'Video', 'Brand', 'Technique', 'Board', 'Problem', 'Event', 'FrameHit'])
    expect(schemas[name]?.examples?.length, name).toBeGreaterThan(0)
  for (const [name, { examples = [] }] of Object.entries(schemas)) {
    const validate = documented().getSchema(`api#/components/schemas/${name}`)!
    for (const example of examples) expect([name, validate(example), validate.errors]).toEqual([name, true, null])
  }
  for (const { path, method, body, example } of OPERATIONS) {
    if (!body) continue
    expect(example, `${method} ${path} has no example`).toBeDefined()
    expect(body.safeParse(example).success, `${method} ${path}`).toBe(true)
  }
  for (const { parameters = {} } of OPERATIONS)
    for (const [name, { schema, example, commas }] of Object.entries(parameters))
      for (const item of itemsOf(example, commas)) expect(schema.safeParse(item).success, name).toBe(true)
})

function itemsOf(example: string | undefined, commas = false): string[] {
  if (example === undefined) return []
  return commas ? example.split(',') : [example]
}

test('the served document is the same one, cacheable, for any origin, and answers 304', async () => {
  const answer = await fetch(`${service.url}/openapi.json`)
  expect(answer.status).toBe(200)
  expect(answer.headers.get('access-control-allow-origin')).toBe('*')
  expect(answer.headers.get('cache-control')).toContain('max-age=300')
  expect(answer.headers.get('vary')).toContain('Accept-Encoding')
  const document = (await answer.json()) as { paths: object; servers: { url: string }[] }
  expect(Object.keys(document.paths)).toEqual(Object.keys(makeDocument().paths ?? {}))
  expect(document.servers).toEqual([{ url: 'http://frames.test' }])
  const again = await fetch(`${service.url}/openapi.json`, {
    headers: { 'if-none-match': answer.headers.get('etag')! },
  })
  expect(again.status).toBe(304)
  expect(again.headers.get('vary')).toContain('Accept-Encoding')
})

test('the document comes in parts, one for each tag', async () => {
  const part = JSON.parse(await (await fetch(`${service.url}/openapi.json?tag=Films`)).text())
  const films = OPERATIONS.filter(({ tag }) => tag === 'Films').map(({ path }) => path.replace(/:(\w+)/g, '{$1}'))
  const { paths, tags } = part as { paths: object; tags: { name: string }[] }
  expect([Object.keys(paths).toSorted(), tags.map(({ name }) => name)]).toEqual([films.toSorted(), ['Films']])
  expect((await new Validator().validate(part)).errors ?? []).toEqual([])
  const refused = await fetch(`${service.url}/openapi.json?tag=films`)
  expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('Tool server')])
})

test('the reference page names every operation, from our own origin and without a script', async () => {
  const answer = await fetch(`${service.url}/docs`)
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toContain('text/html')
  expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'")
  const page = await answer.text()
  for (const { path } of OPERATIONS) expect(page).toContain(path.replace(/:(\w+)/g, '{$1}'))
  expect(page).not.toMatch(/<script|<style|\sstyle=|\son\w+=/)
  for (const [, address] of page.matchAll(/(?:src|href)="([^"]+)"/g)) expect(address).toMatch(/^[/#]/)
  const ids = [...page.matchAll(/ id="([^"]+)"/g)].map((match) => match[1])
  expect(new Set(ids).size).toBe(ids.length)
  for (const [, target] of page.matchAll(/href="#([^"]+)"/g)) expect(ids).toContain(target)
})

test('the address alone leads to llms.txt, the document and the tool server', async () => {
  for (const path of ['/', '/techniques', '/brands', '/docs', '/sign-in', '/videos/nothing']) {
    const answer = await fetch(`${service.url}${path}`)
    const page = await answer.text()
    for (const [rel, href] of [
      ['help', '/llms.txt'],
      ['service-desc', '/openapi.json'],
      ['service', '/api/mcp'],
    ]) {
      expect(answer.headers.get('link'), path).toContain(`<${href}>; rel="${rel}"`)
      expect(page, path).toContain(`<link rel="${rel}" href="${href}"`)
    }
  }
  for (const path of ['/nothing', '/api/nothing', '/v1/frames']) {
    const { code, message } = (await (await fetch(`${service.url}${path}`)).json()) as Record<string, string>
    expect([code, message]).toEqual([
      'not_found',
      'There is nothing at this address. Read /llms.txt first; /openapi.json has the whole API.',
    ])
  }
  const robots = await (await fetch(`${service.url}/robots.txt`)).text()
  for (const line of ['User-agent: *', 'Disallow: /shared/', 'Sitemap: http://frames.test/sitemap.xml'])
    expect(robots.split('\n')).toContain(line)
  const sitemap = await fetch(`${service.url}/sitemap.xml`)
  expect(sitemap.headers.get('content-type')).toContain('application/xml')
  const { videos } = (await (await fetch(`${service.url}/api/videos`)).json()) as { videos: { id: string }[] }
  const listed = [...(await sitemap.text()).matchAll(/<loc>http:\/\/frames\.test([^<]+)<\/loc>/g)].map(
    ([, path]) => path!,
  )
  expect(listed).toEqual(expect.arrayContaining(['/', '/techniques', ...videos.map(({ id }) => `/videos/${id}`)]))
  for (const path of listed) expect((await fetch(`${service.url}${path}`)).status, path).toBe(200)
})

test('llms.txt leads to the tool server, the reads and the document', async () => {
  const answer = await fetch(`${service.url}/llms.txt`)
  expect(answer.headers.get('content-type')).toContain('text/plain')
  const text = await answer.text()
  expect(text).toMatch(/^# Frame Library\n\n> /)
  expect(text).toContain('`sort=meaning`')
  for (const path of ['/api/mcp', '/api/search', '/api/frames', '/openapi.json', '/docs'])
    expect(text).toContain(`http://frames.test${path}`)
  for (const { name, visibleTo } of service.api.app.tools)
    expect([name, new RegExp(`\\b${name}\\b`).test(text)]).toEqual([name, !visibleTo])
  expect(text).toContain('that of an operator usage_report, add_video, video_status.')
  for (const { method, path } of OPERATIONS.filter(({ tag }) => tag === 'Account'))
    expect(text).toContain(`\`${method.toUpperCase()} ${path.replace(/:(\w+)/g, '{$1}')}\`: `)
  for (const path of ['/api/events', '/api/analytics/saves', '/api/analytics/searches'])
    expect(text).toContain(`http://frames.test${path}`)
  const reads = OPERATIONS.filter(({ tag, path }) => ['Library', 'Films'].includes(tag) && path.startsWith('/api/'))
  expect(reads.length).toBe(17)
  for (const { path, summary } of reads) {
    expect(text).toContain(path.replace(/:(\w+)/g, '{$1}'))
    expect(text).toContain(summary)
  }
  for (const name of Object.keys(filterParameters)) expect(text).toContain(`\n- ${name}: `)
  // As the parameters are read: names may hold commas, and a page or a word has one value.
  const many = Object.entries(filterParameters).filter(([, parameter]) => 'many' in parameter)
  const withCommas = many.filter(([, parameter]) => 'commas' in parameter).map(([name]) => name)
  expect(text).toContain(`repeat it, or for ${withCommas.join(', ')} separate values by commas.`)
  expect(text).toContain(`\n- subject: ${SUBJECTS.join(', ')}\n`)
})

test('the privacy page tells what is kept and for how long, as the manual of operators does', async () => {
  const page = await fetch(`${service.url}/privacy`)
  const text = await page.text()
  expect([page.status, text]).toEqual([200, expect.stringContaining('Until your account is deleted')])
  const operations = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8')
  const kept = operations
    .split('## Personal data')[1]!
    .split('\n## ')[0]!
    .match(/^\| (?!What \|)/gm)!
  expect(text.match(/<tr><td>/g)).toHaveLength(kept.length)
})
