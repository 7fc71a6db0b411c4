import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream, createWriteStream, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import { restoreBackup } from '../src/backup/restore.ts'
import { copyTarget, loadTables, quote } from '../src/backup/tables.ts'
import { type BackupOptions, writeBackup } from '../src/backup/write-backup.ts'
import { openDb } from '../src/db/client.ts'
import { migrateDatabase } from '../src/db/migrate.ts'
import { openDiskStore } from '../src/media/disk-store.ts'
import { type About, optionsOf } from './support/bench.ts'
import { seedLibrary } from './support/library.ts'
import { openTemporaryDatabase, type TemporaryDatabase } from './support/postgres.ts'
import { median, round } from './support/stats.ts'

/** Aims: twice the time of bare COPY, with compression and checksums on top, and five times that of `cp`. */
export const about: About = {
  measures: 'The seconds of `frames backup` and `frames restore` for the tables, and of a backup of images.',
  against:
    'for tables COPY of the same tables to and from plain files, without compression, checksums or migrations. For ' +
    'images `cp -r` and a sync of the disk. In turns; ratios of medians.',
  figures: [
    { what: 'tables backed up ÷ bare COPY', at: ['backup_ratio'], atMost: 2 },
    { what: 'tables restored ÷ bare COPY', at: ['restore_ratio'], atMost: 2 },
    { what: 'images ÷ `cp -r`', at: ['images_ratio'], atMost: 5 },
    { what: 'images, a second time ÷ `cp -r`', at: ['images_again_ratio'] },
    { what: 'tables backed up', at: ['backup_seconds'], unit: 's' },
    { what: 'tables restored', at: ['restore_seconds'], unit: 's' },
    { what: 'memory of the whole command', at: ['command_mb'], atMost: 300, unit: 'MB' },
  ],
}

