import type { SQL } from 'drizzle-orm'
import type {
  DocumentKind,
  FrameDocument,
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
import { type Expanded, VERSION } from './candidates.ts'
import { type Common, hasFrequent, isFrequent } from './common-words.ts'
import { documentsOf, SHOWN_TEXT } from './documents.ts'
import { FEW_RANKED, type FoundText, findNextBest, inSteps, nextBestQueries } from './next-best.ts'
import { BY_STRENGTH, namedScore, partialScoreOf, ranked, scoreOf } from './rank.ts'
import type { ReadModel } from './read-model.ts'
import { sql } from './sql.ts'
import { DOCUMENTS, ENTRIES, type Executor, FRAMES, rowsOf } from './tables.ts'
import { allOf, anyOf, fixedOf } from './tsquery.ts'
import { toFrameHit } from './wall.ts'
import { isStorable } from './where.ts'

type EntryKind = Exclude<DocumentKind, 'frames'>

const WRITTEN_OUT = /https?(?::|%3a)(?:\/\/|%2f%2f)/i
const nothing = (): SearchGroups => ({ videos: [], frames: [], brands: [], techniques: [] })

/** The four groups of a search by words. */
export async function searchGroups(
  readModel: ReadModel,
  { q, limit, sourceKey, namesOnly = false }: Parameters<LibrarySearch['search']>[0],
  techniques: NamedWords,
): Promise<SearchGroups> {
  const { db } = readModel
  const ofVideo = sourceKey === undefined ? undefined : await findBySource(db, sourceKey, limit)
  // Words with a dot and a slash (node.js/express) look like a URL. Without a video of that URL they are words.
  if (ofVideo && (ofVideo.videos.length > 0 || !sourceKey?.startsWith('url:') || WRITTEN_OUT.test(q))) return ofVideo
  if (q.trim() === '') return strongestGroups(db, limit)
  const question = readQuestion(q, techniques)
  if (question.wanted.length === 0 && question.excluded.length === 0) return nothing()
  if (namesOnly && question.wanted.length === 0) return nothing()
  const asked = { name: nameKey(q), limit, namesOnly }
  return readModel.expand(question, (expanded) => askGroups(readModel, expanded, asked), nothing)
}

async function askGroups(
  readModel: ReadModel,
  expanded: Expanded,
  asked: Pick<GroupsAsked, 'name' | 'limit' | 'namesOnly'>,
): Promise<{ answer: SearchGroups; version: string | undefined }> {
  const common = await readModel.commonWords()
  const question = expanded('frames')
  const { terms } = question
  // With frequent words the frames with all words are mostly enough, and the next best want a plan for their values.
  const isLarge = hasFrequent(terms, common)
  const on = isLarge && isFrequent(terms, common) ? readModel.db : readModel.kept
  const found = await rowsOf<FoundRow>(on, groupsQuery({ ...asked, expanded, common, isLarge }))
  const rows = found.filter(({ kind }) => kind !== null)
  if (isLarge && !asked.namesOnly) {
    const best = rows.filter(({ kind }) => kind === 'frames').length
    const beyond = { words: allOf(question), met: terms.length }
    const more = { filters: {}, question, beyond, limit: asked.limit - best, text: SHOWN_TEXT }
    for (const row of await findNextBest(readModel, more)) rows.push({ ...row, kind: 'frames' })
  }
  return { answer: toGroups(rows, expanded), version: found[0]!.version }
}

function toGroups(rows: readonly FoundRow[], expanded: Expanded): SearchGroups {
  const { terms } = expanded('frames')
  const inFrames = new Highlighter(terms)
  const inNames = new Highlighter(expanded('videos').terms)
  const entries = <K extends EntryKind>(kind: K, namesOf: (document: LibraryDocuments[K]) => Record<string, string>) =>
    rows.flatMap((row): Hit<LibraryDocuments[K]>[] => {
      if (row.kind !== kind) return []
      const document = JSON.parse(row.text) as LibraryDocuments[K]
      return [{ document, score: rounded(row.score), matched: matchedInNames(namesOf(document), inNames) }]
    })
  return {
    videos: entries('videos', ({ title }) => ({ title })),
    frames: rows.flatMap((row) => (row.kind === 'frames' ? [toFrameHit(row, terms, inFrames)] : [])),
    brands: entries('brands', ({ name }) => ({ name })),
    techniques: entries('techniques', ({ slug, name }) => ({ slug, name })),
  }
}

type FoundRow = FoundText & { kind: DocumentKind | null; version?: string }

interface GroupsAsked {
  expanded: Expanded
  common: Common
  /** The query as a name is compared with it. */
  name: string
  limit: number
  namesOnly: boolean
  /** The next best frames are asked for in a statement of their own. */
  isLarge: boolean
}

/** All groups in one statement, the best of each first, with the version of the read model in every row. */
function groupsQuery(asked: GroupsAsked): SQL {
  const hasTerms = asked.expanded('frames').terms.length > 0
  const entries = hasTerms ? (['videos', 'brands', 'techniques'] as const).map((kind) => entryQuery(asked, kind)) : []
  const groups = [...(asked.namesOnly ? [] : [frameQuery(asked)]), ...entries].map((query) => sql`(${query})`)
  // `offset 0` keeps the planner from joining before it has cut.
  return sql`
    select ${VERSION} as version, found.kind, found.score, found.met, held.text
      from (select) one left join (
        (${sql.join(groups, sql` union all `)}) found
        cross join lateral (
          select case when found.kind = 'frames' then ${SHOWN_TEXT} else doc::text end as text from ${DOCUMENTS} d
           where d.kind = found.kind and d.id = found.id and d.doc is not null offset 0) held) on true
     order by found.score desc, found.strength desc, found.id`
}

/** Frames with all words, then the next best. */
function frameQuery({ expanded, common, limit, isLarge }: GroupsAsked): SQL {
  const question = expanded('frames')
  const { terms } = question
  const all = allOf(question)
  const isMany = terms.length === 0 || isFrequent(terms, common)
  const best = (some: SQL) => sql`select id, strength, ${scoreOf(terms)} as score, null::bool[] as met
    from ${ranked(sql`words @@ ${all}`, isMany ? FEW_RANKED : undefined)}
   order by score desc, strength desc, id limit ${some}`
  const beyond = { words: all, met: terms.length }
  return inSteps([best, ...(isLarge ? [] : nextBestQueries({ filters: {}, question, beyond }, common))], limit)
}

function entryQuery({ expanded, name: key, limit }: GroupsAsked, kind: EntryKind): SQL {
  const question = expanded(kind)
  const { terms } = question
  const fixed = fixedOf({ terms: [], excluded: question.excluded })
  const names = kind === 'techniques' ? [sql`name`, sql`replace(id, '-', ' ')`] : [sql`name`]
  const equals = names.map((name) => sql`${name} = ${key}`)
  // The number of letters of a name that the query contains whole.
  const letters = names.map(
    (name) =>
      sql`case when ${name} <> '' and position(' ' || ${name} || ' ' in ${` ${key} `}::text) > 0
               then length(${name}) else 0 end`,
  )
  const named = kind === 'videos' ? sql`0` : sql`greatest(${sql.join(letters, sql`, `)})`
  return sql`
    select kind, id, strength,
           case when ${sql.join(equals, sql` or `)} then 1
                when words @@ ${allOf(question)} then least(0.99, ${scoreOf(terms)})
                when ${named} > 0 then ${namedScore(named, key)}
                else ${partialScoreOf(terms)} end as score, null::bool[] as met
      from ${ENTRIES} where kind = ${sql.raw(`'${kind}'`)} and words @@ ${anyOf(terms)}
       ${fixed ? sql`and words @@ ${fixed}` : sql``}
     order by score desc, strength desc, id limit ${limit}`
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
  return video ? withFrames(db, video, limit) : findByShownAddress(db, sourceKey, limit)
}

/** Addresses that differ in their query only: more are not looked through. */
const MOST_QUERIES = 50

/** A video by the address that is shown of it, where its query is not: the newest of several. */
async function findByShownAddress(db: Executor, sourceKey: string, limit: number): Promise<SearchGroups> {
  if (!sourceKey.startsWith('url:') || sourceKey.includes('?')) return nothing()
  // `@` follows `?` in the order of bytes, so the index gives all keys with a query.
  const [video] = await rowsOf<{ id: string; doc: LibraryDocuments['videos'] }>(
    db,
    sql`select e.id, d.doc
          from (select id, added_ms from ${ENTRIES}
                 where kind = 'videos' and source_key >= ${`${sourceKey}?`} and source_key < ${`${sourceKey}@`}
                 order by source_key limit ${MOST_QUERIES}) e
          join ${DOCUMENTS} d on d.kind = 'videos' and d.id = e.id
         where d.doc ->> 'source_url' = ${sourceKey.slice('url:'.length)} order by e.added_ms desc, e.id limit 1`,
  )
  return video ? withFrames(db, video, limit) : nothing()
}

async function withFrames(
  db: Executor,
  video: { id: string; doc: LibraryDocuments['videos'] },
  limit: number,
): Promise<SearchGroups> {
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
