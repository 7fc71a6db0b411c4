import type { Config } from '../config.ts'
import type { Db, DbOrTx } from '../db/client.ts'
import { DATA_VERSION, formatCursor, parseCursor, type SentType, START, type StoredEvent } from '../events/catalogue.ts'
import { toCloudEvent } from '../events/cloud-event.ts'
import { positionOfPrevious } from '../events/positions.ts'
import { createPoller } from '../events/waiting.ts'
import { type DueDelivery, type Lease, loadDue, releaseLease } from '../library/webhooks/leases.ts'
import { type Attempt, type Recorded, STRUGGLING } from '../library/webhooks/record.ts'
import type { Logger } from '../logger.ts'
import type { Wire } from '../outbound/checked-connection.ts'
import { openReceiver } from '../webhooks/receiver.ts'
import { openSigner, type Signer } from '../webhooks/secrets.ts'
import type { FaultPoint } from './fault-point.ts'

export interface LaneOptions {
  db: Db
  config: Pick<Config, 'publicUrl' | 'webhookAllowPrivate' | 'secretsKeys'>
  logger: Logger
  faultPoint: FaultPoint
  /** Decides what is due. */
  clock: () => Date
  pollMs: number
  /** Tests: the network. */
  wire?: Wire | undefined
  timeoutMs?: number | undefined
}

/** Records an attempt. Undefined when the lease had ended. */
export type RecordAttempt = (attempt: Attempt) => Promise<Recorded | undefined>

/** Sends to one endpoint while deliveries are due and this process holds its lease. */
export interface WebhookLane {
  readonly lease: Lease
  readonly ended: Promise<void>
  wake(): void
  /** Another process holds the endpoint: nothing more is sent. */
  lose(): void
  /** Aborts the attempts in flight. */
  abort(): Promise<void>
}

/** Requests at once to one endpoint. */
const IN_FLIGHT = 4
const limitAfter = (failures: number) => (failures >= STRUGGLING ? 1 : IN_FLIGHT)
const PAGE = 64
/** Most attempts sent but not yet recorded. A crash sends them again. */
const MAX_UNRECORDED = 64

export function openLane(
  lease: Lease,
  options: LaneOptions,
  {
    record,
    stop,
    broken,
  }: { record: RecordAttempt; stop: AbortSignal; broken: (lease: Lease, error: unknown) => void },
): WebhookLane {
  const { db, config, logger, clock, pollMs } = options
  const { wire = {}, timeoutMs } = options
  const receiver = openReceiver({ ...wire, timeoutMs, allowPrivate: config.webhookAllowPrivate, inFlight: IN_FLIGHT })
  const poller = createPoller(stop)
  const sending = new Map<number, Promise<void>>()
  let inFlight = 0
  let queue: DueDelivery[] = []
  let page: { url: string; sign: Signer; revision: string; limit: number } | undefined
  let lost = false

  /** False when the lease has ended. */
  async function load(): Promise<boolean> {
    const found = await loadDue(db, lease, { now: clock(), except: [...sending.keys()], limit: PAGE, ...config })
    if (!found) return false
    const { url, secrets, revision, failures } = found
    page = { url, sign: openSigner(secrets), revision, limit: limitAfter(failures) }
    queue = found.deliveries
    return true
  }

  async function send(delivery: DueDelivery, { url, sign, revision }: NonNullable<typeof page>): Promise<void> {
    inFlight++
    const at = clock()
    const attempt = await post(delivery, { url, sign, at })
    if (attempt.error === null) endRequest()
    options.faultPoint('webhook-sent')
    const recorded = await record({ lease, delivery, at, outcome: attempt })
    options.faultPoint('webhook-recorded')
    if (!recorded) lost = true
    else {
      page!.limit = limitAfter(recorded.failures)
      const isHeld = recorded.heldUntil !== null && recorded.heldUntil > clock()
      // The loaded page is out of date.
      if (recorded.state !== 'active' || recorded.revision !== revision || isHeld) queue = []
    }
    // A failure may ask for a rest or lower the limit, so the next request waits for its record.
    if (attempt.error !== null) endRequest()
  }

  function endRequest(): void {
    inFlight--
    poller.wake()
  }

  async function post(delivery: DueDelivery, { url, sign, at }: { url: string; sign: Signer; at: Date }) {
    const body = await toMessage(db, delivery, config.publicUrl)
    return (await receiver).post(url, { id: delivery.eventId, body, sign, at })
  }

  function begin(delivery: DueDelivery): void {
    const done = send(delivery, page!)
      .catch((error: unknown) => {
        lost = true
        logger.debug({ err: error, endpoint: lease.endpointId }, 'webhook not sent')
      })
      .finally(() => {
        sending.delete(delivery.id)
        poller.wake()
      })
    sending.set(delivery.id, done)
  }

  async function run(): Promise<void> {
    try {
      while (!stop.aborted && !lost) {
        poller.reset()
        if (queue.length === 0 && sending.size < MAX_UNRECORDED && !(await load())) break
        while (queue.length > 0 && inFlight < page!.limit && sending.size < MAX_UNRECORDED) begin(queue.shift()!)
        if (queue.length === 0 && sending.size === 0) break
        await poller.wait(pollMs)
      }
    } finally {
      await Promise.all(sending.values())
      await (await receiver).close()
    }
    // A lease that was lost, or whose lane ended with an error, expires by itself.
    if (!lost) await releaseLease(db, lease)
  }

  return {
    lease,
    ended: run().catch((error: unknown) => broken(lease, error)),
    wake: poller.wake,
    lose() {
      lost = true
      poller.wake()
    },
    abort: async () => (await receiver).close(),
  }
}

/** Standard Webhooks recommends less than 20 kB. */
const MAX_BODY = 20_000

/**
 * The body of a delivery: its event as CloudEvents JSON, as `GET /api/events` shows it. One that would be too long has
 * `dataref` instead of `data`: the address of the same event in the log (CloudEvents extension "Dataref").
 */
async function toMessage(db: DbOrTx, delivery: DueDelivery, publicUrl: string): Promise<string> {
  const event = delivery.event ?? toTestEvent(delivery)
  const cloudEvent = toCloudEvent(event, publicUrl)
  const body = JSON.stringify(cloudEvent)
  if (Buffer.byteLength(body) < MAX_BODY) return body
  const { data: _, ...rest } = cloudEvent
  return JSON.stringify({ ...rest, dataref: await addressOf(db, event, publicUrl) })
}

async function addressOf(db: DbOrTx, { cursor }: Pick<StoredEvent, 'cursor'>, publicUrl: string): Promise<string> {
  const before = await positionOfPrevious(db, cursor)
  return `${publicUrl}/api/events?${before ? `after=${formatCursor(before)}&` : ''}limit=1`
}

function toTestEvent({ eventId, test }: DueDelivery): StoredEvent<SentType> {
  if (!test) throw new Error(`the log has no event ${eventId}`)
  return {
    id: eventId,
    type: 'webhook.test',
    version: DATA_VERSION,
    subject: test.data.endpoint_id,
    accountId: null,
    data: test.data,
    time: new Date(test.time),
    cursor: (test.cursor && parseCursor(test.cursor)) || START,
  }
}
