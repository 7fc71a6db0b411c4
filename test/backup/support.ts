import { createHash } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { expect, inject } from 'vitest'
import { type Config, parseConfig } from '../../src/config.ts'
import { type Db, openDb } from '../../src/db/client.ts'
import { migrateDatabase } from '../../src/db/migrate.ts'
import { startLocalPostgres } from '../../src/local/postgres.ts'
import { createLogger } from '../../src/logger.ts'
import type { MediaStore } from '../../src/media/media-store.ts'
import { openMediaStore } from '../../src/media/open-store.ts'
import { openApi } from '../../src/server/main.ts'
import { openWorker } from '../../src/workers/main.ts'
import { memoryFolder } from '../support/memory-folder.ts'
import { type SeedVideo, seedVideo } from '../support/seed.ts'

/**
 * A PostgreSQL cluster of its own, whose transaction numbers begin where those of every new cluster do. It may be
 * disposed of twice: a test that fails half-way must leave no server behind.
 */
export async function openCluster() {
  const dir = mkdtempSync(join(memoryFolder(), 'frames-backup-'))
  chmodSync(dir, 0o755)
  const server = await startLocalPostgres({ dir: join(dir, 'postgres'), settings: { fsync: 'off' } })
  let databases = 0
  return {
    /** An empty database, or one with the current schema. */
    async create({ migrated = false } = {}): Promise<string> {
      const name = `library_${++databases}`
      await queryAt(server.url, `create database ${name}`)
      const url = server.url.replace(/postgres$/, name)
      if (migrated) {
        const db = openDb({ url, max: 1 })
        await migrateDatabase(db)
        await db.$client.end()
      }
      return url
    },
    async [Symbol.asyncDispose]() {
      await server.stop()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

export function openFolder(): { path: string; [Symbol.dispose](): void } {
  const path = mkdtempSync(join(memoryFolder(), 'frames-place-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

export async function queryAt(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

/** A seeded video whose frames have images of their own in the media store. */
export async function seedWithImages(db: Db, media: MediaStore, seed: SeedVideo = {}) {
  const video = await seedVideo(db, seed)
  for (const key of await imageKeys(db, video.id)) await media.put(key, imageOf(key), 'image/webp')
  return video
}

export async function imageKeys(db: Db, videoId: string): Promise<string[]> {
  const { rows } = await db.$client.query<{ keys: (string | null)[] }>(
    'select array[image_key, thumb_key, loop_key] as keys from frames where video_id = $1 order by id',
    [videoId],
  )
  return rows.flatMap(({ keys }) => keys.filter((key) => key !== null))
}

/** Bytes that belong to a key. Big enough not to be compressed into nothing. */
export function imageOf(key: string): Buffer {
  return Buffer.concat(Array.from({ length: 40 }, (_, n) => createHash('sha512').update(`${key} ${n}`).digest()))
}

/** Number and checksum of the rows of every table, whatever their order. */
export async function checksumsOf(url: string, except: readonly string[] = []): Promise<Record<string, string>> {
  const tables = await queryAt(
    url,
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1`,
  )
  const sums: Record<string, string> = {}
  for (const { name } of tables) {
    // The read model is built again. The log is in another cluster.
    if (['read_models', 'event_log', ...except].includes(String(name))) continue
    const [row] = await queryAt(
      url,
      `select count(*) || ' rows, ' || coalesce(sum(hashtextextended(t::text, 0)::numeric), 0) as sum from ${name} t`,
    )
    sums[String(name)] = String(row!.sum)
  }
  return sums
}

export async function filesOf(store: MediaStore): Promise<Map<string, string>> {
  const files = new Map<string, string>()
  for await (const { key } of store.list(''))
    files.set(
      key,
      createHash('sha256')
        .update((await store.get(key))!)
        .digest('hex'),
    )
  return files
}

export function configFor(dataDir: string): Config {
  const settings = { RATE_LIMIT_SCALE: '1000', PUBLIC_URL: 'http://frames.test', WEBHOOK_ALLOW_PRIVATE: '1' }
  return parseConfig({ DATA_DIR: dataDir, EMBED: 'off', ...settings })
}

/** API and worker on a database and a data folder. The worker reads the log and runs no jobs: the images are none. */
export async function openLibrary({ url, dataDir, prefix }: { url: string; dataDir: string; prefix: string }) {
  const config = configFor(dataDir)
  const logs: string[] = []
  const logger = createLogger({ level: 'info' }, { write: (line: string) => void logs.push(line) })
  const shared = { config, databaseUrl: url, redisUrl: inject('redisUrl'), logger, prefix }
  const worker = await openWorker({ ...shared, pollMs: 200, roles: ['events'] })
  const api = await openApi({ ...shared, port: 0, host: '127.0.0.1', overrides: { versionTtlMs: 0 } })
  const db = openDb({ url, max: 10 })
  const media = openMediaStore(config)
  const call = async (
    path: string,
    {
      key,
      method = 'GET',
      body,
      headers = {},
    }: { key?: string; method?: string; body?: object; headers?: Record<string, string> } = {},
  ) => {
    const response = await fetch(`http://127.0.0.1:${api.port}${path}`, {
      method,
      headers: {
        ...headers,
        ...(key ? { authorization: `Bearer ${key}` } : {}),
        ...(body ? { 'content-type': 'application/json' } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    const text = await response.text()
    // biome-ignore lint/suspicious/noExplicitAny: answers are asserted field by field
    return { status: response.status, json: (text === '' ? undefined : JSON.parse(text)) as any }
  }
  let stopping: Promise<void> | undefined
  const stop = async () => {
    await api.stop()
    await worker.stop(5_000)
    await db.$client.end()
  }
  return {
    db,
    media,
    logs,
    call,
    port: api.port,
    drain: () => worker.drain(),
    async ids(q: string): Promise<string[]> {
      const { status, json } = await call(`/api/frames?q=${encodeURIComponent(q)}`)
      expect(status).toBe(200)
      return json.frames.map((frame: { id: string }) => frame.id)
    },
    async [Symbol.asyncDispose]() {
      stopping ??= stop()
      await stopping
    },
  }
}
