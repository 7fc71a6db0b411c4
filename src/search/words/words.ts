import { z } from 'zod'
import { ATTRIBUTES, byName, COUNTED, DERIVED, isListed } from '../../vocabulary.ts'
import { COLOR_NAMES } from '../color.ts'
import de from './de.json' with { type: 'json' }
import en from './en.json' with { type: 'json' }
import es from './es.json' with { type: 'json' }
import fr from './fr.json' with { type: 'json' }
import it from './it.json' with { type: 'json' }
import ja from './ja.json' with { type: 'json' }
import ko from './ko.json' with { type: 'json' }
import nl from './nl.json' with { type: 'json' }
import pl from './pl.json' with { type: 'json' }
import pt from './pt.json' with { type: 'json' }
import zh from './zh.json' with { type: 'json' }

/** The words that questions are read by: a file for each language, all of this form. Phrases stand between commas. */

const phrases = z.string().transform((text) => text.split(',').map((phrase) => phrase.trim()))
const list = phrases.default([])

/** The attributes that words name. Techniques are the library's own. */
const VALUES: Record<string, readonly string[] | null> = {
  ...byName(COUNTED.filter(isListed), (name) => ATTRIBUTES[name].values),
  ...byName(DERIVED, (name) => ATTRIBUTES[name].values),
  color: COLOR_NAMES,
  technique: null,
}

/** What a phrase names: `attribute=value`. */
interface NamedPhrase {
  phrase: string
  named: string
}

/**
 * What values are called. A phrase with a function word ("on black") is met in full; any other is also met with
 * function words between ("talking to the camera" for "talking camera"). English plurals in -s need no entry. In the
 * other languages a `*` stands for an ending of at most two letters, and words that are common in English with another
 * meaning are left out: rot, hell, rose, main, wit, pour, van.
 */
const attributes = z.record(z.string(), z.record(z.string(), phrases)).transform((given, context): NamedPhrase[] =>
  Object.entries(given).flatMap(([attribute, called]) =>
    Object.entries(called).flatMap(([pattern, those]) => {
      const values = valuesOf(attribute, pattern)
      if (values.length === 0) context.addIssue(`${attribute}=${pattern} is no value`)
      return those.flatMap((phrase) => values.map((value) => ({ phrase, named: `${attribute}=${value}` })))
    }),
  ),
)

/** A `*` stands for any letters: `*-left` is the left of a zone, at every height. */
function valuesOf(attribute: string, pattern: string): readonly string[] {
  const values = VALUES[attribute]
  if (values === null) return [pattern]
  const [start = '', end] = pattern.split('*')
  const isMeant = (value: string) =>
    end === undefined ? value === start : value.startsWith(start) && value.endsWith(end)
  return values?.filter(isMeant) ?? []
}

const language = z.strictObject({
  attributes,
  /** They weigh nothing by themselves. Single letters but `l` and `d`, and most English words, are left out. */
  ignored: list,
  /** How people ask for pictures: these weigh nothing either. */
  requests: list,
  /** What leaves out that which follows it. Italian “non” is left out: English has it in non-profit. */
  without: list,
  /** Before a word of `without` it asks for nothing: everything except a terminal. */
  everything: list,
  /** What adds nothing behind a word that names an attribute: a macro shot, a dark background. */
  generic: list,
  /** The same where adjectives stand behind: fond bleu. */
  ground: list,
  /** Of scripts without spaces: what stands beside the words that name something. */
  particles: list,
  /**
   * Words of texts that mean the same. A question with one of them is also met by a text with another. Only what can be
   * exchanged in nearly every question stands here. A typo, another form of a word or a spelling that differs in a
   * letter (colour, color) needs no entry.
   */
  synonyms: z.array(phrases).default([]),
  /** Wider or rarer words. Texts meet them with narrower words, but not the other way round. */
  narrower: z.record(z.string(), phrases).default({}),
})

export const ENGLISH = language.parse(en)
export const OTHER_LANGUAGES = [de, fr, es, pt, it, nl, pl, ja, zh, ko].map((words) => language.parse(words))

type Lists = 'ignored' | 'requests' | 'without' | 'everything' | 'generic' | 'ground' | 'particles'
export const wordsOf = (kind: Lists): string[] => [ENGLISH, ...OTHER_LANGUAGES].flatMap((one) => one[kind])
