import { HALF_LIFE_MS } from '../../src/library/collections/saves.ts'

/* What the SQL of saves.ts computes, in TypeScript: the tests compare the two. */

/** log2(2^strength + 2^(at ÷ half-life)); `null` is the empty sum. */
export function addSave(strength: number | null, at: Date): number {
  const added = at.getTime() / HALF_LIFE_MS
  if (strength === null) return added
  return Math.max(strength, added) + Math.log2(1 + 2 ** -Math.abs(strength - added))
}

/** The whole sum, in any order; null without saves. */
export function strengthOf(times: readonly Date[]): number | null {
  if (times.length === 0) return null
  const terms = times.map((time) => time.getTime() / HALF_LIFE_MS)
  const greatest = terms.reduce((a, b) => Math.max(a, b))
  return greatest + Math.log2(terms.reduce((sum, term) => sum + 2 ** (term - greatest), 0))
}
