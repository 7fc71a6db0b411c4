import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { getTableName, is } from 'drizzle-orm'
import { PgTable } from 'drizzle-orm/pg-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { explain } from '../../src/backup/failure.ts'
import { readManifest } from '../../src/backup/manifest.ts'
import { openPlace } from '../../src/backup/place.ts'
import { type RestoreOptions, restoreBackup } from '../../src/backup/restore.ts'
import { verifyBackup } from '../../src/backup/verify.ts'
import { type BackupOptions, writeBackup } from '../../src/backup/write-backup.ts'
import { describeFailure } from '../../src/cli/describe-failure.ts'
import { type Db, openDb } from '../../src/db/client.ts'
import { createAccount } from '../../src/library/accounts/accounts.ts'
import { libraryId } from '../../src/library/settings.ts'
import { openDiskStore } from '../../src/media/disk-store.ts'
import type { MediaStore } from '../../src/media/media-store.ts'
import { openS3Store } from '../../src/media/s3-store.ts'
import { S3_KEY, startS3 } from '../support/bucket.ts'
import { emptyTables, fillEveryTable } from './full-library.ts'
import { checksumsOf, filesOf, imageKeys, openCluster, openFolder, queryAt, seedWithImages } from './support.ts'

type Cluster = Awaited<ReturnType<typeof openCluster>>
let cluster: Cluster
let url: string
let db: Db
let videoId: string
const mediaFolder = openFolder()
const media = openDiskStore(mediaFolder.path)

beforeAll(async () => {
  cluster = await openCluster()
  url = await cluster.create({ migrated: true })
  db = openDb({ url, max: 4, applicationName: 'test' })
  const frames = Array.from({ length: 12 }, (_, tSec) => ({ tSec, caption: `a kite\tby \\the "sea" ${tSec}\n— 凧` }))
  videoId = (await seedWithImages(db, media, { frames })).id
  await seedWithImages(db, media, { frames: frames.slice(0, 3) })
  await createAccount(db, { email: 'operator@example.com', role: 'operator', plan: 'pro' })
  await fillEveryTable(db, media)
})
afterAll(async () => {
  await db.$client.end()
  await cluster[Symbol.asyncDispose]()
  mediaFolder[Symbol.dispose]()
})

const backUp = (place: MediaStore, options: Partial<BackupOptions> = {}) =>
  writeBackup({ databaseUrl: url, media, place, library: () => libraryId(db), ...options })

const restore = (databaseUrl: string, place: MediaStore, options: Partial<RestoreOptions> = {}) =>
  restoreBackup({
    databaseUrl,
    media,
    place,
    at: '/the/place',
    rebuilt: [],
    rebuild: async () => undefined,
    ...options,
  })

/** All tables that the code knows: a new one is in the next backup, or this fails. */
async function tablesOfSchema(): Promise<string[]> {
  const folder = new URL('../../src/db/schema/', import.meta.url)
  const modules = await Promise.all(readdirSync(folder).map((file) => import(new URL(file, folder).href)))
  const tables = modules.flatMap((module: object) => Object.values(module)).filter((one) => is(one, PgTable))
  return tables.map(getTableName)
}

test('a backup holds every table of the schema but the read model’s state', async () => {
  using folder = openFolder()
  const place = openDiskStore(folder.path)
  const { backup } = await backUp(place)
  const { tables } = await readManifest(place, backup)
  const expected = (await tablesOfSchema()).filter((name) => name !== 'read_models')
  expect(expected).toEqual(expect.arrayContaining(['webhook_deliveries', 'analytics_uses']))
  expect(tables.map(({ table }) => table).toSorted()).toEqual(expected.toSorted())
})

const notice = (work: Promise<unknown>) =>
  work.then(
    () => 'no failure',
    (error: unknown) => {
      const text = explain(error, { folder: '/the/place' }) ?? describeFailure(error).text
      expect(text.split('\n'), String(error)).toHaveLength(1)
      return text
    },
  )

test('every table of the library below has a row: a new table gets one in fillEveryTable', async () => {
  expect(await emptyTables(url)).toEqual([])
})

