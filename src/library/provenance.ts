import type { Provenance } from '../db/schema.ts'
import { ANNOTATED, type AnnotatedAttribute, SOURCES } from '../vocabulary.ts'

/** One annotator's value for one attribute, as the annotations table keeps it. */
export interface CandidateValue {
  value: string | null
  source: Provenance['source']
  confidence: number | null
  reason?: string
}

export interface Candidate {
  annotator: string
  at: Date
  values: Partial<Record<AnnotatedAttribute, CandidateValue>>
}

export type Resolved = Record<AnnotatedAttribute, { value: string | null; provenance: Provenance | null }>

/**
 * What wins per attribute: a person's value stays; else the best source that has a value; else a null with its reason. Among equals the newer answer wins, so
 * that re-annotation replaces its own older values and nothing better.
 */
export function resolveValues(
  candidates: readonly Candidate[],
  locked: Partial<Record<AnnotatedAttribute, { value: string | null; provenance: Provenance }>>,
): Resolved {
  const ordered = [...candidates].sort((a, b) => a.at.getTime() - b.at.getTime() || (a.annotator < b.annotator ? -1 : 1))
  const resolved = {} as Resolved
  for (const attribute of ANNOTATED) {
    const lock = locked[attribute]
    if (lock) {
      resolved[attribute] = lock
      continue
    }
    let best: { value: string | null; provenance: Provenance } | null = null
    for (const { annotator, at, values } of ordered) {
      const offered = values[attribute]
      if (!offered) continue
      if (best && rank(offered) < rank({ value: best.value, source: best.provenance.source })) continue
      best = {
        value: offered.value,
        provenance: {
          source: offered.source,
          confidence: offered.confidence,
          by: annotator,
          at: at.toISOString(),
          ...(offered.value === null && offered.reason ? { reason: offered.reason } : {}),
        },
      }
    }
    resolved[attribute] = best ?? { value: null, provenance: null }
  }
  return resolved
}

/** Any value beats none; among values the source decides, weakest first in SOURCES. */
function rank({ value, source }: { value: string | null; source: Provenance['source'] }): number {
  return (value === null ? 0 : 100) + SOURCES.indexOf(source)
}
