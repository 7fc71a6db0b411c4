import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { restoreBackup } from '../../src/backup/restore.ts'
import { writeBackup } from '../../src/backup/write-backup.ts'
import { openDb } from '../../src/db/client.ts'
import { createAccount } from '../../src/library/accounts/accounts.ts'
import { createKey } from '../../src/library/accounts/keys.ts'
import { openDiskStore } from '../../src/media/disk-store.ts'
import { openMediaStore } from '../../src/media/open-store.ts'
import { rebuildAll } from '../../src/workers/projection.ts'
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
  const before = await openCluster()
  const url = await before.create({ migrated: true })
  await queryAt(url, 'do $$ begin for i in 1..20000 loop perform pg_current_xact_id(); commit; end loop; end $$')

  // Seed: videos with images, an upload, accounts with keys, saves, boards with notes, and a reader of the log.
  const library = await openLibrary({ url, dataDir, prefix: prefixes[0]! })
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
  const { json: made } = await call('/api/boards', { key, method: 'POST', body: { name: 'Kites' } })
  const board = `/api/boards/${made.board.id}`
  for (const frameId of videos[0]!.frameIds) {
    await call('/api/favourites', { key, method: 'POST', body: { frameId } })
    await call(`${board}/frames/${frameId}`, { key, method: 'PUT', body: { note: `look at ${frameId}` } })
  }
  await library.drain()
  expect(await library.ids('kite')).toHaveLength(20)
  await expect.poll(async () => (await call('/api/events?limit=3', { key: operatorKey })).json.events.length).toBe(3)
  const { json: page } = await call('/api/events?limit=3', { key: operatorKey })

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
    mediaBucket: null,
    place: store,
    images: 'copy',
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
  expect(report).toMatchObject({ images: 43, images_copied: 43, images_missing: 0 })
  const kept = await checksumsOf(url, ['boards', 'board_items', 'events', 'videos', 'frames', 'checkpoints'])
  const own = await queryAt(url, `select * from board_items where board_id = '${made.board.id}' order by frame_id`)
  const images = await filesOf(openDiskStore(join(dataDir, 'store')))

  // Destroy the cluster and the media store.
  await library.stop()
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
    mediaBucket: null,
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
  expect(restored).toMatchObject({ backup: report.backup, rows: report.rows, images: 43, images_copied: 43 })

  // Every row that nobody wrote to, every board made before, every image, and the key with its mode.
  expect(await checksumsOf(target, ['boards', 'board_items', 'events', 'videos', 'frames', 'checkpoints'])).toEqual(
    kept,
  )
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

  // And on it goes: reads, the person's key, the cursor of before, new writes, search.
  const again = await openLibrary({ url: target, dataDir, prefix: prefixes[1]! })
  try {
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
    expect(again.logs.filter((line) => /"level":"(error|fatal)"|"level":50/.test(line))).toEqual([])
  } finally {
    await again.stop()
  }
})

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
  await writeBackup({ databaseUrl: url, media, mediaBucket: null, place: store, images: 'copy' })
  const target = await cluster.create()
  const report = await restoreBackup({
    databaseUrl: target,
    media,
    mediaBucket: null,
    place: store,
    at: place.path,
    rebuilt: ['search'],
    rebuild: () => Promise.reject(new Error('the engine is away')),
  })
  expect(report.rebuild_failed).toBe('the engine is away')
  const again = await openLibrary({ url: target, dataDir: folder.path, prefix: prefixes[0]! })
  await again.drain()
  expect((await again.ids('kite')).toSorted()).toEqual(frameIds.toSorted())
  await again.stop()
})