test('a backup of a library at rest is that library, by row and by file; a second copies nothing', async () => {
  using place = openFolder()
  using target = openFolder()
  const store = openPlace(place.path)
  expect(await backUp(store)).toMatchObject({ images: 37, images_copied: 37, images_missing: 0 })
  expect(await backUp(store)).toMatchObject({ images: 37, images_copied: 0 })
  expect(await verifyBackup({ place: store, at: place.path })).toMatchObject({ images: 37, images_missing: 0 })
  const to = await cluster.create()
  const files = openDiskStore(target.path)
  expect(await restore(to, store, { media: files })).toMatchObject({ images: 37 })
  expect(await checksumsOf(to)).toEqual(await checksumsOf(url))
  expect(await emptyTables(to)).toEqual([])
  expect(await filesOf(files)).toEqual(await filesOf(media))
  const [next] = await queryAt(to, `select nextval(pg_get_serial_sequence('events', 'seq'))::int as n`)
  const [last] = await queryAt(to, 'select max(seq)::int as n from events')
  expect(next!.n).toBeGreaterThan(Number(last!.n))
})

test('a file that the media store has lost is kept from an earlier backup, and told without one', async () => {
  using place = openFolder()
  const store = openDiskStore(place.path)
  await backUp(store)
  const [lost] = await imageKeys(db, videoId)
  const body = (await media.get(lost!))!
  await media.delete(lost!)
  expect(await backUp(store)).toMatchObject({ images: 37, images_missing: 0 })
  using other = openFolder()
  expect(await backUp(openDiskStore(other.path))).toMatchObject({ images: 36, images_missing: 1, missing_keys: [lost] })
  await media.put(lost!, body, 'image/webp')
})

test('a damaged, missing, newer or interrupted backup is refused in one line and changes nothing', async () => {
  using place = openFolder()
  const store = openDiskStore(place.path)
  const { backup } = await backUp(store)
  const at = join(place.path, 'backups', backup)
  const to = await cluster.create()
  const attempt = async () => {
    const text = await notice(restore(to, store))
    expect(await queryAt(to, `select 1 from pg_class where relnamespace = 'public'::regnamespace`)).toEqual([])
    return text
  }
  const spoilt = async (file: string, change: (bytes: Buffer) => Buffer | undefined) => {
    const bytes = readFileSync(file)
    const changed = change(Buffer.from(bytes))
    if (changed) writeFileSync(file, changed)
    else rmSync(file)
    const text = await attempt()
    writeFileSync(file, bytes)
    return text
  }
  const flip = (n: number) => (bytes: Buffer) => {
    bytes[n]! ^= 1
    return bytes
  }
  const half = (bytes: Buffer) => bytes.subarray(0, bytes.length / 2)
  const table = join(at, 'tables', 'frames.copy.zst')
  const size = readFileSync(table).length
  expect(await spoilt(table, flip(size - 20))).toMatch(/damaged: .*frames\.copy\.zst .*earlier one/)
  expect(await spoilt(table, flip(2))).toMatch(/damaged: .*frames\.copy\.zst/)
  expect(await spoilt(table, half)).toMatch(/frames\.copy\.zst/)
  expect(await spoilt(table, () => undefined)).toMatch(/frames\.copy\.zst is missing/)
  const image = join(place.path, 'files', (await imageKeys(db, videoId))[0]!)
  expect(await spoilt(image, () => undefined)).toMatch(/files\/frames\/.* is missing/)
  using target = openFolder()
  writeFileSync(image, flip(7)(readFileSync(image)))
  const files = openDiskStore(target.path)
  expect(await notice(restore(to, store, { media: files }))).toMatch(/files\/frames\/.* has another checksum/)
  expect(await notice(verifyBackup({ place: store, at: place.path }))).toMatch(/has another checksum/)
  writeFileSync(image, flip(7)(readFileSync(image)))

  const manifest = join(at, 'manifest.json')
  expect(await spoilt(join(at, 'files.ndjson.zst'), flip(20))).toMatch(/files\.ndjson\.zst/)
  expect(await spoilt(manifest, flip(40))).toMatch(/manifest .* is damaged/)
  for (const made of [half, () => Buffer.from('null'), () => Buffer.from('[]')])
    expect(await spoilt(manifest, made)).toMatch(/manifest .* is damaged/)
  const [first] = JSON.parse(readFileSync(manifest, 'utf8')).tables
  for (const made of [{ file: '../../../etc/passwd' }, { table: 'videos; drop table videos' }, { columns: ['a"b'] }])
    expect(await spoilt(manifest, (as) => signed(as, { tables: [{ ...first, ...made }] }))).toMatch(/is damaged/)
  expect(await spoilt(manifest, () => undefined)).toMatch(/holds no whole backup.*interrupted.*frames backup again/)
  expect(await spoilt(manifest, (bytes) => signed(bytes, { format: 2, version: '9.0.0' }))).toMatch(
    /made by version 9\.0\.0, which is newer. Install that version/,
  )
  const later = (bytes: Buffer) => {
    const { migrations } = JSON.parse(bytes.toString())
    return signed(bytes, { version: '0.9.0', migrations: [...migrations, { when: 9_999_999_999_999, hash: 'x' }] })
  }
  expect(await spoilt(manifest, later)).toMatch(/made by version 0\.9\.0, whose database this version does not know/)
  expect(await notice(restore(to, store, { backup: 'nope' }))).toMatch(/has no backup nope. It has 2/)
  using empty = openFolder()
  expect(await notice(restore(to, openDiskStore(empty.path)))).toMatch(/holds no whole backup. Check its name/)
  // Nothing of all this was left behind.
  expect(await restore(to, store)).toMatchObject({ backup })
})

