import { setTimeout as sleep } from 'node:timers/promises'
import { followLog } from '../events/follow.ts'
import type { Logger } from '../logger.ts'
import { oneAtATime } from '../turns.ts'
import { pruneDeliveries } from './deliveries.ts'
import { type LaneOptions, openLane, type WebhookLane } from './lane.ts'
import { claimEndpoints, LEASE_SEC, passOtherTypes, renewLeases } from './leases.ts'
import { UndecryptableSecret } from './secrets.ts'

export interface WebhookOptions extends Omit<LaneOptions, 'clock' | 'random' | 'pollMs'> {
  /** Of the database, for a connection that hears of new events. */
  url: string
  /** Tests: the clock that decides what is due, the polling interval, and the randomness of the schedule. */
  clock?: (() => Date) | undefined
  pollMs?: number | undefined
  random?: (() => number) | undefined
}

export interface Webhooks {
  /** Sends everything that is due now; for tests. */
  drain(): Promise<void>
  /** Deletes what is over. */
  prune(): Promise<void>
  /** Moves checkpoints past events that nobody asked for. */
  passOtherTypes(): Promise<void>
  /** Lets attempts in flight end, for at most `deadlineMs`. Attempts that are not recorded are sent again later. */
  stop(deadlineMs: number): Promise<void>
}

/**
 * Sends events to receivers. The state of each is in Postgres. A process leases an endpoint, so that only one sends to
 * it: four in flight are four in all. Each has a lane of its own, so that a receiver that hangs delays no other. Any
 * number of processes may run side by side.
 */
export function openWebhooks(options: WebhookOptions): Webhooks {
  const { db, url, logger, clock = () => new Date(), random = Math.random, pollMs = 1_000 } = options
  const stopping = new AbortController()
  const { signal } = stopping
  const lanes = new Set<WebhookLane>()
  const broken = openBrokenLanes(logger)

  async function openLanes(): Promise<number> {
    if (signal.aborted) return 0
    const leases = await claimEndpoints(db, clock())
    for (const lease of leases) {
      const lane = openLane(lease, { ...options, clock, random, pollMs }, { stop: signal, broken })
      lanes.add(lane)
      void lane.ended.then((sent) => {
        lanes.delete(lane)
        // An event that came since its last look waits for a new lease.
        if (sent) poller.wake()
      })
    }
    return leases.length
  }

  const inTurn = oneAtATime()
  /** One at a time, because each skips rows that another transaction has locked. Returns the number of new lanes. */
  const step = () => inTurn(openLanes)

  const { poller, ended } = followLog({
    ...{ url, name: 'webhooks', pollMs, signal },
    // One look takes all that is free.
    step: async () => {
      await step()
      return false
    },
    failed(error) {
      logger.debug({ err: error }, 'webhooks wait for the database')
      return pollMs
    },
  })

  const renewing = setInterval(
    () =>
      void renewLeases(
        db,
        [...lanes].map(({ lease }) => lease),
      ).catch((error: unknown) => logger.debug({ err: error }, 'webhook leases not renewed')),
    (LEASE_SEC * 1_000) / 3,
  )
  renewing.unref()
  const allEnded = () => Promise.all([...lanes].map((lane) => lane.ended))

  return {
    async drain() {
      for (;;) {
        for (const lane of lanes) lane.wake()
        if ((await step()) === 0 && lanes.size === 0) return
        await allEnded()
      }
    },
    prune: () => pruneDeliveries(db, clock()),
    passOtherTypes: () => passOtherTypes(db),
    async stop(deadlineMs) {
      stopping.abort()
      await ended
      await Promise.race([allEnded(), sleep(deadlineMs, undefined, { ref: false })])
      await Promise.all([...lanes].map((lane) => lane.abort()))
      await allEnded()
      clearInterval(renewing)
    },
  }
}

/** A lane that breaks off begins again when its lease ends. 120 of them take an hour. */
const ATTEMPTS_BETWEEN_LINES = 120

/** Logs a secret that cannot be decrypted once for each endpoint, then with a count about once an hour. */
function openBrokenLanes(logger: Logger): (endpointId: string, error: unknown) => void {
  const attempts = new Map<string, number>()
  return (endpointId, error) => {
    const about = { err: error, endpoint: endpointId }
    if (!(error instanceof UndecryptableSecret)) return logger.debug(about, 'lane broken off')
    const count = (attempts.get(endpointId) ?? 0) + 1
    attempts.set(endpointId, count)
    if (count % ATTEMPTS_BETWEEN_LINES === 1)
      logger.error({ ...about, attempts: count }, 'webhook waits: its secret cannot be decrypted')
  }
}
