import { sql } from 'drizzle-orm'
import pg from 'pg'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openDb } from '../../src/db/client.ts'
import { findEnd, readEvents } from '../../src/events/read.ts'
import { createAccount } from '../../src/library/accounts/accounts.ts'
import { type Caller, createKey, findCallers } from '../../src/library/accounts/keys.ts'
import { writeSubscriptionDeliveries } from '../../src/library/subscriptions/deliveries.ts'
import type { Asked } from '../../src/library/subscriptions/kinds.ts'
import { subscribe } from '../../src/library/subscriptions/subscribe.ts'
import { openSubscriptions } from '../../src/workers/subscriptions.ts'
import { seedVideo } from '../support/seed.ts'
import { openStores, type Stores, untilReadable } from '../support/stores.ts'
import { until } from '../support/until.ts'
import { openWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'

const HOUR = 3_600_000
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const logger = pino({ level: 'silent' })

let stores: Stores
let caller: Caller
let receiver: WebhookReceiver
beforeAll(async () => {
  stores = await openStores()
  const { id: accountId } = await createAccount(stores.db, { email: 'app@example.org' })
  const { record } = await createKey(stores.db, { accountId, name: 'an app' })
  caller = (await findCallers(stores.db, [record.id]))[0]!
})
afterAll(() => stores[Symbol.asyncDispose]())
beforeEach(async () => {
  receiver = await openWebhookReceiver()
  await stores.db.execute(sql`delete from subscriptions`)
  return () => receiver[Symbol.asyncDispose]()
})

async function ask(name: Asked['name'], given: Asked['arguments'] = {}): Promise<void> {
  const accountId = caller.account.id
  const asked = { name, arguments: given, accountId }
  await subscribe(stores.db, { caller, asked, url: receiver.url, secret: SECRET, now: new Date(), secretsKeys: [] })
}

/** New videos, whose deliveries are written and not sent yet. Returns the ids of their events. */
async function addVideos(count: number): Promise<string[]> {
  const after = await findEnd(stores.db)
  for (let n = 0; n < count; n++) await seedVideo(stores.db, {})
  await untilReadable(stores.db)
  const { events, next } = await readEvents(stores.db, { after, types: ['video.ready'], limit: 100 })
  await stores.db.transaction((tx) => writeSubscriptionDeliveries(tx, events, new Date()))
  // What reads the log for search has seen them.
  await stores.db.execute(sql`
    insert into checkpoints (consumer, xid, seq) values ('search', ${next.xid}::xid8, ${next.seq})
    on conflict (consumer) do update set xid = excluded.xid, seq = excluded.seq`)
  return events.map(({ id }) => id)
}

function open(db = stores.db, clock = () => new Date()) {
  const config = { publicUrl: 'https://frames.example', webhookAllowPrivate: true, secretsKeys: [] }
  const sender = openSubscriptions({ db, config, logger, faultPoint: () => undefined, clock, pollMs: 20 })
  return Object.assign(sender, { [Symbol.asyncDispose]: () => sender.stop(5_000) })
}

const left = async () =>
  (
    await stores.db.execute<{ event_id: string; tries: number }>(
      sql`select event_id, tries from subscription_deliveries order by id`,
    )
  ).rows

test('a delivery that breaks off stays, and those beside it arrive', async () => {
  await ask('video.ready')
  const [broken, ...others] = await addVideos(4)
  await stores.db.$client.query(`
    create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
    create trigger refuse before update of body on subscription_deliveries
      for each row when (old.event_id = '${broken}') execute function refuse()`)
  // The others are still on their way when the first breaks off.
  receiver.answer((_, response) => void setTimeout(() => response.writeHead(204).end(), 300))
  await using sender = open()
  await sender.drain()
  expect(receiver.received.map(({ headers }) => headers['webhook-id']!.slice(0, 36)).sort()).toEqual(others.sort())
  expect(await left()).toEqual([{ event_id: broken, tries: 0 }])
})

test('questions leave connections to everything else', async () => {
  for (let n = 0; n < 10; n++) await ask('search.matched', { query: `kite ${n}` })
  await addVideos(2)
  const db = openDb({ url: stores.databaseUrl, max: 4 })
  const holder = new pg.Client({ connectionString: stores.databaseUrl })
  await holder.connect()
  await holder.query('begin; lock table library_search.frames')
  {
    await using sender = open(db)
    const asking = `select 1 from pg_locks where not granted and relation = 'library_search.frames'::regclass`
    await until(async () => (await holder.query(asking)).rowCount! >= 2)
    // With a connection for each question these would wait for the table, which nothing else frees.
    for (let n = 0; n < 100; n++) await db.execute(sql`select 1`)
    await holder.query('commit')
    await sender.drain()
    expect(await left()).toEqual([])
  }
  await holder.end()
  await db.$client.end()
})

test('what waits for a worker for hours is sent by the next one', async () => {
  await ask('video.ready')
  const events = await addVideos(1)
  await using sender = open(stores.db, () => new Date(Date.now() + 3 * HOUR))
  await sender.prune()
  await sender.drain()
  expect(receiver.received.map(({ headers }) => headers['webhook-id']!.slice(0, 36))).toEqual(events)
})
