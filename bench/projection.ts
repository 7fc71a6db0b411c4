import { parseArgs } from 'node:util'
import { sql } from 'drizzle-orm'
import { Meilisearch } from 'meilisearch'
import { pino } from 'pino'
import { parseConfig } from '../src/config.ts'
import { frames } from '../src/db/schema/frames.ts'
import { appendEvent, appendEvents } from '../src/events/append.ts'
import { startConsumer } from '../src/events/consume.ts'
import { syncMirror } from '../src/projections/search/mirror.ts'
import { meiliProjection } from '../src/projections/search/mirror-consumer.ts'
import { searchProjection } from '../src/projections/search/project.ts'
import type { FrameDocument } from '../src/search/library-search.ts'
import { openMeiliSink } from '../src/search/meilisearch/sink.ts'
import { openPostgresSearch } from '../src/search/postgres/search.ts'
import { writeDocuments } from '../test/support/read-model.ts'
import { median } from './search.ts'
import { round, seedLibrary } from './seed.ts'
import { openTemporaryDatabase } from './support/postgres.ts'

/**
 * From events to documents that can be searched, against adding the same ready documents straight to the engine, in turns; then how long a changed frame takes
 * until a search finds it, with the consumer running as in the workers.
 */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      frames: { type: 'string', default: '10000' },
      rounds: { type: 'string', default: '3' },
      changes: { type: 'string', default: '60' },
      json: { type: 'boolean' },
    },
  })
  await using database = await openTemporaryDatabase()
  const { db, url } = database
  const { frames: count } = await seedLibrary(db, { frames: Number(values.frames) })
  const deps = { db, deepLink: (_platform: string, source: string, tSec: number) => `${source}#t=${Math.floor(tSec)}` }
  const logger = pino({ level: 'silent' })
  const context = { db, url, logger, pollMs: 50 }

  const ready = await documentsOf('frames')
  const groups = {
    videos: await documentsOf('videos'),
    brands: await documentsOf('brands'),
    techniques: await documentsOf('techniques'),
  }
  const { rows: videos } = await db.$client.query<{
    id: string
    title: string
    author: string | null
    platform: string
  }>('select id, title, author, platform from videos')
  const times = { straight: [] as number[], projected: [] as number[] }
  for (let round = 0; round < Number(values.rounds); round++) {
    await empty()
    let started = performance.now()
    for (let from = 0; from < ready.length; from += 2_000)
      await writeDocuments(db, { put: { frames: ready.slice(from, from + 2_000) as FrameDocument[] }, remove: {} })
    await writeDocuments(db, { put: groups as never, remove: {} })
    times.straight.push(performance.now() - started)

    await empty()
    // Running before the events come, as in the workers.
    const consumer = startConsumer(context, searchProjection(deps))
    await consumer.drain()
    started = performance.now()
    await announce()
    await consumer.drain()
    times.projected.push(performance.now() - started)
    await consumer[Symbol.asyncDispose]()
  }

  const mirrored = await measureMirror()

  const consumer = startConsumer(context, searchProjection(deps))
  const search = openPostgresSearch(db.$client)
  const waits: number[] = []
  for (let n = 0; n < Number(values.changes); n++) {
    const frame = ready[(n * 97) % ready.length] as FrameDocument
    const word = `changed${n}word`
    const started = performance.now()
    await db.transaction(async (tx) => {
      await tx
        .update(frames)
        .set({ caption: `A ${word} in the caption` })
        .where(sql`id = ${frame.id}`)
      await appendEvent(tx, {
        type: 'frame.corrected',
        subject: frame.id,
        accountId: null,
        data: {
          frame_id: frame.id,
          video_id: frame.video_id,
          author: frame.author,
          technique: null,
          subject: null,
          changes: {},
          unlocked: [],
        },
      })
    })
    for (;;) {
      const page = await search.frames({
        filters: {},
        q: `"${word}"`,
        sort: 'relevance',
        page: 1,
        pageSize: 120,
        facets: false,
        variety: false,
      })
      if (page.frames[0]?.document.id === frame.id) break
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    waits.push(performance.now() - started)
  }
  await consumer[Symbol.asyncDispose]()

  const straight = count / (median(times.straight) / 1000)
  const projected = count / (median(times.projected) / 1000)
  const figures = {
    bench: 'projection',
    frames: count,
    straight_per_second: Math.round(straight),
    projected_per_second: Math.round(projected),
    ratio: round(projected / straight),
    ratio_of: 'documents per second, projected from events against added straight',
    ...mirrored,
    searchable_ms_p50: round(median(waits)),
    searchable_ms_p95: round(waits.toSorted((a, b) => a - b)[Math.floor(waits.length * 0.95)] ?? 0),
  }
  if (!values.json) console.table(figures)
  console.log(JSON.stringify(figures))

  /** The same into Meilisearch, where there is one: from events through the read model into its indexes, against the same documents straight into them. */
  async function measureMirror(): Promise<object> {
    const { meili } = parseConfig(process.env)
    if (!meili) return {}
    const prefix = 'bench_projection'
    const client = new Meilisearch({ host: meili.url, apiKey: meili.key })
    const took = { straight: [] as number[], projected: [] as number[] }
    const indexes = ['frames', 'names'] as const
    for (let round = 0; round < Number(values.rounds); round++) {
      for (const way of ['straight', 'projected'] as const) {
        await empty()
        await db.$client.query(`delete from read_models where engine = 'meilisearch'`)
        for (const index of indexes) await client.deleteIndexIfExists(`${prefix}_${index}`)
        const sink = openMeiliSink({ ...meili, prefix })
        await sink.apply({ put: {}, remove: {} })
        if (way === 'straight') {
          const started = performance.now()
          for (let from = 0; from < ready.length; from += 4_000)
            await sink.apply({ put: { frames: ready.slice(from, from + 4_000) as FrameDocument[] }, remove: {} })
          await sink.apply({ put: groups as never, remove: {} })
          took.straight.push(performance.now() - started)
          continue
        }
        const consumers = [
          startConsumer(context, searchProjection(deps)),
          startConsumer(context, meiliProjection({ db, sink })),
        ]
        for (const consumer of consumers) await consumer.drain()
        await syncMirror({ db, sink })
        const started = performance.now()
        await announce()
        for (const consumer of consumers) await consumer.drain()
        took.projected.push(performance.now() - started)
        for (const consumer of consumers) await consumer[Symbol.asyncDispose]()
        if ((await sink.count('frames')) !== count) throw new Error('not every frame has arrived')
      }
    }
    const version = (await client.getVersion()).pkgVersion
    for (const index of indexes) await client.deleteIndexIfExists(`${prefix}_${index}`)
    const [straight, projected] = [count / (median(took.straight) / 1000), count / (median(took.projected) / 1000)]
    return {
      meilisearch: version,
      meilisearch_straight_per_second: Math.round(straight),
      meilisearch_projected_per_second: Math.round(projected),
      meilisearch_ratio: round(projected / straight),
    }
  }

  async function announce(): Promise<void> {
    await db.transaction((tx) =>
      appendEvents(
        tx,
        videos.map(({ id, title, author, platform }) => ({
          type: 'video.ready' as const,
          subject: id,
          accountId: null,
          data: { video_id: id, title, author, platform, frame_count: 0 },
        })),
      ),
    )
  }

  async function documentsOf(kind: string): Promise<unknown[]> {
    const { rows } = await db.$client.query<{ doc: unknown }>(
      'select doc from library_search.documents where kind = $1 and doc is not null',
      [kind],
    )
    return rows.map(({ doc }) => doc)
  }

  async function empty(): Promise<void> {
    await db.$client.query(
      'truncate library_search.documents, library_search.frames, library_search.entries, library_search.words',
    )
  }
}
