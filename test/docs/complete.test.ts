import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { SETTINGS } from '../../src/config.ts'
import { DELIVERY_ERRORS } from '../../src/db/schema/webhooks.ts'
import { EVENTS } from '../../src/events/catalogue.ts'
import { STATUS } from '../../src/http/problem.ts'
import { SCOPES } from '../../src/library/accounts/key-checks.ts'
import { createTools } from '../../src/mcp/server.ts'
import { filterArguments } from '../../src/mcp/tools/library.ts'
import { QUEUES } from '../../src/queue/jobs.ts'
import { OPERATIONS } from '../../src/server/build-app.ts'
import { ATTRIBUTES } from '../../src/vocabulary.ts'

const root = resolve(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
/** What pages do not name, of the things they must. */
function missingIn(pages: string | string[], names: Iterable<string>): string[] {
  const text = [pages].flat().map(read).join(' ').replace(/\s+/g, ' ')
  return [...new Set(names)].filter((name) => !text.includes(name))
}

test('the interface names every scope and error, every attribute, and each value of its list', () => {
  // Zones are told by their rows and columns.
  const attributes = Object.entries({ ...ATTRIBUTES, zone: { values: null } })
  const names = [SCOPES, Object.keys(STATUS), attributes.map(([name, { values }]) => [name, ...(values ?? [])])].flat(2)
  const quoted = names.map((name) => `\`${name}\``)
  expect(missingIn('docs/interface.md', quoted)).toEqual([])
})

test('the page of events tells the fields of each type, and no others', () => {
  const page = read('docs/events.md')
  const [, head, list] = /## Fields of each event\n+(.+?)\n\n(- .+?)\n\n/s.exec(page)!
  const quoted = (text: string) => [...text.matchAll(/`([\w.]+)`/g)].map(([, name]) => name!)
  const sets = new Map([...head!.matchAll(/\*(\w+)\*([^*]+)/g)].map(([, name, text]) => [name!, quoted(text!)]))
  const told = list!.split(/^- /m).flatMap((row) => {
    const [types = '', fields = ''] = row.split(': ')
    const grouped = [...fields.matchAll(/\*(\w+)\*/g)].flatMap(([, name]) => sets.get(name!)!)
    return quoted(types).map((type) => [type, [...grouped, ...quoted(fields)].toSorted()])
  })
  const held = Object.entries(EVENTS).map(([type, { shape }]) => [type, Object.keys(shape).toSorted()])
  expect(Object.fromEntries(told)).toEqual(Object.fromEntries(held))
})

test('the page for agents names every tool, and every filter', () => {
  const tools = createTools({} as Parameters<typeof createTools>[0]).map(({ name }) => `\`${name}\``)
  expect(new Set(tools).size).toBe(21)
  expect(missingIn('docs/mcp.md', tools)).toEqual([])
  const [, filters] = /\*Filters\*: (.+?)\./s.exec(read('docs/mcp.md'))!
  expect(filters!.match(/\w+/g)!.toSorted()).toEqual(Object.keys(filterArguments).toSorted())
})

test('the page for operators names every setting and queue', () => {
  expect(SETTINGS.length).toBeGreaterThan(25)
  expect(missingIn('docs/operations.md', [...SETTINGS, ...QUEUES])).toEqual([])
})

test('compose hands every setting on to API and worker', () => {
  // Set by the image, or for one process of a developer's machine.
  const elsewhere = ['PORT', 'HOST', 'DATA_DIR', 'METRICS_PORT', 'NODE_ENV']
  const { services } = parse(read('docker-compose.yml'), { merge: true }) as {
    services: Record<string, { environment: object }>
  }
  for (const role of ['api', 'worker'])
    expect(Object.keys(services[role]!.environment), role).toEqual(
      expect.arrayContaining(SETTINGS.filter((name) => !elsewhere.includes(name))),
    )
})

test('the page of webhooks explains each error of a delivery', () => {
  const rows = /^\| Error class .+?\n\n/ms.exec(read('docs/webhooks.md'))![0]
  expect([...rows.matchAll(/`(\w+)`/g)].map(([, name]) => name).toSorted()).toEqual(DELIVERY_ERRORS.toSorted())
})

test('an address that the documents name is named with each of its methods', () => {
  const pages = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'))
  const prose = pages.map((name) => read(`docs/${name}`).replace(/^```(ba)?sh.*?^```/gms, ''))
  const text = prose.join(' ').replace(/\s+/g, ' ')
  const paths = new Set(text.match(/\/api\/[\w/{}-]+(\.\{format\})?/g))
  const told = OPERATIONS.map(({ method, path }) => [method.toUpperCase(), path.replace(/:(\w+)/g, '{$1}')] as const)
  const named = told.filter(([, path]) => paths.has(path))
  expect(named.length).toBeGreaterThan(40)
  const operations = new Set(text.match(/[A-Z]+ \/api\/[\w/{}-]+(\.\{format\})?/g))
  expect(named.map((words) => words.join(' ')).filter((operation) => !operations.has(operation))).toEqual([])
})

test('the architecture shows the arrows that the check enforces', () => {
  const { stdout } = spawnSync(process.execPath, ['scripts/check-layers.mjs', '--print'], {
    cwd: root,
    encoding: 'utf8',
  })
  const enforced = stdout.split('\n').filter((line) => /^[a-z]+: [a-z, ]+$/.test(line))
  expect(enforced.length).toBeGreaterThan(15)
  expect(missingIn('docs/architecture.md', enforced)).toEqual([])
})

test('CI tests on the images that compose pins', () => {
  const { services } = parse(read('docker-compose.yml')) as { services: Record<string, { image: string }> }
  const { jobs } = parse(read('.github/workflows/ci.yml')) as { jobs: { test: { services: typeof services } } }
  for (const name of ['postgres', 'redis', 'meilisearch'])
    expect(jobs.test.services[name]?.image, name).toBe(services[name]!.image)
})
