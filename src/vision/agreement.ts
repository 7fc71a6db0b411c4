/** A labelled value, and what was said instead. */
export interface Labelled {
  label: string
  said: string | null
}

/** How many labels have an answer, and how many answers are right. */
export function scoreLabels(labelled: readonly Labelled[]): { n: number; filled: number; right: number } {
  const filled = labelled.filter(({ said }) => said !== null)
  return { n: labelled.length, filled: filled.length, right: filled.filter(({ label, said }) => said === label).length }
}
