/**
 * Options that bound an LRUCache by its number of entries. The cache's own option `max` reserves 24 bytes for each
 * entry at the start: 9 MB for all caches of an idle API.
 */
export function atMost(entries: number): { maxSize: number; sizeCalculation: () => number } {
  return { maxSize: entries, sizeCalculation: () => 1 }
}
