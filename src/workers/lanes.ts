import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config.ts'
import type { Db } from '../db/client.ts'
import type { Consumer } from '../events/consume.ts'
import { createPoller } from '../events/waiting.ts'
import type { Logger } from '../logger.ts'
import type { Wire } from '../outbound/checked-connection.ts'
import type { FaultPoint } from './fault-point.ts'

/* What sends to receivers: webhooks of operators, and subscriptions of apps. */

export interface SenderOptions {
  db: Db
  config: Pick<Config, 'publicUrl' | 'webhookAllowPrivate' | 'secretsKeys'>
  logger: Logger
  faultPoint: FaultPoint
  /** Tests: the clock that decides what is due, the polling interval, and the network. */
  clock?: (() => Date) | undefined
  pollMs?: number | undefined
  wire?: Wire | undefined
  timeoutMs?: number | undefined
}

export interface Sender extends Pick<Sending, 'drain' | 'stop'> {
  /** The consumer of the log that writes deliveries. */
  consumer: Consumer
  /** Deletes what is over. */
  prune(): Promise<void>
}

/** Sends to one receiver while this process holds its lease. A receiver that hangs delays no other. */
export interface Lane {
  readonly ended: Promise<void>
  wake?(): void
  /** Aborts the attempts in flight. */
  abort?(): Promise<void>
}

export interface Sending {
  /** Looks for due deliveries now, not at the next poll. */
  wake(): void
  /** Sends everything that is due now; for tests. */
  drain(): Promise<void>
  /** Lets attempts in flight end, for at most `deadlineMs`. Attempts that are not recorded are sent again later. */
  stop(deadlineMs: number): Promise<void>
}

interface LanesOptions<L extends Lane> {
  /** Opens lanes for receivers with due deliveries that no process holds. */
  claim(lanes: ReadonlySet<L>): Promise<readonly L[]>
  stopping: AbortController
  pollMs: number
  logger: Logger
  /** The log message while the database does not answer. */
  waiting: string
}

/** Sends due deliveries until it is stopped. Any number of processes may do it side by side. */
export function runLanes<L extends Lane>(options: LanesOptions<L>): Sending & { lanes: ReadonlySet<L> } {
  const { claim, stopping, pollMs, logger, waiting } = options
  const stop = stopping.signal
  const poller = createPoller(stop)
  const lanes = new Set<L>()

  let lastStep: Promise<unknown> = Promise.resolve()
  /** One at a time, because each skips rows that another transaction has locked. Returns the number of new lanes. */
  const step = (): Promise<number> => {
    const next = lastStep.then(openLanes)
    lastStep = next.catch(() => undefined)
    return next
  }

  async function openLanes(): Promise<number> {
    const opened = stop.aborted ? [] : await claim(lanes)
    for (const lane of opened) {
      lanes.add(lane)
      void lane.ended.finally(() => lanes.delete(lane))
    }
    return opened.length
  }

  async function run(): Promise<void> {
    while (!stop.aborted) {
      poller.reset()
      await step().catch((error: unknown) => logger.debug({ err: error }, waiting))
      await poller.wait(pollMs)
    }
  }

  const running = run()
  const wake = () => {
    poller.wake()
    for (const lane of lanes) lane.wake?.()
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
      await Promise.all([...lanes].map((lane) => lane.abort?.()))
      await allEnded()
    },
  }
}
