import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { appendEvents } from '../../src/events/append.ts'
import { listDeliveries } from '../../src/webhooks/deliveries.ts'
import { createEndpoint, type EndpointFields, type EndpointRow, loadEndpoint } from '../../src/webhooks/endpoints.ts'
import { resumeEndpoint } from '../../src/webhooks/position.ts'
import { openWebhooks, type WebhookOptions, type Webhooks } from '../../src/webhooks/send.ts'
import { openStores, type Stores, untilReadable } from '../support/stores.ts'
import { openWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'

const PUBLIC_URL = 'https://frames.example'
const logger = pino({ level: 'silent' })

export interface Stage {
  stores: Stores
  /** The time by which deliveries are due. Attempts carry it. */
  now: Date
  /** Moves the time on. */
  pass(ms: number): void
  /** The `SECRETS_KEY` of everything that begins from now on. */
  secretsKeys: readonly Buffer[]
  /** Registers a receiver. Events from before it are not sent to it. */
  register(url: string, given?: Partial<EndpointFields>): Promise<EndpointRow>
  endpoint(id: string): Promise<EndpointRow>
  /** Appends events, in one transaction each thousand, and returns when readers may see them. */
  write(count: number, type?: 'key.revoked' | 'account.plan_changed'): Promise<string[]>
  /** A worker's webhooks. The first one is open already. */
  open(options?: Partial<WebhookOptions>): Webhooks
  worker: Webhooks
  /** Sends every event and what is due. */
  settle(): Promise<void>
  resume(id: string, from?: string): Promise<EndpointRow>
  deliveries(id: string): ReturnType<typeof deliveriesOf>
  [Symbol.asyncDispose](): Promise<void>
}

const deliveriesOf = async (stores: Stores, id: string) =>
  (await listDeliveries(stores.db, id, { limit: 100_000 })).deliveries.toReversed()

/** A record with webhooks of one worker, whose time stands still until the test moves it. */
export async function openStage(options: Partial<WebhookOptions> = {}): Promise<Stage> {
  const stores = await openStores()
  const workers: Webhooks[] = []
  function open(more: Partial<WebhookOptions> = {}): Webhooks {
    const worker = openWebhooks({
      db: stores.db,
      url: stores.databaseUrl,
      config: {
        publicUrl: PUBLIC_URL,
        webhookAllowPrivate: true,
        secretsKeys: stage.secretsKeys,
      },
      logger,
      faultPoint: () => undefined,
      clock: () => stage.now,
      random: () => 0.5,
      pollMs: 20,
      ...options,
      ...more,
    })
    workers.push(worker)
    return worker
  }
  const stage: Stage = {
    stores,
    now: new Date('2026-11-20T12:00:00Z'),
    secretsKeys: [],
    pass(ms) {
      stage.now = new Date(stage.now.getTime() + ms)
    },
    async register(url, { types = null } = {}) {
      const { endpoint } = await stores.db.transaction((tx) =>
        createEndpoint(tx, { url, types }, { allowPrivate: true, secretsKeys: stage.secretsKeys }),
      )
      return endpoint
    },
    endpoint: (id) => loadEndpoint(stores.db, id),
    async write(count, type = 'key.revoked') {
      const subjects = Array.from({ length: count }, (_, n) => `${type}-${++written}-${n}`)
      const data = (subject: string) =>
        type === 'key.revoked' ? { key_id: subject } : { plan: 'pro', previous_plan: 'free' }
      await stores.db.transaction((tx) =>
        appendEvents(
          tx,
          subjects.map((subject) => ({ type, subject, accountId: null, data: data(subject) as never })),
        ),
      )
      await untilReadable(stores.db)
      return subjects
    },
    open,
    worker: undefined as unknown as Webhooks,
    settle: () => stage.worker.drain(),
    resume: (id, from = 'stopped') => resumeEndpoint(stores.db, id, from, stage.now),
    deliveries: (id) => deliveriesOf(stores, id),
    async [Symbol.asyncDispose]() {
      for (const worker of workers) await worker.stop(5_000)
      await stores[Symbol.asyncDispose]()
    },
  }
  let written = 0
  stage.worker = open()
  return stage
}

/** A stage for all tests of a file, and a receiver for each. No endpoint outlives its test. */
export function useStage(
  options: Partial<WebhookOptions>,
  begin: (given: { stage: Stage; receiver: WebhookReceiver }) => void,
): void {
  let stage: Stage
  let receiver: WebhookReceiver
  beforeAll(async () => {
    stage = await openStage(options)
  })
  afterAll(() => stage[Symbol.asyncDispose]())
  beforeEach(async () => {
    receiver = await openWebhookReceiver()
    begin({ stage, receiver })
  })
  afterEach(async () => {
    await stage.stores.db.$client.query('delete from webhook_endpoints')
    await receiver[Symbol.asyncDispose]()
  })
}
