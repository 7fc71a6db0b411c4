import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { restoreBackup } from '../../src/backup/restore.ts'
import { writeBackup } from '../../src/backup/write-backup.ts'
import { openDb } from '../../src/db/client.ts'
import { replay } from '../../src/events/positions.ts'
import { createAccount } from '../../src/library/accounts/accounts.ts'
import { createKey } from '../../src/library/accounts/keys.ts'
import { findSession } from '../../src/library/accounts/sessions.ts'
import { openDiskStore } from '../../src/media/disk-store.ts'
import { openMediaStore } from '../../src/media/open-store.ts'
import { recountAnalytics } from '../../src/projections/analytics.ts'
import { rebuildAll } from '../../src/workers/projection.ts'
import { untilReadable } from '../support/stores.ts'
import { openWebhookReceiver, type Received, type WebhookReceiver } from '../support/webhook-receiver.ts'
import { emptyTables, type FullLibrary, fillEveryTable } from './full-library.ts'
import {
  checksumsOf,
  configFor,
  filesOf,
  imageKeys,
  imageOf,
  openCluster,
  openFolder,
  openLibrary,
  queryAt,
  seedWithImages,
} from './support.ts'

// The drill: a library is backed up while it is written to, destroyed, and restored into another cluster.

const prefixes = [`t_${randomBytes(6).toString('hex')}`, `t_${randomBytes(6).toString('hex')}`]
let redis: Redis
beforeAll(() => {
  redis = new Redis(inject('redisUrl'))
})
afterAll(async () => {
  for (const prefix of prefixes) {
    const keys = await redis.keys(`*${prefix}*`)
    if (keys.length > 0) await redis.del(keys)
  }
  redis.disconnect()
})

