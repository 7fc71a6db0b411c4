import type { Logger } from '../logger.ts'

export interface PeriodicTask {
  /** Aborts the current run; resolves when it has ended. */
  stop(): Promise<void>
}

/**
 * Runs a task now and every `ms`, one run at a time. A timer, not a scheduler of the queue, so that its pace does not
 * depend on Redis.
 */
export function repeatEvery(
  ms: number,
  name: string,
  logger: Logger,
  act: (signal: AbortSignal) => Promise<unknown>,
): PeriodicTask {
  const stopping = new AbortController()
  let running: Promise<void> | undefined
  const run = async () => {
    try {
      await act(stopping.signal)
    } catch (error) {
      if (!stopping.signal.aborted) logger.warn({ err: error, task: name }, 'periodic task failed')
    } finally {
      running = undefined
    }
  }
  const begin = () => {
    if (!stopping.signal.aborted) running ??= run()
  }
  const timer = setInterval(begin, ms)
  timer.unref()
  begin()
  return {
    async stop() {
      clearInterval(timer)
      stopping.abort()
      await running
    },
  }
}

/** Skips runs until 20 times the last run's duration has passed, so that a long task takes 5 % of the time. */
export function restAfter(act: (signal: AbortSignal) => Promise<unknown>): (signal: AbortSignal) => Promise<void> {
  let restsUntil = 0
  return async (signal) => {
    const started = performance.now()
    if (started < restsUntil) return
    await act(signal)
    restsUntil = performance.now() + 20 * (performance.now() - started)
  }
}
