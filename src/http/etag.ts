/**
 * Whether If-None-Match names this answer (RFC 9110, 13.1.2: weak comparison over a list; `*` matches anything).
 * Our tags contain no comma, so cutting the list at commas cannot make a false match.
 */
export function isMet(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch === etag || isAny(ifNoneMatch)) return true
  const bare = etag.replace(/^W\//, '')
  return ifNoneMatch.split(',').some((candidate) => candidate.trim().replace(/^W\//, '') === bare)
}

/** Whether If-None-Match is `*`. */
export function isAny(ifNoneMatch: string | undefined): boolean {
  return ifNoneMatch?.trim() === '*'
}
