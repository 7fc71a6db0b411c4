import { openDb } from '../../src/db/client.ts'
import { copyToMeilisearch } from '../../src/projections/search/copy.ts'
import { openMeiliSink } from '../../src/search/meilisearch/sink.ts'

// A process that copies the read model into Meilisearch until it is killed, or is done.

const { url, place, whole } = JSON.parse(process.argv[2]!)
const db = openDb({ url })
console.log('copying')
await copyToMeilisearch({ db, sink: openMeiliSink(place) }, { whole })
await db.$client.end()
