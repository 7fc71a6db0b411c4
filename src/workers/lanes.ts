import { setTimeout as sleep } from 'node:timers/promises'
import { createPoller } from '../events/waiting.ts'
import type { Logger } from '../logger.ts'
import type { WebhookLane } from './webhook-lane.ts'

export interface Sending {
  /** Looks for due deliveries now, not at the next poll. */
  wake(): void
  /** Sends everything that is due now; for tests. */
  drain(): Promise<void>
  /** Lets attempts in flight end, for at most `deadlineMs`. Attempts that are not recorded are sent again later. */
  stop(deadlineMs: number): Promise<void>
}

interface LanesOptions {
  /** Opens lanes for receivers with due deliveries that no process holds. */
  claim(): Promise<readonly WebhookLane[]>
  stopping: AbortController
  pollMs: number
  logger: Logger
}

/** Sends due deliveries until it is stopped. Any number of processes may do it side by side. */
export function runLanes(options: LanesOptions): Sending & { lanes: ReadonlySet<WebhookLane> } {
  const { claim, stopping, pollMs, logger } = options
  const stop = stopping.signal
  const poller = createPoller(stop)
  const lanes = new Set<WebhookLane>()

  let lastStep: Promise<unknown> = Promise.resolve()
  /** One at a time, because each skips rows that another transaction has locked. Returns the number of new lanes. */
  const step = (): Promise<number> => {
    const next = lastStep.then(openLanes)
    lastStep = next.catch(() => undefined)
    return next
  }

  async function openLanes(): Promise<number> {
    const opened = stop.aborted ? [] : await claim()
    for (const lane of opened) {
      lanes.add(lane)
      void lane.ended.finally(() => lanes.delete(lane))
    }
    return opened.length
  }

  async function run(): Promise<void> {
    while (!stop.aborted) {
      poller.reset()
      await step().catch((error: unknown) => logger.debug({ err: error }, 'webhooks wait for the database'))
      await poller.wait(pollMs)
    }
  }

  const running = run()
  const wake = () => {
    poller.wake()
    for (const lane of lanes) lane.wake()
  }
  const allEnded = () => Promise.all([...lanes].map(({ ended }) => ended))

  return {
    lanes,
    wake,
    async drain() {
      for (;;) {
        wake()
        if ((await step()) === 0 && lanes.size === 0) return
        await allEnded()
      }
    },
    async stop(deadlineMs) {
      stopping.abort()
      await running
      await Promise.race([allEnded(), sleep(deadlineMs, undefined, { ref: false })])
      await Promise.all([...lanes].map((lane) => lane.abort()))
      await allEnded()
    },
  }
}
