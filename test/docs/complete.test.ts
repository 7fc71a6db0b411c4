import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { EVENT_TYPES } from '../../src/events/catalogue.ts'
import { STATUS } from '../../src/http/problem.ts'
import { SCOPES } from '../../src/library/accounts/keys.ts'
import { QUEUES } from '../../src/queue/jobs.ts'
import { KINDS, PLATFORMS, SHOTS, SUBJECTS, SURFACES, TONES } from '../../src/vocabulary.ts'

const root = resolve(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
  .map((path) => ({ path, text: read(join('src', path)) }))

/** What a page does not name, of the things it must. */
function missingIn(page: string, names: Iterable<string>): string[] {
  const text = read(page).replace(/\s+/g, ' ')
  return [...new Set(names)].filter((name) => !text.includes(name))
}

/** The constant messages that an operator can see: the last string of each call. */
function messagesOf(text: string): string[] {
  const messages: string[] = []
  for (const { index } of text.matchAll(/\b(?:logger|log)\.(?:info|warn|error)\(/g)) {
    let depth = 0
    let end = text.indexOf('(', index)
    do {
      if (text[end] === '(') depth++
      if (text[end] === ')') depth--
      end++
    } while (depth > 0)
    const last = [...text.slice(index, end).matchAll(/'([^'\n]{4,})'/g)].at(-1)
    if (last) messages.push(last[1]!)
  }
  return messages
}

test('the interface names every endpoint', () => {
  const paths = sources
    .filter(({ path }) => path.startsWith('api/') || path === 'mcp/route.ts')
    .flatMap(({ text }) => [...text.matchAll(/'(\/(?:api|media|livez|readyz|openapi|llms)[\w/:.-]*)'/g)])
    .map(([, path]) => path!.replace(/:(\w+)/g, '{$1}'))
  expect(paths.length).toBeGreaterThan(25)
  expect(missingIn('docs/interface.md', paths)).toEqual([])
})

test('the interface names every event, scope, error and value', () => {
  const names = [EVENT_TYPES, SCOPES, Object.keys(STATUS), KINDS, PLATFORMS, SHOTS, SUBJECTS, SURFACES, TONES].flat()
  expect(
    missingIn(
      'docs/interface.md',
      names.map((name) => `\`${name}\``),
    ),
  ).toEqual([])
})

test('the page for agents names every tool', () => {
  const tools = sources
    .filter(({ path }) => path.startsWith('mcp/tools/'))
    .flatMap(({ text }) => [...text.matchAll(/^ +name: '([a-z_]+)',$/gm)].map(([, name]) => `\`${name}\``))
  expect(new Set(tools).size).toBe(17)
  expect(missingIn('docs/mcp.md', tools)).toEqual([])
})

test('the page for operators names every setting, queue and log line', () => {
  const settings = [...read('src/config.ts').matchAll(/^ {2}([A-Z][A-Z0-9_]+): /gm)].map(([, name]) => name!)
  expect(settings.length).toBeGreaterThan(25)
  const forTests = ['FAULT_AT']
  expect(
    missingIn(
      'docs/operations.md',
      settings.filter((name) => !forTests.includes(name)),
    ),
  ).toEqual([])
  expect(missingIn('docs/operations.md', QUEUES)).toEqual([])
  const messages = sources.flatMap(({ text }) => messagesOf(text))
  expect(messages.length).toBeGreaterThan(20)
  expect(missingIn('docs/operations.md', messages)).toEqual([])
})

test('the page of ingestion names every failure', () => {
  const codes = sources.flatMap(({ text }) => [
    ...[...text.matchAll(/new MediaError\(\s*'([a-z_]+)'/g)].map(([, code]) => code!),
    ...[...text.matchAll(/code: '((?:gave|disk|internal)_[a-z]+)'/g)].map(([, code]) => code!),
  ])
  expect(codes.length).toBeGreaterThan(15)
  expect(missingIn('docs/ingestion.md', codes)).toEqual([])
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
