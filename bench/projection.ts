import { randomUUID } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { Meilisearch } from 'meilisearch'
import { pino } from 'pino'
import { parseConfig } from '../src/config.ts'
import type { Db } from '../src/db/client.ts'
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
import { type About, optionsOf } from './support/bench.ts'
import { seedLibrary } from './support/library.ts'
import { openSeededDatabase, openTemporaryDatabase, type TemporaryDatabase } from './support/postgres.ts'
import { median, round } from './support/stats.ts'

/**
 * Aims: 0.8 of adding the documents straight, and two seconds until a change is found. `--seeded` writes the first
 * `--frames` of the library in DATABASE_URL again, among all others.
 */
export const about: About = {
  measures: 'Documents per second from events to a read model that can be searched, with the consumer of the workers.',
  against:
    'adding the same ready documents straight to the engine, in turns. Meilisearch joins with MEILI_URL and ' +
    'MEILI_KEY. Its figures include the read model beside it.',
  figures: [
    { what: 'projected ÷ added straight', at: ['ratio'], atLeast: 0.8 },
    { what: 'the same into Meilisearch', at: ['meilisearch_ratio'], atLeast: 0.8 },
    { what: 'until a changed frame is found, 95th percentile', at: ['searchable_ms_p95'], atMost: 2_000, unit: 'ms' },
  ],
}

export async function run(args: string[]): Promise<object | undefined> {
  const values = optionsOf(args, { frames: 10_000, rounds: 3, changes: 60, seeded: false })
  const rounds = values.rounds
  const { seeded } = values
  await using database = seeded ? openSeededDatabase('projection') : await openTemporaryDatabase()
  if (!seeded) await seedLibrary(database.db, { frames: values.frames })
  const library = await loadLibrary(database, { frames: values.frames, seeded })
  const count = library.frames.length
  const readModel = await compareReadModel(library, rounds)
  const mirrored = seeded ? {} : await compareMirror(library, rounds, count)
  const waits = await waitsUntilFound(library, values.changes)
  const straight = count / (median(readModel.straight) / 1000)
  const projected = count / (median(readModel.projected) / 1000)
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
  return figures
}

interface Video {
  id: string
  title: string
  author: string | null
  platform: string
}

/** The seeded library: its database and every document as the projection writes it. */
interface Library {
  db: Db
  context: Parameters<typeof startConsumer>[0]
  deps: Parameters<typeof searchProjection>[0]
  videos: Video[]
  frames: FrameDocument[]
  names: object
  /** The read model holds more than this, and stays. */
  seeded: boolean
}

async function loadLibrary(
  { db, url }: TemporaryDatabase,
  { frames, seeded }: { frames: number; seeded: boolean },
): Promise<Library> {
  const documentsOf = async (kind: string): Promise<unknown[]> => {
    const { rows } = await db.$client.query<{ doc: unknown }>(
      'select doc from library_search.documents where kind = $1 and doc is not null',
      [kind],
    )
    return rows.map(({ doc }) => doc)
  }
  const { rows: videos } = await db.$client.query<Video>(
    `select v.id, v.title, v.author, v.platform
       from (select *, (sum(n) over (order by id)) - n as before
               from (select video_id as id, count(*) as n from frames group by 1) f) counted
       join videos v using (id) where counted.before < $1`,
    [frames],
  )
  const { rows: ready } = await db.$client.query<{ doc: FrameDocument }>(
    `select d.doc from library_search.documents d join library_search.frames f on f.id = d.id
      where d.kind = 'frames' and d.doc is not null and f.video_id = any($1)`,
    [videos.map(({ id }) => id)],
  )
  return {
    db,
    seeded,
    context: { db, url, logger: pino({ level: 'silent' }), pollMs: 50 },
    deps: { db, deepLink: (_platform, source, tSec) => `${source}#t=${Math.floor(tSec)}` },
    videos,
    frames: ready.map(({ doc }) => doc),
    names: seeded
      ? {}
      : {
          videos: await documentsOf('videos'),
          brands: await documentsOf('brands'),
          techniques: await documentsOf('techniques'),
        },
  }
}

async function compareReadModel(library: Library, rounds: number) {
  const { db, context, deps, frames: ready, names, seeded } = library
  const begin = () => (seeded ? outdate(library) : emptyReadModel(db))
  const times = { straight: [] as number[], projected: [] as number[] }
  for (let n = 0; n < rounds; n++) {
    await begin()
    let started = performance.now()
    for (let from = 0; from < ready.length; from += 2_000)
      await writeDocuments(db, { put: { frames: ready.slice(from, from + 2_000) }, remove: {} })
    await writeDocuments(db, { put: names, remove: {} })
    times.straight.push(performance.now() - started)

    await begin()
    // The consumer runs before the events come, as in the workers.
    const consumer = startConsumer(context, searchProjection(deps))
    await consumer.drain()
    started = performance.now()
    await announce(library)
    await consumer.drain()
    times.projected.push(performance.now() - started)
    await consumer[Symbol.asyncDispose]()
  }
  return times
}

