import { sql } from 'drizzle-orm'
import type {
  DocumentKind,
  FrameDocument,
  FrameHit,
  Hit,
  LibraryDocuments,
  LibrarySearch,
  SearchGroups,
} from '../library-search.ts'
import { matchedInNames } from '../matched.ts'
import { rounded, scoreByPlace } from '../score.ts'
import { Highlighter } from '../text/highlight.ts'
import type { NamedWords } from '../text/named-words.ts'
import { readQuestion } from '../text/question.ts'
import { nameKey } from '../text/tokens.ts'
import { expandQuestion } from './candidates.ts'
import { type CommonWords, isFrequent } from './common-words.ts'
import { documentsOf } from './documents.ts'
import { FEW_RANKED, type FoundFrame, findNextBest } from './next-best.ts'
import { BY_STRENGTH, namedScore, partialScoreOf, ranked, scoreOf } from './rank.ts'
import { DOCUMENTS, ENTRIES, type Executor, FRAMES, rowsOf } from './tables.ts'
import { allOf, anyOf, type ExpandedQuestion, fixedOf } from './tsquery.ts'
import { frameHits } from './wall.ts'
import { isStorable } from './where.ts'

type EntryKind = Exclude<DocumentKind, 'frames'>

const WRITTEN_OUT = /https?(?::|%3a)(?:\/\/|%2f%2f)/i
const nothing = (): SearchGroups => ({ videos: [], frames: [], brands: [], techniques: [] })

/** The four groups of a search by words. */
export async function searchGroups(
  db: Executor,
  commonWords: CommonWords,
  { q, limit, sourceKey }: Parameters<LibrarySearch['search']>[0],
  techniques: NamedWords,
): Promise<SearchGroups> {
  const ofVideo = sourceKey === undefined ? undefined : await findBySource(db, sourceKey, limit)
  // Words with a dot and a slash (node.js/express) look like a URL. Without a video of that URL they are words.
  if (ofVideo && (ofVideo.videos.length > 0 || !sourceKey?.startsWith('url:') || WRITTEN_OUT.test(q))) return ofVideo
  if (q.trim() === '') return strongestGroups(db, limit)
  const question = readQuestion(q, techniques)
  if (question.wanted.length === 0 && question.excluded.length === 0) return nothing()
  const expand = await expandQuestion(db, question)
  const [videos, frames, brands, named] = await Promise.all([
    searchEntries(db, 'videos', expand('videos'), q, limit, ({ title }) => ({ title })),
    searchFrames(db, commonWords, expand('frames'), limit),
    searchEntries(db, 'brands', expand('brands'), q, limit, ({ name }) => ({ name })),
    searchEntries(db, 'techniques', expand('techniques'), q, limit, ({ slug, name }) => ({ slug, name })),
  ])
  return { videos, frames, brands, techniques: named }
}

/** Frames with all words, then the next best. */
async function searchFrames(
  db: Executor,
  commonWords: CommonWords,
  question: ExpandedQuestion,
  limit: number,
): Promise<FrameHit[]> {
  const { terms } = question
  const all = allOf(question)
  const isMany = terms.length === 0 || isFrequent(terms, await commonWords())
  const best = await rowsOf<FoundFrame>(
    db,
    sql`select id, ${scoreOf(terms)} as score from ${ranked(sql`words @@ ${all}`, isMany ? FEW_RANKED : undefined)}
         order by score desc, strength desc, id limit ${limit}`,
  )
  const asked = { filters: {}, question, beyond: all, limit: limit - best.length }
  return frameHits(db, [...best, ...(await findNextBest(db, commonWords, asked))], terms)
}

