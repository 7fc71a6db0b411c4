import { parseConfig } from '../src/config.ts'
import type { Db } from '../src/db/client.ts'
import { frames } from '../src/db/schema/frames.ts'
import { copyToMeilisearch } from '../src/projections/search/copy.ts'
import { rebuildSearch } from '../src/projections/search/rebuild.ts'
import type { LibrarySearch } from '../src/search/library-search.ts'
import { replicaState } from '../src/search/meilisearch/client.ts'
import { openMeiliSearch } from '../src/search/meilisearch/search.ts'
import { openMeiliSink } from '../src/search/meilisearch/sink.ts'
import { openSearch } from '../src/search/open-search.ts'
import { openReadModel } from '../src/search/postgres/search.ts'
import { seedVideo } from '../test/support/seed.ts'
import { type About, optionsOf } from './support/bench.ts'
import { JUDGED_FRAMES, JUDGED_QUERIES } from './support/judged.ts'
import { LANGUAGE_PHRASES } from './support/judged-languages.ts'
import { PHRASE_FRAMES, PHRASES } from './support/judged-phrases.ts'
import { seedLibrary } from './support/library.ts'
import { openTemporaryDatabase } from './support/postgres.ts'
import { ndcgAt } from './support/relevance-scores.ts'
import { mean, round } from './support/stats.ts'

/**
 * Words that the generator put together. A frame with all of them in its texts is wanted, more so where they stand
 * together in the caption.
 */
const GENERATED =
  'glossy robot, vintage kite, neon headset, quiet forest, matte sneaker, geometric skyline, handmade lamp, ' +
  'muted notebook, rule of thirds, negative space, strong diagonal, hyperdrive waitlist, realtime analytics, ' +
  'changelog, pricing workspace, sneker'

interface Judged {
  q: string
  wanted: Map<string, number>
}

/**
 * A change of the ranking must not lower these. Meilisearch joins with MEILI_URL and MEILI_KEY. `--verbose` names the
 * questions that miss, but none that is held out.
 */
export const about: About = {
  measures:
    'How well `/api/search` orders frames for 90 judged queries, 60 phrases, and 60 phrases in twelve languages: ' +
    'nDCG@10 and recall@20. A full match that no judge wanted is wrong.',
  against: 'the ideal order of the judged frames, which has 1.',
  figures: ['postgres', 'meilisearch'].flatMap((engine) => {
    const figure = (what: string, name: string, limit: { atLeast?: number; atMost?: number } = {}) => ({
      what: `${engine}, ${what}`,
      at: ['engines', engine, name],
      ...limit,
    })
    return [
      figure('nDCG@10', 'ndcg_at_10', { atLeast: 0.98 }),
      figure('recall@20', 'recall_at_20'),
      figure('phrases, nDCG@10', 'phrases_ndcg_at_10', { atLeast: 0.98 }),
      figure('20 phrases held out, nDCG@10', 'held_ndcg_at_10'),
      figure('40 phrases in five languages, nDCG@10', 'languages_ndcg_at_10', { atLeast: 0.9 }),
      figure('full matches of these that are wrong', 'wrong_full', { atMost: 0 }),
    ]
  }),
}

export async function run(args: string[]): Promise<object | undefined> {
  const { frames, verbose } = optionsOf(args, { frames: 2_000, verbose: false })
  const scores: Record<string, Score[]> = {}
  const note: Note = (engine, score) => {
    scores[engine] = [...(scores[engine] ?? []), score]
    if (verbose && !score.kind.endsWith('held') && (score.ndcg < 0.9 || score.wrong > 0))
      console.log(
        `${engine}: ${score.q}: nDCG ${round(score.ndcg)}, recall ${round(score.recall)}, ${score.wrong} wrong`,
      )
  }
  await judgeWords(frames, note)
  await judgePhrases(note)

  const engines = Object.fromEntries(
    Object.entries(scores).map(([name, all]) => {
      const of = (...kinds: Score['kind'][]) => all.filter(({ kind }) => kinds.includes(kind))
      const ndcg = (...kinds: Score['kind'][]) => round(mean(of(...kinds).map((score) => score.ndcg)))
      const result = {
        ndcg_at_10: ndcg('words'),
        recall_at_20: round(mean(of('words').map(({ recall }) => recall))),
        queries: of('words').length,
        phrases_ndcg_at_10: ndcg('suggested', 'tuned', 'held'),
        held_ndcg_at_10: ndcg('held'),
        suggested_ndcg_at_10: ndcg('suggested'),
        phrases: of('suggested', 'tuned', 'held').length,
        languages_tuned_ndcg_at_10: ndcg('languages tuned'),
        languages_ndcg_at_10: ndcg('languages held'),
        wrong_full: of('languages held').reduce((sum, score) => sum + score.wrong, 0),
      }
      return [name, result]
    }),
  )
  return { bench: 'relevance', engines }
}

