import { setTimeout as sleep } from 'node:timers/promises'
import { isConnectionLoss } from '../db/client.ts'
import type { Consumer } from '../events/consume.ts'
import { catchUp, pruneDeliveries, writeDeliveries } from '../library/webhooks/deliveries.ts'
import { claimEndpoints, LEASE_SEC, type Lease, renewLeases, WEBHOOKS } from '../library/webhooks/leases.ts'
import { type Attempt, type Recorded, recordAttempts } from '../library/webhooks/record.ts'
import type { Logger } from '../logger.ts'
import { UndecryptableSecret } from '../webhooks/secrets.ts'
import { runLanes, type Sending } from './lanes.ts'
import { type LaneOptions, openLane, type RecordAttempt } from './webhook-lane.ts'

export interface WebhookOptions extends Omit<LaneOptions, 'clock' | 'pollMs'> {
  /** Tests: the clock that decides what is due, the polling interval, and the randomness of the schedule. */
  clock?: (() => Date) | undefined
  pollMs?: number | undefined
  random?: (() => number) | undefined
}

export interface Webhooks extends Pick<Sending, 'drain' | 'stop'> {
  /** The consumer of the log that writes deliveries. */
  consumer: Consumer
  /** Deletes what is over. */
  prune(): Promise<void>
}

/** Webhooks of a worker process: any number of processes may run them side by side. */
export function openWebhooks(options: WebhookOptions): Webhooks {
  const { db, faultPoint, clock = () => new Date() } = options
  const sending = startSending(options)
  return {
    consumer: {
      name: WEBHOOKS,
      async handle(events) {
        return async (tx) => {
          if ((await writeDeliveries(tx, events, clock())) === 0) return
          faultPoint('webhook-written')
          // After the commit: the rows are not visible before.
          setTimeout(sending.wake, 1)
        }
      },
    },
    drain: sending.drain,
    prune: () => pruneDeliveries(db, clock()),
    stop: sending.stop,
  }
}

/**
 * Sends due deliveries. The state of each is in Postgres. A process leases an endpoint, so that only one sends to it:
 * four in flight are four in all. Each endpoint has a lane of its own, so that a receiver that hangs delays no other.
 */
function startSending(options: WebhookOptions): Sending {
  const { db, logger, clock = () => new Date(), random = Math.random, pollMs = 1_000 } = options
  const stopping = new AbortController()
  const stop = stopping.signal
  const record = openRecorder({ ...options, random }, stop)
  const broken = openBrokenLanes(logger)
  const sending = runLanes({
    async claim() {
      await catchUp(db, clock())
      const leases = await claimEndpoints(db, clock())
      return leases.map((lease) => openLane(lease, { ...options, clock, pollMs }, { record, stop, broken }))
    },
    stopping,
    pollMs,
    logger,
  })

  async function renew(): Promise<void> {
    const lanes = [...sending.lanes]
    if (lanes.length === 0) return
    const leases = lanes.map(({ lease }) => lease)
    const held = new Set((await renewLeases(db, leases)).map(keyOf))
    for (const lane of lanes) if (!held.has(keyOf(lane.lease))) lane.lose()
  }

  const renewing = setInterval(
    () => void renew().catch((error: unknown) => logger.debug({ err: error }, 'webhook leases not renewed')),
    (LEASE_SEC * 1_000) / 3,
  )
  renewing.unref()
  return {
    ...sending,
    async stop(deadlineMs) {
      await sending.stop(deadlineMs)
      clearInterval(renewing)
    },
  }
}

const keyOf = ({ endpointId, epoch }: Lease) => `${endpointId} ${epoch}`

/** A lane that breaks off begins again when its lease ends. 120 of them take an hour. */
const ATTEMPTS_BETWEEN_LINES = 120

/** Logs a secret that cannot be decrypted once for each endpoint, then with a count about once an hour. */
function openBrokenLanes(logger: Logger): (lease: Lease, error: unknown) => void {
  const attempts = new Map<string, number>()
  return ({ endpointId }, error) => {
    const about = { err: error, endpoint: endpointId }
    if (!(error instanceof UndecryptableSecret)) return logger.debug(about, 'lane broken off')
    const count = (attempts.get(endpointId) ?? 0) + 1
    attempts.set(endpointId, count)
    if (count % ATTEMPTS_BETWEEN_LINES === 1)
      logger.error({ ...about, attempts: count }, 'webhook waits: its secret cannot be decrypted')
  }
}

const MAX_BATCH = 200
const RETRY_MS = 500

/** Records attempts of all lanes in batches: attempts that end while one is written go into the next. */
function openRecorder({ db, logger, random }: WebhookOptions & { random: () => number }, stop: AbortSignal) {
  const waiting: { attempt: Attempt; resolve: (recorded: Recorded | undefined) => void }[] = []
  let writing = false

  async function write(batch: readonly Attempt[]): Promise<Recorded[]> {
    for (;;) {
      try {
        return await recordAttempts(db, batch, random)
      } catch (error) {
        if (stop.aborted || !isConnectionLoss(error)) {
          logger.warn({ err: error, attempts: batch.length }, 'webhook attempts not recorded: they are made again')
          return []
        }
        await sleep(RETRY_MS)
      }
    }
  }

  async function writeAll(): Promise<void> {
    if (writing) return
    writing = true
    while (waiting.length > 0) {
      const batch = waiting.splice(0, MAX_BATCH)
      const recorded = await write(batch.map(({ attempt }) => attempt))
      for (const { lease, strugglesNow, failures, ended } of recorded) {
        if (strugglesNow) logger.warn({ endpoint: lease.endpointId, failures }, 'webhook receiver fails')
        if (ended) logger.warn({ endpoint: lease.endpointId, because: ended }, 'webhook receiver stopped')
      }
      const byLease = new Map(recorded.map((one) => [keyOf(one.lease), one]))
      for (const { attempt, resolve } of batch) resolve(byLease.get(keyOf(attempt.lease)))
    }
    writing = false
  }

  const record: RecordAttempt = (attempt) =>
    new Promise((resolve) => {
      waiting.push({ attempt, resolve })
      void writeAll()
    })
  return record
}
