import type { Config } from '../config.ts'
import type { Db, DbOrTx } from '../db/client.ts'
import { formatCursor, type SentType, type StoredEvent } from '../events/catalogue.ts'
import { toCloudEvent } from '../events/cloud-event.ts'
import { positionOfPrevious } from '../events/positions.ts'
import { createPoller } from '../events/waiting.ts'
import type { Logger } from '../logger.ts'
import type { Wire } from '../outbound/checked-connection.ts'
import type { EndpointRow } from './endpoints.ts'
import { type Lease, releaseLease } from './leases.ts'
import { findLeased, findNext, type Item, isSending } from './next.ts'
import { openReceiver } from './post.ts'
import { STRUGGLING } from './record.ts'
import { openRecorder } from './recorder.ts'
import { openCipher, openSigner, type SecretsKeys, type Signer } from './secrets.ts'

export interface LaneOptions {
  db: Db
  config: Pick<Config, 'publicUrl' | 'webhookAllowPrivate' | 'secretsKeys'>
  logger: Logger
  faultPoint: (step: 'webhook-sent' | 'webhook-recorded') => void
  /** Decides what is due. */
  clock: () => Date
  random: () => number
  pollMs: number
  /** Tests: the network. */
  wire?: Wire | undefined
  timeoutMs?: number | undefined
}

export type WebhookLane = ReturnType<typeof openLane>

/** Requests at once to one endpoint. */
const IN_FLIGHT = 4
/** Most events sent but not yet recorded. A crash sends them again. */
const MAX_UNRECORDED = 64

/** Sends to one endpoint while there is something to be sent and this process holds its lease. */
export function openLane(
  { endpointId, lease }: Lease,
  options: LaneOptions,
  { stop, broken }: { stop: AbortSignal; broken: (endpointId: string, error: unknown) => void },
) {
  const { db, config, logger, clock, random, pollMs, wire = {}, timeoutMs } = options
  const receiver = openReceiver({ ...wire, timeoutMs, allowPrivate: config.webhookAllowPrivate, inFlight: IN_FLIGHT })
  const poller = createPoller(stop)
  const recorder = openRecorder({ db, lease, logger, random, stop })
  const sending = new Set<Promise<void>>()
  let endpoint: EndpointRow
  let sign: Signer
  let queue: Item[] = []
  let requests = 0
  let sent = false
  let lost = false
  const room = () => MAX_UNRECORDED - recorder.unrecorded()
  const limit = () => (endpoint.failures >= STRUGGLING ? 1 : IN_FLIGHT)

  /** Loads the endpoint as it is, and what is sent next. False when the lease has ended. */
  async function load(): Promise<boolean> {
    const found = await findLeased(db, lease)
    if (!found) return false
    endpoint = found
    sign = signerOf(found, config.secretsKeys)
    const after = recorder.position(found)
    queue = await findNext(db, found, { now: clock(), after, except: recorder.due, limit: room() })
    return true
  }

  async function send(item: Item): Promise<void> {
    const begun = recorder.begin(item)
    const body = await toMessage(db, item.event, config.publicUrl)
    const at = clock()
    const outcome = await (await receiver).post(endpoint.url, { id: item.event.id, body, sign, at })
    // A failure may ask for a rest or lower the limit, so the next request waits for its record.
    if (outcome.error === null) endRequest()
    options.faultPoint('webhook-sent')
    const recorded = await recorder.end(begun, { at, outcome })
    options.faultPoint('webhook-recorded')
    if (!recorded) lost = true
    else if (isStale(endpoint, recorded, clock())) queue = []
    if (recorded) endpoint.failures = recorded.failures
    if (outcome.error !== null) endRequest()
  }

  function endRequest(): void {
    requests--
    poller.wake()
  }

  function begin(item: Item): void {
    requests++
    sent = true
    const done = send(item).catch((error: unknown) => {
      lost = true
      logger.debug({ err: error, endpoint: endpointId }, 'webhook not sent')
    })
    sending.add(done)
    void done.then(() => sending.delete(done)).then(poller.wake)
  }

  async function run(): Promise<boolean> {
    try {
      while (!stop.aborted && !lost) {
        poller.reset()
        if (queue.length === 0 && room() > 0 && !(await recorder.inTurn(load))) break
        while (queue.length > 0 && requests < limit() && room() > 0) begin(queue.shift()!)
        if (queue.length === 0 && sending.size === 0) break
        await poller.wait(pollMs)
      }
    } finally {
      await Promise.all(sending)
      await (await receiver).close()
    }
    // A lease that was lost, or whose lane ended with an error, expires by itself.
    if (!lost) await releaseLease(db, lease)
    return sent
  }

  return {
    lease,
    /** Whether anything was sent. */
    ended: run().catch((error: unknown) => {
      broken(endpointId, error)
      return false
    }),
    wake: poller.wake,
    /** Aborts the attempts in flight. */
    abort: async () => (await receiver).close(),
  }
}

/** Whether what was loaded is out of date. */
function isStale(loaded: EndpointRow, now: EndpointRow, time: Date): boolean {
  const isChanged = now.epoch !== loaded.epoch || now.updatedAt.getTime() !== loaded.updatedAt.getTime()
  return isChanged || !isSending(now, time)
}

/** During the overlap the old secret signs too. @throws UndecryptableSecret */
function signerOf({ id, secret, oldSecret, oldSecretUntil }: EndpointRow, keys: SecretsKeys): Signer {
  const cipher = openCipher(keys)
  const old = oldSecret !== null && oldSecretUntil !== null && oldSecretUntil > new Date() ? [oldSecret] : []
  return openSigner([secret, ...old].map((one) => cipher.decrypt(one, id)))
}

/** Standard Webhooks recommends less than 20 kB. */
const MAX_BODY = 20_000

/**
 * The body of a delivery: its event as CloudEvents JSON, as `GET /api/events` shows it. One that would be too long has
 * `dataref` instead of `data`: the address of the same event in the log (CloudEvents extension "Dataref").
 */
async function toMessage(db: DbOrTx, event: StoredEvent<SentType>, publicUrl: string): Promise<string> {
  const cloudEvent = toCloudEvent(event, publicUrl)
  const body = JSON.stringify(cloudEvent)
  if (Buffer.byteLength(body) < MAX_BODY) return body
  const { data: _, ...rest } = cloudEvent
  const before = await positionOfPrevious(db, event.cursor)
  const dataref = `${publicUrl}/api/events?${before ? `after=${formatCursor(before)}&` : ''}limit=1`
  return JSON.stringify({ ...rest, dataref })
}