test('a library that was backed up under writes and destroyed comes back whole, and goes on', async () => {
  using folder = openFolder()
  using place = openFolder()
  const dataDir = join(folder.path, 'data')
  mkdirSync(dataDir)
  const store = openDiskStore(place.path)
  await using before = await openCluster()
  const url = await before.create({ migrated: true })
  await queryAt(url, 'do $$ begin for i in 1..20000 loop perform pg_current_xact_id(); commit; end loop; end $$')

  // Seed: a row in every table. Then videos with images, an upload, accounts with keys, saves, boards with notes, a
  // receiver of every event, a second upload of which one part is there, and a reader of the log.
  const seeding = openDb({ url, max: 4 })
  const full = await fillEveryTable(seeding, openMediaStore(configFor(dataDir)))
  await seeding.$client.end()
  expect(await emptyTables(url)).toEqual([])
  await using library = await openLibrary({ url, dataDir, prefix: prefixes[0]! })
  const { db, media, call } = library
  const videos = []
  for (let n = 0; n < 4; n++)
    videos.push(
      await seedWithImages(db, media, {
        frames: [0, 1, 2, 3, 4].map((tSec) => ({ tSec, caption: `a kite number ${n}` })),
      }),
    )
  const doomed = await seedWithImages(db, media, { frames: [{ caption: 'a doomed balloon' }] })
  const doomedKeys = await imageKeys(db, doomed.id)
  await media.put('uploads/0123456789abcdef', randomBytes(300_000), 'application/octet-stream')
  await db.$client.query(`update videos set upload_key = 'uploads/0123456789abcdef' where id = $1`, [videos[0]!.id])
  const person = await createAccount(db, { email: 'person@example.com', role: 'member', plan: 'pro' })
  const { key } = await createKey(db, { accountId: person.id, name: 'person' })
  const operator = await createAccount(db, { email: 'operator@localhost', role: 'operator', plan: 'pro' })
  const { key: operatorKey } = await createKey(db, { accountId: operator.id, name: 'first start' })
  writeFileSync(join(dataDir, 'operator-key'), `${operatorKey}\n`)
  await using receiver = await openWebhookReceiver()
  const { json: registered } = await call('/api/webhooks', {
    key: operatorKey,
    method: 'POST',
    body: { url: receiver.url },
  })
  const first = { key, method: 'POST', body: { name: 'Kites' }, headers: { 'idempotency-key': 'kites' } }
  const { json: made } = await call('/api/boards', first)
  const board = `/api/boards/${made.board.id}`
  for (const frameId of videos[0]!.frameIds) {
    await call('/api/favourites', { key, method: 'POST', body: { frameId } })
    await call(`${board}/frames/${frameId}`, { key, method: 'PUT', body: { note: `look at ${frameId}` } })
  }
  await library.drain()
  await untilReadable(db)
  await recountAnalytics(db)
  const figures = await figuresOf(library, operatorKey)
  expect(figures.saves).toHaveLength(8)
  expect(await library.ids('kite')).toHaveLength(20)
  await expect.poll(async () => (await call('/api/events?limit=3', { key: operatorKey })).json.events.length).toBe(3)
  const { json: page } = await call('/api/events?limit=3', { key: operatorKey })

  const isDelivered = `endpoint_id = '${registered.webhook.id}' and state = 'delivered'`
  const deliveries = () => queryAt(url, `select from webhook_deliveries where ${isDelivered}`)
  await expect.poll(async () => (await deliveries()).length).toBeGreaterThanOrEqual(10)

  // Back up while saves and boards are written and a video is deleted, its files too as soon as they may.
  const written: string[] = []
  let writing = true
  const writer = (async () => {
    for (let n = 0; writing; n++) {
      const { json } = await call('/api/boards', { key, method: 'POST', body: { name: `during ${n}` } })
      written.push(json.board.id)
      await call(`/api/boards/${json.board.id}/frames/${videos[1]!.frameIds[n % 5]}`, { key, method: 'PUT', body: {} })
    }
  })()
  await expect.poll(() => written.length).toBeGreaterThan(3)
  let deleted: Promise<unknown> | undefined
  const report = await writeBackup({
    databaseUrl: url,
    media,
    place: store,
    library: async () => 'this one',
    operatorKeyFile: join(dataDir, 'operator-key'),
    // The snapshot is taken. Images are copied after the tables.
    onProgress({ step, done, total }) {
      if (step === 'tables' && done === total)
        deleted ??= call(`/api/videos/${doomed.id}`, { key: operatorKey, method: 'DELETE' })
    },
  })
  expect((await deleted) as { status: number }).toMatchObject({ status: 200 })
  writing = false
  await writer
  expect(report).toMatchObject({ images: 50, images_copied: 50, images_missing: 0 })
  const kept = await checksumsOf(url, WRITTEN)
  const own = await queryAt(url, `select * from board_items where board_id = '${made.board.id}' order by frame_id`)
  const images = await filesOf(openDiskStore(join(dataDir, 'store')))

  // Destroy the cluster and the media store.
  await library[Symbol.asyncDispose]()
  const delivered = receiver.received.splice(0).map(idOf)
  await before[Symbol.asyncDispose]()
  rmSync(dataDir, { recursive: true })
  mkdirSync(dataDir)

  // Restore into a new cluster, whose transaction numbers are lower.
  await using after = await openCluster()
  const target = await after.create()
  const config = configFor(dataDir)
  const restored = await restoreBackup({
    databaseUrl: target,
    media: openMediaStore(config),
    place: store,
    at: place.path,
    operatorKeyFile: join(dataDir, 'operator-key'),
    rebuilt: ['search'],
    async rebuild() {
      const fresh = openDb({ url: target, max: 4 })
      await rebuildAll({ config, db: fresh })
      await fresh.$client.end()
    },
  })
  expect(restored).toMatchObject({ backup: report.backup, rows: report.rows, images: 50 })

  // Every row that nobody wrote to, every board made before, every image, and the key with its mode.
  expect(await checksumsOf(target, WRITTEN)).toEqual(kept)
  expect(
    await queryAt(target, `select * from board_items where board_id = '${made.board.id}' order by frame_id`),
  ).toEqual(own)
  const back = await filesOf(openMediaStore(config))
  expect(back).toEqual(new Map([...images, ...doomedKeys.map((name) => [name, back.get(name)!] as const)]))
  for (const name of doomedKeys) expect(await openMediaStore(config).get(name)).toEqual(imageOf(name))
  expect(readFileSync(join(dataDir, 'operator-key'), 'utf8')).toBe(`${operatorKey}\n`)
  expect(statSync(join(dataDir, 'operator-key')).mode & 0o777).toBe(0o600)
  // One moment: of what was written meanwhile a beginning is there, every board with its event.
  const boards = await queryAt(target, `select id from boards where name like 'during %'`)
  const there = new Set(boards.map((row) => row.id))
  expect(written.map((id) => there.has(id)).lastIndexOf(true)).toBe(there.size - 1)
  const told = await queryAt(
    target,
    `select subject from events where type = 'board.created' and data->>'name' like 'during %'`,
  )
  expect(new Set(told.map((row) => row.subject))).toEqual(there)

  // What the receiver has, as far as the backup knows. The lease of the lost worker would end by itself.
  const known = await queryAt(target, `select event_id from webhook_deliveries where ${isDelivered}`)
  const knownIds = known.map((row) => String(row.event_id))
  expect(delivered).toEqual(expect.arrayContaining(knownIds))
  expect(knownIds.length).toBeGreaterThanOrEqual(10)
  await queryAt(target, 'update webhook_endpoints set lease_until = null')

  // And on it goes: reads, the person's key, the cursor of before, new writes, search.
  await using again = await openLibrary({ url: target, dataDir, prefix: prefixes[1]! })
  expect((await again.ids('kite')).toSorted()).toEqual(videos.flatMap(({ frameIds }) => frameIds).toSorted())
  expect(await again.ids('balloon')).toEqual(doomed.frameIds)
  const image = (await again.call(`/api/frames/${doomed.frameIds[0]}`)).json.frame.image_url as string
  const answer = await fetch(image.replace('http://frames.test', `http://127.0.0.1:${again.port}`))
  expect(Buffer.from(await answer.arrayBuffer())).toEqual(imageOf(doomedKeys[0]!))
  const { json: shown } = await again.call(board, { key })
  expect(shown.board.items.map((item: { id: string; note: string }) => [item.id, item.note])).toEqual(
    videos[0]!.frameIds.map((id) => [id, `look at ${id}`]),
  )
  expect((await again.call('/api/favourites', { key })).json.frames).toHaveLength(5)

  const fresh = await seedWithImages(again.db, again.media, { frames: [{ caption: 'a fresh dirigible' }] })
  await again.call(`/api/videos/${videos[3]!.id}`, { key: operatorKey, method: 'DELETE' })
  await again.drain()
  expect(await again.ids('dirigible')).toEqual(fresh.frameIds)
  expect(await again.ids('kite')).toHaveLength(15)
  // Every event after the cursor once, the new ones last.
  const rest: { id: string; subject: string; type: string }[] = []
  await expect
    .poll(async () => {
      rest.length = 0
      for (let cursor = page.next; ; ) {
        const { json } = await again.call(`/api/events?after=${cursor}&limit=1000`, { key: operatorKey })
        if (json.events.length === 0) return rest.at(-1)?.type
        rest.push(...json.events)
        cursor = json.next
      }
    })
    .toBe('video.deleted')
  const [{ n }] = (await queryAt(target, 'select count(*)::int as n from events')) as [{ n: number }]
  expect(new Set(rest.map(({ id }) => id)).size).toBe(n - 3)
  expect(rest).toHaveLength(n - 3)
  // Positions were compared by number and transaction: a sequence that began again would have failed on its key.

  await expectWebhooksGoOn({ target, receiver, registered, knownIds })
  await expectFiguresGoOn(again, figures, operatorKey)
  await expectAccountGoesOn(again, full, operatorKey)
  // The board was made once, by the same request.
  expect((await again.call('/api/boards', first)).json.board.id).toBe(made.board.id)
  const { json: consumers } = await again.call('/api/events/consumers', { key: operatorKey })
  expect(consumers.consumers.map((one: { consumer: string }) => one.consumer)).toEqual(
    expect.arrayContaining(['analytics', 'dispatch', 'search']),
  )
  expect(again.logs.filter((line) => /"level":"(error|fatal)"|"level":50/.test(line))).toEqual([])
})

