import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { pino } from 'pino'
import type { Db } from '../src/db/client.ts'
import { toCloudEvent } from '../src/events/cloud-event.ts'
import { createEndpoint } from '../src/library/webhooks/endpoints.ts'
import { createSecret, openSigner } from '../src/webhooks/secrets.ts'
import { openWebhooks } from '../src/workers/webhooks.ts'
import { type About, inTurns, optionsOf } from './support/bench.ts'
import { openTemporaryDatabase } from './support/postgres.ts'

const FLIGHTS = 4

/** Aim: half of what bare calls reach. */
export const about: About = {
  measures:
    'Deliveries per second to one receiver on this machine: read from the log, signed, sent with four in flight, ' +
    'recorded with their attempts.',
  against: 'the same bodies, signed in the same way and sent by `fetch` with four in flight, in turns.',
  figures: [{ what: 'deliveries per second ÷ signed fetch calls per second', at: ['ratio'], atLeast: 0.5 }],
}

export async function run(args: string[]): Promise<object | undefined> {
  const values = optionsOf(args, { deliveries: 1_000, rounds: 5 })
  const { deliveries, rounds } = values
  const receiver = await startReceiver()
  await using database = await openTemporaryDatabase({ durable: true })
  try {
    const { ours, bare, ratio } = await inTurns(
      {
        ours: async () => perSecond(deliveries, await deliver(database.db, receiver.url, deliveries)),
        bare: async () => perSecond(deliveries, await fetchSigned(receiver.url, deliveries)),
      },
      { rounds },
    )
    return {
      bench: 'webhooks',
      ratio,
      ratio_of: `deliveries per second ÷ signed fetch calls per second, ${FLIGHTS} in flight`,
      deliveries_per_second: ours,
      fetches_per_second: bare,
    }
  } finally {
    receiver.stop()
  }
}

/** A process of its own, so that the receiver's work is not the sender's. */
async function startReceiver(): Promise<{ url: string; stop(): void }> {
  const code = `require('node:http').createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(204).end())
  }).listen(0, '127.0.0.1', function () { console.log(this.address().port) })`
  const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [port] = (await once(createInterface(child.stdout), 'line')) as [string]
  return { url: `http://127.0.0.1:${port}/hook`, stop: () => child.kill() }
}

const perSecond = (count: number, tookMs: number): number => Math.round(count / (tookMs / 1000))

/** Milliseconds from the first attempt until all are recorded. The deliveries are due before. */
async function deliver(db: Db, url: string, count: number): Promise<number> {
  await db.$client.query('delete from webhook_endpoints')
  const { endpoint } = await db.transaction((tx) =>
    createEndpoint(tx, { url, types: null, accountId: null }, { allowPrivate: true, secretsKeys: [] }),
  )
  await db.$client.query(
    `with made as (insert into events (type, subject, data)
       select 'key.revoked', 'bench-' || n, jsonb_build_object('key_id', 'bench-' || n) from generate_series(1, $2) n
       returning id, xid, seq, type)
     insert into webhook_deliveries (endpoint_id, event_id, xid, seq, type, next_at)
     select $1, id, xid, seq, type, now() from made`,
    [endpoint.id, count],
  )
  const webhooks = openWebhooks({
    db,
    config: { publicUrl: 'http://localhost', webhookAllowPrivate: true, secretsKeys: [], smtpUrl: undefined },
    logger: pino({ level: 'warn' }),
    faultPoint: () => undefined,
  })
  const started = performance.now()
  await webhooks.drain()
  const took = performance.now() - started
  await webhooks.stop(1_000)
  const { rows } = await db.$client.query(`select count(*)::int as n from webhook_deliveries where state = 'delivered'`)
  if (rows[0].n !== count) throw new Error(`${rows[0].n} of ${count} deliveries arrived`)
  return took
}

async function fetchSigned(url: string, count: number): Promise<number> {
  const sign = openSigner([createSecret('v1')])
  const queue = Array.from({ length: count }, (_, n) => n).values()
  const started = performance.now()
  await Promise.all(
    Array.from({ length: FLIGHTS }, async () => {
      for (const n of queue) {
        const id = randomUUID()
        const body = JSON.stringify(toCloudEvent(eventOf(id, n), 'http://localhost'))
        const timestamp = Math.floor(Date.now() / 1000)
        const response = await fetch(url, {
          method: 'POST',
          redirect: 'manual',
          headers: {
            'content-type': 'application/cloudevents+json; charset=utf-8',
            'webhook-id': id,
            'webhook-timestamp': String(timestamp),
            'webhook-signature': sign({ id, timestamp, body }),
          },
          body,
        })
        if (!response.ok) throw new Error(`${response.status}`)
        await response.arrayBuffer()
      }
    }),
  )
  return performance.now() - started
}

function eventOf(id: string, n: number) {
  return {
    id,
    type: 'key.revoked' as const,
    version: 1,
    subject: `bench-${n}`,
    accountId: null,
    data: { key_id: `bench-${n}` },
    time: new Date(),
    cursor: { xid: '1', seq: n },
  }
}
