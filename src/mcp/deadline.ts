export class DeadlinePassed extends Error {}
export class CallerGone extends Error {}

/**
 * Runs work until its deadline passes or its caller has gone.
 * @throws DeadlinePassed | CallerGone
 */
export async function withDeadline<T>(
  caller: AbortSignal,
  deadlineMs: number,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (caller.aborted) throw new CallerGone()
  const controller = new AbortController()
  const stop = () => controller.abort(new CallerGone())
  const stopped = new Promise<never>((_, reject) => {
    controller.signal.addEventListener('abort', () => reject(controller.signal.reason), { once: true })
  })
  const timer = setTimeout(() => controller.abort(new DeadlinePassed()), deadlineMs)
  caller.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([stopped, run(controller.signal)])
  } finally {
    clearTimeout(timer)
    caller.removeEventListener('abort', stop)
  }
}
