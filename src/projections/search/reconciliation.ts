/** Counts over documents of all four kinds, without those that only wait for their event. */
export interface Reconciliation {
  checked: number
  missing: number
  stale: number
  extra: number
}

export const nothingFound = (): Reconciliation => ({ checked: 0, missing: 0, stale: 0, extra: 0 })
