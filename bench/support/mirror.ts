import type { Db } from '../../src/db/client.ts'
import { rebuildMirror } from '../../src/projections/search/mirror.ts'
import { mirrorState } from '../../src/search/meilisearch/client.ts'
import { openMeiliSink } from '../../src/search/meilisearch/sink.ts'

/** Names the indexes of benches that change nothing in them, so that a seeded library needs only one mirror. */
export const BENCH_PREFIX = 'bench'

export interface Mirror extends AsyncDisposable {
  meili: { url: string; key: string }
}

/**
 * Fills the Meilisearch of MEILI_URL and MEILI_KEY from the read model, unless a seeded library has its mirror: a
 * million frames take a quarter of an hour. The indexes are dropped in the end, but not those of a seeded library.
 */
export async function openMirror(db: Db, { seeded }: { seeded: boolean }): Promise<Mirror | undefined> {
  const { MEILI_URL: url, MEILI_KEY: key } = process.env
  if (!url || !key) return undefined
  const sink = openMeiliSink({ url, key, prefix: BENCH_PREFIX })
  if (!seeded || !(await mirrorState(db))?.ready) await rebuildMirror({ db, sink })
  return {
    meili: { url, key },
    async [Symbol.asyncDispose]() {
      const headers = { authorization: `Bearer ${key}` }
      if (!seeded) await fetch(`${url}/indexes/${BENCH_PREFIX}_frames`, { method: 'DELETE', headers })
    },
  }
}
