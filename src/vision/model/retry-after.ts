const MAX_PAUSE_MS = 60 * 60_000

/**
 * The wait that an endpoint asks for, milliseconds; null without any. Reads `retry-after-ms`, then `retry-after` in
 * seconds or as a date, then the longest of OpenAI's `x-ratelimit-reset-*` (`1s`, `6m0s`).
 */
export function readRetryAfter(headers: Headers | undefined, now = Date.now()): number | null {
  if (!headers) return null
  const milliseconds = Number(headers.get('retry-after-ms') ?? Number.NaN)
  if (Number.isFinite(milliseconds) && milliseconds >= 0) return Math.min(milliseconds, MAX_PAUSE_MS)
  const after = headers.get('retry-after')
  if (after !== null) {
    const pause = /^\s*\d+(\.\d+)?\s*$/.test(after) ? Number(after) * 1000 : Date.parse(after) - now
    if (Number.isFinite(pause)) return Math.min(Math.max(0, pause), MAX_PAUSE_MS)
  }
  const resets = ['x-ratelimit-reset-requests', 'x-ratelimit-reset-tokens'].flatMap((name) => {
    const match = /^(?:(\d+)h)?(?:(\d+)m(?!s))?(?:([\d.]+)s)?(?:(\d+)ms)?$/.exec(headers.get(name) ?? '')
    if (!match?.[0]) return []
    const [, hours = 0, minutes = 0, seconds = 0, ms = 0] = match.map((part) => Number(part ?? 0))
    return [((hours * 60 + minutes) * 60 + seconds) * 1000 + ms]
  })
  return resets.length > 0 ? Math.min(Math.max(...resets), MAX_PAUSE_MS) : null
}
