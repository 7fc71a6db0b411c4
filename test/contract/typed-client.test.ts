import { execFile } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { useFolder } from '../support/folder.ts'
import { seedVideo } from '../support/seed.ts'
import { useService } from '../support/service.ts'
import { giveTypescriptToGenerators } from '../support/typescript-for-generators.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const service = useService()
const folder = useFolder()
beforeAll(async () => {
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
})

/** A program as a developer writes it: no cast, no assertion, every field by its type. */
const PROGRAM = `
import createClient from 'openapi-fetch'
import type { components, paths } from './api.ts'

type WallFrame = components['schemas']['WallFrame']
const [, , baseUrl = '', key = ''] = process.argv
const api = createClient<paths>({ baseUrl, headers: { authorization: \`Bearer \${key}\` } })

const { data: wall, error } = await api.GET('/api/frames', {
  params: { query: { q: 'kite', subject: ['b-roll', 'logo'], facets: true, page: 1 } },
})
if (!wall) throw new Error(error.message)
const [first]: WallFrame[] = wall.frames
if (!first) throw new Error('nothing found')
const score: number | undefined = first.score
const total: number | undefined = wall.total

const saved = await api.POST('/api/favourites', {
  params: { header: { 'Idempotency-Key': 'typed-client' } },
  body: { frameId: first.id },
})
const ok: true | undefined = saved.data?.ok
const saves = await api.GET('/api/favourites', { params: { query: { limit: 1 } } })
const savedIds: string[] = saves.data?.frames.map((frame) => frame.id) ?? []

for (const name of ['One', 'Two', 'Three']) await api.POST('/api/boards', { body: { name } })
const names: string[] = []
let after: string | undefined
do {
  const { data: page } = await api.GET('/api/boards', { params: { query: { limit: 2, after } } })
  if (!page) throw new Error('no page')
  names.push(...page.boards.map((board) => board.name))
  after = page.next ?? undefined
} while (after !== undefined)

const missing = await api.GET('/api/boards/{id}', { params: { path: { id: 'absent' } } })
const code: 'not_found' | undefined = missing.error && 'message' in missing.error && missing.error.code === 'not_found'
  ? missing.error.code
  : undefined
console.log(JSON.stringify({ score, total, ok, savedIds, first: first.id, names, code }))
`

test('a typed client is generated, compiles under --strict, saves a frame and reads boards page by page', async () => {
  await seedVideo(service.stores.db, { frames: [{ caption: 'A red kite', subject: 'b-roll' }] })
  await service.drain()
  giveTypescriptToGenerators()
  const { default: openapiTS, astToString } = await import('openapi-typescript')
  const document = await (await fetch(`${service.url}/openapi.json`)).text()
  writeFileSync(join(folder, 'api.ts'), astToString(await openapiTS(document)))
  writeFileSync(join(folder, 'program.ts'), PROGRAM)
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  const compiler = {
    strict: true,
    noEmit: true,
    target: 'es2024',
    module: 'nodenext',
    allowImportingTsExtensions: true,
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: compiler, files: ['program.ts'] }))
  // Not synchronous: the service is in this process.
  const run = async (...args: string[]) => (await promisify(execFile)(process.execPath, args, { cwd: folder })).stdout
  expect(await run(join(root, 'node_modules/typescript/bin/tsc'), '-p', folder)).toBe('')

  const said = JSON.parse(await run('program.ts', service.url, service.operatorKey))
  expect(said).toEqual({
    score: expect.any(Number),
    total: 1,
    ok: true,
    first: expect.any(String),
    savedIds: [said.first],
    names: ['Three', 'Two', 'One'],
    code: 'not_found',
  })
})
