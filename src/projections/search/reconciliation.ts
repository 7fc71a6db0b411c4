/** What a comparison found, over documents of all four kinds. Documents that only wait for their event are not counted. */
export interface Reconciliation {
  checked: number
  missing: number
  stale: number
  extra: number
}

export const nothingFound = (): Reconciliation => ({ checked: 0, missing: 0, stale: 0, extra: 0 })
