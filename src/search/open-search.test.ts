import { expect, test } from 'vitest'
import { ask } from '../../test/support/frame-query.ts'
import { openSearch } from './open-search.ts'
import type { KnownSenses } from './postgres/words.ts'
import { sensesOf } from './text/senses.ts'

/** Two engines that say what they were asked. The replica finds `found`; undefined: it does not answer. */
function engines() {
  const state = { found: ['a'] as string[] | undefined, asked: [] as unknown[], counted: [] as unknown[] }
  const page = (engine: 'postgres' | 'meilisearch', ids: string[]) => ({
    engine,
    frames: ids.map((id) => ({ document: { id }, score: 1, matched: {} })),
  })
  const known: KnownSenses = { version: '7', in: () => [] }
  const parts = {
    reads: {
      version: async () => '7',
      techniques: async () => [],
      async senses(question: { wanted: never[] }) {
        state.asked.push('senses')
        const has = () => true
        return { ...known, in: () => sensesOf(question.wanted, { has, like: () => [], isName: () => false }) }
      },
      async frames(query: { fill?: number }, senses: KnownSenses | undefined) {
        state.asked.push(['postgres', senses?.version])
        const rest = query.fill ? { partialMatches: page('postgres', ['a', 'b', 'c']).frames } : {}
        return { ...page('postgres', ['p']), ...rest }
      },
      async search(_: object, senses: KnownSenses | undefined) {
        state.asked.push(['names', senses?.version])
        return { videos: [], frames: [], brands: [], techniques: [] }
      },
    },
    replica: {
      version: async () => '5',
      async frames() {
        state.asked.push('meilisearch')
        return state.found && page('meilisearch', state.found)
      },
    },
    count: (...given: unknown[]) => state.counted.push(given),
  }
  return { state, search: openSearch(parts as unknown as Parameters<typeof openSearch>[0]) }
}

const question = { ...ask({ q: 'kite' }), asker: 'people' } as const

test('plain words by relevance go to the replica; what it leaves open to the read model, with senses', async () => {
  const { state, search } = engines()
  expect((await search.frames(question)).engine).toBe('meilisearch')
  expect(state.asked.splice(0)).toEqual(['senses', 'meilisearch'])
  state.found = undefined
  expect((await search.frames(question)).engine).toBe('postgres')
  expect(state.asked.splice(0)).toEqual(['senses', 'meilisearch', ['postgres', '7']])
  for (const other of [{ sort: 'newest' }, { q: '"red kite"' }, { q: '' }, { engine: 'postgres' }] as const) {
    await search.frames({ ...question, ...other })
    expect(state.asked.splice(0), JSON.stringify(other)).toEqual([['postgres', undefined]])
  }
})

test('a short page is filled with what the read model forgives, and names come from it too', async () => {
  const { state, search } = engines()
  const { frames, partialMatches } = await search.frames({ ...question, fill: 2 })
  expect([...frames, ...partialMatches!].map(({ document }) => document.id)).toEqual(['a', 'b'])
  state.asked = []
  expect((await search.search({ q: 'kite', limit: 1 })).frames).toHaveLength(1)
  expect(state.asked.map(String).toSorted()).toEqual(['meilisearch', 'names,7', 'senses'])
})

test('the version changes with either engine’s documents; whoever asked in words is counted once', async () => {
  const { state, search } = engines()
  expect(await search.version()).toBe('7.5')
  await search.frames(question)
  await search.search({ q: 'kite', limit: 6, asker: 'agents' })
  const { asker: _, ...nobodys } = question
  for (const other of [nobodys, { ...question, page: 2 }, { ...question, q: '' }]) await search.frames(other)
  expect(state.counted).toEqual([
    ['people', { q: 'kite', answer: 'full', filtered: false }],
    ['agents', { q: 'kite', answer: 'full', filtered: false }],
  ])
})
