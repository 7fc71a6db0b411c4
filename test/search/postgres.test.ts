import { openPostgresSearch } from '../../src/search/postgres/search.ts'
import { openPostgresSink } from '../../src/search/postgres/sink.ts'
import { openStores } from '../support/stores.ts'
import { describeContract } from './contract.ts'

describeContract('PostgreSQL', async () => {
  const stores = await openStores()
  const pool = stores.db.$client
  return { search: openPostgresSearch(pool), sink: openPostgresSink(pool), [Symbol.asyncDispose]: () => stores[Symbol.asyncDispose]() }
})
