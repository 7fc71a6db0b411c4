import { randomBytes } from 'node:crypto'
import { Meilisearch } from 'meilisearch'
import { describe, test, vi } from 'vitest'
import { copyToMeilisearch } from '../../src/projections/search/copy.ts'
import { replicaState } from '../../src/search/meilisearch/client.ts'
import { searchOnlyKey } from '../../src/search/meilisearch/request.ts'
import { openMeiliSearch } from '../../src/search/meilisearch/search.ts'
import { INDEX } from '../../src/search/meilisearch/settings.ts'
import { openMeiliSink } from '../../src/search/meilisearch/sink.ts'
import { openSearch } from '../../src/search/open-search.ts'
import { openReadModel } from '../../src/search/postgres/search.ts'
import { framesIn, MEILI_MISSING, theMeili } from '../support/meilisearch.ts'
import { openStores } from '../support/stores.ts'
import { describeContract } from './contract.ts'

// Making and swapping indexes takes seconds each on a busy machine.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

if (MEILI_MISSING) {
  describe('Meilisearch', () => {
    test.skip(`contract (${MEILI_MISSING})`, () => {})
  })
} else {
  describeContract('Meilisearch', async () => {
    const stores = await openStores()
    const { db } = stores
    const meili = theMeili()
    const prefix = `t_${randomBytes(6).toString('hex')}`
    const options = { ...meili, prefix }
    const sink = openMeiliSink(options)
    const follow = async () => void (await copyToMeilisearch({ db, sink }))
    await follow()
    const reads = openReadModel(db.$client)
    return {
      search: openSearch({
        reads,
        // A key that can only search, like the API's.
        replica: openMeiliSearch({
          ...options,
          key: await searchOnlyKey(options),
          framesByIds: reads.framesByIds,
          state: () => replicaState(db),
          timeoutMs: 10_000,
        }),
      }),
      db,
      follow,
      frameIds: async () => (await framesIn(prefix)).map((line) => line.split(' ')[0]!),
      async [Symbol.asyncDispose]() {
        const client = new Meilisearch({ host: meili.url, apiKey: meili.key })
        await client.deleteIndexIfExists(`${prefix}_${INDEX}`)
        await stores[Symbol.asyncDispose]()
      },
    }
  })
}