/** The same into Meilisearch, where there is one: from events through the read model into its indexes. */
async function compareMirror(library: Library, rounds: number, count: number): Promise<object> {
  const { meili } = parseConfig(process.env)
  if (!meili) return {}
  const options = { ...meili, prefix: 'bench_projection' }
  const client = new Meilisearch({ host: meili.url, apiKey: meili.key })
  const indexes = ['frames', 'names'].map((index) => `${options.prefix}_${index}`)
  const times = { straight: [] as number[], projected: [] as number[] }
  for (let n = 0; n < rounds; n++) {
    for (const way of ['straight', 'projected'] as const) {
      await emptyReadModel(library.db)
      await library.db.$client.query(`delete from read_models where engine = 'meilisearch'`)
      for (const index of indexes) await client.deleteIndexIfExists(index)
      const sink = openMeiliSink(options)
      await sink.apply({ put: {}, remove: {} })
      times[way].push(await (way === 'straight' ? addStraight(library, sink) : project(library, sink)))
      if (way === 'projected' && (await sink.count()) !== count) throw new Error('not every frame has arrived')
    }
  }
  const version = (await client.getVersion()).pkgVersion
  for (const index of indexes) await client.deleteIndexIfExists(index)
  const [straight, projected] = [count / (median(times.straight) / 1000), count / (median(times.projected) / 1000)]
  return {
    meilisearch: version,
    meilisearch_straight_per_second: Math.round(straight),
    meilisearch_projected_per_second: Math.round(projected),
    meilisearch_ratio: round(projected / straight),
  }
}

type MeiliSink = ReturnType<typeof openMeiliSink>

async function addStraight({ frames: ready, names }: Library, sink: MeiliSink): Promise<number> {
  const started = performance.now()
  for (let from = 0; from < ready.length; from += 4_000)
    await sink.apply({ put: { frames: ready.slice(from, from + 4_000) }, remove: {} })
  await sink.apply({ put: names, remove: {} })
  return performance.now() - started
}

async function project(library: Library, sink: MeiliSink): Promise<number> {
  const { db, context, deps } = library
  const consumers = [
    startConsumer(context, searchProjection(deps)),
    startConsumer(context, meiliProjection({ db, sink })),
  ]
  for (const consumer of consumers) await consumer.drain()
  await syncMirror({ db, sink })
  const started = performance.now()
  await announce(library)
  for (const consumer of consumers) await consumer.drain()
  const took = performance.now() - started
  for (const consumer of consumers) await consumer[Symbol.asyncDispose]()
  return took
}

/** Milliseconds from the change of a caption until a search finds it, for each of `changes` frames. */
async function waitsUntilFound({ db, context, deps, frames: ready }: Library, changes: number): Promise<number[]> {
  const consumer = startConsumer(context, searchProjection(deps))
  const search = openPostgresSearch(db.$client)
  const waits: number[] = []
  // Words that no earlier run on this library has left.
  const run = randomUUID().replaceAll('-', '')
  for (let n = 0; n < changes; n++) {
    const frame = ready[(n * 97) % ready.length]!
    const word = `changed${n}word${run}`
    const started = performance.now()
    await changeCaption(db, frame, `A ${word} in the caption`)
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
      if (performance.now() - started > 30_000) throw new Error(`the change of ${frame.id} is not found`)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    waits.push(performance.now() - started)
  }
  await consumer[Symbol.asyncDispose]()
  return waits
}

async function changeCaption(db: Db, frame: FrameDocument, caption: string): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.update(frames).set({ caption }).where(sql`id = ${frame.id}`)
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
}

/** Says of every video that it is ready: its documents are then written. */
async function announce({ db, videos }: Library): Promise<void> {
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

async function emptyReadModel(db: Db): Promise<void> {
  await db.$client.query(
    'truncate library_search.documents, library_search.frames, library_search.entries, library_search.words',
  )
}

/**
 * Changes every document and its row, so that none is passed over as unchanged. Each write then changes indexes, as a
 * save or a correction does.
 */
async function outdate({ db, frames: ready }: Library): Promise<void> {
  const ids = ready.map(({ id }) => id)
  await db.$client.query('update library_search.frames set strength = strength + 1 where id = any($1)', [ids])
  await db.$client.query(`update library_search.documents set revision = '' where kind = 'frames' and id = any($1)`, [
    ids,
  ])
}
