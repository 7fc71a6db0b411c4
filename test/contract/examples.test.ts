import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Operation } from '../../src/http/endpoint.ts'
import { OPERATIONS } from '../../src/server/build-app.ts'
import { measureLuma } from '../../src/video/extract/measure.ts'
import { type SeedFrame, seedVideo } from '../support/seed.ts'
import { openService, type Service } from '../support/service.ts'

// What the documents show as an example finds something in the library of a first start.

interface Sample {
  file: string
  title: string
  author: string
  /** Without a palette where no frame is kept. */
  notes: (SeedFrame & { at: number })[]
}

let service: Service
beforeAll(async () => {
  service = await openService()
  for (const { file, title, author, notes } of JSON.parse(readFileSync('samples/samples.json', 'utf8')) as Sample[]) {
    const sourceKey = `sha256:${createHash('sha256')
      .update(readFileSync(`samples/${file}`))
      .digest('hex')}`
    const frames = notes.flatMap(({ at, palette, ...note }) =>
      palette ? [{ ...note, ...lightOf(palette[0]!), palette, tSec: at }] : [],
    )
    await seedVideo(service.stores.db, { sourceKey, title, author, frames })
  }
  await service.drain()
})
afterAll(() => service[Symbol.asyncDispose]())

/** That of its largest colour stands for a frame. */
const lightOf = (colour: string) => measureLuma(Buffer.from(colour.slice(1), 'hex'))

const isOpenRead = ({ method, scope, path }: Operation) => method === 'get' && !scope && /^\/api\/[a-z]+$/.test(path)
const ofOperations = OPERATIONS.filter(isOpenRead).flatMap(({ path, parameters = {} }: Operation) =>
  Object.entries(parameters).flatMap(([name, { example }]) =>
    example === undefined ? [] : `${path}?${name}=${encodeURIComponent(example)}`,
  ),
)
const ofDocuments = ['README.md', ...globSync('docs/*.md')].flatMap(
  (name) => readFileSync(name, 'utf8').match(/(?<=GET |localhost:3000)\/api\/\w+\?[^\s'`"{<…]+(?=['`])/g) ?? [],
)
// Films are compared by what is measured while they are decoded, and nothing is decoded here.
const examples = [...ofOperations, ...ofDocuments].filter((address) => !/^\/api\/(films|compare)/.test(address))

test.each(examples)('%s finds something', async (address) => {
  const { status, json } = await service.get(address)
  expect(status).toBe(200)
  expect(Object.values(json).some((found) => Array.isArray(found) && found.length > 0)).toBe(true)
})