export async function run(args: string[]): Promise<object | undefined> {
  const values = optionsOf(args, { frames: 100_000, images: 4_000, rounds: 3 })
  const dir = mkdtempSync(join(tmpdir(), 'frames-bench-backup-'))
  try {
    await using database = await openTemporaryDatabase({ durable: true })
    const { frames } = await seedLibrary(database.db, { frames: values.frames })
    const rounds = values.rounds
    const tables = await compareTables(database, dir, rounds)
    const images = await compareImages(database, dir, { count: values.images, rounds })
    const command_mb = await memoryOfCommand(database, dir)
    const figures = { bench: 'backup', frames, ...tables, ...images, command_mb }
    return figures
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

async function secondsOf(act: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await act()
  return (performance.now() - started) / 1000
}

const NO_MEDIA = { mediaBucket: null, images: 'none' } as const

async function compareTables(database: TemporaryDatabase, dir: string, rounds: number) {
  const times = { backup: [] as number[], copyOut: [] as number[], restore: [] as number[], copyIn: [] as number[] }
  const media = openDiskStore(join(dir, 'no-media'))
  let bytes = 0
  for (let n = 0; n < rounds; n++) {
    const folder = join(dir, `place-${n}`)
    const place = openDiskStore(folder, { syncLater: true })
    const options: BackupOptions = { databaseUrl: database.url, media, place, ...NO_MEDIA }
    times.copyOut.push(await secondsOf(() => copyOut(database.url, dir)))
    times.backup.push(await secondsOf(async () => ({ bytes } = await writeBackup(options))))
    const bare = await freshDatabase(database, `bare_${n}`)
    const db = openDb({ url: bare, max: 1 })
    await migrateDatabase(db)
    await db.$client.end()
    times.copyIn.push(await secondsOf(() => copyIn(bare, dir)))
    await dropDatabase(database, `bare_${n}`)
    const target = await freshDatabase(database, `target_${n}`)
    const nothing = { rebuilt: [], rebuild: async () => undefined }
    const restore = { databaseUrl: target, media, mediaBucket: null, place, at: folder, ...nothing }
    times.restore.push(await secondsOf(() => restoreBackup(restore)))
    await dropDatabase(database, `target_${n}`)
    rmSync(folder, { recursive: true })
  }
  return {
    backup_ratio: round(median(times.backup) / median(times.copyOut)),
    restore_ratio: round(median(times.restore) / median(times.copyIn)),
    ratio_of: 'seconds of frames backup and restore ÷ seconds of bare COPY of the same tables',
    backup_seconds: round(median(times.backup)),
    restore_seconds: round(median(times.restore)),
    backup_mb: round(bytes / 1024 / 1024),
  }
}

async function copyOut(url: string, dir: string): Promise<void> {
  const client = await connect(url)
  for (const table of await loadTables(client))
    await pipeline(
      client.query(copyTo(`copy ${copyTarget(table)} to stdout`)),
      createWriteStream(join(dir, `${table.name}.copy`)),
    )
  await client.end()
}

async function copyIn(url: string, dir: string): Promise<void> {
  const client = await connect(url)
  const tables = await loadTables(client)
  await client.query('begin')
  await client.query(`truncate ${tables.map(({ name }) => `public.${quote(name)}`).join(', ')}`)
  for (const table of tables)
    await pipeline(
      createReadStream(join(dir, `${table.name}.copy`)),
      client.query(copyFrom(`copy ${copyTarget(table)} from stdin`)),
    )
  await client.query('commit')
  await client.query('analyze')
  await client.end()
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client
}

async function freshDatabase({ db, url }: TemporaryDatabase, name: string): Promise<string> {
  await db.$client.query(`create database ${name}`)
  return url.replace(/postgres$/, name)
}

async function dropDatabase({ db }: TemporaryDatabase, name: string): Promise<void> {
  await db.$client.query(`drop database ${name} with (force)`)
}

/** Images of 20 to 60 kB: those of a small library, in a database of its own. */
async function compareImages(database: TemporaryDatabase, dir: string, given: { count: number; rounds: number }) {
  const { count, rounds } = given
  const url = await freshDatabase(database, 'images')
  const db = openDb({ url, max: 2, statementTimeoutMs: 0 })
  await migrateDatabase(db)
  await seedLibrary(db, { frames: count / 2 })
  const store = openDiskStore(join(dir, 'data', 'store'), { syncLater: true })
  const { rows } = await db.$client.query<{ key: string }>(
    'select image_key as key from frames union select thumb_key from frames',
  )
  await db.$client.end()
  for (const [n, { key }] of rows.entries()) await store.put(key, randomBytes(20_000 + (n % 9) * 5_000), 'image/webp')
  await store.settle?.()
  const times = { first: [] as number[], again: [] as number[], tables: [] as number[], cp: [] as number[] }
  for (let n = 0; n < rounds; n++) {
    const place = openDiskStore(join(dir, 'images'), { syncLater: true })
    const options = { databaseUrl: url, media: store, place, mediaBucket: null }
    times.tables.push(await secondsOf(() => writeBackup({ ...options, images: 'none' })))
    times.cp.push(await secondsOf(async () => copyFolder(join(dir, 'data', 'store'), join(dir, 'cp'))))
    times.first.push(await secondsOf(() => writeBackup({ ...options, images: 'copy' })))
    times.again.push(await secondsOf(() => writeBackup({ ...options, images: 'copy' })))
    for (const folder of ['images', 'cp']) rmSync(join(dir, folder), { recursive: true })
  }
  const tables = median(times.tables)
  return {
    images: rows.length,
    images_ratio: round((median(times.first) - tables) / median(times.cp)),
    images_again_ratio: round((median(times.again) - tables) / median(times.cp)),
    images_per_second: Math.round(rows.length / (median(times.first) - tables)),
  }
}

function copyFolder(from: string, to: string): void {
  for (const [program, ...args] of [
    ['cp', '-r', from, to],
    ['sync', '-f', to],
  ])
    if (spawnSync(program!, args).status !== 0) throw new Error(`${program} failed`)
}

/** The most that `frames backup` as a process of its own has in memory. Null where the system does not say. */
async function memoryOfCommand({ url }: TemporaryDatabase, dir: string): Promise<number | null> {
  const child = spawn(process.execPath, ['src/cli.ts', 'backup', join(dir, 'command')], {
    env: { ...process.env, DATABASE_URL: url, DATA_DIR: join(dir, 'data') },
    stdio: 'ignore',
  })
  let ended = false
  const end = once(child, 'close').then(() => {
    ended = true
  })
  let most: number | null = null
  while (!ended) {
    try {
      const peak = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))
      if (peak) most = Math.round(Number(peak[1]) / 1024)
    } catch {
      // No such file: another system, or the process has ended.
    }
    await sleep(20)
  }
  await end
  return most
}
