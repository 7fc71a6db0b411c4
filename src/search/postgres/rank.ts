import { type SQL, sql } from '../../sql/orm.ts'
import type { FrameFilters } from '../library-search.ts'
import { type Concept, decisive, isMet, type Sense } from '../text/senses.ts'
import {
  anyOf,
  anyOfSome,
  asTyped,
  atLeast,
  type Executor,
  FRAMES,
  fixedOf,
  inAttributes,
  inSynonyms,
  inTexts,
  mostlyLexeme,
  oneNamed,
  quoted,
  rowsOf,
  tsquery,
  whereOf,
} from './tables.ts'
import { framesWith, type TermStats } from './words.ts'

/** The second step of a question: which frames meet how many of its words, and how they are ranked. */

/** Total orders. `newest` is the video's arrival, then its time order. */
export const ORDERS = {
  newest: 'added_ms desc, video_id, t_ms',
  strength: 'strength desc, id',
  relevance: 'score desc, strength desc, id',
} as const
export const BY_STRENGTH = sql.raw(ORDERS.strength)

const COLUMNS = sql.raw('id, strength, added_ms, video_id, t_ms, luma, phash, words')

/** Frames that meet a condition; `most`: only the strongest of them, where there are too many to rank. */
export function ranked(where: SQL, most: number | undefined): SQL {
  if (most === undefined) return sql`(select ${COLUMNS} from ${FRAMES} where ${where}) matches`
  return sql`(select ${COLUMNS} from ${FRAMES} where ${where} order by ${BY_STRENGTH} limit ${most}) strongest`
}

// The figures below were set by hand. `bench -- relevance` holds them to judged questions.

/** Weights of the classes D to A: composition, on-screen text, steal, caption. */
const WEIGHTS = sql.raw(`'{0.3, 0.6, 0.7, 1}'::float4[]`)

const has = (query: string): SQL => sql`(words @@ ${tsquery(query)})`
const number = (value: number): SQL => sql.raw(String(value))
const plus = sql` + `

/** How much a frame is worth that has it as a word, an attribute too, an attribute alone, a synonym, or by a guess. */
const WORTH = { word: 0.85, both: 1, attribute: 0.55, synonym: 0.3, guess: 0.15 } as const
/**
 * More for a frame that has more of the attributes that a word names: a headline is a text card and a title card. And
 * for one of which a colour fills much.
 */
const MORE = 0.1

/** The worth of a frame that meets this: a higher kind of match is worth more, whatever the frame's texts are. */
function worthOf(sense: Sense): SQL {
  const [text, attribute, synonym] = [inTexts(sense), inAttributes(sense), inSynonyms(sense)]
  const cases: SQL[] = []
  if (text && attribute)
    cases.push(sql`when ${has(text)}
      then case when ${has(attribute)} then ${number(WORTH.both)} else ${number(WORTH.word)} end`)
  else if (text) cases.push(sql`when ${has(text)} then ${number(WORTH.word)}`)
  if (attribute) cases.push(sql`when ${has(attribute)} then ${number(WORTH.attribute)}${moreOf(sense)}`)
  if (synonym) cases.push(sql`when ${has(synonym)} then ${number(WORTH.synonym)}`)
  // A row that is ranked meets the sense, so that one way alone needs no case.
  if (cases.length === 1 && attribute) return sql`(${number(WORTH.attribute)}${moreOf(sense)})`
  if (cases.length === 1) return number(text ? WORTH.word : WORTH.synonym)
  return cases.length > 0 ? sql`case ${sql.join(cases, sql` `)} else 0 end` : number(WORTH.guess)
}

function moreOf({ named }: Sense): SQL {
  if (named.length > 0 && named.every((one) => one.startsWith('color=')))
    return sql` + ${number(MORE)} * (words @@ ${oneNamed(named, mostlyLexeme)})::int`
  const attributes = [...Map.groupBy(named, (one) => one.slice(0, one.indexOf('='))).values()]
  if (attributes.length < 2) return sql``
  const each = attributes.map((values) => sql`(words @@ ${oneNamed(values)})::int`)
  return sql` + ${number(MORE / attributes.length)} * (${sql.join(each, plus)})`
}

