/** How long a value is taken as it was. */
const KEPT_MS = 1_000

/** What `load` finds, loaded at most once a second. A failed load is not kept. */
export function keptBriefly<T>(load: () => Promise<T>): () => Promise<T> {
  let kept: { until: number; value: Promise<T> } | undefined
  return () => {
    if (kept && performance.now() < kept.until) return kept.value
    const value = load()
    kept = { until: performance.now() + KEPT_MS, value }
    value.catch(() => {
      kept = undefined
    })
    return value
  }
}
