import { openAdmission } from '../db/client.ts'
import {
  claimSubscriptions,
  type DueDelivery,
  type DuePage,
  dropDeliveries,
  faultOf,
  keepBody,
  loadDue,
  messageOf,
  postpone,
  recordAttempt,
  releaseSubscription,
  SUBSCRIPTIONS,
  writeSubscriptionDeliveries,
} from '../library/subscriptions/deliveries.ts'
import { type MatchVideo, toOccurrence, WATCHED } from '../library/subscriptions/kinds.ts'
import { pruneSubscriptions } from '../library/subscriptions/subscribe.ts'
import { openPostgresSearch } from '../search/postgres/search.ts'
import { matchVideo } from '../search/query.ts'
import { openReceiver, type Receiver } from '../webhooks/receiver.ts'
import { runLanes, type Sender, type SenderOptions, type Sending } from './lanes.ts'

const TIMEOUT_MS = 10_000
const IN_FLIGHT = 4
/** Subscriptions served at once by a process. */
const MOST_SENDING = 64
const EARLY_WAIT_MS = 2_000
/** The other connections of the pool stay free for everything else that a worker does. */
const SEARCHES_AT_ONCE = 2
/** A question that waits longer is asked again under a later lease. */
const SEARCH_WAIT_MS = 5_000

/**
 * Tells apps of what they asked for. Any number of processes may run it: each leases a subscription while it sends, so
 * that a receiver that hangs delays no other. Delivery is at least once, with the same id and bytes.
 */
export function openSubscriptions(options: SenderOptions): Sender {
  const { db, logger, faultPoint, pollMs = 1_000, clock = () => new Date() } = options
  const stopping = new AbortController()
  const serve = openServer({ ...options, clock, stop: stopping.signal })
  /** A lease that is not given back ends by itself. Behind its page a subscription may have another. */
  const toEnd = (id: string): Promise<void> =>
    serve(id)
      .catch((error: unknown) => logger.warn({ err: error, subscription: id }, 'subscription not served'))
      .finally(() => sending.wake())
  const sending: Sending = runLanes({
    async claim({ size }) {
      const claimed = size < MOST_SENDING ? await claimSubscriptions(db, clock(), MOST_SENDING - size) : []
      return claimed.map((id) => ({ ended: toEnd(id) }))
    },
    stopping,
    pollMs,
    logger,
    waiting: 'subscriptions wait for the database',
  })
  return {
    consumer: {
      name: SUBSCRIPTIONS,
      types: WATCHED,
      async handle(events) {
        return async (tx) => {
          if ((await writeSubscriptionDeliveries(tx, events, clock())) === 0) return
          faultPoint('subscription-written')
          // After the commit: the rows are not visible before.
          setTimeout(sending.wake, 1)
        }
      },
    },
    ...sending,
    prune: () => pruneSubscriptions(db, clock()),
  }
}

/** Sends one page of a leased subscription, and gives the lease back. */
function openServer(options: SenderOptions & { clock: () => Date; stop: AbortSignal }) {
  const { db, config, faultPoint, clock, stop } = options
  const search = openPostgresSearch(db.$client)
  const searches = { max: SEARCHES_AT_ONCE, ofOne: SEARCHES_AT_ONCE, waitMs: SEARCH_WAIT_MS, what: 'searches' } as const
  const admit = openAdmission(searches)
  const match: MatchVideo = async (asked, videoId) => {
    const leave = await admit()
    try {
      return await matchVideo(search, asked, videoId)
    } finally {
      leave()
    }
  }

  async function send(id: string, page: DuePage, delivery: DueDelivery, receiver: Receiver): Promise<void> {
    const { asked, url, secrets } = page
    let { body } = delivery
    if (body === null) {
      const occurrence = await toOccurrence(asked, delivery.event, { match, publicUrl: config.publicUrl })
      if (!occurrence) return dropDeliveries(db, [delivery.id])
      body = await keepBody(db, delivery.id, JSON.stringify(occurrence))
    }
    const { eventId } = JSON.parse(body) as { eventId: string }
    const message = { ...messageOf(id, secrets), id: eventId, body, at: clock() }
    const { error, status } = await receiver.post(url, message)
    faultPoint('subscription-sent')
    const fault = error === null ? undefined : faultOf(error, status)
    const final = status === 410 || status === 413
    await recordAttempt(db, { subscriptionId: id, delivery, fault, final, now: clock() })
    faultPoint('subscription-recorded')
  }

  return async (id: string): Promise<void> => {
    const page = await loadDue(db, id, { now: clock(), secretsKeys: config.secretsKeys })
    if (page && !page.allowed) await dropDeliveries(db, idsOf([...page.deliveries, ...page.early]))
    else if (page) {
      await postpone(db, idsOf(page.early), new Date(clock().getTime() + EARLY_WAIT_MS))
      const { wire = {}, timeoutMs = TIMEOUT_MS } = options
      const receiver = await openReceiver({
        ...wire,
        timeoutMs,
        allowPrivate: config.webhookAllowPrivate,
        inFlight: IN_FLIGHT,
      })
      const left = [...page.deliveries]
      const errors: unknown[] = []
      /** A delivery that breaks off stays as it is, and delays no other. */
      const lane = async () => {
        for (let next = left.shift(); next && !stop.aborted; next = left.shift())
          await send(id, page, next, receiver).catch((error: unknown) => errors.push(error))
      }
      await Promise.all(Array.from({ length: IN_FLIGHT }, lane))
      await receiver.close()
      if (errors.length > 0) throw errors[0]
    }
    await releaseSubscription(db, id)
  }
}

const idsOf = (deliveries: readonly DueDelivery[]) => deliveries.map(({ id }) => id)
