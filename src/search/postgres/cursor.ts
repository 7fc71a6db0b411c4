import { invalid } from '../../errors.ts'
import type { CursorPage } from '../library-search.ts'
import { storable } from './where.ts'

/** A page of lists read with one item more than `limit`. `keyOf`: where the next page begins. */
export function cursorPage<T>(items: T[], limit: number, keyOf: (last: T) => [string | number, string]): CursorPage<T> {
  const page = items.slice(0, limit)
  const last = page.at(-1)
  return {
    items: page,
    next: items.length > limit && last ? toCursor(keyOf(last)) : null,
  }
}

/** A place in a list. Callers pass it on as it is. */
export function toCursor(key: [string | number, string]): string {
  return Buffer.from(JSON.stringify(key)).toString('base64url')
}

/** `first`: the type of the key's first half. @throws AppError invalid_request for anything but a cursor of ours. */
export function readCursor(after: string, first: 'integer' | 'number' | 'string'): [string | number, string] {
  try {
    const value: unknown = JSON.parse(Buffer.from(after, 'base64url').toString())
    if (
      Array.isArray(value) &&
      value.length === 2 &&
      typeof value[0] === (first === 'integer' ? 'number' : first) &&
      typeof value[1] === 'string'
    ) {
      const [key, id] = value as [string | number, string]
      if (storable([String(key), id]).length === 2 && (first !== 'integer' || Number.isSafeInteger(key)))
        return [key, id]
    }
  } catch {}
  throw invalid('after', '`after` must be the `next` of an earlier response')
}
