import type { Provenance } from '../../db/schema/frames.ts'
import { ANNOTATED, type AnnotatedAttribute, SOURCES } from '../../vocabulary.ts'

/** One annotator's value for one attribute, as the annotations table keeps it. */
export interface OfferedValue {
  value: string | null
  source: Provenance['source']
  confidence: number | null
  reason?: string
}

export interface ValueCandidate {
  annotator: string
  at: Date
  values: Partial<Record<AnnotatedAttribute, OfferedValue>>
}

export type Resolved = Record<AnnotatedAttribute, { value: string | null; provenance: Provenance | null }>

/** The reason of a value that was thrown out: such an answer says nothing, not even that there is nothing. */
export const OUT_OF_LIST = 'out_of_list'

/**
 * What wins per attribute: a person's value stays; else the best source that has a value; else a null with its reason. For each source its newest answer speaks,
 * also when it takes an older value back, so that re-annotation replaces its own values and nothing better.
 */
export function resolveValues(
  candidates: readonly ValueCandidate[],
  locked: Partial<Record<AnnotatedAttribute, { value: string | null; provenance: Provenance }>>,
): Resolved {
  const ordered = [...candidates].sort(
    (a, b) => a.at.getTime() - b.at.getTime() || (a.annotator < b.annotator ? -1 : 1),
  )
  const resolved = {} as Resolved
  for (const attribute of ANNOTATED) {
    const newest = new Map<Provenance['source'], { value: string | null; provenance: Provenance }>()
    for (const { annotator, at, values } of ordered) {
      const offered = values[attribute]
      // Only a person's own act makes a person's value.
      if (!offered || offered.source === 'person') continue
      if (offered.value === null && offered.reason === OUT_OF_LIST && newest.has(offered.source)) continue
      newest.set(offered.source, {
        value: offered.value,
        provenance: {
          source: offered.source,
          confidence: offered.confidence,
          by: annotator,
          at: at.toISOString(),
          ...(offered.value === null && offered.reason ? { reason: offered.reason } : {}),
        },
      })
    }
    const best = [...newest.values()].sort((a, b) => rank(b) - rank(a))[0]
    resolved[attribute] = locked[attribute] ?? best ?? { value: null, provenance: null }
  }
  return resolved
}

/** Any value beats none; among values the source decides, weakest first in SOURCES. */
function rank({ value, provenance }: { value: string | null; provenance: Provenance }): number {
  return (value === null ? 0 : 100) + SOURCES.indexOf(provenance.source)
}
