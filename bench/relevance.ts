import { parseArgs } from 'node:util'
import { parseConfig } from '../src/config.ts'
import type { Db } from '../src/db/client.ts'
import { frames } from '../src/db/schema/frames.ts'
import { rebuildMirror } from '../src/projections/search/mirror.ts'
import { rebuildSearch } from '../src/projections/search/rebuild.ts'
import type { LibrarySearch } from '../src/search/library-search.ts'
import { mirrorState } from '../src/search/meilisearch/mirror-state.ts'
import { openMeiliSearch } from '../src/search/meilisearch/search.ts'
import { openMeiliSink } from '../src/search/meilisearch/sink.ts'
import { openPostgresSearch } from '../src/search/postgres/search.ts'
import { seedVideo } from '../test/support/seed.ts'
import type { About } from './support/bench.ts'
import { JUDGED_FRAMES, JUDGED_QUERIES } from './support/judged.ts'
import { seedLibrary } from './support/library.ts'
import { openTemporaryDatabase } from './support/postgres.ts'
import { mean, round } from './support/stats.ts'

/**
 * Words that the generator put together. A frame with all of them in its texts is wanted, more so where they stand
 * together in the caption.
 */
const GENERATED = [
  'glossy robot',
  'vintage kite',
  'neon headset',
  'quiet forest',
  'matte sneaker',
  'geometric skyline',
  'handmade lamp',
  'muted notebook',
  'rule of thirds',
  'negative space',
  'strong diagonal',
  'hyperdrive waitlist',
  'realtime analytics',
  'changelog',
  'pricing workspace',
  'sneker',
]

interface Judged {
  q: string
  wanted: Map<string, number>
}

/** No aim: a change of the ranking must not lower these. Meilisearch joins with MEILI_URL and MEILI_KEY. */
export const about: About = {
  measures: 'How well `/api/search` orders frames for 90 judged queries: nDCG@10 and recall@20 of each engine.',
  against: 'the ideal order of the judged frames, which has 1.',
  figures: [
    { what: 'PostgreSQL, nDCG@10', at: ['engines', 'postgres', 'ndcg_at_10'] },
    { what: 'PostgreSQL, recall@20', at: ['engines', 'postgres', 'recall_at_20'] },
    { what: 'Meilisearch, nDCG@10', at: ['engines', 'meilisearch', 'ndcg_at_10'] },
    { what: 'Meilisearch, recall@20', at: ['engines', 'meilisearch', 'recall_at_20'] },
  ],
}

export async function run(args: string[]): Promise<object | undefined> {
  const { values } = parseArgs({
    args,
    options: {
      frames: { type: 'string', default: '2000' },
      verbose: { type: 'boolean', default: false },
      json: { type: 'boolean' },
    },
  })
  await using database = await openTemporaryDatabase()
  const { db } = database
  const { frameIds } = await seedVideo(db, {
    title: 'Judged',
    frames: JUDGED_FRAMES.map(({ caption, composition, steal, screen }) => ({
      caption,
      composition: composition ?? null,
      steal: steal ?? null,
      onScreenText: screen ?? null,
    })),
  })
  const engines: Record<string, LibrarySearch> = { postgres: openPostgresSearch(db.$client) }
  const { meili } = parseConfig(process.env)
  const options = meili && { ...meili, prefix: 'bench_relevance' }
  const sink = options && openMeiliSink(options)
  if (options)
    engines.meilisearch = openMeiliSearch({
      ...options,
      reads: engines.postgres!,
      mirror: () => mirrorState(db),
      timeoutMs: 30_000,
    })
  const scores = Object.fromEntries(
    Object.keys(engines).map((name) => [name, { ndcg: [] as number[], recall: [] as number[] }]),
  )

  async function judge(judged: readonly Judged[]): Promise<void> {
    await rebuildSearch({ db, deepLink: () => null })
    if (sink) await rebuildMirror({ db, sink })
    for (const [name, search] of Object.entries(engines)) {
      for (const { q, wanted } of judged) {
        const ids = (await search.search({ q, limit: 20 })).frames.map(({ document }) => document.id)
        const [ndcg, recall] = [ndcgAt(10, ids, wanted), recallAt(20, ids, wanted)]
        scores[name]!.ndcg.push(ndcg)
        scores[name]!.recall.push(recall)
        if (values.verbose && ndcg < 0.9)
          console.log(`${name}: ${q}: nDCG ${ndcg.toFixed(2)}, recall ${recall.toFixed(2)}`)
      }
    }
  }

  // The clips first, alone: the generator may write about the same things, and nobody judged what it wrote.
  const ids = new Map(JUDGED_FRAMES.map(({ key }, n) => [key, frameIds[n]!]))
  await judge(
    JUDGED_QUERIES.map(({ q, wanted }) => ({
      q,
      wanted: new Map(Object.entries(wanted).map(([key, grade]) => [ids.get(key)!, grade])),
    })),
  )
  await seedLibrary(db, { frames: Number(values.frames), seed: 3 })
  await judge(await generatedJudgements(db))

  const results = Object.fromEntries(
    Object.entries(scores).map(([name, { ndcg, recall }]) => [
      name,
      { ndcg_at_10: round(mean(ndcg)), recall_at_20: round(mean(recall)), queries: ndcg.length },
    ]),
  )
  if (!values.json) {
    console.table(results)
    if (!meili) console.log('Meilisearch: not measured, MEILI_URL and MEILI_KEY are not set')
  }
  return { bench: 'relevance', engines: results }
}

async function generatedJudgements(db: Db): Promise<Judged[]> {
  const columns = {
    id: frames.id,
    caption: frames.caption,
    composition: frames.composition,
    steal: frames.steal,
    screen: frames.onScreenText,
  }
  const rows = await db.select(columns).from(frames)
  return GENERATED.map((q) => {
    const words = (q === 'sneker' ? 'sneaker' : q).split(' ')
    const wanted = new Map<string, number>()
    for (const row of rows) {
      const has = (text: string | null) => words.every((word) => new RegExp(`\\b${word}\\b`, 'i').test(text ?? ''))
      if (row.caption?.toLowerCase().includes(words.join(' '))) wanted.set(row.id, 3)
      else if (has(row.caption)) wanted.set(row.id, 2)
      else if (has([row.caption, row.composition, row.steal, row.screen].join(' '))) wanted.set(row.id, 1)
    }
    return { q, wanted }
  }).filter(({ wanted }) => wanted.size > 0)
}

function ndcgAt(depth: number, ids: readonly string[], wanted: ReadonlyMap<string, number>): number {
  const gain = (grade: number, place: number) => (2 ** grade - 1) / Math.log2(place + 2)
  const ideal = [...wanted.values()]
    .sort((a, b) => b - a)
    .slice(0, depth)
    .reduce((sum, grade, place) => sum + gain(grade, place), 0)
  return ids.slice(0, depth).reduce((sum, id, place) => sum + gain(wanted.get(id) ?? 0, place), 0) / ideal
}

/** Of as many as could stand there. */
function recallAt(depth: number, ids: readonly string[], wanted: ReadonlyMap<string, number>): number {
  return ids.slice(0, depth).filter((id) => wanted.has(id)).length / Math.min(depth, wanted.size)
}
