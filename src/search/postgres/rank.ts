import { type SQL, sql } from 'drizzle-orm'
import { NAMED } from '../score.ts'
import { isMet, type Sense } from '../text/senses.ts'
import { FRAMES } from './tables.ts'
import {
  anyOf,
  asTyped,
  inAttributes,
  inSynonyms,
  inTexts,
  mostlyLexeme,
  oneNamed,
  quoted,
  tsquery,
} from './tsquery.ts'

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
export function nearlyScoreOf(found: readonly Sense[], of: number): SQL {
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
export function partly(source: SQL, senses: readonly Sense[], of: number): SQL {
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

/** The score of a brand or technique that the query contains whole: the longer its name, the higher. */
export const namedScore = (letters: SQL, key: string): SQL =>
  sql`(${number(NAMED)} + 0.04 * ${letters} / length(${key}::text))::float8`
