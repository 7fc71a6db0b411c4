import { type SQL, sql } from '../../sql/orm.ts'
import { byName, COUNTED } from '../../vocabulary.ts'
import { cellsOf } from '../color.ts'
import {
  type BrandDocument,
  DOCUMENT_KINDS,
  type DocumentChanges,
  type DocumentKind,
  type FrameDocument,
  type LibraryDocuments,
  type TechniqueDocument,
  type VideoDocument,
} from '../library-search.ts'
import { searchedText } from '../text/match.ts'
import { mostlyValues, namedValues } from '../text/named-words.ts'
import { gluedWords, isCharacter, lexemesOf, nameKey, tokenize } from '../text/tokens.ts'
import { AT_SWAP, type Executor, FRAMES, LIVE, mostlyLexeme, namedLexeme, nameLexeme, rowsOf } from './tables.ts'

/** Documents per statement: about 7 MB of JSON. */
const CHUNK = 2_000
const WRITER_LOCK = 7_310_011

/**
 * Lets one transaction at a time write the read model, until it ends.
 * Take it before loading what is then written, so that an older state cannot overwrite a newer one.
 */
export async function lockReadModel(tx: Executor): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(${WRITER_LOCK})`)
}

/** Writes the documents that differ from the stored ones. The version rises only if there are any. */
export async function applyToReadModel(tx: Executor, changes: DocumentChanges, schema: string = LIVE): Promise<void> {
  const [row] = await rowsOf<{ version: string }>(
    tx,
    sql`select version + 1 as version from read_models where engine = 'postgres'`,
  )
  const { version } = row!
  const target = { tx, schema, version: schema === LIVE ? version : String(AT_SWAP) }
  let changed = false
  for (const kind of DOCUMENT_KINDS) {
    for (const ids of chunksOf(changes.remove[kind])) {
      if (await removeChunk(target, kind, ids)) changed = true
    }
    for (const documents of chunksOf<LibraryDocuments[DocumentKind]>(changes.put[kind])) {
      if (await putChunk(target, kind, documents)) changed = true
    }
  }
  if (changed && schema === LIVE)
    await tx.execute(sql`update read_models set version = ${version} where engine = 'postgres'`)
}

function* chunksOf<T>(list: readonly T[] = []): Iterable<T[]> {
  for (let from = 0; from < list.length; from += CHUNK) yield list.slice(from, from + CHUNK)
}

interface Target extends RowTarget {
  /** The version that the changed documents get. */
  version: string
}

/** Removes documents and their rows. A removed document stays as a tombstone: the replica copies that. */
async function removeChunk({ tx, schema, version }: Target, kind: DocumentKind, ids: string[]): Promise<boolean> {
  const from = sql.raw(schema)
  const rows: SQL =
    kind === 'frames'
      ? sql`delete from ${from}.frames where id = any(${sql.param(ids)}) returning id`
      : sql`delete from ${from}.entries where kind = ${kind} and id = any(${sql.param(ids)}) returning id`
  const gone = await rowsOf(
    tx,
    sql`with gone as (update ${from}.documents set doc = null, revision = '', version = ${version}
                       where kind = ${kind} and id = any(${sql.param(ids)}) and doc is not null returning id),
             rows as (${rows})
        select id from gone union select id from rows`,
  )
  return gone.length > 0
}

/** True when a document differs from the stored one. */
async function putChunk<K extends DocumentKind>(
  target: Target,
  kind: K,
  documents: LibraryDocuments[K][],
): Promise<boolean> {
  const { tx, schema, version } = target
  const into = sql.raw(schema)
  // The last document of an id wins: a statement cannot touch a row twice.
  const byId = new Map(documents.map((document) => [idOf(document), document]))
  const input = [...byId].map(([id, doc]) => ({ id, revision: doc.revision, doc }))
  // A document that the live generation has so keeps the version of that one.
  const versionOfEach =
    schema === LIVE
      ? sql`${version}`
      : sql`coalesce((select version from ${sql.raw(LIVE)}.documents l where l.kind = ${kind} and l.id = x.id
                       and l.revision = x.revision and l.doc::text = x.doc::text), ${version})`
  const rows = await rowsOf<{ id: string }>(
    tx,
    sql`
    insert into ${into}.documents as held (kind, id, revision, version, doc)
    select ${kind}, id, revision, ${versionOfEach}, doc
      from json_to_recordset(${JSON.stringify(input)}::json) as x(id text, revision text, doc json)
    on conflict (kind, id) do update set revision = excluded.revision, version = excluded.version, doc = excluded.doc
      where held.revision <> excluded.revision or held.doc::text is distinct from excluded.doc::text
         or ${schema !== LIVE} and held.version <> excluded.version
    returning id`,
  )
  if (rows.length === 0) return false
  const fresh = rows.map(({ id }) => byId.get(id)!)
  const words: WordsByScope = new Map()
  if (kind === 'frames') await putFrameRows(target, fresh as LibraryDocuments['frames'][], words)
  else await putEntryRows(target, kind, fresh as LibraryDocuments[Exclude<DocumentKind, 'frames'>][], words)
  for (const [scope, list] of words) {
    await tx.execute(
      sql`insert into ${into}.words (scope, word)
          select ${scope}, unnest(${sql.param([...list].sort())}::text[]) on conflict do nothing`,
    )
  }
  return true
}

const idOf = (document: LibraryDocuments[DocumentKind]): string => ('slug' in document ? document.slug : document.id)

/** Documents as searchable rows. */

/** Words of the library by scope: `frames`, `screen`, `videos`, `brands`, `techniques`. */
type WordsByScope = Map<string, Set<string>>

/** The fields that `q` reads, with their weight classes. On-screen text alone is C: its words are found by parts. */
const FRAME_FIELDS = [
  ['caption', 'A'],
  ['steal', 'B'],
  ['on_screen_text', 'C'],
  ['composition', 'D'],
] as const

const FRAME_COLUMNS: readonly (readonly [string, string])[] = [
  ['video_id', 'text'],
  ['t_ms', 'integer'],
  ['added_ms', 'bigint'],
  ...COUNTED.map((name) => [name, 'text'] as const),
  ['strength', 'double precision'],
  ['luma', 'real'],
  ['phash', 'text'],
  ['colors', 'smallint[]'],
  ['words', 'tsvector'],
  ['shot_ms', 'integer[]'],
  ['bits', 'text'],
]
const names = FRAME_COLUMNS.map(([column]) => column)
/** Bits travel as hexadecimal text. */
const AS_BITS: Record<string, string> = { phash: 'bit(64)', bits: 'varbit' }
const values = names.map((column) => (AS_BITS[column] ? `('x' || x.${column})::${AS_BITS[column]}` : `x.${column}`))

const FRAME_RECORD = sql.raw(['id text', ...FRAME_COLUMNS.map((column) => column.join(' '))].join(', '))
const NAMES = sql.raw(names.join(', '))
const VALUES = sql.raw(values.join(', '))
const HELD = sql.raw(names.map((column) => `f.${column}`).join(', '))
const REPLACED = sql.raw(names.map((column) => `${column} = excluded.${column}`).join(', '))

/** The searchable rows of a generation: its schema, and the transaction that writes it. */
interface RowTarget {
  tx: Executor
  schema: string
}

/** Writes the searchable rows of frames, and adds their words to `words`. */
async function putFrameRows(
  { tx, schema }: RowTarget,
  frames: readonly FrameDocument[],
  words: WordsByScope,
): Promise<void> {
  const rows = frames.map((frame) => frameRow(frame, words))
  await tx.execute(sql`
    insert into ${sql.raw(schema)}.frames as f (id, ${NAMES})
    select x.id, ${VALUES} from json_to_recordset(${JSON.stringify(rows)}::json) as x(${FRAME_RECORD})
    on conflict (id) do update set ${REPLACED}`)
}

/** Ids of the frames whose searchable row is missing or differs from their document. */
export async function findDamagedFrames(tx: Executor, frames: readonly FrameDocument[]): Promise<string[]> {
  const expected = frames.map((frame) => frameRow(frame, new Map()))
  const rows = await rowsOf<{ id: string }>(
    tx,
    sql`select x.id from json_to_recordset(${JSON.stringify(expected)}::json) as x(${FRAME_RECORD})
          left join ${FRAMES} f on f.id = x.id
         where f.id is null or (${HELD}) is distinct from (${VALUES})`,
  )
  return rows.map(({ id }) => id)
}

/** Writes the searchable rows of videos, brands or techniques, and adds their words to `words`. */
async function putEntryRows(
  { tx, schema }: RowTarget,
  kind: 'videos' | 'brands' | 'techniques',
  documents: readonly (VideoDocument | BrandDocument | TechniqueDocument)[],
  words: WordsByScope,
): Promise<void> {
  const rows = documents.map((document) => entryRow(document, words))
  await tx.execute(sql`
    insert into ${sql.raw(schema)}.entries as e
      (kind, id, name, strength, added_ms, author, platform, source_key, words)
    select ${kind}, id, name, strength, added_ms, author, platform, source_key, words
      from json_to_recordset(${JSON.stringify(rows)}::json) as x(
        id text, name text, strength double precision, added_ms bigint, author text, platform text, source_key text,
        words tsvector)
    on conflict (kind, id) do update set
      name = excluded.name, strength = excluded.strength, added_ms = excluded.added_ms, author = excluded.author,
      platform = excluded.platform, source_key = excluded.source_key, words = excluded.words`)
}

export function frameRow(frame: FrameDocument, words: WordsByScope) {
  const vector = new VectorWriter()
  for (const [field, weight] of FRAME_FIELDS) {
    const found = vector.add(searchedText(frame, field), weight)
    note(words, 'frames', found)
    if (weight === 'C') note(words, 'screen', found)
  }
  for (const text of [frame.author, frame.video.title]) {
    const found = vector.add(text ?? '', 'D', nameLexeme)
    note(words, 'frames', found)
    note(words, 'names', found)
  }
  note(words, 'named', vector.name(namedValues(frame)))
  vector.name(mostlyValues(frame), mostlyLexeme)
  return {
    id: frame.id,
    video_id: frame.video_id,
    t_ms: frame.t_ms,
    added_ms: frame.added_ms,
    ...byName(COUNTED, (name) => frame[name]),
    strength: frame.strength,
    luma: frame.luma,
    phash: frame.phash,
    colors: cellsOf(frame.palette, frame.palette_shares),
    words: vector.toString(),
    shot_ms: frame.shot_sec?.map((sec) => Math.round(sec * 1000)) ?? null,
    bits: frame.bits ?? null,
  }
}

function entryRow(document: VideoDocument | BrandDocument | TechniqueDocument, words: WordsByScope) {
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

function note(words: WordsByScope, scope: string, found: readonly string[]): void {
  const held = words.get(scope) ?? new Set()
  for (const word of found) held.add(word)
  words.set(scope, held)
}

/** Builds a tsvector from our own words. PostgreSQL's parser would cut hyphens, addresses and paths its own way. */
class VectorWriter {
  readonly #places = new Map<string, string[]>()
  #at = 0

  /** Returns the words of several letters: those may be mistyped or found by a part. */
  add(text: string, weight: 'A' | 'B' | 'C' | 'D', toLexeme = (word: string): string => word): string[] {
    const tokens = tokenize(text)
    const words = tokens.map((token) => token.word)
    const glued = gluedWords(text, tokens)
    for (const [at, lexeme] of lexemesOf(words).entries()) this.#put(toLexeme(lexeme), this.#at + at + 1, weight)
    for (const { word, at } of glued) this.#put(toLexeme(word), this.#at + at + 1, weight)
    // A gap keeps phrases from reaching into the next field.
    this.#at += words.length + 20
    return [...words.filter((word) => !isCharacter(word)), ...glued.map(({ word }) => word)]
  }

  #put(lexeme: string, at: number, weight: string): void {
    const places = this.#places.get(lexeme)
    // PostgreSQL keeps 256 places of a word and counts to 16,383.
    if (!places) this.#places.set(lexeme, [`${Math.min(at, 16_383)}${weight}`])
    else if (places.length < 255) places.push(`${Math.min(at, 16_383)}${weight}`)
  }

  /** What is no word of a text and stands nowhere in one. */
  name(values: readonly string[], toLexeme = namedLexeme): readonly string[] {
    for (const value of values) this.#places.set(toLexeme(value), [])
    return values
  }

  toString(): string {
    const placed = [...this.#places].map(([lexeme, places]) =>
      places.length > 0 ? `'${lexeme}':${places.join(',')}` : `'${lexeme}'`,
    )
    return placed.join(' ')
  }
}
