const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** The waits before each attempt, in ms: the example of Standard Webhooks, 75.6 hours in all. */
const WAITS = [
  0,
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
] as const

/** Milliseconds to wait after this many failed attempts, within 20 % of the schedule. Undefined: no attempt follows. */
export function waitAfter(tries: number, random: () => number): number | undefined {
  const wait = WAITS[tries]
  return wait === undefined ? undefined : Math.round(wait * (0.8 + 0.4 * random()))
}

/** No receiver puts off an attempt for longer. */
const MAX_RETRY_AFTER = DAY

/** Milliseconds that a `Retry-After` asks for: seconds or an HTTP date. Null when it says nothing. */
export function parseRetryAfter(value: string | undefined, now: Date): number | null {
  if (value === undefined) return null
  const text = value.trim()
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * SECOND : Date.parse(text) - now.getTime()
  return Number.isFinite(ms) && ms > 0 ? Math.min(ms, MAX_RETRY_AFTER) : null
}

/** An endpoint that failed for so long, and so often, without one success is paused. */
export const PAUSE_AFTER = { ms: 5 * DAY, failures: 20 } as const

/** After these times of nothing but failures its owner gets a mail; the last one comes with the pause. */
export const TELL_AFTER = [DAY, 3 * DAY] as const