test('a place is for one library: another one is refused before it changes anything', async () => {
  using place = openFolder()
  const store = openDiskStore(place.path)
  await backUp(store)
  const other = openDb({ url: await cluster.create({ migrated: true }), max: 1, applicationName: 'test' })
  const before = await filesOf(store)
  const theirs = { databaseUrl: other.$client.options.connectionString!, library: () => libraryId(other) }
  expect(await notice(backUp(store, { ...theirs, keep: 1 }))).toMatch(
    /backups of another library. Choose another folder/,
  )
  expect(await filesOf(store)).toEqual(before)
  await other.$client.end()
  // A restored library is the same one.
  const to = await cluster.create()
  using target = openFolder()
  await restore(to, store, { media: openDiskStore(target.path) })
  const restored = openDb({ url: to, max: 1, applicationName: 'test' })
  expect(await backUp(store, { databaseUrl: to, library: () => libraryId(restored) })).toMatchObject({ images: 37 })
  await restored.$client.end()
  writeFileSync(join(place.path, 'library.json'), 'spoilt')
  expect(await notice(backUp(store))).toMatch(/backups of another library/)
})

test('a backup whose connection ended while it copied files is not called whole', async () => {
  using place = openFolder()
  // Until then its connection keeps files from being removed.
  const end = () =>
    db.$client.query(`select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'frames backup' and datname = current_database()`)
  const open: MediaStore['open'] = (key, part) => end().then(() => media.open(key, part))
  const get: MediaStore['get'] = (key) => end().then(() => media.get(key))
  expect(await notice(backUp(openDiskStore(place.path), { media: { ...media, open, get } }))).toMatch(/Back up again/)
})

test('older backups go with the files that only they name', async () => {
  using place = openFolder()
  const store = openDiskStore(place.path)
  await backUp(store)
  const gone = await seedWithImages(db, media, { frames: [{ caption: 'soon gone' }, { caption: 'soon gone too' }] })
  const { backup: second } = await backUp(store, { keep: 2 })
  await db.$client.query('delete from videos where id = $1', [gone.id])
  await media.deletePrefix(`frames/${gone.id}/`)
  const { backup: third } = await backUp(store)
  expect(readdirSync(join(place.path, 'backups'))).toHaveLength(3)
  expect(await backUp(store, { keep: 3 })).toMatchObject({ removed: 1, images_copied: 0 })
  expect(await verifyBackup({ place: store, at: place.path, backup: second })).toMatchObject({ images: 41 })
  const kept = await backUp(store, { keep: 2 })
  expect(kept).toMatchObject({ removed: 2 })
  const names = readdirSync(join(place.path, 'backups'))
  expect(names).toHaveLength(2)
  expect(names).not.toContain(second)
  expect(names).not.toContain(third)
  expect((await filesOf(openDiskStore(join(place.path, 'files')))).size).toBe(37)
  for (const backup of names) expect(await verifyBackup({ place: store, at: '', backup })).toMatchObject({ images: 37 })
  // A list that cannot be read: nothing is removed.
  const list = join(place.path, 'backups', kept.backup, 'files.ndjson.zst')
  writeFileSync(list, 'no list')
  expect(await notice(backUp(store, { keep: 2 }))).toMatch(/files\.ndjson\.zst/)
  expect(readdirSync(join(place.path, 'backups'))).toHaveLength(3)
  expect((await filesOf(openDiskStore(join(place.path, 'files')))).size).toBe(37)
})

