import { setTimeout as sleep } from 'node:timers/promises'
import { type Db, isConnectionLoss } from '../db/client.ts'
import type { Consumer } from '../events/consume.ts'
import { createPoller } from '../events/waiting.ts'
import { catchUp, pruneDeliveries, writeDeliveries } from '../library/webhooks/deliveries.ts'
import { claimEndpoints, LEASE_SEC, type Lease, renewLeases, WEBHOOKS } from '../library/webhooks/leases.ts'
import { type Attempt, type Recorded, recordAttempts } from '../library/webhooks/record.ts'
import type { Logger } from '../logger.ts'
import { UndecryptableSecret } from '../webhooks/secrets.ts'
import { type LaneOptions, openLane, type RecordAttempt, type WebhookLane } from './webhook-lane.ts'

export interface WebhookOptions extends Omit<LaneOptions, 'clock' | 'pollMs'> {
  /** Tests: the clock that decides what is due, the polling interval, and the randomness of the schedule. */
  clock?: (() => Date) | undefined
  pollMs?: number | undefined
  random?: (() => number) | undefined
}

export interface Webhooks {
  /** The consumer of the log that writes deliveries. */
  consumer: Consumer
  /** Sends everything that is due now; for tests. */
  drain(): Promise<void>
  /** Deletes what is over. */
  prune(): Promise<void>
  /** Lets attempts in flight end, for at most `deadlineMs`. Attempts that are not recorded are sent again later. */
  stop(deadlineMs: number): Promise<void>
}

/** Webhooks of a worker process: any number of processes may run them side by side. */
export function openWebhooks(options: WebhookOptions): Webhooks {
  const { db, faultPoint, clock = () => new Date(), random = Math.random, pollMs = 1_000 } = options
  const { wake, drain, stop } = startSending({ ...options, clock, random, pollMs })
  return {
    consumer: {
      name: WEBHOOKS,
      async handle(events) {
        return async (tx) => {
          if ((await writeDeliveries(tx, events, clock())) === 0) return
          faultPoint('webhook-written')
          // After the commit: the rows are not visible before.
          setTimeout(wake, 1)
        }
      },
    },
    drain,
    prune: () => pruneDeliveries(db, clock()),
    stop,
  }
}

interface SendingOptions extends LaneOptions {
  random: () => number
}

/**
 * Sends due deliveries. The state of each is in Postgres. A process leases an endpoint, so that only one sends to it:
 * four in flight are four in all. Each endpoint has a lane of its own, so that a receiver that hangs delays no other.
 */
function startSending(options: SendingOptions): Pick<Webhooks, 'drain' | 'stop'> & { wake(): void } {
  const { db, logger, clock, pollMs } = options
  const stopping = new AbortController()
  const { signal } = stopping
  const poller = createPoller(signal)
  const lanes = new Set<WebhookLane>()
  const tools = { record: openRecorder(options, signal), stop: signal, broken: openBrokenLanes(logger) }

  async function openLanes(): Promise<number> {
    if (signal.aborted) return 0
    await catchUp(db, clock())
    const leases = await claimEndpoints(db, clock())
    for (const lease of leases) {
      const lane = openLane(lease, options, tools)
      lanes.add(lane)
      void lane.ended.finally(() => lanes.delete(lane))
    }
    return leases.length
  }

  let lastStep: Promise<unknown> = Promise.resolve()
  /** One at a time, because each skips rows that another transaction has locked. Returns the number of new lanes. */
  const step = (): Promise<number> => {
    const next = lastStep.then(openLanes)
    lastStep = next.catch(() => undefined)
    return next
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      poller.reset()
      await step().catch((error: unknown) => logger.debug({ err: error }, 'webhooks wait for the database'))
      await poller.wait(pollMs)
    }
  }

  const running = run()
  const renewing = setInterval(
    () => void renew(db, lanes).catch((error: unknown) => logger.debug({ err: error }, 'webhook leases not renewed')),
    (LEASE_SEC * 1_000) / 3,
  )
  renewing.unref()
  /** Looks for due deliveries now, not at the next poll. */
  const wake = () => {
    poller.wake()
    for (const lane of lanes) lane.wake()
  }
  const allEnded = () => Promise.all([...lanes].map(({ ended }) => ended))

  return {
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
      clearInterval(renewing)
    },
  }
}

async function renew(db: Db, lanes: ReadonlySet<WebhookLane>): Promise<void> {
  if (lanes.size === 0) return
  const those = [...lanes]
  const held = new Set(
    (
      await renewLeases(
        db,
        those.map(({ lease }) => lease),
      )
    ).map(keyOf),
  )
  for (const lane of those) if (!held.has(keyOf(lane.lease))) lane.lose()
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
function openRecorder({ db, logger, random }: SendingOptions, stop: AbortSignal) {
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
