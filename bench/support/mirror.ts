import type { Db } from '../../src/db/client.ts'
import { copyToMeilisearch } from '../../src/projections/search/copy.ts'
import { openMeiliSink } from '../../src/search/meilisearch/sink.ts'

/** Names the indexes of benches. */
export const BENCH_PREFIX = 'bench'

export interface Mirror extends AsyncDisposable {
  meili: { url: string; key: string }
}

/** Fills the Meilisearch of MEILI_URL and MEILI_KEY from the read model. The indexes are dropped in the end. */
export async function openMirror(db: Db): Promise<Mirror | undefined> {
  const { MEILI_URL: url, MEILI_KEY: key } = process.env
  if (!url || !key) return undefined
  const sink = openMeiliSink({ url, key, prefix: BENCH_PREFIX })
  await copyToMeilisearch({ db, sink }, { whole: true })
  return {
    meili: { url, key },
    async [Symbol.asyncDispose]() {
      const headers = { authorization: `Bearer ${key}` }
      await fetch(`${url}/indexes/${BENCH_PREFIX}_frames`, { method: 'DELETE', headers })
    },
  }
}
