import { notFound } from '../errors.ts'

const PUBLIC_ID = /^[a-z0-9-]{1,64}$/i

/**
 * Rejects an id in a path that cannot be ours, because the search cannot look up every text.
 * @throws AppError not_found
 */
export function requirePublicId(what: 'video' | 'frame', id: string): void {
  if (!PUBLIC_ID.test(id)) throw notFound(what)
}
