import { hash } from 'node:crypto'
import { pino } from 'pino'
import { parseConfig } from '../src/config.ts'
import type { Db } from '../src/db/client.ts'
import type { StoredEvent } from '../src/events/catalogue.ts'
import type { Embedder } from '../src/meaning/embedder.ts'
import { openEmbedder } from '../src/meaning/open-embedder.ts'
import { rebuildSearch } from '../src/projections/search/rebuild.ts'
import { openMeaning } from '../src/search/meaning.ts'
import { openSearch } from '../src/search/open-search.ts'
import { openReadModel } from '../src/search/postgres/search.ts'
import { readQuestion } from '../src/search/text/question.ts'
import { nearness } from '../src/search/vectors.ts'
import { embeddingConsumer } from '../src/workers/embed-frames.ts'
import { seedVideo } from '../test/support/seed.ts'
import { type About, optionsOf } from './support/bench.ts'
import { JUDGED_FRAMES, JUDGED_QUERIES } from './support/judged.ts'
import { MEANING_FRAMES, MEANING_PHRASES } from './support/judged-meaning.ts'
import { PHRASE_FRAMES, PHRASES } from './support/judged-phrases.ts'
import { giveVectors, seedLibrary } from './support/library.ts'
import { openTemporaryDatabase } from './support/postgres.ts'
import { ndcgAt } from './support/relevance-scores.ts'
import { mean, median, round } from './support/stats.ts'

/** `--texts` are embedded for the recall, `--frames` searched for the cost; 0 leaves a part out. */
export const about: About = {
  measures:
    'Search by meaning with the embedded text model: 40 judged questions without a word of the texts that they want, ' +
    '20 that nothing answers, and the judged words and phrases with and without it. How much of the ten nearest of ' +
    '2,000 generated texts bits and bytes find. What a question costs at 100,000 frames.',
  against: 'the ideal order; the order by float32; the same question by words alone.',
  figures: [
    { what: 'nDCG@10 of `sort=meaning`', at: ['ndcg_alone'], atLeast: 0.5 },
    { what: 'nDCG@10 of `/api/search`', at: ['ndcg_search'] },
    { what: 'the same by words alone', at: ['ndcg_words'] },
    { what: 'questions without an answer that say so, of 20', at: ['nothing_close'] },
    { what: 'nDCG@10 lost by judged words and phrases', at: ['lost'], atMost: 0.005 },
    { what: 'recall@10 of bits and bytes', at: ['recall_at_10'], atLeast: 0.95 },
    { what: 'a question by meaning ÷ by words', at: ['cost_ratio'] },
  ],
}

export async function run(args: string[]): Promise<object | undefined> {
  const { texts, frames } = optionsOf(args, { texts: 2_000, frames: 100_000 })
  await using model = openEmbedder(parseConfig({ EMBED: 'embedded' }).embed!)
  const judged = await judge(model)
  const recall = texts > 0 ? await measureRecall(model, texts) : {}
  const cost = frames > 0 ? await measureCost(model, frames) : {}
  return { bench: 'meaning', ...judged, ...recall, ...cost }
}

const logger = pino({ level: 'silent' })

function openBoth(db: Db, model: Embedder) {
  const reads = openReadModel(db.$client)
  const meaning = openMeaning({ model, reads, logger, patienceMs: 60_000 })
  return { reads, words: openSearch({ reads }), both: openSearch({ reads, meaning }) }
}

/** Gives every frame its vector, and makes them searchable. */
async function embedAll(db: Db, model: Embedder): Promise<void> {
  const { rows } = await db.$client.query<{ id: string }>('select id from videos')
  const events = rows.map(({ id }) => ({ type: 'video.ready', data: { video_id: id } }) as unknown as StoredEvent)
  await embeddingConsumer({ db, embedder: model }).handle(events, AbortSignal.timeout(600_000))
  await rebuildSearch({ db, deepLink: () => null, space: model.space })
}