/** 0–1: higher where the words are in the caption, or close together. */
function textRankOf(senses: readonly Sense[], by: ' & ' | ' | '): SQL {
  const texts = senses.flatMap(
    (sense) => inTexts(sense) ?? inSynonyms(sense) ?? (isMet(sense) ? [] : anyOf(sense)) ?? [],
  )
  return texts.length > 0 ? sql`least(1, ts_rank(${WEIGHTS}, words, ${tsquery(texts.join(by))}))` : sql`0`
}

function typedOf(senses: readonly Sense[]): SQL {
  const typed = senses.filter((sense) => inTexts(sense) !== undefined).map((sense) => asTyped(sense)!)
  return typed.length > 0 ? sql`${has(typed.join(' & '))}::int` : sql`0`
}

/**
 * For rows with every word: 0.5–1. The kinds of match decide, then what the texts are like: its part is smaller than
 * the least difference of two kinds.
 */
export function scoreOf(senses: readonly Sense[]): SQL {
  if (senses.length === 0) return sql`0.5::float8`
  const worth = sql.join(senses.map(worthOf), plus)
  const tie = sql`0.07 * ${textRankOf(senses, ' & ')} + 0.03 * ${typedOf(senses)}`
  return sql`(0.5 + (0.4 * (${worth}) + ${tie}) / ${number(senses.length)})::float8`
}

/** For rows with every word that the library has, where it lacks others or has them as guesses only: below 0.5. */
function nearlyScoreOf(found: readonly Sense[], of: number): SQL {
  const met = found.reduce((sum, sense) => sum + countOf(sense), 0)
  const worth = sql.join(found.map(worthOf), plus)
  return sql`((${number(met)} + 0.4 * (${worth}) / ${number(found.length)}
    + 0.02 * ${textRankOf(found, ' & ')}) * ${number(SOME / (of + 0.5))})::float8`
}

/** Frames that lack a word score less than this. */
const SOME = 0.49

/** A guess counts half as much as a word, attribute or synonym. */
const countOf = (sense: Sense): number => (isMet(sense) ? 1 : 0.5)

/**
 * Frames with some of the words, with a score below 0.5: by the number of words met, then by how few of these frames
 * have them and by the kinds of match, then by their texts. `of`: the words of the question.
 */
function partly(source: SQL, senses: readonly Sense[], of: number): SQL {
  const flags = senses.map((sense, n) => sql`${has(anyOf(sense)!)}::int as ${sql.raw(`m${n}`)}`)
  // The fewer of these frames have a word, the higher its weight.
  const weights = senses.map((_, n) =>
    sql.raw(`ln(1 + count(*)::float8 / greatest(1, sum(m${n}))) as w${n}, min(m${n}) as held${n}`),
  )
  const met = sql.join(
    senses.map((sense, n) => {
      const part = wordsOfPhrase(sense)
      const some = part ? sql` + 0.4 * (1 - ${sql.raw(`m${n}`)}) * ${part}` : sql``
      return sql`${number(countOf(sense))} * ${sql.raw(`m${n}`)}${some}`
    }),
    plus,
  )
  const told = sql.join(
    senses.map((sense, n) => sql`${sql.raw(`m${n} * w${n}`)} * (0.8 + 0.2 * ${worthOf(sense)})`),
    plus,
  )
  const total = sql.raw(senses.map((_, n) => `w${n}`).join(' + '))
  const score = sql`(${met} + 0.4 * (${told}) / (${total}) + 0.02 * ${textRankOf(senses, ' | ')})
    * ${number(SOME / (of + 0.5))}`
  const held = sql.raw(senses.map((_, n) => `held${n} = 1`).join(', '))
  return sql`(
    with found as materialized (select *, ${sql.join(flags, sql`, `)} from ${source}),
    weights as (select ${sql.join(weights, sql`, `)} from found)
    select found.*, (${score})::float8 as score, array[${held}] as held from found, weights) partly`
}

