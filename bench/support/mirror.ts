import type { Db } from '../../src/db/client.ts'
import { rebuildMirror } from '../../src/projections/search/mirror.ts'
import { mirrorState } from '../../src/search/meilisearch/mirror-state.ts'
import type { MeiliOptions } from '../../src/search/meilisearch/request.ts'
import { openMeiliSink } from '../../src/search/meilisearch/sink.ts'

/** Names the indexes of benches that change nothing in them, so that a seeded library needs only one mirror. */
export const BENCH_PREFIX = 'bench'

/**
 * Fills Meilisearch from the read model, unless a seeded library has its mirror: a million frames take a quarter of an
 * hour. The function it resolves with drops the indexes again, but not those of a seeded library.
 */
export async function fillMirror(
  db: Db,
  { url, key }: MeiliOptions,
  { seeded }: { seeded: boolean },
): Promise<() => Promise<void>> {
  const sink = openMeiliSink({ url, key, prefix: BENCH_PREFIX })
  if (!seeded || !(await mirrorState(db))?.ready) await rebuildMirror({ db, sink })
  return async () => {
    if (seeded) return
    for (const index of ['frames', 'names'])
      await fetch(`${url}/indexes/${BENCH_PREFIX}_${index}`, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${key}` },
      })
  }
}