type Library = Awaited<ReturnType<typeof openLibrary>>

/** Tables that are written to during the backup. */
const WRITTEN = [
  ...['boards', 'board_items', 'events', 'videos', 'frames', 'checkpoints', 'analytics_uses', 'analytics_figures'],
  ...['webhook_endpoints', 'webhook_deliveries', 'webhook_counts'],
]

const idOf = ({ headers }: Received) => headers['webhook-id']!

/** Figures that nothing changes during the backup. */
async function figuresOf({ call }: Pick<Library, 'call'>, key: string) {
  const rowsOf = async (path: string) => (await call(`/api/analytics/${path}&limit=1000`, { key })).json.rows
  const saves = (await rowsOf('saves?by=frame')) as { key: string; saves: number; unsaves: number }[]
  return {
    saves: saves
      .filter((row) => row.saves > 0)
      .map((row) => ({ key: row.key, saves: row.saves, unsaves: row.unsaves })),
    model: await rowsOf('model?by=model'),
  }
}

/** Every event that the receiver was not known to have comes once, signed as before. Others may come twice. */
async function expectWebhooksGoOn(given: {
  target: string
  receiver: WebhookReceiver
  registered: { secret: string; webhook: { id: string } }
  knownIds: string[]
}): Promise<void> {
  const { target, receiver, registered, knownIds } = given
  const later = `select id from events where seq >= (
    select min(e.seq) from webhook_deliveries d join events e on e.id = d.event_id
     where d.endpoint_id = '${registered.webhook.id}')`
  let again: string[] = []
  const hasCome = async () => {
    const unknown = (await queryAt(target, later)).map(({ id }) => String(id)).filter((id) => !knownIds.includes(id))
    again = receiver.received.map(idOf)
    for (const id of unknown) again.splice(again.indexOf(id), again.includes(id) ? 1 : 0)
    return unknown.every((id) => receiver.received.some((one) => idOf(one) === id))
  }
  await expect.poll(hasCome).toBe(true)
  // Delivered before, out of the order of the log.
  expect(again.length).toBeLessThanOrEqual(64)
  expect(knownIds).toEqual(expect.arrayContaining(again))
  const signing = new Webhook(registered.secret)
  for (const { body, headers } of receiver.received) signing.verify(body, headers)
}