/** The share of the words of a phrase that a row has. */
function wordsOfPhrase({ each, forms }: Sense): SQL | undefined {
  if (!each) return undefined
  const some = forms.filter((list) => list.length > 0)
  if (some.length === 0) return undefined
  const met = some.map((list) => sql`${has(list.map(quoted).join(' | '))}::int`)
  return sql`(${sql.join(met, plus)}) / ${number(forms.length)}.0`
}

/** For names with some of the words: below 0.5, by how many. */
export function partialNameScore(senses: readonly Sense[], of: number): SQL {
  const met = senses.map((sense) => sql`${has(anyOf(sense)!)}::int`)
  return sql`(0.45 * (${sql.join(met, plus)}) / ${number(of)}
    + 0.04 * ${textRankOf(senses, ' | ')})::float8`
}

/** The query contains the whole name and more. It beats documents that only have some of the words. */
const NAMED = 0.45

/** The score of a brand or technique that the query contains whole: the longer its name, the higher. */
export const namedScore = (letters: SQL, key: string): SQL =>
  sql`(${number(NAMED)} + 0.04 * ${letters} / length(${key}::text))::float8`

export interface Asked {
  filters: FrameFilters
  senses: readonly Sense[]
  /** Of these, those that the library may have. */
  found: readonly Sense[]
  excluded: readonly Concept[]
  common: TermStats
}

/** Frames that meet as many words of a question, and how they are ranked. */
export interface MatchSet {
  /** How many words each of them meets. */
  level: number
  /** The words that it chooses among, in the order of `held`. */
  found: readonly Sense[]
  /** Whether each of them has every word as a word, an attribute or a synonym. */
  isFull: boolean
  /** What their texts and attributes have; undefined without words. */
  words: SQL | undefined
  where: SQL
  /** The rows of a source with their `score`; and with `held`, where not all meet the same words. */
  scored(source: SQL): SQL
  /** The matches may be too many to rank all of them. */
  isLarge: boolean
  /** The index of words finds all matches sooner than a walk by strength finds the strongest. */
  isByIndex: boolean
}

/** Words that choices are made among. The least selective of more are dropped. */
const MAX_CHOSEN = 6
/** A frame of a word beyond this says no more about it. */
const MAX_COUNTED = 10_000
/** Of partial matches no more than the strongest of so many are ranked. */
export const FEW_RANKED = 4_000
/** Where the matches are too many, the strongest of them are ranked first, then the next ones: a total order too. */
export const TIER = 4_800

/** The frames that meet every word that the library has. */
export function wholeSet({ filters, senses, found, excluded, common }: Asked): MatchSet {
  const isFull = senses.every(isMet)
  const score = isFull ? scoreOf(senses) : nearlyScoreOf(found, senses.length)
  const expected = expectedWith(found, common)
  const words = tsquery(atLeast({ senses: found, excluded }, found.length)!)
  return {
    level: found.length,
    found,
    isFull,
    words,
    where: whereOf(filters, words),
    scored: (source) => sql`(select *, ${score} as score, null::bool[] as held from ${source}) scored`,
    isLarge: areManyWithAll(found, common),
    // A walk by strength looks at `TIER` ÷ share frames. Each costs about 2.5 times as much as a match that the index
    // of words finds: 4 µs and 1.6 µs at 100,000 frames.
    isByIndex: expected ** 2 < 2.5 * TIER * common.frames,
  }
}

/** The frames that meet so many words. What is in quotes is never dropped. */
export function setWith({ filters, senses, found, excluded, common }: Asked, level: number): MatchSet {
  const words = tsquery(atLeast({ senses: found, excluded }, level)!)
  return partialSet(
    { senses, found },
    { level, words, where: whereOf(filters, words), isLarge: areManyWith(found, level, common) },
  )
}

/** Frames with some of the words. */
function partialSet(
  { senses, found }: Pick<Asked, 'senses' | 'found'>,
  set: Pick<MatchSet, 'level' | 'words' | 'where' | 'isLarge'>,
): MatchSet {
  const scored = (source: SQL) => partly(source, found, senses.length)
  return { ...set, found, isFull: false, scored, isByIndex: false }
}

