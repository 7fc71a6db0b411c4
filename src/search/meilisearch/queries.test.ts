import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { MultiSearchQuery } from 'meilisearch'
import { expect, onTestFinished, test } from 'vitest'
import { clip } from '../../../test/search/contract/documents.ts'
import { ask } from '../../../test/support/frame-query.ts'
import { ATTRIBUTES, COUNTED, DERIVED } from '../../vocabulary.ts'
import { openMultiSearch } from './client.ts'
import { countMatches, findMatches } from './frames.ts'
import { renderFilter } from './queries.ts'
import { authorKey, SETTINGS, toStored } from './settings.ts'

test('values are data, whatever they hold', () => {
  expect(renderFilter({ attribute: 'author', in: ['a"b', 'c\\', '\\"', "O'B", 'x" OR y = "z'] })).toBe(
    String.raw`author IN ["a\"b", "c\\", "\\\"", "O'B", "x\" OR y = \"z"]`,
  )
  expect(renderFilter({ attribute: 'colors', in: [1, 22] })).toBe('colors IN [1, 22]')
})

test('a tree is written with its brackets; nothing to filter is no filter', () => {
  expect(renderFilter({ and: [] })).toBeUndefined()
  expect(renderFilter({ and: [{ attribute: 'tone', in: ['dark'] }] })).toBe('tone IN ["dark"]')
  expect(
    renderFilter({
      and: [
        { attribute: 'tone', in: ['dark'] },
        {
          or: [
            { attribute: 'kind', in: ['cut'] },
            { attribute: 'zone', in: [] },
          ],
        },
      ],
    }),
  ).toBe('(tone IN ["dark"]) AND ((kind IN ["cut"]) OR (zone IN []))')
})

test('what is sent filters by each declared attribute, and names only what the index has', async () => {
  const [stored] = clip('v', {}, [{}]).frames.map(toStored)
  const kept = [...SETTINGS.filterableAttributes!, ...SETTINGS.searchableAttributes!, ...SETTINGS.displayedAttributes!]
  expect(Object.keys(stored!)).toEqual(expect.arrayContaining(kept))

  const sent: MultiSearchQuery[] = []
  const client = await standIn(sent)
  const values = [
    ...COUNTED.map((name) => [name, ATTRIBUTES[name].values?.[0] ?? 'a-name'] as const),
    ...DERIVED.map((name) => [name, ATTRIBUTES[name].values[0]] as const),
    ...[['video', 'v'] as const, ['color', 'blue'] as const, ['color', '#2040c0'] as const],
  ]
  for (const [name, value] of values)
    for (const filter of [name, `not_${name}`]) {
      const from = sent.length
      const query = { ...ask({ filters: { [filter]: [value] } }), question: undefined }
      await countMatches(client, 'library', query, [])
      await findMatches(client, 'library', { ...query, provenance: true }, [])
      const [asked] = sent.slice(from)
      expect(asked!.filter, filter).toMatch(filter === name ? /^\(?\w+ IN \[.+\]/ : /^NOT \(/)
      expect(asked!.facets, filter).toContain('tone')
    }
  const filters = sent.flatMap(({ filter }) => [...String(filter).matchAll(/(\w+) IN \[/g)].map(([, name]) => name!))
  for (const name of [...filters, ...sent.flatMap(({ facets = [] }) => facets)])
    expect(SETTINGS.filterableAttributes).toContain(name)
  for (const name of sent.flatMap(({ attributesToRetrieve = [] }) => attributesToRetrieve))
    expect(SETTINGS.displayedAttributes).toContain(name)
})

/** A client of a server that keeps what it is asked, and answers with one hit of an author with a long name. */
async function standIn(sent: MultiSearchQuery[]) {
  const hits = [{ key: 'v-0', doc: '{}', phash: '0', luma: 0 }]
  const facetDistribution = { author_key: { [authorKey('long'.repeat(100))]: 1 }, tone: { dark: 1 } }
  const server = createServer(async (request, response) => {
    const { queries } = JSON.parse(Buffer.concat(await request.toArray()).toString()) as { queries: MultiSearchQuery[] }
    sent.push(...queries)
    response.end(JSON.stringify({ results: queries.map(() => ({ hits, estimatedTotalHits: 1, facetDistribution })) }))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  onTestFinished(() => void server.closeAllConnections())
  onTestFinished(() => void server.close())
  return openMultiSearch({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    key: 'only-for-tests',
    state: async () => ({ version: '1', ready: true }),
    timeoutMs: 60_000,
  })
}
