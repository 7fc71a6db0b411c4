import { randomBytes } from 'node:crypto'
import { Meilisearch } from 'meilisearch'
import { describe, test, vi } from 'vitest'
import { openMeiliSearch } from '../../src/search/meilisearch/search.ts'
import { openMeiliSink, searchOnlyKey } from '../../src/search/meilisearch/sink.ts'
import { openPostgresSearch } from '../../src/search/postgres/search.ts'
import { openPostgresSink } from '../../src/search/postgres/sink.ts'
import { meiliMissing, openMeili } from '../support/meilisearch.ts'
import { openStores } from '../support/stores.ts'
import { describeContract } from './contract.ts'

// Making and swapping indexes takes seconds each on a busy machine.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

const missing = meiliMissing()
if (missing) {
  describe('Meilisearch', () => {
    test.skip(`contract (${missing})`, () => {})
  })
} else {
  describeContract('Meilisearch', async () => {
    const stores = await openStores()
    const meili = await openMeili()
    const prefix = `t_${randomBytes(6).toString('hex')}`
    const options = { ...meili, prefix }
    const postgres = openPostgresSink(stores.db.$client)
    const sink = openMeiliSink(options)
    await sink.apply({ put: {}, remove: {} })
    let version = 0
    return {
      // A key that can only search: what the API holds.
      search: openMeiliSearch({
        ...options,
        key: await searchOnlyKey(options),
        reads: openPostgresSearch(stores.db.$client),
        mirror: async () => ({ version: String(version), appliedAt: new Date(), ready: true }),
        timeoutMs: 10_000,
      }),
      // As in production the read model stays filled beside it.
      sink: {
        ...sink,
        async apply(changes) {
          await postgres.apply(changes)
          await sink.apply(changes)
          version++
        },
        async beginRebuild() {
          const targets = [await postgres.beginRebuild(), await sink.beginRebuild()]
          return {
            apply: async (changes) => void (await Promise.all(targets.map((target) => target.apply(changes)))),
            swap: async () => void (await Promise.all(targets.map((target) => target.swap()))),
            abandon: async () => void (await Promise.all(targets.map((target) => target.abandon()))),
          }
        },
      },
      async [Symbol.asyncDispose]() {
        const client = new Meilisearch({ host: meili.url, ...(meili.key ? { apiKey: meili.key } : {}) })
        for (const kind of ['frames', 'videos', 'brands', 'techniques'])
          await client.deleteIndexIfExists(`${prefix}_${kind}`)
        await meili[Symbol.asyncDispose]()
        await stores[Symbol.asyncDispose]()
      },
    }
  })
}
