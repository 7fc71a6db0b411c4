import { globSync, readFileSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import type { Operation } from '../../src/http/endpoint.ts'
import { INSTRUCTIONS } from '../../src/mcp/server.ts'
import { OPERATIONS } from '../../src/server/build-app.ts'
import { seedSamples } from '../support/samples.ts'
import { useService } from '../support/service.ts'

// What the documents show as an example finds something in the library of a first start.

const service = useService()
beforeAll(async () => {
  await seedSamples(service.stores.db)
  await service.drain()
})

const isOpenRead = ({ method, scope, path }: Operation) => method === 'get' && !scope && /^\/api\/[a-z]+$/.test(path)
const ofOperations = OPERATIONS.filter(isOpenRead).flatMap(({ path, parameters = {} }: Operation) =>
  Object.entries(parameters).flatMap(([name, { example }]) =>
    example === undefined ? [] : `${path}?${name}=${encodeURIComponent(example)}`,
  ),
)
const ofDocuments = ['README.md', ...globSync('docs/*.md')].flatMap(
  (name) => readFileSync(name, 'utf8').match(/(?<=GET |localhost:3000)\/api\/\w+\?[^\s'`"{<…]+(?=['`])/g) ?? [],
)
test.each([...ofOperations, ...ofDocuments])('%s finds something', async (address) => {
  const { status, json } = await service.get(address)
  expect(status).toBe(200)
  expect(Object.values(json).some((found) => Array.isArray(found) && found.length > 0)).toBe(true)
})

test('every read in llms.txt finds something, and the instructions name paths that there are', async () => {
  const text = await (await fetch(`${service.url}/llms.txt`)).text()
  const addresses = [...text.matchAll(/\]\(http:\/\/frames\.test(\/api\/[^)]+)\)/g)].map(([, address]) => address!)
  const reads = addresses.filter((address) => !/^\/api\/(mcp|events|analytics)/.test(address))
  expect(reads.length).toBeGreaterThanOrEqual(8)
  for (const address of reads) {
    const { json } = await service.get(address)
    expect([address, Object.values(json).some((found) => Array.isArray(found) && found.length > 0)]).toEqual([
      address,
      true,
    ])
  }
  const paths = OPERATIONS.map(({ path }) => path.replace(/:(\w+)/g, '{$1}'))
  const named = [...INSTRUCTIONS.matchAll(/\/(?:api\/)?[\w/{}.]+\w/g)].map(([path]) => path)
  expect(named.length).toBeGreaterThan(8)
  for (const path of named)
    expect(
      paths.some((one) => one.endsWith(path)),
      path,
    ).toBe(true)
})