/** The same question with choices made among few concepts: those that the fewest frames meet. */
export async function mostSelective(reads: Executor, asked: Asked): Promise<Asked> {
  const free = asked.found.filter((sense) => !sense.quoted)
  if (free.length <= MAX_CHOSEN) return asked
  const counts = free.map((sense) => {
    const where = whereOf(asked.filters, tsquery(anyOf(sense)!))
    return sql`(select count(*)::int from (select from ${FRAMES} where ${where} limit ${MAX_COUNTED}) counted)`
  })
  const [row] = await rowsOf<{ counts: number[] }>(reads, sql`select array[${sql.join(counts, sql`, `)}] as counts`)
  const countOf = (sense: Sense) => row!.counts[free.indexOf(sense)]!
  const selective = free.filter((sense) => countOf(sense) > 0).sort((a, b) => countOf(a) - countOf(b))
  const chosen = new Set(selective.slice(0, MAX_CHOSEN))
  return { ...asked, found: asked.found.filter((sense) => sense.quoted || chosen.has(sense)) }
}

/** What follows a set in a short list, the best first: each holds no frame of those before. */
export function setsBelow({ filters, senses, found: all, excluded, common }: Asked, above: MatchSet): MatchSet[] {
  const found = decisive(all)
  // The set above may ask for a guess beside every word that is met.
  const isWithGuess = above.found.some((sense) => !found.includes(sense))
  const level = isWithGuess ? found.length : above.level - 1
  const fixed = fixedOf({ senses: found, excluded })
  const fixedLevel = found.filter((sense) => sense.quoted).length
  const sets: MatchSet[] = []
  let before = [above.where]
  const add = (query: string | undefined, level: number, isLarge: boolean) => {
    if (query === undefined) return
    const words = tsquery(fixed === undefined ? query : `${fixed} & ${query}`)
    const some = whereOf(filters, words)
    const where = sql`${some} and not (${sql.join(before, sql` or `)})`
    before = [...before, some]
    sets.push(partialSet({ senses, found }, { level, words, where, isLarge }))
  }
  const free = found.filter((sense) => !sense.quoted)
  const least = level - fixedLevel
  if (least > 1 && free.length <= MAX_CHOSEN)
    add(atLeast({ senses: free, excluded: [] }, least), level, areManyWith(free, least, common))
  if (free.length > (isWithGuess ? 0 : 1)) {
    // Frames that have only a very frequent word of the question come last.
    const rare = free.filter((sense) => !areManyWithAll([sense], common))
    if (rare.length < free.length && rare.length > 0) add(anyOfSome(rare), 1, areManyWith(rare, 1, common))
    add(anyOfSome(free), 1, areManyWith(free, 1, common))
  }
  return sets
}

/** Frames that meet all of these, if words stood together by chance. */
const expectedWith = (senses: readonly Sense[], common: TermStats): number =>
  senses.reduce((left, sense) => (left * framesWith(sense, common)) / Math.max(1, common.frames), common.frames)

/**
 * Whether the frames that meet all of these may be too many to rank. They are estimated as the geometric mean of two
 * numbers: of frames if words stood together by chance, and of frames with the rarest word. Choosing the strongest
 * takes as long as ranking all of 25,000 frames: both read each frame once.
 */
function areManyWithAll(senses: readonly Sense[], common: TermStats): boolean {
  if (senses.length === 0) return true
  const rarest = Math.min(...senses.map((sense) => framesWith(sense, common)))
  return Math.sqrt(rarest * expectedWith(senses, common)) > 2 * common.many
}

/** Whether the frames that meet `least` of these may be too many: each has one that is not of the commonest. */
function areManyWith(senses: readonly Sense[], least: number, common: TermStats): boolean {
  const counts = senses.map((sense) => framesWith(sense, common)).sort((a, b) => a - b)
  return counts.slice(0, counts.length - least + 1).reduce((sum, n) => sum + n, 0) > common.many
}
