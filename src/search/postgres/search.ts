import type pg from 'pg'
import { UNSTORABLE } from '../../clean-text.ts'
import { drizzle, type SQL, sql } from '../../sql/orm.ts'
import type {
  DocumentKind,
  FrameDocument,
  FrameHit,
  FramePage,
  GroupsQuery,
  Hit,
  LibraryDocuments,
  LibrarySearch,
  SearchGroups,
  SequencePage,
} from '../library-search.ts'
import { BEST, type Read, type WordsQuery } from '../query.ts'
import { Matcher, rounded } from '../text/match.ts'
import type { Question } from '../text/question.ts'
import { isFound } from '../text/senses.ts'
import { nameKey } from '../text/tokens.ts'
import { type CloseQuery, canCompare, type Direction, findClose, openBackground } from './close.ts'
import {
  documentsOf,
  findFrame,
  findVideo,
  loadBrands,
  loadTechniques,
  loadVideoFrames,
  loadVideos,
} from './documents.ts'
import { askedOf, findFrames, findInWords, isAsked, type ReadModel } from './frames.ts'
import { BY_STRENGTH, namedScore, partialNameScore, scoreOf } from './rank.ts'
import { findSequences, type ReadSequences } from './sequences.ts'
import { findSimilar } from './similar.ts'
import {
  anyOfSome,
  atLeast,
  DOCUMENTS,
  ENTRIES,
  type Executor,
  FRAMES,
  fixedOf,
  inSnapshot,
  rowsOf,
  tsquery,
  versionOf,
} from './tables.ts'
import {
  type KnownSenses,
  openTermStats,
  readSenses,
  SCOPES,
  type Scope,
  type SensesByScope,
  sensesIn,
} from './words.ts'

/** More matches than this are not all ranked: reading so many frames takes long. */
const MANY_FRAMES = 10_000

/** The engine that answers every question. Techniques of filters are current slugs. */
export interface ReadModelSearch extends Omit<LibrarySearch, 'search' | 'frames' | 'sequences'> {
  /** What the words of a question mean in the library now. */
  senses(question: Question, scopes: readonly Scope[]): Promise<KnownSenses>
  /** `known`: as another engine had them. They are read again if the library has changed. */
  search(query: Read<GroupsQuery>, known?: KnownSenses): Promise<SearchGroups>
  frames(query: WordsQuery, known?: KnownSenses): Promise<FramePage>
  sequences(query: ReadSequences): Promise<SequencePage>
  /** Whether frames can be compared with directions of a space. */
  comparesIn(space: string): Promise<boolean>
  /** The frames nearest to a direction. Undefined where they cannot be compared with it. */
  close(direction: Direction, query: CloseQuery): Promise<FrameHit[] | undefined>
}

/** Search and reads on the read model in PostgreSQL. The pool stays the caller's. */
export function openReadModel(
  pool: pg.Pool,
  { manyFrames = MANY_FRAMES }: { manyFrames?: number } = {},
): ReadModelSearch {
  const db = drizzle(pool)
  const background = openBackground()
  const readModel = { pool, common: openTermStats(db, manyFrames) }
  return {
    version: () => versionOf(db),
    senses: ({ wanted }, scopes) =>
      inSnapshot(pool, async (reads) => ({
        version: await versionOf(reads),
        in: await readSenses(reads, wanted, scopes),
      })),
    search: (query, known) => searchGroups(readModel, query, known),
    frames: (query, known) => findFrames(readModel, query, known),
    videoFrames: (videoId) => loadVideoFrames(db, videoId),
    frame: (id) => findFrame(db, id),
    documents: (kind, ids) => documentsOf(db, kind, ids),
    async framesByIds(ids) {
      const documents = await documentsOf(db, 'frames', ids)
      return ids.flatMap((id) => documents.get(id) ?? [])
    },
    comparesIn: (space) => inSnapshot(pool, async (reads) => canCompare(await background(reads), space)),
    close: (direction, query) =>
      inSnapshot(pool, async (reads) => findClose(reads, await background(reads), direction, query)),
    similar: (id, query) => inSnapshot(pool, (reads) => findSimilar(reads, id, query, () => background(reads))),
    video: (id) => findVideo(db, id),
    videos: (query) => loadVideos(db, query),
    brands: (query) => loadBrands(db, query),
    sequences: (query) => findSequences(readModel, query),
    techniques: () => loadTechniques(db),
  }
}

type EntryKind = Exclude<DocumentKind, 'frames'>
const ENTRY_KINDS = ['videos', 'brands', 'techniques'] as const

const WRITTEN_OUT = /https?(?::|%3a)(?:\/\/|%2f%2f)/i
const nothing = (): SearchGroups => ({ videos: [], frames: [], brands: [], techniques: [] })

