import type pg from 'pg'
import type { Logger } from '../logger.ts'
import { drizzle } from '../sql/orm.ts'
import type { Asker } from '../vocabulary.ts'
import { type Breaker, openBreaker } from './breaker.ts'
import type { FrameFilters, FramePage, GroupsQuery, LibrarySearch } from './library-search.ts'
import { type Meaning, openMeaning, requireMeaning, type TextModel } from './meaning.ts'
import { replicaState } from './meilisearch/client.ts'
import { searchOnlyKey } from './meilisearch/request.ts'
import { isPlain, isSayable, type MeiliSearch, openMeiliSearch } from './meilisearch/search.ts'
import { openReadModel, type ReadModelSearch } from './postgres/search.ts'
import { type KnownSenses, SCOPES } from './postgres/words.ts'
import { BEST, type Read, refuseDepth, type WordsQuery, withCurrentSlugs } from './query.ts'
import { openVocabulary } from './text/named-words.ts'
import { readQuestion } from './text/question.ts'

/** Longest wait for Meilisearch. The rest of the 1.5 s that a search may take is the read model's. */
const PATIENCE_MS = 700

/** Meilisearch with the read model behind it, or the read model alone without a server. The pool stays the caller's. */
export function openLibrarySearch({
  pool,
  meili,
  logger,
  count,
  model,
}: {
  pool: pg.Pool
  /** `key` must have the right to manage keys. Searches use a key of their own that can do nothing else. */
  meili: { url: string; key: string; prefix?: string } | undefined
  logger: Logger
  count?: CountQuestion
  /** Makes vectors of questions. Absent: nothing is searched by meaning. */
  model?: TextModel | undefined
}): LibrarySearch {
  const reads = openReadModel(pool)
  const meaning = model && openMeaning({ model, reads, logger })
  if (!meili) return openSearch({ reads, count, meaning })
  const db = drizzle(pool)
  const { framesByIds } = reads
  const replica = openMeiliSearch({
    url: meili.url,
    prefix: meili.prefix,
    key: () => searchOnlyKey(meili),
    framesByIds,
    state: () => replicaState(db),
  })
  const ask = openBreaker({
    patienceMs: PATIENCE_MS,
    onLeft: (error) => logger.warn({ err: error }, 'Meilisearch failed; the read model answers'),
    onBack: () => logger.info('Meilisearch is back'),
  })
  return openSearch({ reads, replica, ask, count, meaning })
}

/** `answer`: `weak` lacks a word in its best frame. `filtered`: then such an answer says nothing of the words. */
type CountQuestion = (asker: Asker, asked: { q: string; answer: 'full' | 'weak' | 'none'; filtered: boolean }) => void

export interface SearchParts {
  reads: ReadModelSearch
  /** Ranks words and counts facets in the same documents. */
  replica?: MeiliSearch
  /** Asks the replica. By default what fails there fails. */
  ask?: Breaker
  count?: CountQuestion | undefined
  meaning?: Meaning | undefined
}