interface Score {
  kind: 'words' | keyof typeof PHRASES | `languages ${keyof typeof LANGUAGE_PHRASES}`
  q: string
  ndcg: number
  recall: number
  /** Full matches that no judge wanted. */
  wrong: number
}
type Note = (engine: string, score: Score) => void

/** The ninety queries: words over descriptions and over a generated library. */
async function judgeWords(frameCount: number, note: Note): Promise<void> {
  await using database = await openTemporaryDatabase()
  const { db } = database
  const { frameIds } = await seedVideo(db, { title: 'Judged', frames: JUDGED_FRAMES })
  const judge = openJudge(db, note)
  // The clips first, alone: the generator may write about the same things, and nobody judged what it wrote.
  const ids = new Map(JUDGED_FRAMES.map(({ key }, n) => [key, frameIds[n]!]))
  await judge('words', JUDGED_QUERIES.map(withIds(ids)))
  await seedLibrary(db, { frames: frameCount, seed: 3 })
  await judge('words', await generatedJudgements(db))
}

/** The sixty phrases, over frames with attributes. */
async function judgePhrases(note: Note): Promise<void> {
  await using database = await openTemporaryDatabase()
  const { db } = database
  const ids = new Map<string, string>()
  for (const [platform, list] of Map.groupBy(PHRASE_FRAMES, (frame) => frame.platform ?? 'web')) {
    const { frameIds } = await seedVideo(db, { title: `Phrases on ${platform}`, platform, frames: list })
    for (const [n, { key }] of list.entries()) ids.set(key, frameIds[n]!)
  }
  const judge = openJudge(db, note)
  for (const kind of ['suggested', 'tuned', 'held'] as const) await judge(kind, PHRASES[kind].map(withIds(ids)))
  for (const kind of ['tuned', 'held'] as const)
    await judge(`languages ${kind}`, LANGUAGE_PHRASES[kind].map(withIds(ids)))
}

const withIds =
  (ids: ReadonlyMap<string, string>) =>
  ({ q, wanted }: { q: string; wanted: Record<string, number> }): Judged => ({
    q,
    wanted: new Map(Object.entries(wanted).map(([key, grade]) => [ids.get(key)!, grade])),
  })

/** Brings every engine up to the library and asks it. */
function openJudge(db: Db, note: Note): (kind: Score['kind'], judged: readonly Judged[]) => Promise<void> {
  const reads = openReadModel(db.$client)
  const engines: Record<string, LibrarySearch> = { postgres: openSearch({ reads }) }
  const { meili } = parseConfig(process.env)
  const options = meili && { ...meili, prefix: 'bench_relevance' }
  const sink = options && openMeiliSink(options)
  if (options)
    engines.meilisearch = openSearch({
      reads,
      replica: openMeiliSearch({ ...options, ...reads, state: () => replicaState(db), timeoutMs: 30_000 }),
    })
  return async (kind, judged) => {
    await rebuildSearch({ db, deepLink: () => null })
    if (sink) await copyToMeilisearch({ db, sink }, { whole: true })
    for (const [name, search] of Object.entries(engines)) {
      for (const { q, wanted } of judged) {
        const { frames: hits } = await search.search({ q, limit: 20 })
        const ids = hits.map(({ document }) => document.id)
        const wrong = hits.filter(({ document, missing }) => !missing && !wanted.has(document.id)).length
        note(name, { kind, q, ndcg: ndcgAt(10, ids, wanted), recall: recallAt(20, ids, wanted), wrong })
      }
    }
  }
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
  return GENERATED.split(', ')
    .map((q) => {
      const words = (q === 'sneker' ? 'sneaker' : q).split(' ')
      const wanted = new Map<string, number>()
      for (const row of rows) {
        const has = (text: string | null) => words.every((word) => new RegExp(`\\b${word}\\b`, 'i').test(text ?? ''))
        if (row.caption?.toLowerCase().includes(words.join(' '))) wanted.set(row.id, 3)
        else if (has(row.caption)) wanted.set(row.id, 2)
        else if (has([row.caption, row.composition, row.steal, row.screen].join(' '))) wanted.set(row.id, 1)
      }
      return { q, wanted }
    })
    .filter(({ wanted }) => wanted.size > 0)
}

/** Of as many as could stand there. */
function recallAt(depth: number, ids: readonly string[], wanted: ReadonlyMap<string, number>): number {
  return ids.slice(0, depth).filter((id) => wanted.has(id)).length / Math.min(depth, wanted.size)
}
