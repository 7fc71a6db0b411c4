import type { Logger } from '../logger.ts'

/** The most that a stop may take, from the signal to the end of the process. */
export const STOP_DEADLINE_MS = 25_000

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

/** Ctrl-C reaches the whole process group, and npm then forwards it again. Two signals this close count as one. */
const ONE_KEYSTROKE_MS = 1_000

/** Resolves at the first signal that asks this process to end. A second one calls `atOnce` and exits. */
export function untilSignalled(atOnce: () => void = () => undefined): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let first: number | undefined
    const listener = (signal: NodeJS.Signals) => {
      first ??= Date.now()
      resolve(signal)
      if (Date.now() - first < ONE_KEYSTROKE_MS) return
      atOnce()
      process.exit(130)
    }
    for (const signal of SIGNALS) process.on(signal, listener)
  })
}

/**
 * Stops parts one after the other, also after one that failed.
 * False when a part failed or the time ran out. The caller then exits with 1.
 */
export async function stopInOrder(
  parts: readonly [name: string, stop: () => Promise<unknown>][],
  { logger, deadlineMs = STOP_DEADLINE_MS }: { logger: Logger; deadlineMs?: number },
): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(resolve, deadlineMs, 'late')
  })
  let clean = true
  for (const [part, stop] of parts) {
    const outcome = await Promise.race([stop().catch((error: unknown) => ({ error })), late])
    if (outcome === 'late') {
      logger.error({ part }, 'stop took too long')
      clean = false
      break
    }
    if (typeof outcome === 'object' && outcome !== null && 'error' in outcome) {
      logger.error({ part, err: outcome.error }, 'stop failed')
      clean = false
    }
  }
  clearTimeout(timer)
  return clean
}
