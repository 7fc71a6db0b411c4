import { z } from 'zod'
import { toSlug } from '../../clean-text.ts'
import { type Annotated, ATTRIBUTES, CHOSEN, isListed, WRITTEN } from '../../vocabulary.ts'
import type { AnnotatedValue, AnnotationIssue, FrameAnnotation, TechniqueTerm } from '../annotator.ts'
import { plainText } from '../plain-text.ts'

const MAX_ISSUES = 20

/** A field may hold anything. Each is checked by itself, so that one wrong value does not cost the rest. */
const RawFrame = z.looseObject({ frame: z.string() })
type RawFrame = z.infer<typeof RawFrame>

export interface ParsedAnswer {
  frames: RawFrame[]
  /** Whether the whole text was one JSON value in the right form. */
  whole: boolean
}

/**
 * Reads an answer: the JSON itself, or JSON inside a code fence or prose. From a broken answer it takes every complete
 * frame object, because a cut-off answer has been paid for up to the cut.
 */
export function parseAnswer(answer: string): ParsedAnswer {
  // Servers without a parser for reasoning leave it in the text, with drafts of the answer.
  const text = answer.replace(/^\s*<think>[\s\S]*?<\/think>/, '')
  for (const candidate of [text, text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)]) {
    const frames = toFrames(tryParse(candidate))
    if (frames) return { frames, whole: true }
  }
  return { frames: completeObjects(text).flatMap((object) => toFrames([tryParse(object)]) ?? []), whole: false }
}

/** Undefined for a text that is no JSON. */
export function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function toFrames(value: unknown): RawFrame[] | undefined {
  const list = Array.isArray(value)
    ? value
    : z.looseObject({ frames: z.array(z.unknown()) }).safeParse(value).data?.frames
  return list?.flatMap((item) => RawFrame.safeParse(item).data ?? [])
}

/** The complete `{…}` that name a frame, found by counting braces outside strings, in linear time. */
function completeObjects(text: string): string[] {
  const found: string[] = []
  const open: number[] = []
  let inString = false
  for (let i = 0; i < text.length; i++) {
    const character = text[i]
    if (inString) {
      if (character === '\\') i++
      else if (character === '"') inString = false
    } else if (character === '"') inString = open.length > 0
    else if (character === '{') open.push(i)
    else if (character === '}' && open.length > 0) {
      const start = open.pop()!
      // A frame's object closes at depth 1 (inside "frames") or 0. The objects inside it (confidence) name no frame.
      if (open.length <= 1 && /^\{\s*"frame"/.test(text.slice(start, start + 40))) found.push(text.slice(start, i + 1))
    }
  }
  return found
}

/** Turns one raw frame into an annotation: checks every field, cleans every text, maps the technique. */
export function toAnnotation(frameId: string, raw: RawFrame, techniques: readonly TechniqueTerm[]): FrameAnnotation {
  const issues: AnnotationIssue[] = []
  const refusal = typeof raw.refusal === 'string' ? plainText(raw.refusal, 300) : ''
  if (refusal) return { frameId, status: 'refused', reason: refusal, values: {}, issues }

  const values: FrameAnnotation['values'] = {}
  for (const attribute of CHOSEN.filter(isListed)) {
    const value = raw[attribute]
    const listed: readonly string[] = ATTRIBUTES[attribute].values
    if (isNothing(value)) values[attribute] = unknown()
    else if (typeof value === 'string' && listed.includes(value.trim().toLowerCase())) {
      values[attribute] = known(value.trim().toLowerCase(), confidenceOf(raw, attribute))
    } else {
      values[attribute] = unknown('the answer was not in the list')
      issues.push({ attribute, code: 'out_of_list', message: describe(value) })
    }
  }
  for (const attribute of WRITTEN) {
    const value = raw[attribute]
    if (isNothing(value) || isNone(value)) values[attribute] = unknown()
    else if (typeof value !== 'string') {
      values[attribute] = unknown('the answer was not a text')
      issues.push({ attribute, code: 'wrong_type', message: describe(value) })
    } else {
      const text = plainText(
        attribute === 'on_screen_text' ? value : value.replaceAll('\n', ' '),
        ATTRIBUTES[attribute].longest,
      )
      values[attribute] = text ? known(text, confidenceOf(raw, attribute)) : unknown()
      if (value.length > ATTRIBUTES[attribute].longest)
        issues.push({ attribute, code: 'too_long', message: `${value.length} characters` })
    }
  }

  const technique = mapTechnique(raw.technique, techniques)
  const suggested = mapTechnique(raw.suggested_technique, techniques)
  const slug = technique.slug ?? suggested.slug
  values.technique = slug
    ? known(slug, confidenceOf(raw, 'technique'))
    : unknown(technique.other ? 'not in the vocabulary' : undefined)
  if (technique.other) issues.push({ attribute: 'technique', code: 'out_of_list', message: technique.other })
  const proposal = slug ? undefined : (technique.other ?? suggested.other)
  return {
    frameId,
    status: 'annotated',
    values,
    issues: issues.slice(0, MAX_ISSUES),
    ...(proposal ? { suggestedTechnique: { slug: proposal } } : {}),
  }
}

/** The vocabulary's slug for a slug, name or alias; otherwise a slug to review. */
function mapTechnique(value: unknown, techniques: readonly TechniqueTerm[]): { slug?: string; other?: string } {
  if (isNothing(value) || isNone(value) || typeof value !== 'string') return {}
  const wanted = toSlug(value)
  if (!wanted) return {}
  const term = techniques.find(
    (each) =>
      each.slug === wanted || toSlug(each.name) === wanted || each.aliases.some((alias) => toSlug(alias) === wanted),
  )
  return term ? { slug: term.slug } : { other: wanted }
}

function isNothing(value: unknown): boolean {
  return (
    value === null ||
    value === undefined ||
    (typeof value === 'string' && /^(null|none found|none visible|no text|n\/a|unknown|)$/i.test(value.trim()))
  )
}

/** A word for nothing, except for `zone`, where it is a value. */
function isNone(value: unknown): boolean {
  return typeof value === 'string' && /^\(?none\)?\.?$/i.test(value.trim())
}

function known(value: string, confidence: number | null): AnnotatedValue {
  return { value, source: 'model', confidence }
}

function unknown(reason = 'the model could not tell'): AnnotatedValue {
  return { value: null, source: 'model', confidence: null, reason }
}

/** 0–1; percentages are converted; null where the answer holds nothing usable. */
function confidenceOf(raw: RawFrame, attribute: Annotated): number | null {
  const all = raw.confidence
  const value = typeof all === 'object' && all !== null ? (all as Record<string, unknown>)[attribute] : all
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0 || value > 100) return null
  return Math.round((value > 1 ? value / 100 : value) * 1000) / 1000
}

function describe(value: unknown): string {
  return plainText(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''), 80)
}

/** What is kept of an answer: everything but the frame it was given for. */
export type CachedAnswer = Omit<FrameAnnotation, 'frameId'>

/** Answers by picture, model and prompt version, which includes the vocabulary. A failing cache costs only a call. */
export interface AnswerCache {
  get(key: AnswerKey): Promise<CachedAnswer | null>
  set(key: AnswerKey, answer: CachedAnswer): Promise<void>
}

interface AnswerKey {
  imageSha256: string
  model: string
  promptVersion: string
}