test('only an empty database is restored into', async () => {
  using place = openFolder()
  const store = openDiskStore(place.path)
  await backUp(store)
  expect(await notice(restore(url, store))).toMatch(/not empty: it has the table accounts. .*DATA_DIR/)
  const foreign = await cluster.create()
  await queryAt(foreign, 'create table invoices (n int)')
  expect(await notice(restore(foreign, store))).toMatch(/it has the table invoices/)
})

test('a wrong password, an absent database, a full disk and a folder that is none are told in one line', async () => {
  using place = openFolder()
  const store = openDiskStore(place.path)
  const wrong = url.replace(/:[^:@]+@/, ':wrong@')
  expect(await notice(backUp(store, { databaseUrl: wrong }))).toMatch(
    /refuses the user or the password of DATABASE_URL/,
  )
  const absent = url.replace(/[^/]+$/, 'absent')
  expect(await notice(backUp(store, { databaseUrl: absent }))).toMatch(/has no database of the name/)
  expect(await notice(backUp(store, { databaseUrl: url.replace(/[^/]+$/, 'postgres') }))).toMatch(/never migrated/)
  const full: MediaStore = {
    ...store,
    put: async (key, body, type) => {
      if (key.startsWith('files/')) throw Object.assign(new Error('write'), { code: 'ENOSPC' })
      return store.put(key, body, type)
    },
  }
  expect(await notice(backUp(full))).toMatch(/No space is left.*run this again/)
  expect(await notice(restore(await cluster.create(), store))).toMatch(/interrupted/)
  expect(await backUp(store)).toMatchObject({ images: 37 })
  expect(readdirSync(join(place.path, 'backups'))).toHaveLength(1)

  writeFileSync(join(place.path, 'file'), '')
  const opened = async (at: string, create = false) => notice((async () => openPlace(at, { create }))())
  expect(await opened(join(place.path, 'file'), true)).toMatch(/is not a folder/)
  // Node's own way to make folders never ends there.
  const never = 'No folder can be made there: /the/place. Choose another folder.'
  expect(await opened('/proc/frames/backups', true)).toBe(never)
  expect(await opened(join(place.path, 'absent'))).toMatch(/There is no folder/)
  expect(existsSync(join(place.path, 'absent'))).toBe(false)
  expect(await opened('s3://bucket/x', true)).toMatch(/is an address. Name a folder/)
})

test('images of a library in a bucket are copied into the folder, and back into a bucket', async () => {
  using place = openFolder()
  await using s3 = await startS3({ buckets: ['before', 'after'] })
  const access = { region: 'us-east-1', ...S3_KEY, endpoint: s3.endpoint }
  const [before, after] = ['before', 'after'].map((bucket) => openS3Store({ ...access, bucket }))
  for await (const { key } of media.list('')) await before!.put(key, (await media.get(key))!, 'image/webp')
  const store = openDiskStore(place.path)
  expect(await backUp(store, { media: before! })).toMatchObject({ images: 37, images_copied: 37 })
  const to = await cluster.create()
  await restore(to, store, { media: after! })
  expect(await checksumsOf(to)).toEqual(await checksumsOf(url))
  expect(await filesOf(after!)).toEqual(await filesOf(media))
})

/** The manifest with other content and a checksum that fits. */
function signed(bytes: Buffer, change: object): Buffer {
  const { checksum: _, ...content } = JSON.parse(bytes.toString()) as Record<string, unknown>
  const changed = { ...content, ...change }
  return Buffer.from(
    JSON.stringify({ ...changed, checksum: createHash('sha256').update(JSON.stringify(changed)).digest('hex') }),
  )
}