async function searchEntries<K extends EntryKind>(
  db: Executor,
  kind: K,
  question: ExpandedQuestion,
  q: string,
  limit: number,
  namesOf: (document: LibraryDocuments[K]) => Record<string, string>,
): Promise<Hit<LibraryDocuments[K]>[]> {
  const { terms } = question
  if (terms.length === 0) return []
  const key = nameKey(q)
  const fixed = fixedOf({ terms: [], excluded: question.excluded })
  const where = sql`kind = ${kind} and words @@ ${anyOf(terms)} ${fixed ? sql`and words @@ ${fixed}` : sql``}`
  const names = kind === 'techniques' ? [sql`name`, sql`replace(id, '-', ' ')`] : [sql`name`]
  const equals = names.map((name) => sql`${name} = ${key}`)
  // Letters of a name that stands whole among the words of the query.
  const letters = names.map(
    (name) =>
      sql`case when ${name} <> '' and position(' ' || ${name} || ' ' in ${` ${key} `}) > 0
               then length(${name}) else 0 end`,
  )
  const named = kind === 'videos' ? sql`0` : sql`greatest(${sql.join(letters, sql`, `)})`
  const found = await rowsOf<{ id: string; score: number }>(
    db,
    sql`
    select id,
           case when ${sql.join(equals, sql` or `)} then 1
                when words @@ ${allOf(question)} then least(0.99, ${scoreOf(terms)})
                when ${named} > 0 then ${namedScore(named, key)}
                else ${partialScoreOf(terms)} end as score
      from ${ENTRIES} where ${where}
     order by score desc, strength desc, id limit ${limit}`,
  )
  const ids = found.map(({ id }) => id)
  const documents = await documentsOf(db, kind, ids)
  const highlighter = new Highlighter(terms)
  return found.flatMap(({ id, score }) => {
    const document = documents.get(id)
    if (!document) return []
    return [{ document, score: rounded(score), matched: matchedInNames(namesOf(document), highlighter) }]
  })
}

async function strongestGroups(db: Executor, limit: number): Promise<SearchGroups> {
  const [videos, frames, brands, techniques] = await Promise.all([
    strongestEntries(db, 'videos', limit),
    strongestFrames(db, limit),
    strongestEntries(db, 'brands', limit),
    strongestEntries(db, 'techniques', limit),
  ])
  return { videos, frames, brands, techniques }
}

async function strongestEntries<K extends EntryKind>(
  db: Executor,
  kind: K,
  limit: number,
): Promise<Hit<LibraryDocuments[K]>[]> {
  const rows = await rowsOf<{ doc: LibraryDocuments[K] }>(
    db,
    sql`
    select d.doc
      from (select id, strength from ${ENTRIES} where kind = ${kind} order by ${BY_STRENGTH} limit ${limit}) e
      join ${DOCUMENTS} d on d.kind = ${kind} and d.id = e.id order by e.strength desc, e.id`,
  )
  return rows.map(({ doc }, n) => ({ document: doc, score: scoreByPlace(n, rows.length), matched: {} }))
}

/** The best frame of every video first, then the second best of each. */
async function strongestFrames(db: Executor, limit: number): Promise<Hit<FrameDocument>[]> {
  const rows = await rowsOf<{ id: string }>(
    db,
    sql`
    select f.id
      from (select id from ${ENTRIES} where kind = 'videos' order by ${BY_STRENGTH} limit ${limit}) v
      cross join lateral (
        select id, strength, row_number() over (order by strength desc, id) as place
          from ${FRAMES} where video_id = v.id order by strength desc, id limit ${limit}) f
     order by f.place, f.strength desc, f.id limit ${limit}`,
  )
  return framesInOrder(db, rows)
}

async function framesInOrder(db: Executor, rows: readonly { id: string }[]): Promise<Hit<FrameDocument>[]> {
  const ids = rows.map(({ id }) => id)
  const documents = await documentsOf(db, 'frames', ids)
  const held = ids.flatMap((id) => documents.get(id) ?? [])
  return held.map((document, n) => ({ document, score: scoreByPlace(n, held.length), matched: {} }))
}

/** A video by its canonical source key, with its strongest frames. */
async function findBySource(db: Executor, sourceKey: string, limit: number): Promise<SearchGroups> {
  if (!isStorable(sourceKey)) return nothing()
  const [video] = await rowsOf<{ id: string; doc: LibraryDocuments['videos'] }>(
    db,
    sql`select e.id, d.doc from ${ENTRIES} e join ${DOCUMENTS} d on d.kind = 'videos' and d.id = e.id
         where e.source_key = ${sourceKey} and e.kind = 'videos' order by e.id limit 1`,
  )
  if (!video) return nothing()
  const frames = await rowsOf<{ id: string }>(
    db,
    sql`select id from ${FRAMES} where video_id = ${video.id} order by strength desc, id limit ${limit}`,
  )
  return {
    videos: [{ document: video.doc, score: 1, matched: {} }],
    frames: await framesInOrder(db, frames),
    brands: [],
    techniques: [],
  }
}
