import { parseArgs } from 'node:util'
import { Meilisearch } from 'meilisearch'
import { parseConfig } from '../src/config.ts'
import { rebuildMirror } from '../src/projections/search/mirror.ts'
import { recordNotReady } from '../src/projections/search/mirror-progress.ts'
import type { FrameQuery } from '../src/search/library-search.ts'
import { mirrorState } from '../src/search/meilisearch/mirror-state.ts'
import { INDEX } from '../src/search/meilisearch/settings.ts'
import { openMeiliSink } from '../src/search/meilisearch/sink.ts'
import { openPostgresSearch } from '../src/search/postgres/search.ts'
import type { About } from './support/bench.ts'
import { seedLibrary } from './support/library.ts'
import { openSeededDatabase, openTemporaryDatabase } from './support/postgres.ts'
import { median, round } from './support/stats.ts'

/**
 * No aim: it compares ways. Needs MEILI_URL and MEILI_KEY. `--seeded` takes the library in DATABASE_URL. The mirror is
 * built anew, because the measurement adds fields to it.
 */
export const about: About = {
  measures: 'The milliseconds to a deep page of the wall in Meilisearch: its offset, an anchor, `documents/fetch`.',
  against: 'the read model in PostgreSQL, which answers these pages in production.',
  figures: [
    { what: 'last page: read model', at: ['figures', 'last: read model (ms)'], unit: 'ms' },
    { what: 'last page: search with an anchor', at: ['figures', 'last: search, anchor (ms)'], unit: 'ms' },
    { what: 'last page: documents/fetch', at: ['figures', 'last: documents/fetch (ms)'], unit: 'ms' },
  ],
}

export async function run(args: string[]): Promise<object | undefined> {
  const { values } = parseArgs({
    args,
    options: {
      frames: { type: 'string', default: '30000' },
      rounds: { type: 'string', default: '9' },
      seeded: { type: 'boolean', default: false },
      json: { type: 'boolean' },
    },
  })
  const { meili } = parseConfig(process.env)
  if (!meili) {
    console.error('paging: set MEILI_URL and MEILI_KEY')
    process.exitCode = 1
    return undefined
  }
  await using database = values.seeded ? openSeededDatabase('paging') : await openTemporaryDatabase()
  const { db } = database
  if (!values.seeded) await seedLibrary(db, { frames: Number(values.frames) })
  const options = { ...meili, prefix: 'bench_paging' }
  const sink = openMeiliSink(options)
  const hadMirror = (await mirrorState(db))?.ready
  const filled = performance.now()
  await rebuildMirror({ db, sink })
  const fillSeconds = round((performance.now() - filled) / 1000)
  const reads = openPostgresSearch(db.$client)
  const client = new Meilisearch({ host: meili.url, apiKey: meili.key })
  const index = client.index('bench_paging_frames')
  const sort = ['added_ms:desc', 'video_id:asc', 't_ms:asc']

  const figures: Record<string, number> = {}

  const { rows: all } = await db.$client.query<{ key: string; added_ms: number; t_ms: number }>(
    'select id as key, added_ms::float8 as added_ms, t_ms from library_search.frames',
  )
  const frames = all.length
  // What the service leaves to the read model: put in for the measurement.
  const held = (await index.getFilterableAttributes()) as string[]
  await index
    .updateSettings({
      filterableAttributes: [...held, 'added_ms', 't_ms'],
      sortableAttributes: ['added_ms', 't_ms', 'video_id'],
      rankingRules: ['sort'],
    })
    .waitTask({ timeout: 600_000 })
  for (let from = 0; from < all.length; from += 10_000)
    await index.updateDocuments(all.slice(from, from + 10_000)).waitTask({ timeout: 600_000 })
  for (const [name, page] of [
    ['first', 1],
    ['100th', 100],
    ['last', Math.ceil(frames / 120)],
  ] as const) {
    const offset = (page - 1) * 120
    const [anchor] = await reads.framesByIds([(await reads.frames(ask({ page }))).frames[0]!.document.id])
    // An anchor comes from the page before, so it cannot jump.
    const { added_ms, video_id, t_ms } = anchor!
    const filter = `added_ms < ${added_ms} OR (added_ms = ${added_ms} AND video_id = "${video_id}" AND t_ms >= ${t_ms})`
    const ways: Record<string, () => Promise<unknown>> = {
      'read model': () => reads.frames(ask({ page })),
      ...(offset < 20_000
        ? {
            'search, offset': () =>
              index.search('', { sort, offset, limit: 120, attributesToRetrieve: ['key', 'doc'] }),
          }
        : {}),
      'search, anchor': () => index.search('', { sort, filter, limit: 120, attributesToRetrieve: ['key', 'doc'] }),
      'documents/fetch': () =>
        index.getDocuments({
          sort,
          offset,
          limit: 120,
          fields: ['key', 'doc'],
          filter: 'tone IN ["dark", "bright"]',
        } as never),
    }
    for (const [way, act] of Object.entries(ways))
      figures[`${name}: ${way} (ms)`] = await timed(act, Number(values.rounds))
  }

  if (!values.json) {
    console.log(`${frames} frames, filled in ${fillSeconds} s; Meilisearch ${(await client.getVersion()).pkgVersion}`)
    console.table(figures)
  }
  await client.deleteIndexIfExists(`bench_paging_${INDEX}`)
  // A seeded library has one state for the mirrors of all measurements.
  if (!hadMirror) await recordNotReady(db)
  return { bench: 'paging', frames, fill_seconds: fillSeconds, figures }
}

function ask(query: Partial<FrameQuery>): FrameQuery {
  return {
    filters: {},
    q: '',
    sort: 'newest',
    page: 1,
    pageSize: 120,
    facets: false,
    variety: false,
    ...query,
  }
}

async function timed(act: () => Promise<unknown>, rounds: number): Promise<number> {
  const times: number[] = []
  for (let n = 0; n < rounds + 1; n++) {
    const started = performance.now()
    await act()
    if (n > 0) times.push(performance.now() - started)
  }
  return round(median(times))
}