async function searchGroups(
  readModel: ReadModel,
  { question, limit, sourceKey, namesOnly = false }: Read<GroupsQuery>,
  known: KnownSenses | undefined,
): Promise<SearchGroups> {
  const common = await readModel.common()
  return inSnapshot(readModel.pool, async (reads) => {
    const ofVideo = sourceKey === undefined ? undefined : await findBySource(reads, sourceKey, limit)
    // Words with a dot and a slash (node.js/express) look like a URL. Without a video of that URL they are words.
    if (
      ofVideo &&
      (ofVideo.videos.length > 0 || !sourceKey?.startsWith('url:') || WRITTEN_OUT.test(question?.text ?? ''))
    )
      return ofVideo
    if (!question) return strongestGroups(reads, limit)
    const scoped = await sensesIn(reads, question, namesOnly ? ENTRY_KINDS : SCOPES, known)
    const names = await findNames(reads, question, scoped, { name: nameKey(question.text), limit })
    if (namesOnly) return { ...names, frames: [] }
    const senses = scoped('frames')
    const asked = askedOf({}, question, senses, common)
    if (!isAsked(asked)) return { ...names, frames: [] }
    const few = { ...BEST, pageSize: limit, fill: limit }
    const { frames, partialMatches = [], readAs } = await findInWords(reads, few, question, asked)
    return { ...names, frames: [...frames, ...partialMatches], readAs }
  })
}

async function findNames(
  reads: Executor,
  question: Question,
  scoped: SensesByScope,
  asked: { name: string; limit: number },
): Promise<Omit<SearchGroups, 'frames'>> {
  const queries = ENTRY_KINDS.flatMap((kind) => namesQuery(kind, question, scoped, asked) ?? [])
  // `offset 0` keeps the planner from joining before it has cut.
  const rows =
    queries.length === 0
      ? []
      : await rowsOf<{ kind: EntryKind; score: number; doc: LibraryDocuments[EntryKind] }>(
          reads,
          sql`
    select found.kind, found.score, held.doc from (${sql.join(queries, sql` union all `)}) found
     cross join lateral (
       select doc from ${DOCUMENTS} d where d.kind = found.kind and d.id = found.id and d.doc is not null offset 0) held
     order by found.score desc, found.strength desc, found.id`,
        )
  const hits = <K extends EntryKind>(kind: K, namesOf: (document: LibraryDocuments[K]) => Record<string, string>) => {
    const matcher = new Matcher(scoped(kind))
    return rows.flatMap((row): Hit<LibraryDocuments[K]>[] => {
      if (row.kind !== kind) return []
      const document = row.doc as LibraryDocuments[K]
      return [{ document, score: rounded(row.score), matched: matcher.names(namesOf(document)) }]
    })
  }
  return {
    videos: hits('videos', ({ title }) => ({ title })),
    brands: hits('brands', ({ name }) => ({ name })),
    techniques: hits('techniques', ({ slug, name }) => ({ slug, name })),
  }
}

/** Undefined where no name can be found. */
function namesQuery(
  kind: EntryKind,
  { excluded: asExcluded }: Question,
  scoped: SensesByScope,
  { name: key, limit }: { name: string; limit: number },
): SQL | undefined {
  const senses = scoped(kind)
  const found = senses.filter(isFound)
  const some = anyOfSome(found)
  if (some === undefined) return undefined
  const excluded = asExcluded.map((one) => ({ ...one, named: [] }))
  const fixed = fixedOf({ senses: [], excluded })
  const names = kind === 'techniques' ? [sql`name`, sql`replace(id, '-', ' ')`] : [sql`name`]
  const equals = names.map((name) => sql`${name} = ${key}`)
  // The number of letters of a name that the query contains whole.
  const letters = names.map(
    (name) =>
      sql`case when ${name} <> '' and position(' ' || ${name} || ' ' in ${` ${key} `}::text) > 0
               then length(${name}) else 0 end`,
  )
  const named = kind === 'videos' ? sql`0` : sql`greatest(${sql.join(letters, sql`, `)})`
  const all = atLeast({ senses: found, excluded: [] }, found.length)!
  const whole =
    found.length < senses.length ? sql`` : sql`when words @@ ${tsquery(all)} then least(0.99, ${scoreOf(senses)})`
  return sql`
    (select kind, id, strength,
           case when ${sql.join(equals, sql` or `)} then 1
                ${whole}
                when ${named} > 0 then ${namedScore(named, key)}
                else ${partialNameScore(found, senses.length)} end as score
      from ${ENTRIES} where kind = ${sql.raw(`'${kind}'`)} and words @@ ${tsquery(some)}
       ${fixed ? sql`and words @@ ${tsquery(fixed)}` : sql``}
     order by score desc, strength desc, id limit ${limit})`
}

async function strongestGroups(db: Executor, limit: number): Promise<SearchGroups> {
  return {
    videos: await strongestEntries(db, 'videos', limit),
    frames: await strongestFrames(db, limit),
    brands: await strongestEntries(db, 'brands', limit),
    techniques: await strongestEntries(db, 'techniques', limit),
  }
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
  return hitsByPlace(rows.map(({ doc }) => doc))
}

/** Without words the order itself is the score. */
const hitsByPlace = <D>(documents: readonly D[]): Hit<D>[] =>
  documents.map((document, n) => ({ document, score: rounded(1 - n / documents.length), matched: {} }))

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
  return hitsByPlace(ids.flatMap((id) => documents.get(id) ?? []))
}

/** A video by its canonical source key, with its strongest frames. */
async function findBySource(db: Executor, sourceKey: string, limit: number): Promise<SearchGroups> {
  if (UNSTORABLE.test(sourceKey)) return nothing()
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