/** The search of the library: a question is read here once, its engine chosen, and the question counted. */
export function openSearch({
  reads,
  replica,
  ask = (question) => question(),
  count,
  meaning,
}: SearchParts): LibrarySearch {
  const vocabulary = openVocabulary(reads)
  const read = async (q: string) => (q.trim() === '' ? undefined : readQuestion(q, (await vocabulary()).words))
  const withSlugs = <Q extends { filters: FrameFilters }>(query: Q) =>
    withCurrentSlugs(query, async () => (await vocabulary()).techniques)

  /** The words of a question that the replica may be asked. It says full matches by relevance only, all alike. */
  async function sensesFor(
    { question, sort, variety, engine }: Pick<WordsQuery, 'question' | 'sort' | 'variety' | 'engine'>,
    scopes: typeof SCOPES | ['frames'],
  ): Promise<KnownSenses | undefined> {
    const isRanked = sort === 'relevance' && !variety && engine !== 'postgres'
    return replica && isRanked && question && isPlain(question) ? reads.senses(question, scopes) : undefined
  }

  async function frames(query: WordsQuery, known: KnownSenses | undefined): Promise<FramePage> {
    const { question, page, fill = 0 } = query
    const senses = known?.in('frames')
    if (!replica || !question || !senses || !isSayable(question, senses)) return reads.frames(query, known)
    const found = await ask(() => replica.frames(query, question, senses))
    if (!found) return reads.frames(query, known)
    if (page > 1 || found.frames.length >= fill) return found
    const held = new Set(found.frames.map(({ document }) => document.id))
    const { partialMatches = [] } = await reads.frames({ ...query, facets: false, loosen: false }, known)
    const isNext = partialMatches.filter(({ document }) => !held.has(document.id))
    return { ...found, partialMatches: isNext.slice(0, fill - found.frames.length) }
  }

  /** A page in a stored order, which the read model pages through faster and to any depth, with its counts. */
  async function countedPage(query: WordsQuery, counting: MeiliSearch): Promise<FramePage> {
    let begun: Promise<FramePage> | undefined
    const counts = await ask(() => {
      begun = reads.frames({ ...query, facets: false })
      // Awaited below, where there are counts.
      begun.catch(() => undefined)
      return counting.counts(query)
    })
    const page = counts && (await begun)
    const isTrusted = page && (counts.total > 0 || page.frames.length === 0)
    return isTrusted ? { ...page, ...counts } : reads.frames(query)
  }

  async function groups(query: Read<GroupsQuery>) {
    const { question, limit, sourceKey, namesOnly } = query
    const best = { ...BEST, question, pageSize: limit, fill: limit }
    const known = namesOnly || sourceKey !== undefined ? undefined : await sensesFor(best, SCOPES)
    if (!known) return reads.search(query)
    // Names are few: the read model finds them as quickly.
    const [names, found] = await Promise.all([reads.search({ ...query, namesOnly: true }, known), frames(best, known)])
    return { ...names, frames: [...found.frames, ...(found.partialMatches ?? [])], readAs: found.readAs }
  }

  return {
    ...reads,
    version: async () =>
      [await reads.version(), await replica?.version(), meaning?.texts.space].filter(Boolean).join('.'),

    async search({ q, asker, ...query }) {
      const question = await read(q)
      const found = await groups({ ...query, question })
      if (asker && q !== '') {
        const isNamed = found.videos.length + found.brands.length + found.techniques.length > 0
        count?.(asker, { q, answer: isNamed ? 'full' : answerOf(found.frames), filtered: false })
      }
      const isByWords = question && !query.namesOnly && query.sourceKey === undefined
      return meaning && isByWords ? meaning.fill(question, query.limit, found) : found
    },

    async frames({ q, asker, ...given }) {
      refuseDepth({ q, ...given })
      const asked = { ...(await withSlugs(given)), question: await read(q) }
      if (given.sort === 'meaning') requireMeaning(meaning, asked.question)
      // What meaning orders alone is a set of words all the same.
      const query: WordsQuery = { ...asked, sort: given.sort === 'meaning' ? 'relevance' : given.sort }
      const found =
        replica && !query.question && query.facets
          ? await countedPage(query, replica)
          : await frames(query, await sensesFor(query, ['frames']))
      const filtered = Object.values(given.filters).some((values) => values?.length)
      if (asker && q !== '' && given.page === 1) count?.(asker, { q, answer: answerOf(found.frames), filtered })
      return meaning?.add(asked, found) ?? found
    },

    similar: async (id, query) => reads.similar(id, await withSlugs({ ...query, texts: meaning?.texts })),

    async sequences(query) {
      const readStep = async ({ q, ...step }: (typeof query.steps)[number]) => ({
        ...(await withSlugs(step)),
        question: await read(q),
      })
      return reads.sequences({ ...query, steps: await Promise.all(query.steps.map(readStep)) })
    },
  }
}

function answerOf([best]: readonly { missing?: readonly string[] }[]): 'full' | 'weak' | 'none' {
  if (!best) return 'none'
  return best.missing?.length ? 'weak' : 'full'
}
