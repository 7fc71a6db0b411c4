import { cleanLines, toSlug } from '../../clean-text.ts'
import type { AnnotatedValue, FrameAnnotation } from '../../vision/annotator.ts'
import { ANNOTATED, type Annotated, ATTRIBUTES, MAX_TEXT, SOURCES } from '../../vocabulary.ts'
import { resolveSlug, type Vocabulary } from '../techniques/vocabulary.ts'
import { OUT_OF_LIST } from './provenance.ts'

const MAX_ISSUES = 50

export interface SanitizedAnnotation {
  values: FrameAnnotation['values']
  issues: { attribute?: string; code: string; message: string | null }[]
  /** The slug of a technique that the vocabulary does not have. */
  proposal: string | undefined
}

/**
 * Treats an annotator's answer as untrusted data. A value outside its closed list or the vocabulary becomes null with
 * an issue. Texts are cut to their maximum length and cleaned.
 */
export function sanitizeAnnotation(annotation: FrameAnnotation, vocabulary: Vocabulary): SanitizedAnnotation {
  const values: FrameAnnotation['values'] = {}
  const issues = annotation.issues.slice(0, MAX_ISSUES)
  let proposed = annotation.suggestedTechnique?.slug
  for (const attribute of ANNOTATED) {
    const offered = annotation.values[attribute]
    if (!offered) continue
    const value = offered.value === null ? null : allowedValue(attribute, offered.value, vocabulary)
    if (offered.value !== null && value === null && ATTRIBUTES[attribute].role === 'chosen') {
      const list = attribute === 'technique' ? 'vocabulary' : 'list'
      issues.push({
        attribute,
        code: OUT_OF_LIST,
        message: `"${offered.value.slice(0, 80)}" is not in the ${list}`,
      })
      if (attribute === 'technique') proposed ??= offered.value
    }
    values[attribute] = toStored(offered, value)
  }
  let proposal = proposed === undefined ? undefined : toSlug(proposed) || undefined
  if (proposal !== undefined && !values.technique?.value) {
    // The proposal may be a known technique under another name.
    const slug = resolveSlug(vocabulary, proposal)
    if (slug !== undefined) {
      values.technique = adopt(values.technique, slug)
      proposal = undefined
    }
  }
  return {
    values,
    issues: issues.map(({ attribute, code, message }) => ({
      ...(attribute ? { attribute } : {}),
      code,
      message: plainText(message),
    })),
    proposal: values.technique?.value ? undefined : proposal,
  }
}

function allowedValue(attribute: Annotated, value: string, vocabulary: Vocabulary): string | null {
  if (attribute === 'technique') return resolveSlug(vocabulary, value) ?? null
  const list: readonly string[] | null = ATTRIBUTES[attribute].values
  if (!list) return plainText(value)
  return list.includes(value) ? value : null
}

function toStored(offered: AnnotatedValue, value: string | null): AnnotatedValue {
  const { confidence } = offered
  const reason = value === null ? reasonOf(offered) : undefined
  return {
    value,
    // An annotator is not a person, whatever it claims.
    source: SOURCES.includes(offered.source) && offered.source !== 'person' ? offered.source : 'model',
    confidence: confidence === null || !Number.isFinite(confidence) ? null : Math.min(1, Math.max(0, confidence)),
    ...(reason === undefined ? {} : { reason }),
  }
}

function reasonOf(offered: AnnotatedValue): string | undefined {
  if (offered.value !== null) return OUT_OF_LIST
  return offered.reason ? (plainText(offered.reason) ?? 'unknown') : undefined
}

/** The offered technique, or none, replaced by a technique of the vocabulary. */
export function adopt(offered: AnnotatedValue | undefined, slug: string): AnnotatedValue {
  return { value: slug, source: offered?.source ?? 'model', confidence: offered?.confidence ?? null }
}

/** Text that PostgreSQL can store and a page can show: bounded and clean. Null when empty. */
export function plainText(value: string): string | null {
  const clean = cleanLines(value).slice(0, MAX_TEXT).toWellFormed()
  return clean === '' ? null : clean
}