async function judge(model: Embedder) {
  await using database = await openTemporaryDatabase()
  const { db } = database
  const ids = new Map<string, string>()
  for (const list of [MEANING_FRAMES, JUDGED_FRAMES, PHRASE_FRAMES]) {
    const { frameIds } = await seedVideo(db, { title: 'Judged', frames: [...list] })
    for (const [n, { key }] of list.entries()) ids.set(key, frameIds[n]!)
  }
  await embedAll(db, model)
  const { words, both } = openBoth(db, model)
  const wantedOf = (wanted: Record<string, number>) =>
    new Map(Object.entries(wanted).map(([key, grade]) => [ids.get(key)!, grade]))
  const score = async (
    list: readonly { q: string; wanted: Record<string, number> }[],
    search: typeof both,
    sort = '',
  ) => {
    const scores: number[] = []
    for (const { q, wanted } of list) {
      const base = { q, filters: {}, page: 1, pageSize: 20, facets: false, variety: false } as const
      const { frames } = sort
        ? await search.frames({ ...base, sort: 'meaning' })
        : await search.search({ q, limit: 10 })
      scores.push(
        ndcgAt(
          10,
          frames.map(({ document }) => document.id),
          wantedOf(wanted),
        ),
      )
    }
    return mean(scores)
  }
  const said: unknown[] = []
  for (const q of MEANING_PHRASES.absent) said.push((await both.search({ q, limit: 10 })).readAs?.meaning)
  const old = [...JUDGED_QUERIES, ...PHRASES.suggested, ...PHRASES.tuned, ...PHRASES.held]
  return {
    ndcg_alone: round(await score(MEANING_PHRASES.wanted, both, 'meaning')),
    ndcg_search: round(await score(MEANING_PHRASES.wanted, both)),
    ndcg_words: round(await score(MEANING_PHRASES.wanted, words)),
    nothing_close: said.filter((one) => one === 'nothing close').length,
    lost: round((await score(old, words)) - (await score(old, both))),
  }
}

async function measureRecall(model: Embedder, texts: number) {
  await using database = await openTemporaryDatabase()
  const { db } = database
  await seedLibrary(db, { frames: texts })
  const exact = new Map<string, Float32Array>()
  const noting: Embedder = {
    ...model,
    async embed(list, signal) {
      const made = await model.embed(list, signal)
      for (const [n, text] of list.entries()) exact.set(hash('md5', text), made.vectors[n]!)
      return made
    },
  }
  await embedAll(db, noting)
  const { reads } = openBoth(db, model)
  const signal = AbortSignal.timeout(600_000)
  const { rows } = await db.$client.query('select frame_id, source_hash from frame_vectors')
  const hashOf = new Map<string, string>(rows.map((row) => [row.frame_id, row.source_hash]))
  const all = [...hashOf.values()].map((one) => exact.get(one)!)
  const recalls: number[] = []
  for (const { q } of MEANING_PHRASES.wanted) {
    const vector = (await model.embed([q], signal)).vectors[0]!
    const tenth = all.map((one) => nearness(vector, one)).sort((a, b) => b - a)[9]!
    const query = { question: readQuestion(q), filters: {}, limit: 10 }
    const hits = (await reads.close({ space: model.space, vector }, query))!
    const near = hits.map(({ document }) => {
      return nearness(vector, exact.get(hashOf.get(document.id)!)!)
    })
    recalls.push(near.filter((one) => one >= tenth - 1e-6).length / 10)
  }
  return { recall_at_10: round(mean(recalls)) }
}

async function measureCost(model: Embedder, frames: number) {
  await using database = await openTemporaryDatabase()
  const { db } = database
  await seedLibrary(db, { frames })
  await giveVectors(db, model.space)
  const { words, both } = openBoth(db, model)
  const time = async (search: typeof both) => {
    const times: number[] = []
    for (const { q } of MEANING_PHRASES.wanted) {
      const started = performance.now()
      await search.search({ q, limit: 6 })
      times.push(performance.now() - started)
    }
    return median(times)
  }
  // The vectors of the questions are made before: their time is that of the model.
  await time(both)
  const [byWords, byBoth] = [await time(words), await time(both)]
  return { words_ms: round(byWords), meaning_ms: round(byBoth), cost_ratio: round(byBoth / byWords) }
}
