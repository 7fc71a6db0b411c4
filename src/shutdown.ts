import type { Server, ServerResponse } from 'node:http'
import type { Logger } from './logger.ts'

/** The whole of a stop, from the signal to the end of the process, fits in here. */
export const STOP_DEADLINE_MS = 25_000

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

/** npm passes Ctrl-C on to a process that the terminal has told already. */
const ONE_KEYSTROKE_MS = 1_000

/** Resolves at the first signal that asks this process to end. A later one, from somebody who will not wait, ends it at once, after `atOnce`. */
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
 * Stops parts one after the other, each whether or not the one before it went well. False when something failed or the time ran out: the caller then exits with 1 and
 * leaves the rest to the kernel.
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

export interface Drain {
  /**
   * Keeps serving for `graceMs` (a balancer needs two looks at /readyz to go elsewhere) while every answer asks its client to go, then takes no more connections and
   * lets requests in flight finish, at most `deadlineMs` from now.
   */
  drain(options: { graceMs: number; deadlineMs: number }): Promise<void>
}

/**
 * Call it before the server listens. `server.close()` alone goes on serving clients that keep their connection busy, and cuts nobody off who hangs.
 */
export function drainable(server: Server): Drain {
  let draining = false
  const open = new Set<ServerResponse>()
  server.prependListener('request', (_req, res: ServerResponse) => {
    open.add(res)
    res.once('close', () => open.delete(res))
    if (draining) res.setHeader('Connection', 'close')
  })
  return {
    async drain({ graceMs, deadlineMs }) {
      draining = true
      for (const res of open) if (!res.headersSent) res.setHeader('Connection', 'close')
      if (graceMs > 0) await new Promise((resolve) => setTimeout(resolve, graceMs))
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeIdleConnections()
      const timer = setTimeout(() => server.closeAllConnections(), Math.max(0, deadlineMs - graceMs))
      await closed
      clearTimeout(timer)
    },
  }
}
