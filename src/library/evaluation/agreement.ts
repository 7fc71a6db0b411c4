import type { FrameAnnotation } from '../../vision/annotator.ts'
import { ANNOTATED, type AnnotatedAttribute } from '../../vocabulary.ts'
import { wilson } from './interval.ts'

/** Attributes with free text. Their values are compared by words. */
const TEXTS: ReadonlySet<AnnotatedAttribute> = new Set(['caption', 'composition', 'steal', 'on_screen_text'])

/** The known values of a frame: per attribute all values that count as right. */
export type Truth = Partial<Record<AnnotatedAttribute, readonly string[]>>

/** How far a model's answers agree with the known values of the same frames. */
export interface Agreement {
  /** Frames with a known value. */
  compared: number
  /** Compared frames for which the model gave a value. */
  answered: number
  /**
   * Sum over the answered frames. A right value of a closed list counts 1, a text the share of common words (F1 of word
   * sets).
   */
  agreed: number
  /** `agreed` ÷ `answered`; null without an answer. */
  agreement: number | null
  /** Where the agreement of all such frames lies with 95 % confidence; null without an answer. */
  interval: [low: number, high: number] | null
}

/** Agreement of one value with the values that count as right, 0–1. */
export function agreementOf(attribute: AnnotatedAttribute, value: string, right: readonly string[]): number {
  if (!TEXTS.has(attribute)) return right.includes(value) ? 1 : 0
  return Math.max(...right.map((text) => wordOverlap(value, text)))
}

/** F1 of the two sets of words: 1 when they are the same, 0 when they share none. Case and signs do not count. */
function wordOverlap(one: string, other: string): number {
  const [a, b] = [wordsOf(one), wordsOf(other)]
  const common = [...a].filter((word) => b.has(word)).length
  return a.size + b.size === 0 ? 1 : (2 * common) / (a.size + b.size)
}

function wordsOf(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])
}

/** Agreement per attribute with known values. Both maps are keyed by frame id. */
export function scoreAnswers(
  answers: ReadonlyMap<string, FrameAnnotation>,
  truths: ReadonlyMap<string, Truth>,
): Partial<Record<AnnotatedAttribute, Agreement>> {
  const scores: Partial<Record<AnnotatedAttribute, Agreement>> = {}
  for (const attribute of ANNOTATED) {
    let [compared, answered, agreed] = [0, 0, 0]
    for (const [frameId, answer] of answers) {
      const right = truths.get(frameId)?.[attribute]
      if (!right || right.length === 0) continue
      compared++
      const value = answer.values[attribute]?.value ?? null
      if (value === null) continue
      answered++
      agreed += agreementOf(attribute, value, right)
    }
    if (compared === 0) continue
    const share =
      answered > 0
        ? { agreement: agreed / answered, interval: wilson(agreed, answered) }
        : { agreement: null, interval: null }
    scores[attribute] = { compared, answered, agreed, ...share }
  }
  return scores
}
