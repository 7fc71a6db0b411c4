import { randomUUID } from 'node:crypto'
import { type SQL, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import type pg from 'pg'
import { cellsOf } from '../color.ts'
import type {
  BrandDocument,
  DocumentChanges,
  DocumentKind,
  DocumentSink,
  FrameDocument,
  LibraryDocuments,
  TechniqueDocument,
  VideoDocument,
} from '../library-search.ts'
import { isCharacter, lexemesOf, tokenize, WORDS_VERSION } from '../text/tokens.ts'

/** Anything that runs SQL: a pool or a transaction. */
export interface Executor {
  execute(query: SQL): PromiseLike<{ rows: unknown[] }>
}

export async function rowsOf<T>(db: Executor, query: SQL): Promise<T[]> {
  return (await db.execute(query)).rows as T[]
}

export const LIVE = 'library_search'
const NEXT = 'library_search_next'
const OLD = 'library_search_old'
const KINDS: readonly DocumentKind[] = ['frames', 'videos', 'brands', 'techniques']
/** Documents per statement: about 7 MB of JSON. */
const CHUNK = 2_000
/** One writer of the read model at a time: what is loaded under this lock cannot be overtaken by an older state. */
const WRITER_LOCK = 7_310_011

export const idOf = <K extends DocumentKind>(kind: K, document: LibraryDocuments[K]): string =>
  kind === 'techniques' ? (document as LibraryDocuments['techniques']).slug : (document as { id: string }).id

/** Held until the transaction ends. Take it before loading what is then written. */
export async function lockReadModel(tx: Executor): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(${WRITER_LOCK})`)
}

/** True when something changed. Documents that are held already are not written again, and then the version stays what it was. */
export async function applyToReadModel(
  tx: Executor,
  changes: DocumentChanges,
  schema: string = LIVE,
): Promise<boolean> {
  const rows = await rowsOf<{ version: string }>(
    tx,
    sql`select version + 1 as version from read_models where engine = 'postgres'`,
  )
  const version = rows[0]!.version
  let changed = false
  for (const kind of KINDS) {
    const remove = changes.remove[kind] ?? []
    for (let from = 0; from < remove.length; from += CHUNK) {
      const ids = remove.slice(from, from + CHUNK)
      const gone = await rowsOf(
        tx,
        sql`with gone as (update ${sql.raw(schema)}.documents set doc = null, revision = '', version = ${version}
                           where kind = ${kind} and id = any(${sql.param(ids)}) and doc is not null returning id),
                 rows as (${
                   kind === 'frames'
                     ? sql`delete from ${sql.raw(schema)}.frames where id = any(${sql.param(ids)}) returning id`
                     : sql`delete from ${sql.raw(schema)}.entries where kind = ${kind} and id = any(${sql.param(ids)}) returning id`
                 })
            select id from gone union select id from rows`,
      )
      if (gone.length > 0) changed = true
    }
    const put = changes.put[kind] ?? []
    for (let from = 0; from < put.length; from += CHUNK) {
      if (await putChunk(tx, schema, kind, put.slice(from, from + CHUNK), version)) changed = true
    }
  }
  if (schema === LIVE) {
    await tx.execute(
      changed
        ? sql`update read_models set version = ${version}, applied_at = now() where engine = 'postgres'`
        : sql`update read_models set applied_at = now() where engine = 'postgres'`,
    )
  }
  return changed
}

async function putChunk<K extends DocumentKind>(
  tx: Executor,
  schema: string,
  kind: K,
  documents: LibraryDocuments[K][],
  version: string,
): Promise<boolean> {
  const into = sql.raw(schema)
  // The last of several with one id counts: a statement cannot touch a row twice.
  const byId = new Map(documents.map((document) => [idOf(kind, document), document]))
  const input = [...byId].map(([id, doc]) => ({ id, revision: doc.revision, doc }))
  const rows = await rowsOf<{ id: string }>(
    tx,
    sql`
    insert into ${into}.documents as held (kind, id, revision, version, doc)
    select ${kind}, id, revision, ${version}, doc from json_to_recordset(${JSON.stringify(input)}::json) as x(id text, revision text, doc json)
    on conflict (kind, id) do update set revision = excluded.revision, version = excluded.version, doc = excluded.doc
      where held.revision <> excluded.revision or held.doc::text is distinct from excluded.doc::text
    returning id`,
  )
  if (rows.length === 0) return false
  const fresh = rows.map(({ id }) => byId.get(id)!)
  const words = new Map<string, Set<string>>()
  if (kind === 'frames') {
    const lines = (fresh as FrameDocument[]).map((frame) => frameRow(frame, words))
    await tx.execute(sql`
      insert into ${into}.frames as f
        (id, video_id, t_ms, added_ms, subject, surface, shot, technique, zone, tone, kind, author, platform, strength, luma, phash, colors, words)
      select id, video_id, t_ms, added_ms, subject, surface, shot, technique, zone, tone, kind, author, platform, strength, luma,
             ('x' || phash)::bit(64), colors, words
        from json_to_recordset(${JSON.stringify(lines)}::json) as x(${FRAME_RECORD})
      on conflict (id) do update set
        video_id = excluded.video_id, t_ms = excluded.t_ms, added_ms = excluded.added_ms, subject = excluded.subject, surface = excluded.surface,
        shot = excluded.shot, technique = excluded.technique, zone = excluded.zone, tone = excluded.tone, kind = excluded.kind, author = excluded.author,
        platform = excluded.platform, strength = excluded.strength, luma = excluded.luma, phash = excluded.phash, colors = excluded.colors,
        words = excluded.words`)
  } else {
    const lines = fresh.map((document) =>
      entryRow(document as VideoDocument | BrandDocument | TechniqueDocument, words),
    )
    await tx.execute(sql`
      insert into ${into}.entries as e (kind, id, name, strength, added_ms, author, platform, source_key, words)
      select ${kind}, id, name, strength, added_ms, author, platform, source_key, words
        from json_to_recordset(${JSON.stringify(lines)}::json) as x(
          id text, name text, strength double precision, added_ms bigint, author text, platform text, source_key text, words tsvector)
      on conflict (kind, id) do update set
        name = excluded.name, strength = excluded.strength, added_ms = excluded.added_ms, author = excluded.author, platform = excluded.platform,
        source_key = excluded.source_key, words = excluded.words`)
  }
  for (const [scope, list] of words) {
    await tx.execute(
      sql`insert into ${into}.words (scope, word) select ${scope}, unnest(${sql.param([...list].sort())}::text[]) on conflict do nothing`,
    )
  }
  return true
}

/** The fields `q` reads, each with its weight class; on-screen text alone is C, which is how parts of its words are told apart. */
const FRAME_FIELDS = [
  ['caption', 'A'],
  ['steal', 'B'],
  ['on_screen_text', 'C'],
  ['composition', 'D'],
] as const

const FRAME_RECORD =
  sql.raw(`id text, video_id text, t_ms integer, added_ms bigint, subject text, surface text, shot text, technique text, zone text,
  tone text, kind text, author text, platform text, strength double precision, luma real, phash text, colors smallint[], words tsvector`)
const FRAME_COLUMNS = [
  ...[
    'video_id',
    't_ms',
    'added_ms',
    'subject',
    'surface',
    'shot',
    'technique',
    'zone',
    'tone',
    'kind',
    'author',
    'platform',
    'strength',
    'luma',
  ],
  ...['phash', 'colors', 'words'],
]

/** Ids of those frames whose searchable row is missing or says something else than their document. */
export async function findDamagedFrames(tx: Executor, frames: readonly FrameDocument[]): Promise<string[]> {
  const rows = await rowsOf<{ id: string }>(
    tx,
    sql`select x.id
          from json_to_recordset(${JSON.stringify(frames.map((frame) => frameRow(frame, new Map())))}::json) as x(${FRAME_RECORD})
          left join ${sql.raw(LIVE)}.frames f on f.id = x.id
         where f.id is null or (${sql.raw(FRAME_COLUMNS.map((column) => `f.${column}`).join(', '))})
               is distinct from (${sql.raw(FRAME_COLUMNS.map((column) => (column === 'phash' ? `('x' || x.phash)::bit(64)` : `x.${column}`)).join(', '))})`,
  )
  return rows.map(({ id }) => id)
}

function frameRow(frame: FrameDocument, words: Map<string, Set<string>>) {
  const vector = new VectorWriter()
  for (const [field, weight] of FRAME_FIELDS) {
    const found = vector.add(frame[field] ?? '', weight)
    note(words, 'frames', found)
    if (weight === 'C') note(words, 'screen', found)
  }
  return {
    id: frame.id,
    video_id: frame.video_id,
    t_ms: frame.t_ms,
    added_ms: frame.added_ms,
    subject: frame.subject,
    surface: frame.surface,
    shot: frame.shot,
    technique: frame.technique,
    zone: frame.zone,
    tone: frame.tone,
    kind: frame.kind,
    author: frame.author,
    platform: frame.platform,
    strength: frame.strength,
    luma: frame.luma,
    phash: frame.phash,
    colors: cellsOf(frame.palette, frame.palette_shares),
    words: vector.toString(),
  }
}

function entryRow(document: VideoDocument | BrandDocument | TechniqueDocument, words: Map<string, Set<string>>) {
  const vector = new VectorWriter()
  if ('title' in document) {
    note(words, 'videos', vector.add(document.title, 'A'))
    return {
      id: document.id,
      name: nameKey(document.title),
      strength: document.strength,
      added_ms: document.added_ms,
      author: document.author,
      platform: document.platform,
      source_key: document.source_key,
      words: vector.toString(),
    }
  }
  const rest = { strength: document.strength, added_ms: 0, author: null, platform: null, source_key: null }
  if ('slug' in document) {
    note(words, 'techniques', vector.add(document.slug, 'A'))
    for (const text of [document.name, ...document.aliases]) note(words, 'techniques', vector.add(text, 'B'))
    return { id: document.slug, name: nameKey(document.name), ...rest, words: vector.toString() }
  }
  note(words, 'brands', vector.add(document.name, 'A'))
  return { id: document.id, name: nameKey(document.name), ...rest, words: vector.toString() }
}

/** A name as exact matches and the order of names see it. */
export function nameKey(name: string): string {
  return tokenize(name)
    .map((token) => token.word)
    .join(' ')
}

function note(words: Map<string, Set<string>>, scope: string, found: readonly string[]): void {
  const held = words.get(scope) ?? new Set()
  for (const word of found) held.add(word)
  words.set(scope, held)
}

/** Builds a tsvector from our own words, so that PostgreSQL's parser, which reads hyphens, addresses and paths its own way, has no part in it. */
class VectorWriter {
  readonly #places = new Map<string, string[]>()
  #at = 0

  /** Gives the words that may be mistyped or told by a part: those of several letters. */
  add(text: string, weight: 'A' | 'B' | 'C' | 'D'): string[] {
    const words = tokenize(text).map((token) => token.word)
    for (const lexeme of lexemesOf(words)) {
      this.#at++
      const places = this.#places.get(lexeme)
      // PostgreSQL keeps 256 places of a word and counts to 16,383.
      if (!places) this.#places.set(lexeme, [`${Math.min(this.#at, 16_383)}${weight}`])
      else if (places.length < 255) places.push(`${Math.min(this.#at, 16_383)}${weight}`)
    }
    // A gap, so that no phrase reaches from one field into the next.
    this.#at += 20
    return words.filter((word) => !isCharacter(word))
  }

  toString(): string {
    return [...this.#places].map(([lexeme, places]) => `'${lexeme}':${places.join(',')}`).join(' ')
  }
}

export function openPostgresSink(pool: pg.Pool): DocumentSink {
  const db = drizzle(pool)
  return {
    engine: 'postgres',
    async apply(changes) {
      await db.transaction(async (tx) => {
        await lockReadModel(tx)
        await applyToReadModel(tx, changes)
      })
    },
    revisions: (kind) => readRevisions(db, kind),
    async beginRebuild() {
      await db.transaction(async (tx) => {
        await lockReadModel(tx)
        await beginGeneration(tx)
      })
      return {
        apply: (changes) => db.transaction(async (tx) => void (await applyToReadModel(tx, changes, NEXT))),
        async swap() {
          await indexGeneration(db)
          await db.transaction(async (tx) => {
            await lockReadModel(tx)
            await swapGeneration(tx)
          })
          await dropOldGeneration(db)
        },
        abandon: () => abandonGeneration(db),
      }
    },
  }
}

export async function* readRevisions(
  db: Executor,
  kind: DocumentKind,
): AsyncIterable<{ id: string; revision: string }[]> {
  let after = ''
  for (;;) {
    const rows = await rowsOf<{ id: string; revision: string }>(
      db,
      sql`select id, revision from ${sql.raw(LIVE)}.documents where kind = ${kind} and id > ${after} and doc is not null order by id limit 5000`,
    )
    if (rows.length === 0) return
    yield rows
    after = rows.at(-1)!.id
  }
}

/** The steps of a rebuild, for those who must do more in the same transaction. */
export const nextGeneration = NEXT

export async function beginGeneration(tx: Executor): Promise<void> {
  await tx.execute(sql`drop schema if exists ${sql.raw(NEXT)} cascade`)
  await tx.execute(sql`select create_read_model(${NEXT})`)
}

export async function indexGeneration(db: Executor): Promise<void> {
  await db.execute(sql`select index_read_model(${NEXT})`)
  for (const table of ['documents', 'frames', 'entries', 'words']) await db.execute(sql.raw(`analyze ${NEXT}.${table}`))
}

/** Whether the words of the live generation were cut otherwise than this version cuts them. An empty one is as good as new. */
export async function hasOldWords(tx: Executor): Promise<boolean> {
  await tx.execute(sql`
    update read_models set words = ${WORDS_VERSION}
     where engine = 'postgres' and words <> ${WORDS_VERSION} and not exists (select from ${sql.raw(LIVE)}.documents)`)
  const [row] = await rowsOf<{ old: boolean }>(
    tx,
    sql`select words <> ${WORDS_VERSION} as old from read_models where engine = 'postgres'`,
  )
  return row!.old
}

/** Readers of the old generation finish on it; `dropOldGeneration` follows once this is committed. */
export async function swapGeneration(tx: Executor): Promise<void> {
  await tx.execute(sql`drop schema if exists ${sql.raw(OLD)} cascade`)
  await tx.execute(sql`alter schema ${sql.raw(LIVE)} rename to ${sql.raw(OLD)}`)
  await tx.execute(sql`alter schema ${sql.raw(NEXT)} rename to ${sql.raw(LIVE)}`)
  await tx.execute(
    sql`update read_models set version = version + 1, generation = ${randomUUID()}::uuid, applied_at = now(), words = ${WORDS_VERSION}
         where engine = 'postgres'`,
  )
}

/** Table by table, each in its own transaction: dropping them together could deadlock with a reader that holds one and asks for another. */
export async function dropOldGeneration(db: Executor): Promise<void> {
  for (const table of ['frames', 'entries', 'words', 'documents'])
    await db.execute(sql`drop table if exists ${sql.raw(`${OLD}.${table}`)}`)
  await db.execute(sql`drop schema if exists ${sql.raw(OLD)} cascade`)
}

export async function abandonGeneration(db: Executor): Promise<void> {
  await db.execute(sql`drop schema if exists ${sql.raw(NEXT)} cascade`)
}