/** The figures are those of before, and those that the whole log gives. */
async function expectFiguresGoOn(again: Library, before: object, key: string): Promise<void> {
  expect(await figuresOf(again, key)).toEqual(before)
  const rows = async () => [
    (await again.db.$client.query('select * from analytics_uses order by dimension, day')).rows,
    (await again.db.$client.query('select * from analytics_figures order by figure, day, key')).rows,
  ]
  await untilReadable(again.db)
  await recountAnalytics(again.db)
  const counted = await rows()
  await again.db.$client.query('truncate analytics_uses, analytics_figures')
  await replay(again.db, { consumer: 'analytics', from: { xid: '0', seq: 0 } })
  await recountAnalytics(again.db)
  expect(await rows()).toEqual(counted)
}

/** What one account had: its session, and the webhook whose delivery had failed for good. */
async function expectAccountGoesOn(again: Library, full: FullLibrary, key: string): Promise<void> {
  expect((await findSession(again.db, full.session))?.account.id).toBe(full.accountId)
  await using receiver = await openWebhookReceiver()
  const { endpointId, eventId, secret } = full.dead
  const path = `/api/webhooks/${endpointId}`
  await again.call(path, { key, method: 'PATCH', body: { url: receiver.url } })
  const { json } = await again.call(`${path}/deliveries`, { key })
  expect(json.deliveries).toMatchObject([{ event_id: eventId, state: 'failed' }])
  expect(json.deliveries[0].attempts).toHaveLength(10)
  await again.call(`${path}/resend`, { key, method: 'POST', body: { event_id: eventId } })
  await expect.poll(() => receiver.received.map(idOf)).toEqual([eventId])
  const [{ body, headers }] = receiver.received as [Received]
  new Webhook(secret).verify(body, headers)
  const { json: dead } = await again.call('/api/events/dead', { key })
  expect(dead.dead_events).toMatchObject([{ consumer: 'dispatch', error: 'a fault of ours', event: { id: eventId } }])
}

test('where the search documents could not be built, the worker builds them from the log', async () => {
  using folder = openFolder()
  using place = openFolder()
  await using cluster = await openCluster()
  const url = await cluster.create({ migrated: true })
  const db = openDb({ url, max: 2 })
  const store = openDiskStore(place.path)
  const media = openDiskStore(join(folder.path, 'store'))
  const { frameIds } = await seedWithImages(db, media, { frames: [{ caption: 'a kite' }, { caption: 'a kite too' }] })
  // The consumer has read them all: without a step back it would never look at them again.
  await db.$client.query(
    `insert into checkpoints (consumer, xid, seq)
       select 'search', xid, seq from events order by xid desc, seq desc limit 1`,
  )
  await db.$client.end()
  await writeBackup({ databaseUrl: url, media, place: store, library: async () => 'this one' })
  const target = await cluster.create()
  const report = await restoreBackup({
    databaseUrl: target,
    media,
    place: store,
    at: place.path,
    rebuilt: ['search'],
    rebuild: () => Promise.reject(new Error('the engine is away')),
  })
  expect(report.rebuild_failed).toBe('the engine is away')
  await using again = await openLibrary({ url: target, dataDir: folder.path, prefix: prefixes[0]! })
  await again.drain()
  expect((await again.ids('kite')).toSorted()).toEqual(frameIds.toSorted())
})
