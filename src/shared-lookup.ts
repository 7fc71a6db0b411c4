/** Looks a key up. */
export type SharedLookup<V> = (key: string, look: () => Promise<V>) => Promise<V>

/**
 * One look-up of a key runs at a time. All callers who came before it began share its answer, so that an answer is
 * never older than the question. However many ask at once, two look-ups answer them.
 */
export function openSharedLookup<V>(): SharedLookup<V> {
  const running = new Map<string, Promise<V>>()
  const next = new Map<string, Promise<V>>()

  function start(key: string, look: () => Promise<V>): Promise<V> {
    const found = look().finally(() => {
      if (running.get(key) === found) running.delete(key)
    })
    running.set(key, found)
    return found
  }

  return (key, look) => {
    const now = running.get(key)
    if (!now) return start(key, look)
    let shared = next.get(key)
    if (!shared) {
      const begin = () => {
        next.delete(key)
        return start(key, look)
      }
      shared = now.then(begin, begin)
      next.set(key, shared)
    }
    return shared
  }
}
